"""Limits of time that give way: deadlines (Slurm --deadline), and walltimes that may be shorter (--time-min)."""

from __future__ import annotations

from datetime import datetime, timedelta

from hpcbatch.dataclass import replace
from hpcbatch.model.record import JobStatus
from hpcbatch.model.spec import JobSpec
from hpcbatch.units import rfc3339


def least_s(spec: JobSpec, walltime_s: int | None) -> int:
    """The shortest time that a job with this limit may be given; 0 for one without a limit: it may end at once."""
    if spec.min_walltime_s is None:
        return walltime_s or 0
    return min(spec.min_walltime_s, walltime_s or spec.min_walltime_s)


def shortened(status: JobStatus, least: int | None, given_s: float) -> JobStatus:
    """`status` of a job that is about to start, with a limit of `given_s`, though no less than `least`. None: the job
    has one limit, and gets that.
    """
    status = without_grant(status)
    if least is None or (status.walltime_s is not None and given_s >= status.walltime_s):
        return status
    return replace(status, walltime_s=max(int(given_s), least), full_walltime_s=status.walltime_s or 0)


def without_grant(status: JobStatus) -> JobStatus:
    """`status` of a job that waits, without what the plan gave a run of it: in none of several reservations yet, with
    the limit that it had before any run was given less.
    """
    full_s = status.full_walltime_s
    if full_s is not None:
        status = replace(status, walltime_s=full_s or None, full_walltime_s=None)
    return replace(status, reservation="") if status.reservation else status


def with_grant_of(started: JobStatus, status: JobStatus) -> JobStatus:
    """`status`, with what the plan gave the run that has been `started`."""
    return replace(
        status,
        walltime_s=started.walltime_s,
        full_walltime_s=started.full_walltime_s,
        reservation=started.reservation,
    )


def seconds_left(spec: JobSpec, needs_s: int, now: datetime) -> float | None:
    """Until when it has to start, if it needs that long; None if it has no deadline."""
    return None if spec.deadline is None else (spec.deadline - now).total_seconds() - needs_s


def is_past(spec: JobSpec, now: datetime) -> bool:
    return spec.deadline is not None and now >= spec.deadline


def missed(spec: JobSpec) -> str:
    when = "" if spec.deadline is None else f" {rfc3339(spec.deadline)}"
    return f"deadline{when} cannot be kept"


def is_too_late(spec: JobSpec, walltime_s: int | None, now: datetime) -> bool:
    """Whether a job that starts now, or no earlier than its begin time, would end after its deadline even with the
    shortest walltime that it may be given.
    """
    if spec.deadline is None:
        return False
    start = max(now, spec.begin_time or now)
    return start >= spec.deadline or start + timedelta(seconds=least_s(spec, walltime_s)) > spec.deadline
