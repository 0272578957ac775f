"""What becomes of an array: tables, and a small simulation with members that end, are held, deleted and lost."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcbatch.model.array import Array, ArrayStatus
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.indices import Indices
from hpcbatch.model.record import JobRecord, JobStatus
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy.decide_array import (
    LEAST_WINDOW,
    WINDOW,
    ArrayDecision,
    ArraySeen,
    Obstacle,
    Unstarted,
    decide_array,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def array(indices: str, limit: int | None = None, *, status: JobStatus | None = None, **spec: object) -> JobRecord:
    asked = JobSpec(
        dialect=Dialect.PBS,
        name="a",
        array=Array(indices=Indices.parse(indices), limit=limit),
        **spec,  # type: ignore[arg-type]
    )
    return JobRecord(
        job_id=12, namespace="n", object_name="pbs-a", spec=asked, status=status or JobStatus(owner="alice"), queue="q"
    )


def places(limit: int | None = None, **sets: str) -> JobStatus:
    indices = {name: Indices.parse(text) for name, text in sets.items()}
    return JobStatus(owner="alice", array=ArrayStatus(limit=limit, **indices))


def sets(decision: ArrayDecision) -> dict[str, str]:
    found = decision.status.array
    assert found is not None
    names = ("pending", "active", "succeeded", "failed", "deleted")
    return {name: str(getattr(found, name)) for name in names if getattr(found, name)}


def test_the_first_members_are_made_and_no_more() -> None:
    decision = decide_array(ArraySeen(record=array("1-100000"), now=NOW))
    assert decision.make == Indices.parse(f"1-{LEAST_WINDOW}")
    assert sets(decision) == {"active": f"1-{LEAST_WINDOW}", "pending": f"{LEAST_WINDOW + 1}-100000"}
    assert decision.status.state is JobState.QUEUED
    assert decision.status.eligible_time == NOW


def test_where_many_run_many_may_wait() -> None:
    seen = ArraySeen(record=array("1-1000", status=places(active="1-500", pending="501-1000")), now=NOW, running=500)
    assert len(decide_array(seen).make) == WINDOW


@pytest.mark.parametrize(
    ("limit", "running", "waiting", "made"),
    [(5, 0, 0, 5), (5, 3, 0, 2), (5, 3, 2, 0), (5, 5, 0, 0), (None, 0, 3, LEAST_WINDOW - 3), (5, 7, 0, 0)],
)
def test_the_limit_counts_those_that_run_and_may_run(limit: int | None, running: int, waiting: int, made: int) -> None:
    record = array("1-100", limit, status=places(limit, active=f"1-{running + waiting or 1}", pending="50-100"))
    unstarted = {index: Unstarted() for index in range(running + 1, running + waiting + 1)}
    decision = decide_array(ArraySeen(record=record, now=NOW, running=running, unstarted=unstarted, began=NOW))
    assert len(decision.make) == made
    if limit and not made and not waiting:
        assert decision.status.reason is Reason.ARRAY_LIMIT


def test_an_altered_limit_counts() -> None:
    record = array("1-9", 2, status=places(4, active="1-2", pending="3-9"))
    assert len(decide_array(ArraySeen(record=record, now=NOW, running=2)).make) == 2


def test_a_lowered_limit_holds_the_last_and_lets_them_go_again() -> None:
    record = array("1-9", 4, status=places(2, active="1-4", pending="5-9"))
    lower = decide_array(ArraySeen(record=record, now=NOW, running=1, unstarted={i: Unstarted() for i in (2, 3, 4)}))
    assert (lower.hold, lower.release, lower.make) == ((3, 4), (), Indices())
    held = {2: Unstarted(), **{i: Unstarted(is_held=True, is_held_by_array=True) for i in (3, 4)}}
    after = decide_array(ArraySeen(record=record, now=NOW, running=0, unstarted=held))
    assert (after.hold, after.release, after.make) == ((), (3,), Indices())


@pytest.mark.parametrize(
    ("spec", "obstacle", "state", "reason"),
    [
        ({"hold": True}, None, JobState.HELD, Reason.HELD_BY_USER),
        ({"admin_holds": frozenset("o")}, None, JobState.HELD, Reason.HELD_BY_ADMIN),
        ({"begin_time": NOW + timedelta(seconds=9)}, None, JobState.WAITING, Reason.BEGIN_TIME),
        ({}, Obstacle(state=JobState.HELD, reason=Reason.DEPENDENCY), JobState.HELD, Reason.DEPENDENCY),
    ],
)
def test_what_keeps_an_array(
    spec: dict[str, object], obstacle: Obstacle | None, state: JobState, reason: Reason
) -> None:
    decision = decide_array(ArraySeen(record=array("1-9", **spec), now=NOW, obstacle=obstacle))  # type: ignore[arg-type]
    assert not decision.make
    assert (decision.status.state, decision.status.reason) == (state, reason)
    assert decision.status.eligible_time is None
    assert decision.look_again_s == (9 if reason is Reason.BEGIN_TIME else None)


@pytest.mark.parametrize(("is_for_all", "held"), [(True, (2, 3)), (False, ())])
def test_a_dependency_that_comes_later_holds_those_that_wait(is_for_all: bool, held: tuple[int, ...]) -> None:
    """Not where each member has its own: singleton."""
    record = array("1-9", status=places(active="1-4", pending="5-9"))
    obstacle = Obstacle(state=JobState.HELD, reason=Reason.DEPENDENCY, is_for_all=is_for_all)
    waits = {2: Unstarted(), 3: Unstarted(), 4: Unstarted(is_held=True, is_held_by_array=True)}
    blocked = decide_array(ArraySeen(record=record, now=NOW, running=1, unstarted=waits, obstacle=obstacle))
    assert (blocked.hold, blocked.make) == (held, Indices())
    assert blocked.release == (() if is_for_all else (4,))
    assert decide_array(ArraySeen(record=record, now=NOW, running=1, unstarted=waits)).release == (4,)


def test_a_dependency_that_never_will_be_met_ends_those_that_wait() -> None:
    record = array("1-4", status=places(active="1-3", deleted="4"))
    never = Obstacle(state=JobState.HELD, reason=Reason.DEPENDENCY_NEVER, is_for_ever=True)
    seen = ArraySeen(record=record, now=NOW, running=1, unstarted={2: Unstarted(), 3: Unstarted()}, obstacle=never)
    assert str(decide_array(seen).end) == "2-3"


def test_members_that_are_wanted_have_a_record_before_they_may_run() -> None:
    own = Indices.parse("1-2,7,12")
    decision = decide_array(ArraySeen(record=array("1-9", 2), now=NOW, requested_own=own))
    assert (str(decision.make), str(decision.kept)) == ("1-2,7", "7")
    assert sets(decision) == {"active": "1-2,7", "pending": "3-6,8-9"}
    held = decide_array(ArraySeen(record=array("1-9", hold=True), now=NOW, requested_own=own))
    assert held.make == held.kept == Indices.parse("1-2,7")
    assert not decide_array(ArraySeen(record=array("1-9"), now=NOW, requested_own=own, delete_requested=True)).make


def test_holds_of_members() -> None:
    seen = ArraySeen(
        record=array("1-9", status=places(active="1-4", pending="5-9")),
        now=NOW,
        requested_held=Indices.parse("2,5-9"),
        unstarted={
            1: Unstarted(),
            2: Unstarted(),
            3: Unstarted(is_held=True),  # by its user
            4: Unstarted(is_held=True, is_held_by_array=True),
        },
    )
    decision = decide_array(seen)
    assert (decision.hold, decision.release, decision.make) == ((2,), (4,), Indices())


def test_only_those_whose_dependency_is_met_are_made() -> None:
    decision = decide_array(ArraySeen(record=array("1-9"), now=NOW, ready=Indices.parse("3,7,20")))
    assert str(decision.make) == "3,7"


def test_a_suspended_array_starts_none() -> None:
    record = array("1-9", status=places(active="1-2", pending="3-9"))
    decision = decide_array(
        ArraySeen(record=record, now=NOW, is_suspended=True, unstarted={2: Unstarted()}, running=1, began=NOW)
    )
    assert (decision.status.state, decision.hold, decision.make) == (JobState.SUSPENDED, (2,), Indices())


def test_deletion_of_members() -> None:
    seen = ArraySeen(
        record=array("1-9", status=places(active="1-4", pending="5-9")),
        now=NOW,
        requested_deleted=Indices.parse("3-6"),
        unstarted={4: Unstarted()},
        running=3,
        began=NOW,
    )
    decision = decide_array(seen)
    assert str(decision.end) == "3-4"
    assert sets(decision)["deleted"] == "5-6"
    assert decision.status.state is JobState.RUNNING


def test_deletion_of_all() -> None:
    record = array("1-9", status=places(active="1-4", pending="5-9"))
    decision = decide_array(ArraySeen(record=record, now=NOW, delete_requested=True, running=4, began=NOW))
    assert str(decision.end) == "1-4"
    assert decision.status.state is JobState.EXITING
    gone = dict.fromkeys(range(1, 5), JobState.DELETED)
    last = decide_array(
        ArraySeen(record=replace(record, status=decision.status), now=NOW, delete_requested=True, ended=gone)
    )
    assert (last.status.state, last.status.exit_code, last.status.deleted_by) == (JobState.DELETED, 1, "alice")
    assert sets(last) == {"deleted": "1-9"}


@pytest.mark.parametrize(
    ("ended", "state", "exit_code", "reason"),
    [
        (("succeeded", "succeeded"), JobState.FINISHED, 0, Reason.NONE),
        (("succeeded", "failed"), JobState.FAILED, 1, Reason.NON_ZERO_EXIT),
        (("succeeded", "deleted"), JobState.FAILED, 1, Reason.NON_ZERO_EXIT),
        (("deleted", "deleted"), JobState.DELETED, 1, Reason.DELETED_BY_USER),
    ],
)
def test_ends(ended: tuple[str, ...], state: JobState, exit_code: int, reason: Reason) -> None:
    of = {"succeeded": JobState.FINISHED, "failed": JobState.TIMEOUT, "deleted": JobState.DELETED}
    states = {index: of[name] for index, name in enumerate(ended, start=1)}
    seen = ArraySeen(record=array("1-2", status=places(active="1-2")), now=NOW, ended=states, began=NOW)
    status = decide_array(seen).status
    assert (status.state, status.exit_code, status.reason, status.end_time) == (state, exit_code, reason, NOW)
    assert decide_array(replace(seen, record=replace(seen.record, status=status))).status == status


def test_a_lost_member_is_not_made_again() -> None:
    record = array("1-2", status=places(active="1-2"))
    decision = decide_array(ArraySeen(record=record, now=NOW, running=1, missing=Indices.of([2])))
    assert sets(decision) == {"active": "1", "deleted": "2"}
    assert not decision.make


def test_a_record_made_before_a_kill_is_taken_over() -> None:
    record = array("1-20", 2, status=places(2, pending="1-20"))
    decision = decide_array(ArraySeen(record=record, now=NOW, unstarted={1: Unstarted(), 2: Unstarted()}))
    assert sets(decision) == {"active": "1-2", "pending": "3-20"}
    assert not decision.make


@pytest.mark.parametrize(
    ("pending", "held", "own", "deleted", "expected"),
    [
        pytest.param("1-3", "", "", "", 3, id="all are made"),
        pytest.param("1-30", "", "", "", None, id="more are to come"),
        pytest.param("7", "", "", "", 7, id="the only one"),
        pytest.param("1-3", "3", "", "", None, id="one is held"),
        pytest.param("1-3", "", "", "3", 2, id="the last is deleted"),
        pytest.param("1-3", "1-3", "2", "", None, id="one that shall have a record of its own"),
        pytest.param("2", "2", "2", "", 2, id="the last that shall"),
        pytest.param("1-3", "", "", "1-3", None, id="none is left"),
    ],
)
def test_the_last_keeps_the_number(pending: str, held: str, own: str, deleted: str, expected: int | None) -> None:
    seen = ArraySeen(
        record=array("1-40", status=places(pending=pending, succeeded="40")),
        now=NOW,
        requested_held=Indices.parse(held),
        requested_own=Indices.parse(own),
        requested_deleted=Indices.parse(deleted),
    )
    assert decide_array(seen).keeps_number == expected


_STEPS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 30)), max_size=60)


@settings(deadline=None)
@given(_STEPS, st.sampled_from([None, 1, 3, 8]))
def test_nothing_is_lost_run_twice_or_over_the_limit(steps: list[tuple[int, int]], limit: int | None) -> None:
    everyone = Indices.parse("0-25:5,30-40")
    record = array(str(everyone), limit)
    unstarted: dict[int, Unstarted] = {}
    running: set[int] = set()
    ended: dict[int, JobState] = {}
    made: list[int] = []
    keeps: list[int] = []
    for what, number in (*steps, *((1, 0), (2, 0)) * 60):
        decision = decide_array(
            ArraySeen(record=record, now=NOW, unstarted=unstarted, running=len(running), ended=ended, began=NOW)
        )
        made += decision.make
        if decision.keeps_number is not None:
            keeps.append(decision.keeps_number)
        unstarted |= {index: Unstarted() for index in decision.make}
        if what != 0:  # 0: killed before the status was written
            record = replace(record, status=decision.status)
            ended = {}
        else:
            made = made[: len(made) - len(decision.make)]
        if decision.status.array is not None and what != 0:
            of_all = decision.status.array
            sizes = [len(getattr(of_all, n)) for n in ("pending", "active", "succeeded", "failed", "deleted")]
            assert sum(sizes) == len(everyone)
        if limit is not None:
            assert len(unstarted) + len(running) <= limit
        if what == 1 and unstarted:
            index = sorted(unstarted)[number % len(unstarted)]
            if record.status.array is not None and index in record.status.array.active:
                del unstarted[index]
                running.add(index)
        elif what == 2 and running:
            index = sorted(running)[number % len(running)]
            running.remove(index)
            ended[index] = JobState.FINISHED if number % 3 else JobState.FAILED
    assert record.status.state.is_final
    final = record.status.array
    assert final is not None
    assert final.succeeded | final.failed == everyone
    assert sorted(set(made)) == sorted(made)
    assert len(set(keeps)) == 1
