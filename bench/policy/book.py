"""First come first served, EASY and conservative backfilling as books have them: processors are counted, no nodes.

They share nothing with hpcbatch.policy.plan, which is compared with them. A. W. Mu'alem and D. G. Feitelson,
Utilization, Predictability, Workloads, and User Runtime Estimates in Scheduling the IBM SP2 with Backfilling, 2001.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable

from bench.policy.measures import Starts
from bench.policy.trace import Trace, TraceJob

_Running = list[tuple[float, int]]
"""Expected ends with processors, sorted."""
_Choose = Callable[[float, list[int], tuple[TraceJob, ...], _Running, int], list[int]]


def fcfs(trace: Trace) -> Starts:
    def choose(_now: float, queue: list[int], jobs: tuple[TraceJob, ...], _running: _Running, free: int) -> list[int]:
        chosen = []
        for at in queue:
            if jobs[at].processors > free:
                break
            free -= jobs[at].processors
            chosen.append(at)
        return chosen

    return _run(trace, choose)


def easy(trace: Trace) -> Starts:
    return _run(trace, _easy)


def _easy(now: float, queue: list[int], jobs: tuple[TraceJob, ...], running: _Running, free: int) -> list[int]:
    """The first that does not fit has a reservation; others go before it if they end by then, or leave it enough."""
    chosen: list[int] = []
    running = running.copy()
    index = 0
    while index < len(queue) and jobs[queue[index]].processors <= free:
        job = jobs[queue[index]]
        free -= job.processors
        insort(running, (now + job.requested_s, job.processors))
        chosen.append(queue[index])
        index += 1
    if index == len(queue) or free == 0:
        return chosen
    head, then_free, shadow = jobs[queue[index]], free, now
    at = 0
    while then_free < head.processors:
        shadow = max(running[at][0], now)
        while at < len(running) and max(running[at][0], now) == shadow:
            then_free += running[at][1]
            at += 1
    extra = then_free - head.processors
    for waiting in queue[index + 1 :]:
        job = jobs[waiting]
        if job.processors > free:
            continue
        is_gone = now + job.requested_s <= shadow
        if is_gone or job.processors <= extra:
            free -= job.processors
            extra -= 0 if is_gone else job.processors
            chosen.append(waiting)
            if free == 0:
                break
    return chosen


def _run(trace: Trace, choose: _Choose) -> Starts:
    """Submissions and ends in the order of time; those of one time together, ends first."""
    jobs = trace.jobs
    starts: dict[int, float] = {}
    ends: list[tuple[float, int]] = []
    running: _Running = []
    queue: list[int] = []
    free, submitted = trace.processors, 0
    while submitted < len(jobs) or ends:
        now = min(ends[0][0] if ends else math.inf, jobs[submitted].submit_s if submitted < len(jobs) else math.inf)
        while ends and ends[0][0] <= now:
            at = heapq.heappop(ends)[1]
            free += jobs[at].processors
            running.remove((starts[at] + jobs[at].requested_s, jobs[at].processors))
        while submitted < len(jobs) and jobs[submitted].submit_s <= now:
            queue.append(submitted)
            submitted += 1
        chosen = choose(now, queue, jobs, running, free)
        for at in chosen:
            starts[at] = now
            free -= jobs[at].processors
            heapq.heappush(ends, (now + jobs[at].run_s, at))
            insort(running, (now + jobs[at].requested_s, jobs[at].processors))
        if chosen:
            gone = set(chosen)
            queue = [at for at in queue if at not in gone]
    return starts


class _Profile:
    """Free processors over time: `free[i]` from `times[i]` on."""

    def __init__(self, processors: int) -> None:
        self.times: list[float] = [-math.inf]
        self.free = [processors]

    def add(self, start: float, end: float, processors: int) -> None:
        for time in (start, end):
            index = bisect_left(self.times, time)
            if index == len(self.times) or self.times[index] != time:
                self.times.insert(index, time)
                self.free.insert(index, self.free[index - 1])
        for index in range(bisect_left(self.times, start), bisect_left(self.times, end)):
            self.free[index] += processors

    def first(self, now: float, length: float, processors: int) -> float:
        index = bisect_right(self.times, now) - 1
        start = now
        while True:
            at = index
            while at < len(self.times) and self.times[at] < start + length:
                if self.free[at] < processors:
                    break
                at += 1
            else:
                return start
            index = at + 1
            start = self.times[index]

    def forget(self, before: float) -> None:
        index = bisect_right(self.times, before) - 1
        if index > 1000:
            del self.times[1:index], self.free[1:index]


def conservative(trace: Trace) -> Starts:
    """Each job has a reservation from its submission on. When a job ends early, all are made anew in the same order,
    none later than before."""
    jobs = trace.jobs
    profile = _Profile(trace.processors)
    starts: dict[int, float] = {}
    planned: dict[int, float] = {}
    ends: list[tuple[float, int]] = []
    submitted = 0
    due: list[tuple[float, int]] = []
    while submitted < len(jobs) or ends or planned:
        while due and planned.get(due[0][1]) != due[0][0]:
            heapq.heappop(due)
        now = min(
            ends[0][0] if ends else math.inf,
            jobs[submitted].submit_s if submitted < len(jobs) else math.inf,
            due[0][0] if due else math.inf,
        )
        profile.forget(now)
        is_early = False
        while ends and ends[0][0] <= now:
            at = heapq.heappop(ends)[1]
            promised = starts[at] + jobs[at].requested_s
            if promised > now:
                profile.add(now, promised, jobs[at].processors)
                is_early = True
        if is_early:
            for at, before in sorted(planned.items()):
                job = jobs[at]
                profile.add(before, before + job.requested_s, job.processors)
                planned[at] = profile.first(now, job.requested_s, job.processors)
                profile.add(planned[at], planned[at] + job.requested_s, -job.processors)
                if planned[at] != before:
                    heapq.heappush(due, (planned[at], at))
        while submitted < len(jobs) and jobs[submitted].submit_s <= now:
            job = jobs[submitted]
            planned[submitted] = profile.first(now, job.requested_s, job.processors)
            profile.add(planned[submitted], planned[submitted] + job.requested_s, -job.processors)
            heapq.heappush(due, (planned[submitted], submitted))
            submitted += 1
        while due and due[0][0] <= now:
            start, at = heapq.heappop(due)
            if planned.get(at) == start:
                del planned[at]
                starts[at] = now
                heapq.heappush(ends, (now + jobs[at].run_s, at))
    return starts
