"""What stays of a run after which the job is queued again: accounting counts it, and users see it in tracejob."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from hpcbatch.model.record import JobStatus, PastRun

KEPT = 100
"""Runs of a job that are remembered, the last ones: the record of one that runs again and again must not grow."""


def remembered(before: JobStatus, after: JobStatus, now: datetime, lost: Callable[[], str] = str) -> JobStatus:
    """`after`, with the run that `before` tells of among the past ones if it has been given up. Both are written at
    once, so that a run is remembered exactly once, whenever the controller is killed. `lost` tells why.
    """
    if before.start_time is None or after.start_time == before.start_time:
        return after
    end = max(before.start_time, min(now, after.start_time or now))
    run = PastRun(start_time=before.start_time, end_time=end, hosts=before.hosts, lost=lost())
    return replace(after, past_runs=(*before.past_runs, run)[-KEPT:])
