"""Orders that favour short jobs and age long ones: what bench/README.md measures.

`short_first`: a job's place is the time of its submission, less a head start if it is short, and one by its width: wide
jobs fill the machine badly when they are left to the end. As the place does not change, a job that waits is overtaken
only by jobs that come within their head start of it: it cannot starve.

`promised`: beside the real queue runs a shadow, the same jobs by EASY in the order of submission, as if each ran as
long as it asks for. Jobs which the shadow has not started yet go shortest first. One that it has started is due: it
goes before all of those, by the time at which it would have waited twice as long.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import replace

from bench.policy import book
from bench.policy.trace import Trace, TraceJob

SHORT_S, SHORT_HEAD_START_S = 60, 12 * 24 * 3600
WIDE_HEAD_START_S = 12.5 * 24 * 3600
"""Of a job as wide as the machine."""


def short_first(trace: Trace) -> Callable[[TraceJob, int], tuple[float, ...]]:
    def order(job: TraceJob, at: int) -> tuple[float, ...]:
        short_s = SHORT_HEAD_START_S if job.requested_s <= SHORT_S else 0
        return (job.submit_s - short_s - WIDE_HEAD_START_S * job.processors / trace.processors, at)

    return order


class Promised:
    """The places, and which change when."""

    def __init__(self, trace: Trace) -> None:
        asked = replace(trace, jobs=tuple(replace(job, run_s=job.requested_s) for job in trace.jobs))
        self._starts = book.easy(asked)
        """The shadow's; looked at only when they are past."""
        self._jobs = trace.jobs
        self._due = [(start_s, at) for at, start_s in self._starts.items()]
        heapq.heapify(self._due)
        self._now_s = 0.0

    def order(self, job: TraceJob, at: int) -> tuple[float, ...]:
        start_s = self._starts[at]
        if start_s <= self._now_s:
            return (0, 2 * start_s - job.submit_s, at)
        return (1, job.requested_s, at)

    def moved(self, now_s: float) -> Iterable[int]:
        """Those that have become due."""
        self._now_s = now_s
        while self._due and self._due[0][0] <= now_s:
            yield heapq.heappop(self._due)[1]
