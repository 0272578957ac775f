"""What running jobs have used over time, as far as this process has seen it: records keep the last report only."""

from __future__ import annotations

import threading
from datetime import datetime
from typing import NamedTuple

from hpcbatch.model.record import JobStatus

_MOST_JOBS = 500
_MOST_OF_A_JOB = 240
"""When there are more, every second one is dropped: what is left covers the same time."""


class Sample(NamedTuple):
    when: datetime
    cpu_s: int
    """CPU time since the start of the run."""
    rss_bytes: int | None
    """The sum of its hosts' peaks."""


class Samples:
    """Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._of: dict[tuple[int, int], list[Sample]] = {}

    def note(self, number: int, status: JobStatus, when: datetime) -> None:
        """Of a job that runs or has ended. `when` it was looked at; what is as before is not kept twice."""
        if status.start_time is None or status.cpu_used_s is None:
            return
        at = min(when, status.end_time) if status.end_time is not None else when
        sample = Sample(at, status.cpu_used_s, status.max_rss_bytes)
        with self._lock:
            found = self._of.setdefault((number, status.run_count), [Sample(status.start_time, 0, None)])
            if found[-1][1:] == sample[1:] or at <= found[-1].when:
                return
            found.append(sample)
            if len(found) > _MOST_OF_A_JOB:
                found[1:-1] = found[1:-1:2]
            while len(self._of) > _MOST_JOBS:
                del self._of[next(iter(self._of))]

    def of(self, number: int, run: int) -> list[Sample]:
        """In order of time; the first is the start of the run."""
        with self._lock:
            return list(self._of.get((number, run), ()))
