"""A trace through hpcbatch.policy.plan.planner in virtual time. It hears of submissions, starts and ends only."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Collection, Iterable

from bench.policy.measures import Starts
from bench.policy.trace import Trace, TraceJob
from hpcbatch.policy.plan.planner import Planner
from hpcbatch.policy.plan.snapshot import Node, Part, RunningJob, Shape, Snapshot, WaitingJob
from hpcbatch.policy.short_first import ShortFirst

Order = Callable[[TraceJob, int], tuple[float, ...]]
"""A job and its place in the trace → WaitingJob.order."""


def by_submission(_job: TraceJob, at: int) -> tuple[float, ...]:
    return (0, at)


def nobody(_now_s: float, _waiting: Collection[str]) -> Iterable[int]:
    return ()


def replay(
    trace: Trace,
    *,
    depth: int | None = 1,
    order: Order = by_submission,
    moved: Callable[[float, Collection[str]], Iterable[int]] = nobody,
    planner_of: Callable[[Snapshot], Planner | ShortFirst] = Planner,
    per_node: int | None = None,
) -> Starts:
    """`moved`: called with the time and those that wait before each plan, the jobs whose order is another now.
    `per_node`: processors of a node; None: all are one node's, for traces say nothing of nodes.
    """
    size = per_node or trace.processors
    count = -(-trace.processors // size)
    nodes = [
        Node(name=f"n{index}", has={"cpu": 1000 * min(size, trace.processors - index * size)}) for index in range(count)
    ]
    planner = planner_of(Snapshot(now_s=0, nodes=tuple(nodes), depth=depth))
    jobs = trace.jobs
    starts: dict[int, float] = {}
    ends: list[tuple[float, int]] = []
    submitted, next_s = 0, math.inf

    def put(at: int) -> None:
        planner.put_waiting(_waiting(jobs[at], at, order))

    while submitted < len(jobs) or ends or planner.waiting:
        now = min(
            ends[0][0] if ends else math.inf,
            jobs[submitted].submit_s if submitted < len(jobs) else math.inf,
            next_s,
        )
        while ends and ends[0][0] <= now:
            planner.drop_job(str(heapq.heappop(ends)[1]))
        while submitted < len(jobs) and jobs[submitted].submit_s <= now:
            put(submitted)
            submitted += 1
        for at in moved(now, planner.waiting):
            if str(at) in planner.waiting:
                put(at)
        plan = planner.plan(now)
        next_s = math.inf if plan.next_s is None else plan.next_s
        for release in plan.releases:
            at = int(release.job_id)
            job = jobs[at]
            starts[at] = now
            heapq.heappush(ends, (now + job.run_s, at))
            placed = {place.node: {"cpu": 1000 * place.count} for place in release.places}
            planner.put_running(RunningJob(job_id=release.job_id, placed=placed, ends_s=now + job.requested_s))
    return starts


def _waiting(job: TraceJob, at: int, order: Order) -> WaitingJob:
    shape = Shape(parts=(Part(count=job.processors, needs={"cpu": 1000}),))
    return WaitingJob(job_id=str(at), order=order(job, at), shapes=(shape,), walltime_s=job.requested_s)
