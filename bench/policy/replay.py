"""A trace through hpcbatch.policy.plan.planner in virtual time. It hears of submissions, starts and ends only."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Collection, Iterable, Mapping

from bench.policy.measures import Starts
from bench.policy.trace import Trace, TraceJob
from hpcbatch.policy.plan.planner import Planner
from hpcbatch.policy.plan.snapshot import Node, Part, RunningJob, Shape, Snapshot, WaitingJob

Order = Callable[[TraceJob, int], tuple[float, ...]]
"""A job and its place in the trace → WaitingJob.order."""


def by_submission(_job: TraceJob, at: int) -> tuple[float, ...]:
    return (at,)


def nobody(_now_s: float, _waiting: Collection[str]) -> Iterable[int]:
    return ()


def as_it_is(job: WaitingJob, _at: int) -> WaitingJob:
    return job


def replay(
    trace: Trace,
    *,
    depth: int | None = 1,
    order: Order = by_submission,
    moved: Callable[[float, Collection[str]], Iterable[int]] = nobody,
    more: Callable[[WaitingJob, int], WaitingJob] = as_it_is,
    depths: Mapping[str, int] = {},
    wakes: Iterable[float] = (),
    per_node: int | None = None,
) -> Starts:
    """`moved`: called with the time and those that wait before each plan, the jobs whose order is another now. `more`:
    what else is to be said of a waiting job. `wakes`: further times at which is planned. `per_node`: processors of a
    node; None: all are one node's, for traces say nothing of nodes.
    """
    size = per_node or trace.processors
    count = -(-trace.processors // size)
    nodes = [
        Node(name=f"n{index}", has={"cpu": 1000 * min(size, trace.processors - index * size)}) for index in range(count)
    ]
    planner = Planner(Snapshot(now_s=0, nodes=tuple(nodes), depth=depth, depths=depths))
    jobs = trace.jobs
    starts: dict[int, float] = {}
    ends: list[tuple[float, int]] = []
    submitted, woken = 0, 0
    times = sorted(set(wakes))

    def put(at: int) -> None:
        planner.put_waiting(more(_waiting(jobs[at], at, order), at))

    while submitted < len(jobs) or ends or planner.waiting:
        now = min(
            ends[0][0] if ends else math.inf,
            jobs[submitted].submit_s if submitted < len(jobs) else math.inf,
            times[woken] if woken < len(times) else math.inf,
        )
        while woken < len(times) and times[woken] <= now:
            woken += 1
        while ends and ends[0][0] <= now:
            planner.drop_job(str(heapq.heappop(ends)[1]))
        while submitted < len(jobs) and jobs[submitted].submit_s <= now:
            put(submitted)
            submitted += 1
        for at in moved(now, planner.waiting):
            if str(at) in planner.waiting:
                put(at)
        for release in planner.plan(now).releases:
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
