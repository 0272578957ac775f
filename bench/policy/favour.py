"""Orders that favour short jobs and age long ones: what bench/policy/README.md measures.

`short_first` is a site's formula, read by what ranks jobs on a cluster. It gives a job of at most a minute a head start
of 12 days, and each job one by its width: wide jobs fill the machine badly when they are left to the end. As all age
alike, a job is overtaken only by jobs that come within their head start of it: it cannot starve.

`promised`: beside the real queue runs a shadow, the same jobs by EASY in the order of submission, as if each ran as
long as it asks for. Jobs which the shadow has not started yet go shortest first. One that it has started is due: it
goes before all of those, by the time at which it would have waited twice as long.

`bounded`: the same shadow. A job starts when the shadow has started it, at the latest DELAY_S later; until then only
jobs of at most SHORT_S start, and they go first as long as they delay none of those that are due by more than that.
This holds because all that the shadow had running when it started a job ends in the real queue DELAY_S later at most,
and so does each short job that took processors before.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import Final

from bench.policy import book
from bench.policy.measures import Starts
from bench.policy.trace import Trace, TraceJob
from hpcbatch.model.priority import Factors, PriorityConfig
from hpcbatch.policy.account_limits import Standing
from hpcbatch.policy.plan.snapshot import Owner, WaitingJob
from hpcbatch.policy.priority import rank_of

FORMULA = "eligible_time + 1036800*max(0, min(1, 61 - walltime)) + 1080000*ncpus/{processors}"
"""Its `processors` are the machine's."""


def short_first(trace: Trace) -> Callable[[TraceJob, int], tuple[float, ...]]:
    config = PriorityConfig(formula=FORMULA.format(processors=trace.processors))

    def order(job: TraceJob, at: int) -> tuple[float, ...]:
        standing = Standing(
            user="", account="", queue="", uses={"cpu": job.processors}, walltime_s=int(job.requested_s)
        )
        rank = rank_of(config, Factors(), standing, eligible_s=-job.submit_s)  # as of time 0: all age alike
        return (-(rank or 0.0), at)

    return order


SHORT_S, DELAY_S = 30.0, 1800.0
SHORT: Final = "short"
"""The queue of short jobs until they are due. It has no planned starts (backfill_depth 0): who finds no room now is
passed over."""


class Bounded:
    """The places, and which change when."""

    def __init__(self, trace: Trace, short_s: float = SHORT_S, delay_s: float = DELAY_S) -> None:
        self._delay_s, self._jobs = delay_s, trace.jobs
        self._starts = shadow(trace)
        """Looked at only when they are past."""
        self._due = sorted((start_s, at) for at, start_s in self._starts.items())
        self._next, self._oldest = 0, 0
        """In `_due`: the first that is not due yet, and the first that may wait."""
        self._short = {at for at, job in enumerate(trace.jobs) if job.requested_s <= short_s}
        self._is_first: dict[int, bool] = {}
        """Of short jobs that wait and are not due."""
        self._now_s = -math.inf

    @property
    def wakes(self) -> Iterable[float]:
        return self._starts.values()

    def order(self, job: TraceJob, at: int) -> tuple[float, ...]:
        if self._starts[at] <= self._now_s:
            return (1, self._starts[at], at)
        if at in self._short:
            return (0 if self._is_first.setdefault(at, True) else 2, job.requested_s, at)
        return (3, at)

    def more(self, job: WaitingJob, at: int) -> WaitingJob:
        if self._starts[at] <= self._now_s:
            return job
        return replace(job, owner=Owner(queue=SHORT)) if at in self._short else replace(job, earliest_s=math.inf)

    def moved(self, now_s: float, waiting: Collection[str]) -> Iterable[int]:
        """Those that have become due, and short ones that now go first, or no longer do."""
        self._now_s = now_s
        while self._next < len(self._due) and self._due[self._next][0] <= now_s:
            at = self._due[self._next][1]
            self._is_first.pop(at, None)
            self._next += 1
            yield at
        while self._oldest < self._next and str(self._due[self._oldest][1]) not in waiting:
            self._oldest += 1
        left_s = self._due[self._oldest][0] + self._delay_s - now_s if self._oldest < self._next else math.inf
        for at, is_first in tuple(self._is_first.items()):
            if str(at) not in waiting:
                del self._is_first[at]
            elif is_first is not (self._jobs[at].requested_s <= left_s):
                self._is_first[at] = not is_first
                yield at


def shadow(trace: Trace) -> Starts:
    """EASY in the order of submission, as if each job ran as long as it asks for."""
    return book.easy(replace(trace, jobs=tuple(replace(job, run_s=job.requested_s) for job in trace.jobs)))


class Promised:
    """The places, and which change when."""

    def __init__(self, trace: Trace) -> None:
        self._starts = shadow(trace)
        """Looked at only when they are past."""
        self._jobs = trace.jobs
        self._due = [(start_s, at) for at, start_s in self._starts.items()]
        heapq.heapify(self._due)
        self._now_s = 0.0

    def order(self, job: TraceJob, at: int) -> tuple[float, ...]:
        start_s = self._starts[at]
        if start_s <= self._now_s:
            return (0, 2 * start_s - job.submit_s, at)
        return (1, job.requested_s, at)

    def moved(self, now_s: float, _waiting: Collection[str]) -> Iterable[int]:
        """Those that have become due."""
        self._now_s = now_s
        while self._due and self._due[0][0] <= now_s:
            yield heapq.heappop(self._due)[1]
