"""Plans of small clusters, by the rules in planner.py."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import pytest

from hpcbatch.policy.plan.outcome import Held, Plan, Why
from hpcbatch.policy.plan.planner import Planner, make_plan
from hpcbatch.policy.plan.snapshot import (
    JOBS,
    NODES,
    LabelTest,
    Limit,
    Node,
    Owner,
    Part,
    Reservation,
    RunningJob,
    Scope,
    Shape,
    Snapshot,
    WaitingJob,
)

FOUR = tuple(Node(name=f"n{index}", has={"cpu": 4}) for index in range(4))


def job(number: int, count: int = 1, cpu: int = 4, walltime_s: float = 10, **more: object) -> WaitingJob:
    part = Part(count=count, needs={"cpu": cpu})
    found = WaitingJob(job_id=str(number), order=(number,), shapes=(Shape(parts=(part,)),), walltime_s=walltime_s)
    return replace(found, **more)  # type: ignore[arg-type]


def runs(job_id: str, ends_s: float, *nodes: str, cpu: int = 4, **more: object) -> RunningJob:
    found = RunningJob(job_id=job_id, placed={name: {"cpu": cpu} for name in nodes}, ends_s=ends_s)
    return replace(found, **more)  # type: ignore[arg-type]


def plan(
    *waiting: WaitingJob, running: tuple[RunningJob, ...] = (), nodes: tuple[Node, ...] = FOUR, **more: object
) -> Plan:
    snapshot = Snapshot(now_s=0, nodes=nodes, running=running, waiting=waiting)
    return make_plan(replace(snapshot, **more))  # type: ignore[arg-type]


def released(found: Plan) -> list[str]:
    return [release.job_id for release in found.releases]


def starts(found: Plan) -> dict[str, float]:
    return {job_id: expected.start_s for job_id, expected in found.expected.items()}


def test_a_wide_job_is_not_overtaken_by_those_that_would_delay_it() -> None:
    found = plan(job(1, 4), job(2, walltime_s=50), job(3, walltime_s=51), running=(runs("a", 50, "n0"),))
    assert released(found) == ["2"]
    assert starts(found) == {"1": 50}
    assert found.held["1"] == Held(why=Why.RESOURCES, waits_for=("a",))
    assert found.held["3"] == Held(why=Why.PRIORITY, waits_for=("1",))
    assert found.next_s == 50


def test_what_is_not_needed_then_may_be_used_beyond() -> None:
    found = plan(job(1, 3), job(2, walltime_s=99), job(3, walltime_s=99), running=(runs("a", 50, "n0", "n1"),))
    assert released(found) == ["2"]
    assert {place.node for place in found.expected["1"].places}.isdisjoint({found.releases[0].places[0].node})
    assert found.releases[0].is_bound


def test_a_release_that_ends_in_time_may_run_anywhere() -> None:
    found = plan(job(1, 4), job(2, walltime_s=50), running=(runs("a", 50, "n0"),))
    assert not found.releases[0].is_bound


@pytest.mark.parametrize(
    ("depth", "expected"), [(1, {"1": 50}), (2, {"1": 50, "2": 60}), (None, {"1": 50, "2": 60, "3": 70})]
)
def test_depth(depth: int | None, expected: Mapping[str, float]) -> None:
    found = plan(job(1, 4), job(2, 4), job(3, 4), running=(runs("a", 50, "n0"),), depth=depth)
    assert starts(found) == expected


@pytest.mark.parametrize(
    ("queues", "depth", "depths", "expected"),
    [
        pytest.param("aabb", 1, {}, {"1": 50}, id="over all"),
        pytest.param("aabb", 1, {"b": 1}, {"1": 50, "3": 60}, id="one of each"),
        pytest.param("aabb", 1, {"a": 1, "b": 2}, {"1": 50, "3": 60, "4": 70}, id="its own number of each"),
        pytest.param("aabb", 2, {"b": 0}, {"1": 50, "2": 60}, id="none of one"),
        pytest.param("aabb", 0, {"b": 1}, {"3": 50}, id="of one only"),
        pytest.param("abcb", 1, {"b": 2}, {"1": 50, "2": 60, "4": 70}, id="the others are counted together"),
        pytest.param("aaaa", 1, {"b": 3}, {"1": 50}, id="of a queue without jobs"),
        pytest.param("abab", None, {"b": 1}, {"1": 50, "2": 60, "3": 70}, id="all of the others"),
    ],
)
def test_depths_of_queues(
    queues: str, depth: int | None, depths: Mapping[str, int], expected: Mapping[str, float]
) -> None:
    """As OpenPBS, should_backfill_with_job(): a queue's jobs count for its own depth, all others for the server's."""
    waiting = (job(number, 4, owner=Owner(queue=queue)) for number, queue in enumerate(queues, 1))
    found = plan(*waiting, running=(runs("a", 50, "n0"),), depth=depth, depths=depths)
    assert starts(found) == expected


def test_a_puzzle_of_two_queues_with_depths() -> None:
    """Three nodes are free until 50, then all. The wide jobs of both queues are planned one after the other; the short
    ones of both fill what is left, in the order of all, and nothing delays either planned start.
    """
    wide, small = Owner(queue="wide"), Owner(queue="small")
    waiting = (
        job(1, 4, owner=wide),
        job(2, walltime_s=50, owner=small),
        job(3, 4, owner=wide),
        job(4, 4, walltime_s=5, owner=small),
        job(5, 2, walltime_s=61, owner=small),
        job(6, walltime_s=50, owner=wide),
        job(7, 2, walltime_s=40, owner=small),
        job(8, 1, walltime_s=45, owner=wide),
    )
    found = plan(*waiting, running=(runs("a", 50, "n0"),), depth=5, depths={"wide": 1, "small": 1})
    assert starts(found) == {"1": 50, "4": 60}
    assert released(found) == ["2", "6", "8"]
    assert found.held["3"] == Held(why=Why.PRIORITY, waits_for=("4",))
    both = plan(*waiting, running=(runs("a", 50, "n0"),), depth=5, depths={"wide": 2, "small": 1})
    assert starts(both) == {"1": 50, "3": 60, "4": 70}
    assert released(both) == ["2", "6", "8"]


def test_a_job_that_is_over_its_time_is_expected_to_end_at_once() -> None:
    assert starts(plan(job(1, 4), running=(runs("a", -5, "n0"),))) == {"1": 1}


@pytest.mark.parametrize(
    ("waiting", "why"),
    [
        (job(1, 5), Why.NEVER_FITS),
        (job(1, 1, 5), Why.NEVER_FITS),
        (job(1, shapes=(Shape(parts=(Part(count=1, needs={"gpu": 1}),)),)), Why.NEVER_FITS),
        (job(1, 4), Why.NODE_DOWN),
        (job(1, earliest_s=5), Why.BEGIN_TIME),
        (job(1, reservation="R"), Why.RESERVATION_OVER),
    ],
)
def test_what_cannot_start_does_not_stop_those_behind(waiting: WaitingJob, why: Why) -> None:
    nodes = (*FOUR[:3], replace(FOUR[3], is_open=False))
    found = plan(waiting, job(2, 3), nodes=nodes)
    assert released(found) == ["2"]
    assert found.held["1"].why is why


def reserve(start_s: float, end_s: float, *nodes: str, **more: object) -> Reservation:
    found = Reservation(name="R", start_s=start_s, end_s=end_s, nodes=dict.fromkeys(nodes))
    return replace(found, **more)  # type: ignore[arg-type]


def test_a_job_does_not_run_into_a_reservation() -> None:
    found = plan(job(1, 4, walltime_s=21), job(2, walltime_s=20), reservations=(reserve(20, 30, "n0"),))
    assert released(found) == ["2"]
    assert starts(found) == {"1": 30}
    assert found.held["1"] == Held(why=Why.RESERVATION, reservation="R")


def test_a_job_of_a_reservation_runs_in_it_only() -> None:
    inside = job(1, 2, reservation="R")
    assert starts(plan(inside, reservations=(reserve(20, 30, "n0", "n1"),))) == {"1": 20}
    assert released(plan(inside, reservations=(reserve(0, 10, "n0", "n1"),))) == ["1"]
    assert plan(inside, reservations=(reserve(0, 9, "n0", "n1"),)).held["1"].why is Why.RESERVATION_OVER
    denied = plan(inside, reservations=(reserve(0, 10, "n0", "n1", is_for_nobody=True),))
    assert denied.held["1"].why is Why.RESERVATION_DENIED


def test_a_job_that_is_cut_with_its_reservation_starts_all_the_same() -> None:
    """Slurm ends the jobs of a reservation with it, however much time they were given."""
    long = job(1, 2, walltime_s=100, reservation="R")
    for start_s, cuts_s, wanted in ((0, math.inf, ["1"]), (0, 70, ["1"]), (0, 60, []), (-10, 70, []), (0, 0, [])):
        found = reserve(start_s, start_s + 30, "n0", "n1")
        assert released(plan(long, reservations=(replace(found, cuts_s=cuts_s),))) == wanted
    cut = plan(long, reservations=(replace(reserve(0, 30, "n0", "n1"), cuts_s=math.inf),))
    assert cut.releases[0].walltime_s == 30
    later = plan(long, reservations=(replace(reserve(20, 50, "n0", "n1"), cuts_s=math.inf),))
    assert starts(later) == {"1": 20}


def test_jobs_of_others_keep_off_maintenance() -> None:
    maintenance = reserve(20, 30, "n0", name="M", goes_before=True, may_overlap=True)
    own = reserve(0, 100, "n0")
    short, long = job(1, walltime_s=20, reservation="R"), job(2, walltime_s=21, reservation="R")
    found = plan(short, long, reservations=(own, maintenance))
    assert released(found) == ["1"]
    assert starts(found) == {"2": 30}
    assert released(plan(long, reservations=(own, replace(maintenance, goes_before=False)))) == ["2"]


def test_those_who_are_denied() -> None:
    found = reserve(0, 10, "n0", denied_users=frozenset({"eve"}), denied_accounts=frozenset({"x"}))
    assert found.may_use(Owner(user="ann", accounts=("y",)))
    assert not found.may_use(Owner(user="eve"))
    assert not found.may_use(Owner(user="ann", accounts=("z", "x")))


def test_a_part_of_a_node_can_be_reserved() -> None:
    reservation = replace(reserve(0, 30), nodes={"n0": {"cpu": 3}})
    found = plan(job(1, 2, 3, reservation="R"), job(2, 1, 3, reservation="R"), job(3, 1, 1), job(4, 1, 1),
                 nodes=FOUR[:1], reservations=(reservation,))  # fmt: skip
    assert released(found) == ["2", "3"]


LIMIT = Limit(code="MaxJobsPerUser", what=JOBS, amount=1, per=(Scope.USER,))
ANN, BOB = Owner(user="ann", queue="q"), Owner(user="bob", queue="q")


def test_a_limit_holds_back_its_own_only() -> None:
    found = plan(job(1, owner=ANN), job(2, owner=ANN), job(3, owner=BOB), limits=(LIMIT,))
    assert released(found) == ["1", "3"]
    assert found.held["2"] == Held(why=Why.LIMIT, limit=LIMIT)


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (replace(LIMIT, apart_from={Scope.USER: frozenset({"ann"})}), ["1", "2"]),
        (replace(LIMIT, of={Scope.QUEUE: "other"}), ["1", "2"]),
        (replace(LIMIT, what="cpu", amount=7), ["1"]),
        (replace(LIMIT, what="cpu", amount=8), ["1", "2"]),
        (replace(LIMIT, what=NODES, amount=1), ["1"]),
        (replace(LIMIT, what=NODES, amount=2), ["1", "2"]),
    ],
)
def test_whom_and_what_a_limit_counts(limit: Limit, expected: list[str]) -> None:
    assert released(plan(job(1, owner=ANN), job(2, owner=ANN), limits=(limit,))) == expected


def test_who_is_spared_counts_all_the_same() -> None:
    high = replace(ANN, qos=("high",))
    limit = replace(LIMIT, amount=2, spares={Scope.QOS: frozenset({"high"})})
    jobs = (job(1, owner=high), job(2, owner=high), job(3, owner=high), job(4, owner=ANN))
    found = plan(*jobs, limits=(limit,))
    assert released(found) == ["1", "2", "3"]
    assert found.held["4"] == Held(why=Why.LIMIT, limit=limit)


@pytest.mark.parametrize(
    ("amount", "spent", "expected"),
    [(8 * 100, 0, ["1", "2"]), (8 * 100 - 1, 0, ["1"]), (8 * 100, 1, ["1"]), (4 * 100 - 1, 0, [])],
    ids=["enough for both", "for one", "others have used something", "for none"],
)
def test_what_jobs_may_use_until_their_ends(amount: int, spent: int, expected: list[str]) -> None:
    limit = Limit(code="RunMinutes", what="cpu", amount=amount, is_time=True, spent="all")
    jobs = (job(1, walltime_s=105, owner=ANN), job(2, walltime_s=105, owner=ANN))
    found = plan(*jobs, limits=(limit,), spent={"all": spent}, beside_walltime_s=5)
    assert released(found) == expected


def test_what_runs_needs_less_the_longer_it_has_run() -> None:
    limit = Limit(code="RunMinutes", what="cpu", amount=600, is_time=True)
    snapshot = Snapshot(
        now_s=0, nodes=FOUR, running=(runs("a", 100, "n0"),), waiting=(job(1, walltime_s=100),), limits=(limit,)
    )
    planner = Planner(snapshot)
    assert released(planner.plan(0)) == []
    assert released(planner.plan(49)) == []
    assert released(planner.plan(50)) == ["1"]


def test_a_shorter_walltime_is_less_of_a_limit_of_times() -> None:
    limit = Limit(code="RunMinutes", what="cpu", amount=4 * 50, is_time=True, of={Scope.USER: "ann"})
    ranged = job(2, walltime_s=90, min_walltime_s=10, owner=ANN)
    found = plan(job(1, 4), ranged, running=(runs("a", 50, "n0"),), limits=(limit,))
    assert [(one.job_id, one.walltime_s) for one in found.releases] == [("2", 50)]


def test_a_planned_job_keeps_its_place_under_its_limit() -> None:
    wide, running = job(1, 4, owner=ANN), (runs("a", 50, "n0"),)
    found = plan(wide, job(2, walltime_s=50, owner=ANN), running=running, limits=(LIMIT,))
    assert released(found) == ["2"]
    nodes = (*FOUR, Node(name="n4", has={"cpu": 4}))
    found = plan(
        wide, job(2, walltime_s=51, owner=ANN), running=(runs("a", 50, "n0", "n4"),), nodes=nodes, limits=(LIMIT,)
    )
    assert found.held["2"] == Held(why=Why.LIMIT, limit=LIMIT)


def test_less_time_than_wished_if_it_starts_a_job_now() -> None:
    found = plan(job(1, 4), job(2, walltime_s=99, min_walltime_s=20), running=(runs("a", 50, "n0"),))
    assert [(release.job_id, release.walltime_s) for release in found.releases] == [("2", 50)]


def test_alternatives() -> None:
    one, other = (Shape(parts=(Part(count=1, needs={"cpu": 4}, hosts=frozenset({name})),)) for name in ("n0", "n1"))
    both = job(1, shapes=(one, other))
    assert plan(both).releases[0].shape == 0
    assert plan(both, running=(runs("a", 50, "n0"),)).releases[0].shape == 1
    found = plan(both, running=(runs("a", 50, "n0"), runs("b", 40, "n1")))
    assert (found.expected["1"].start_s, found.expected["1"].shape) == (40, 1)


@pytest.mark.parametrize(
    ("part", "nodes"),
    [
        (Part(count=1, needs={}, labels={"kind": "fat"}), {"n1"}),
        (Part(count=1, needs={}, terms=((LabelTest(key="kind", values=frozenset({"fat"}), is_in=False),),)), {"n0"}),
        (Part(count=1, needs={}, hosts=frozenset({"n1"})), {"n1"}),
        (Part(count=1, needs={}, excluded_hosts=frozenset({"n0"})), {"n1"}),
        (Part(count=2, needs={"cpu": 3}), {"n0", "n1"}),
    ],
)
def test_where_pods_may_be(part: Part, nodes: set[str]) -> None:
    two = (FOUR[0], replace(FOUR[1], labels={"kind": "fat"}))
    (release,) = plan(job(1, shapes=(Shape(parts=(part,)),)), nodes=two).releases
    assert {place.node for place in release.places} == nodes


def test_scattered_and_exclusive() -> None:
    two = Shape(parts=(Part(count=2, needs={"cpu": 1}),))
    spread = plan(job(1, shapes=(replace(two, is_scattered=True),))).releases[0]
    assert len({place.node for place in spread.places}) == 2
    alone = job(1, shapes=(replace(two, is_exclusive=True),))
    busy = tuple(runs(str(index), 50, f"n{index}", cpu=1) for index in range(4))
    assert starts(plan(alone, running=busy)) == {"1": 50}
    assert released(plan(alone, running=busy[:3])) == ["1"]
    beside = plan(job(2, 1, 1), running=(runs("a", 50, *(node.name for node in FOUR), cpu=1, is_exclusive=True),))
    assert starts(beside) == {"2": 50}


def test_a_job_whose_pods_have_ended_counts_for_no_amount() -> None:
    """It may still be there when the last that counts has gone."""
    limit = Limit(code="AssocGrpCpuLimit", what="cpu", amount=4, of={Scope.ACCOUNT: "phys"})
    owner = Owner(user="ann", accounts=("phys",))
    planner = Planner(Snapshot(now_s=0, nodes=FOUR, limits=(limit,)))
    planner.put_running(runs("ended", 10, owner=owner))
    planner.put_running(runs("runs", 10, "n0", owner=owner))
    planner.put_waiting(job(1, owner=owner))
    assert planner.plan(1).held["1"].why is Why.LIMIT
    planner.drop_job("runs")
    planner.drop_job("ended")
    assert released(planner.plan(1)) == ["1"]


def test_events() -> None:
    planner = Planner(Snapshot(now_s=0, nodes=FOUR, waiting=(job(1, 4),)))
    assert released(planner.plan(0)) == ["1"]
    planner.put_running(runs("1", 10, *(node.name for node in FOUR)))
    planner.put_waiting(job(2, 4))
    assert starts(planner.plan(1)) == {"2": 10}
    planner.drop_job("1")
    assert released(planner.plan(5)) == ["2"]
    planner.put_node(replace(FOUR[0], is_open=False))
    assert planner.plan(5).held["2"].why is Why.NODE_DOWN
    planner.drop_node("n0")
    assert planner.plan(5).held["2"].why is Why.NEVER_FITS
    planner.put_node(Node(name="n9", has={"cpu": 4, "gpu": 1}))
    assert released(planner.plan(5)) == ["2"]
    planner.drop_job("2")
    planner.drop_job("unknown")
    assert not planner.plan(5).held
