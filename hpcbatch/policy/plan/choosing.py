"""Jobs that name several reservations: each runs in the one where it can start the soonest.

Plans are made one after the other, with such a job in another one of its reservations each time, until it starts.
"""

from __future__ import annotations

import math

from hpcbatch.policy.plan.outcome import Plan
from hpcbatch.policy.plan.snapshot import JobId, WaitingJob
from hpcbatch.policy.plan.walk import walk
from hpcbatch.typed import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from hpcbatch.policy.plan.planner import Planner

_MOST_TRIES: Final = 8
"""In one plan; reservations beyond are not looked at."""


def in_best_reservations(planner: Planner, now_s: float) -> Plan:
    """The plan with each job that is `choosing` in the first one of its reservations in which it starts now, or else in
    that with the earliest planned start, the first of equals.
    """
    best: dict[JobId, tuple[float, int]] = {}
    tried: dict[JobId, int] = {}
    for job_id, job in planner.choosing.items():
        planner.move(job_id, job.reservation)
        tried[job_id] = 0
    plan, waiting = _walk(planner, now_s)
    for _ in range(_MOST_TRIES):
        moved = False
        for job_id, job in waiting.items():
            _note(best, plan, job_id, tried[job_id])
            if tried[job_id] + 1 < len(_named(job)):
                tried[job_id] += 1
                planner.move(job_id, _named(job)[tried[job_id]])
                moved = True
        if not moved:
            break
        plan, waiting = _walk(planner, now_s)
    before = {job_id: planner.waiting[job_id].reservation for job_id in planner.choosing}
    for job_id, job in waiting.items():
        _note(best, plan, job_id, tried[job_id])
        planner.move(job_id, _named(job)[best[job_id][1]])
    is_same = all(planner.waiting[job_id].reservation == name for job_id, name in before.items())
    return plan if is_same else walk(planner, now_s)


def _walk(planner: Planner, now_s: float) -> tuple[Plan, dict[JobId, WaitingJob]]:
    """A plan, and those of the choosing jobs that do not start by it."""
    plan = walk(planner, now_s)
    released = {release.job_id for release in plan.releases}
    return plan, {job_id: job for job_id, job in planner.choosing.items() if job_id not in released}


def _named(job: WaitingJob) -> tuple[str, ...]:
    return job.reservation, *job.other_reservations


def _note(best: dict[JobId, tuple[float, int]], plan: Plan, job_id: JobId, index: int) -> None:
    expected = plan.expected.get(job_id)
    found = (math.inf if expected is None else expected.start_s, index)
    best[job_id] = min(best.get(job_id, found), found)
