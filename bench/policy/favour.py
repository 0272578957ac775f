"""Orders that favour short jobs and age long ones: what bench/policy/README.md measures.

`short_first` is a site's formula, read by what ranks jobs on a cluster. It gives a job of at most a minute a head start
of 12 days, and each job one by its width: wide jobs fill the machine badly when they are left to the end. As all age
alike, a job is overtaken only by jobs that come within their head start of it: it cannot starve.

`promised`: beside the real queue runs a shadow, the same jobs by EASY in the order of submission, as if each ran as
long as it asks for. Jobs which the shadow has not started yet go shortest first. One that it has started is due: it
goes before all of those, by the time at which it would have waited twice as long.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from bench.policy import book
from bench.policy.measures import Starts
from bench.policy.trace import Trace, TraceJob
from hpcbatch.model.priority import Factors, PriorityConfig
from hpcbatch.policy.account_limits import Standing
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
