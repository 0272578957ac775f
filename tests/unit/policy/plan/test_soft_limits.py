"""Jobs over a soft limit come after all others, in the same plan too."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from hpcbatch.policy.plan.planner import make_plan
from hpcbatch.policy.plan.snapshot import JOBS, Limit, Owner, Scope, Snapshot
from tests.unit.policy.plan import worlds
from tests.unit.policy.plan.test_planner import job, plan, released, runs, starts
from tests.unit.policy.plan.test_properties import MANY, assert_room

SOFT = Limit(code="soft", what=JOBS, amount=1, per=(Scope.USER,), is_soft=True)
ANN, BOB = Owner(user="ann", queue="q"), Owner(user="bob", queue="q")


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (replace(SOFT, amount=0), ["1", "4"]),
        (SOFT, ["1", "2"]),  # as in PBS the job itself does not count
        (replace(SOFT, what="cpu", amount=3), ["1", "4"]),
        (replace(SOFT, spares={Scope.QUEUE: frozenset({"q"})}, amount=0), ["1", "2"]),
        (replace(SOFT, of={Scope.QUEUE: "other"}, amount=0), ["1", "2"]),
    ],
    ids=["none", "one", "cpus", "express", "another queue"],
)
def test_who_is_over_goes_behind_all_others(limit: Limit, expected: list[str]) -> None:
    jobs = (*(job(number, owner=ANN) for number in (1, 2, 3)), job(4, owner=BOB))
    found = plan(*jobs, running=(runs("r", 50, "n2", "n3"),), limits=(limit,))
    assert sorted(released(found)) == expected


def test_who_is_over_starts_where_nobody_else_waits() -> None:
    jobs = tuple(job(number, owner=ANN) for number in range(1, 6))
    assert released(plan(*jobs, limits=(replace(SOFT, amount=0),))) == ["1", "2", "3", "4"]


def test_who_is_over_delays_no_planned_start() -> None:
    """Bob's wide job, which came last, gets the planned start."""
    busy = runs("r", 50, "n0", owner=ANN)
    jobs = (job(1, owner=ANN, walltime_s=60), job(2, owner=ANN, walltime_s=40), job(3, count=4, owner=BOB))
    found = plan(*jobs, running=(busy,), limits=(replace(SOFT, amount=0),))
    assert (released(found), starts(found)) == (["2"], {"3": 50})


@MANY
@given(worlds.snapshots())
def test_who_is_over_takes_nothing_from_others(snapshot: Snapshot) -> None:
    """Of one pool: in reservations jobs have an order of their own."""
    waiting = tuple(replace(one, reservation="") for one in snapshot.waiting)
    soft = Limit(code="soft", what=JOBS, amount=-1, of={Scope.USER: "ann"}, is_soft=True)
    snapshot = replace(snapshot, waiting=waiting, limits=(*snapshot.limits, soft))
    found = make_plan(snapshot)
    assert_room(snapshot, found)
    alone = make_plan(replace(snapshot, waiting=tuple(one for one in waiting if one.owner.user != "ann")))
    behind = {one.job_id for one in waiting if one.owner.user == "ann"}
    assert [one for one in found.releases if one.job_id not in behind] == list(alone.releases)
    assert {job_id: one for job_id, one in found.expected.items() if job_id not in behind} == alone.expected
