"""When a job was suspended: accounting reports it, and subtracts it from the running time."""

from __future__ import annotations

from datetime import datetime

from hpcbatch.dataclass import replace
from hpcbatch.model.preemption import PreemptMode
from hpcbatch.model.record import JobStatus, Suspension
from hpcbatch.model.state import JobState

KEPT = 100
"""How many of a job's last suspensions are kept: its record must not grow without limit."""


def suspended_for(status: JobStatus) -> int:
    """The job for which it is suspended; 0: none."""
    chosen = status.preempted
    return chosen.by if chosen is not None and chosen.mode is PreemptMode.SUSPEND else 0


def with_suspensions(before: JobStatus, after: JobStatus, now: datetime) -> JobStatus:
    """`after`, with the suspension that it begins or ends. It is written together with the state, so that each is
    recorded exactly once, whenever the controller is killed.
    """
    known = before.suspensions
    is_suspended, is_same_run = after.state is JobState.SUSPENDED, before.start_time == after.start_time
    is_open = bool(known) and known[-1].end_time is None
    if is_suspended == is_open and (is_same_run or not is_open):
        return after
    if is_open:
        end = max(known[-1].start_time, min(now, after.end_time or now))
        is_resumed = after.state is JobState.RUNNING and is_same_run
        known = (*known[:-1], replace(known[-1], end_time=end, is_resumed=is_resumed))
    if is_suspended:
        known = (*known, Suspension(start_time=max(now, after.start_time or now), by=suspended_for(after)))[-KEPT:]
    return replace(after, suspensions=known)
