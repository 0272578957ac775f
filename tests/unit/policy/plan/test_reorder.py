"""Waiting jobs get other places all at once."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.policy.plan.planner import Planner, make_plan
from hpcbatch.policy.plan.snapshot import Snapshot
from tests.unit.policy.plan import worlds
from tests.unit.policy.plan.test_properties import MANY


@MANY
@given(worlds.snapshots(), st.permutations(range(6)), st.booleans())
def test_the_plan_is_that_of_the_new_order(snapshot: Snapshot, order: list[int], some: bool) -> None:
    planner = Planner(snapshot)
    planner.plan(snapshot.now_s)
    jobs = [
        replace(job, order=(order[int(job.job_id[1:])], 0)) for job in snapshot.waiting if not some or job.job_id > "w2"
    ]
    planner.reorder(jobs)
    new = {job.job_id: job for job in jobs}
    expected = make_plan(replace(snapshot, waiting=tuple(new.get(job.job_id, job) for job in snapshot.waiting)))
    found = planner.plan(snapshot.now_s)
    assert found.releases == expected.releases
    assert found.expected == expected.expected
    assert dict(found.held) == dict(expected.held)
