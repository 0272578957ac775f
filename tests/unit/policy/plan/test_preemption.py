"""Which running jobs end for which waiting ones: a table of cases, and what holds of all plans."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.policy.plan.outcome import Plan, Preemption
from hpcbatch.policy.plan.planner import Planner, make_plan
from hpcbatch.policy.plan.snapshot import Node, Part, Place, RunningJob, Shape, Snapshot, WaitingJob, Yields
from tests.unit.policy.plan.test_properties import MANY, assert_room
from tests.unit.policy.plan.worlds import placed as placed_of

NAMES = ("n0", "n1", "n2")
LOW = Yields(classes=frozenset({"low"}), order=(1.0,))


def nodes(cpus: int = 4) -> tuple[Node, ...]:
    return tuple(Node(name=name, has={"cpu": cpus}) for name in NAMES)


def low(job_id: str, node: str, cpus: int, *, order: float = 1, since_s: float = -1, ends_s: float = 100) -> RunningJob:
    yields = replace(LOW, order=(order,), since_s=since_s)
    return RunningJob(job_id=job_id, placed={node: {"cpu": cpus}}, ends_s=ends_s, yields=yields)


def light(job: RunningJob) -> RunningJob:
    """One that is suspended: it gives up its CPUs and nothing else."""
    assert job.yields is not None
    return replace(job, yields=replace(job.yields, frees=frozenset({"cpu"})))


def may_end(job: RunningJob) -> RunningJob:
    """One that is ended where it does not help that it is suspended."""
    assert job.yields is not None
    return replace(job, yields=replace(job.yields, may_end=True))


def high(
    job_id: str = "w", count: int = 1, cpus: int = 4, *, order: float = 0, memory: int = 0, **more: Any
) -> WaitingJob:
    shape = Shape(parts=(Part(count=count, needs={"cpu": cpus, "memory": memory}),))
    preempts = more.pop("preempts", frozenset({"low"}))
    return WaitingJob(job_id=job_id, order=(order,), shapes=(shape,), walltime_s=50, preempts=preempts, **more)


def victims(plan: Plan) -> dict[str, set[str]]:
    return {one.job_id: set(one.victims) for one in plan.preemptions}


FULL = (low("a", "n0", 4), low("b", "n1", 4, order=2), low("c", "n2", 4, order=3))
CASES: dict[str, tuple[Snapshot, dict[str, set[str]]]] = {
    "the first in line": (Snapshot(now_s=0, nodes=nodes(), running=FULL, waiting=(high(),)), {"w": {"a"}}),
    "as many as needed": (Snapshot(now_s=0, nodes=nodes(), running=FULL, waiting=(high(count=2),)), {"w": {"a", "b"}}),
    "none where all would not do": (Snapshot(now_s=0, nodes=nodes(), running=FULL, waiting=(high(count=4),)), {}),
    "none where there is room": (Snapshot(now_s=0, nodes=nodes(), running=FULL[:2], waiting=(high(),)), {}),
    "none of another class": (
        Snapshot(now_s=0, nodes=nodes(), running=FULL, waiting=(high(preempts=frozenset({"lower"})),)),
        {},
    ),
    "none by one that preempts nobody": (
        Snapshot(now_s=0, nodes=nodes(), running=FULL, waiting=(high(preempts=frozenset()),)),
        {},
    ),
    "not one that is exempt yet": (
        Snapshot(now_s=0, nodes=nodes(), running=(low("a", "n0", 4, since_s=5), *FULL[1:]), waiting=(high(),)),
        {"w": {"b"}},
    ),
    "one large instead of several that do not help": (
        Snapshot(
            now_s=0,
            nodes=nodes(),
            running=(
                low("a", "n0", 1),
                low("b", "n0", 3, order=9),
                low("c", "n1", 4, order=2),
                low("d", "n2", 4, order=9),
            ),
            waiting=(high(),),
        ),
        {"w": {"c"}},
    ),
    "beside what is free": (
        Snapshot(now_s=0, nodes=nodes(), running=(low("a", "n0", 1), *FULL[1:]), waiting=(high(),)),
        {"w": {"a"}},
    ),
    "each for one": (
        Snapshot(now_s=0, nodes=nodes(), running=FULL, waiting=(high("v", order=0), high("w", order=1))),
        {"v": {"a"}, "w": {"b"}},
    ),
    "two share one": (
        Snapshot(now_s=0, nodes=nodes(), running=FULL, waiting=(high("v", cpus=2), high("w", cpus=2, order=1))),
        {"v": {"a"}},
    ),
    "one that is suspended leaves its CPUs": (
        Snapshot(now_s=0, nodes=nodes(), running=(light(FULL[0]), *FULL[1:]), waiting=(high(),)),
        {"w": {"a"}},
    ),
    "but not its memory": (
        Snapshot(
            now_s=0,
            nodes=tuple(replace(node, has={"cpu": 4, "memory": 9}) for node in nodes()),
            running=tuple(light(replace(job, placed={n: {"cpu": 4, "memory": 5} for n in job.placed})) for job in FULL),
            waiting=(high(memory=5), high("v", memory=4, order=1)),
        ),
        {"v": {"b"}},  # on n0 w is planned, for when a has ended
    ),
    "unless it may end instead": (
        Snapshot(
            now_s=0,
            nodes=tuple(replace(node, has={"cpu": 4, "memory": 9}) for node in nodes()),
            running=tuple(
                may_end(light(replace(job, placed={n: {"cpu": 4, "memory": 5} for n in job.placed}))) for job in FULL
            ),
            waiting=(high(memory=5),),
        ),
        {"w": {"a"}},
    ),
    "not where a planned start needs what it keeps": (
        # the wide job is planned for 10, when a has ended: suspended, it would keep its memory
        Snapshot(
            now_s=0,
            nodes=(Node(name="n0", has={"cpu": 4, "memory": 9}),),
            running=(light(replace(low("a", "n0", 4, ends_s=10), placed={"n0": {"cpu": 4, "memory": 5}})),),
            waiting=(
                replace(high("wide", memory=9, preempts=frozenset())),
                replace(high("w", order=1), walltime_s=5),
            ),
        ),
        {},
    ),
    "not where a planned start needs the room": (
        # the wide job is planned for 10, when n0 ends; a job of 50 s on n1 or n2 would be in its way
        Snapshot(
            now_s=0,
            nodes=nodes(),
            running=(
                RunningJob(job_id="x", placed={"n0": {"cpu": 4}}, ends_s=10),
                low("b", "n1", 4, ends_s=10),
                low("c", "n2", 4, ends_s=10),
            ),
            waiting=(high("wide", 3, 4, preempts=frozenset()), high("w", order=1)),
        ),
        {},
    ),
}


@pytest.mark.parametrize(("snapshot", "expected"), CASES.values(), ids=CASES)
def test_victims(snapshot: Snapshot, expected: dict[str, set[str]]) -> None:
    assert victims(make_plan(snapshot)) == expected


def test_a_claim_keeps_its_places_before_all_others() -> None:
    ending = RunningJob(job_id="a", placed={"n0": {"cpu": 4}}, ends_s=5)
    claim = (Place(part=0, node="n0", count=1),)
    snapshot = Snapshot(
        now_s=0,
        nodes=nodes(),
        running=(ending, *(replace(job, yields=None) for job in FULL[1:])),
        waiting=(high("first", order=0, preempts=frozenset()), high("w", order=1, claim=claim)),
    )
    plan = make_plan(snapshot)
    assert (plan.expected["w"].start_s, plan.expected["w"].places) == (5, claim)
    assert plan.expected["first"].start_s > 5
    then = make_plan(replace(snapshot, now_s=5, running=snapshot.running[1:]))
    assert [one.job_id for one in then.releases] == ["w"]


def test_a_claim_that_cannot_be_kept_is_none() -> None:
    claim = (Place(part=0, node="gone", count=1),)
    plan = make_plan(Snapshot(now_s=0, nodes=nodes(), running=FULL, waiting=(high(claim=claim),)))
    assert victims(plan) == {"w": {"a"}}


def test_a_plan_is_made_anew_when_a_job_is_no_longer_exempt() -> None:
    snapshot = Snapshot(now_s=0, nodes=nodes(), running=(low("a", "n0", 4, since_s=7),), waiting=(high(count=3),))
    assert make_plan(snapshot).next_s == 7


@st.composite
def worlds(draw: st.DrawFn, most_parts: int = 2) -> Snapshot:
    """Nodes that running jobs fill, most of which yield; some waiting jobs preempt."""
    running = []
    for number, name in enumerate(NAMES):
        left = 4
        while left and draw(st.booleans()):
            cpus = draw(st.integers(1, left))
            left -= cpus
            job = low(
                f"r{number}{left}",
                name,
                cpus,
                order=draw(st.integers(0, 2)),
                since_s=draw(st.sampled_from((-1, -1, -1, 3))),
                ends_s=draw(st.integers(1, 12)),
            )
            job = replace(job, placed={name: {"cpu": cpus, "memory": draw(st.integers(0, 2))}})
            job = light(job) if draw(st.booleans()) else job
            running.append(job if draw(st.integers(0, 3)) else replace(job, yields=None))
    waiting = [
        WaitingJob(
            job_id=f"w{number}",
            order=(number,),
            shapes=(
                Shape(
                    parts=tuple(
                        Part(
                            count=draw(st.integers(1, 3)),
                            needs={"cpu": draw(st.integers(1, 4)), "memory": draw(st.integers(0, 2))},
                        )
                        for _ in range(draw(st.integers(1, most_parts)))
                    ),
                    is_scattered=draw(st.booleans()),
                    is_exclusive=draw(st.sampled_from((False, False, True))),
                ),
            ),
            walltime_s=draw(st.integers(1, 12)),
            preempts=draw(st.sampled_from((frozenset(), frozenset({"low"})))),
        )
        for number in range(draw(st.integers(1, 4)))
    ]
    return Snapshot(
        now_s=0,
        nodes=tuple(replace(node, has={"cpu": 4, "memory": 8}) for node in nodes()),
        running=tuple(running),
        waiting=tuple(waiting),
        depth=draw(st.sampled_from((1, 2, None))),
    )


@MANY
@given(worlds())
def test_who_yields_is_chosen_once_and_never_for_nothing(snapshot: Snapshot) -> None:
    plan = make_plan(snapshot)
    jobs = {job.job_id: job for job in snapshot.running}
    waiting = {job.job_id: job for job in snapshot.waiting}
    chosen = [victim for one in plan.preemptions for victim in one.victims]
    assert len(chosen) == len(set(chosen))
    for one in plan.preemptions:
        assert one.victims
        assert one.job_id in plan.held
        for victim in one.victims:
            yields = jobs[victim].yields
            assert yields is not None
            assert yields.classes & waiting[one.job_id].preempts
            assert yields.since_s <= snapshot.now_s


@MANY
@given(worlds())
def test_all_of_it_fits_together_and_no_planned_start_is_delayed(snapshot: Snapshot) -> None:
    """Victims gone, preemptors at their places, releases and planned starts of all others as they were."""
    plan = make_plan(snapshot)
    gone = {victim for one in plan.preemptions for victim in one.victims}
    started = {one.job_id: _started(snapshot, one) for one in plan.preemptions}
    after = replace(snapshot, running=(*left_by(snapshot.running, gone), *started.values()))
    expected = {job_id: start for job_id, start in plan.expected.items() if job_id not in started}
    assert_room(after, replace(plan, expected=expected))
    for node in snapshot.nodes:
        used = sum(job.placed.get(node.name, {}).get("cpu", 0) for job in after.running)
        assert used <= node.has["cpu"]


@MANY
@given(worlds(most_parts=1))
def test_none_can_be_spared(snapshot: Snapshot) -> None:
    for job in snapshot.waiting:
        alone = replace(snapshot, waiting=(job,))
        plan = make_plan(alone)
        for one in plan.preemptions:
            for spared in one.victims:
                gone = set(one.victims) - {spared}
                left = left_by(snapshot.running, gone)
                assert not make_plan(replace(alone, running=left)).releases
            left = left_by(snapshot.running, one.victims)
            assert [each.job_id for each in make_plan(replace(alone, running=left)).releases] == [job.job_id]


@MANY
@given(worlds(most_parts=1))
def test_nobody_is_spared_in_vain(snapshot: Snapshot) -> None:
    """A job that could start if all ended which it may preempt does preempt, or starts."""
    for job in snapshot.waiting:
        alone = replace(snapshot, waiting=(job,))
        plan = make_plan(alone)
        gone = {
            each.job_id
            for each in snapshot.running
            if each.yields is not None and each.yields.classes & job.preempts and each.yields.since_s <= 0
        }
        left = left_by(snapshot.running, gone)
        could = bool(make_plan(replace(alone, running=left)).releases)
        assert bool(plan.releases or plan.preemptions) == could


@MANY
@given(worlds())
def test_a_claim_is_kept_until_it_starts(snapshot: Snapshot) -> None:
    """What was chosen is written down, and the victims end by and by: then the job starts at its places."""
    plan = make_plan(snapshot)
    for one in plan.preemptions[:1]:
        waiting = tuple(
            replace(job, claim=one.places) if job.job_id == one.job_id else job
            for job in snapshot.waiting
            if job.job_id not in {release.job_id for release in plan.releases}
        )
        ending = tuple(
            replace(job, ends_s=2, yields=None) if job.job_id in one.victims else job for job in snapshot.running
        )
        others = tuple(
            _started(snapshot, replace(one, job_id=release.job_id, places=release.places, shape=release.shape))
            for release in plan.releases
        )
        planner = Planner(replace(snapshot, running=(*ending, *others), waiting=waiting))
        during = planner.plan(1)
        assert one.job_id in during.expected or one.job_id in {each.job_id for each in during.releases}
        assert one.job_id not in victims(during)
        stopped = {job.job_id: job for job in left_by(snapshot.running, one.victims) if job.job_id in one.victims}
        for victim in one.victims:
            planner.drop_job(victim)
            if victim in stopped:
                planner.put_running(stopped[victim])
        assert one.job_id in {each.job_id for each in planner.plan(2).releases}


def left_by(running: Iterable[RunningJob], gone: Container[str]) -> tuple[RunningJob, ...]:
    """What runs, and stands still, when these have ended or are suspended."""
    left = []
    for job in running:
        if job.job_id not in gone:
            left.append(job)
        elif job.yields is not None and job.yields.frees is not None:
            placed = {node: {**takes, "cpu": 0} for node, takes in job.placed.items()}
            left.append(replace(job, placed=placed, yields=None, is_exclusive=False, ends_s=10.0**6))
    return tuple(left)


def _started(snapshot: Snapshot, one: Preemption) -> RunningJob:
    job = next(job for job in snapshot.waiting if job.job_id == one.job_id)
    return RunningJob(
        job_id=job.job_id,
        placed=placed_of(job, one),  # type: ignore[arg-type]
        ends_s=snapshot.now_s + job.walltime_s,
        is_exclusive=job.shapes[one.shape].is_exclusive,
    )
