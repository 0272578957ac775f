"""What is kept of a run after which the job is requeued: accounting counts it, and tracejob shows it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from hpcbatch.dataclass import replace
from hpcbatch.model.record import JobStatus, PastRun

KEPT = 100
"""How many of a job's last runs are kept: the record of one that runs again and again must not grow."""


def remembered(before: JobStatus, after: JobStatus, now: datetime, lost: Callable[[], str] = str) -> JobStatus:
    """`after`; if the run in `before` was given up, it is added to the past runs. Both are written at once, so that a
    run is recorded exactly once, whenever the controller is killed. `lost` returns the reason.
    """
    if before.start_time is None or after.start_time == before.start_time:
        return after
    end = max(before.start_time, min(now, after.start_time or now))
    run = PastRun(start_time=before.start_time, end_time=end, hosts=before.hosts, lost=lost())
    return replace(after, past_runs=(*before.past_runs, run)[-KEPT:])
