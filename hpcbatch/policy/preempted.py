"""The steps by which a running job that was chosen for another one is ended."""

from __future__ import annotations

from datetime import datetime

from hpcbatch.dataclass import replace
from hpcbatch.model.preemption import PreemptMode
from hpcbatch.model.record import PREEMPTED, JobStatus
from hpcbatch.model.state import JobState, Reason


def told(status: JobStatus) -> str:
    """`it was preempted for job 12`; "" for a run that was not."""
    return "" if status.preempted is None else f"it{PREEMPTED}for job {status.preempted.by}"


def grace_left_s(status: JobStatus, now: datetime) -> float | None:
    """None: it was not chosen."""
    return None if status.preempted is None else max(0.0, (status.preempted.end_time - now).total_seconds())


def is_grace_over(status: JobStatus, now: datetime) -> bool:
    return grace_left_s(status, now) == 0


def to_end(status: JobStatus) -> JobStatus:
    """Its run is ended from now on: to be queued again, or for good."""
    is_rerunning = status.preempted is not None and status.preempted.mode is PreemptMode.REQUEUE
    return replace(
        status,
        state=JobState.EXITING,
        reason=Reason.PREEMPTED,
        message=told(status),
        is_rerunning=is_rerunning,
    )


def is_being_preempted(status: JobStatus) -> bool:
    """Whether its run is ended for good."""
    is_marked = status.preempted is not None and not status.is_rerunning
    return is_marked and status.state is JobState.EXITING and status.reason is Reason.PREEMPTED


def sooner(one: float | None, other: float | None) -> float | None:
    return min((each for each in (one, other) if each is not None), default=None)
