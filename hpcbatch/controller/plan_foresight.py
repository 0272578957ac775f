"""When jobs are expected to start for which the plan itself has no start: each is planned, by the same rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from heapq import nsmallest

from hpcbatch.controller.plan_world import PlanWorld
from hpcbatch.model.record import JobRecord
from hpcbatch.policy.plan.outcome import Expected, Held, Preemption
from hpcbatch.policy.plan.planner import make_plan
from hpcbatch.policy.plan.snapshot import JobId, WaitingJob


def estimate(world: PlanWorld, most: int) -> Mapping[JobId, Expected]:
    """When the first jobs in the order would start, if each of them were planned."""
    return make_plan(world.snapshot(_first(world, most), world.planned_s)).expected


def foresee(world: PlanWorld, record: JobRecord, most: int, now_s: float) -> Expected | Held | Preemption | None:
    """When the job would start that does not wait yet, or who ends for it, or why that is not known."""
    job = world.planned_if_it_came(record)
    if job is None:
        return None
    if record.spec.begin_time is not None:
        job = replace(job, earliest_s=record.spec.begin_time.timestamp())
    plan = make_plan(world.snapshot([*_first(world, most), world.as_ordered(job)], now_s))
    released = next((one for one in plan.releases if one.job_id == job.job_id), None)
    if released is not None:
        return Expected(start_s=now_s, shape=released.shape, places=released.places)
    if (others := next((one for one in plan.preemptions if one.job_id == job.job_id), None)) is not None:
        return others
    return plan.expected.get(job.job_id) or plan.held.get(job.job_id)


def _first(world: PlanWorld, most: int) -> list[WaitingJob]:
    waiting = map(world.as_ordered, world.waiting.values())
    return nsmallest(most, waiting, key=lambda job: (job.order, job.job_id))
