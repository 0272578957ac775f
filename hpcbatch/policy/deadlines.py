"""Deadlines (Slurm --deadline): when a job can no longer keep its own."""

from __future__ import annotations

from datetime import datetime, timedelta

from hpcbatch.model.spec import JobSpec


def is_too_late(spec: JobSpec, walltime_s: int | None, now: datetime) -> bool:
    """Whether a job that starts now, or no earlier than its begin time, would end after its deadline. Without a
    walltime it may end at once.
    """
    if spec.deadline is None:
        return False
    start = max(now, spec.begin_time or now)
    return start >= spec.deadline or start + timedelta(seconds=walltime_s or 0) > spec.deadline
