"""The neutral states and reasons of a job in LSF's words. Every table is total."""

from __future__ import annotations

from hpcbatch.dialects.lsf import report
from hpcbatch.model.row import JobRow
from hpcbatch.model.state import JobState, Reason
from hpcbatch.typed import Final

STAT: Final[dict[JobState, str]] = {
    JobState.QUEUED: "PEND",
    JobState.HELD: "PSUSP",
    JobState.WAITING: "PEND",
    JobState.RUNNING: "RUN",
    JobState.SUSPENDED: "USUSP",
    JobState.EXITING: "RUN",
    JobState.FINISHED: "DONE",
    JobState.FAILED: "EXIT",
    JobState.TIMEOUT: "EXIT",
    JobState.DELETED: "EXIT",
    JobState.REFUSED: "EXIT",
}
ORDER: Final = ("PEND", "DONE", "RUN", "EXIT", "SSUSP", "USUSP", "PSUSP")
"""The columns of `bjobs -A`."""

PENDING: Final[dict[Reason, str]] = {
    Reason.NONE: "New job is waiting for scheduling",
    Reason.RESOURCES: "Not enough job slots or resources are free",
    Reason.NEVER_FITS: "Job requirements cannot be met: the hosts do not have that much",
    Reason.PRIORITY: "Jobs of higher priority go first",
    Reason.HELD_BY_USER: "The job was suspended by the user while pending",
    Reason.HELD_BY_ADMIN: "The job was suspended by LSF admin or root while pending",
    Reason.SPECIAL_EXIT: "The job was requeued and is suspended",
    Reason.DEPENDENCY: "Job dependency condition not satisfied",
    Reason.DEPENDENCY_NEVER: "Dependency condition invalid or never satisfied",
    Reason.ARRAY_LIMIT: "The slot limit of the job array has been reached",
    Reason.LIMIT: "A resource limit has been reached",
    Reason.RESERVATION: "Not enough slots in the advance reservation, or it has not begun",
    Reason.RESERVATION_GONE: "The advance reservation is no longer there",
    Reason.RESERVED: "The hosts are reserved for others",
    Reason.MAINTENANCE: "The hosts are reserved for maintenance",
    Reason.LICENSES: "Not enough licences are free",
    Reason.BEGIN_TIME: "The job has a specified start time",
    Reason.QUEUE_UNAVAILABLE: "The queue has been closed or removed",
    Reason.QUEUE_STOPPED: "The queue is inactivated by its administrator",
    Reason.STARTING: "Job is being dispatched",
    Reason.PREEMPTED: "The job was preempted and waits to run again",
    Reason.WITHDRAWN: "The job was withdrawn before it could start",
    Reason.NODE_LOST: "Execution host was lost: the job waits to run again",
    # of jobs that have ended
    Reason.NON_ZERO_EXIT: "",
    Reason.PROGRAM_FAILED: "",
    Reason.SIGNALLED: "",
    Reason.TIME_LIMIT: "",
    Reason.RESERVATION_ENDED: "",
    Reason.DEADLINE: "",
    Reason.CPU_TIME_LIMIT: "",
    Reason.IDLE_LIMIT: "",
    Reason.OUT_OF_MEMORY: "",
    Reason.LAUNCH_FAILED: "",
    Reason.OUTPUT_FAILED: "",
    Reason.DELETED_BY_USER: "",
    Reason.BROKEN: "The record of the job cannot be read",
}
TERM: Final[dict[Reason, tuple[str, int]]] = {
    Reason.TIME_LIMIT: (report.RUNLIMIT, report.RUNLIMIT_CODE),
    Reason.CPU_TIME_LIMIT: (report.CPULIMIT, report.CPULIMIT_CODE),
    Reason.OUT_OF_MEMORY: (report.MEMLIMIT, report.MEMLIMIT_CODE),
    Reason.DELETED_BY_USER: (report.OWNER, report.OWNER_CODE),
    Reason.PREEMPTED: (report.PREEMPTED, report.OWNER_CODE),
    Reason.DEADLINE: ("TERM_DEADLINE: job killed after deadline expires", report.RUNLIMIT_CODE),
    Reason.RESERVATION_ENDED: ("TERM_WINDOW: job killed after queue run window closed", report.RUNLIMIT_CODE),
    Reason.IDLE_LIMIT: ("TERM_OTHER: job killed since nothing was done in it", report.OWNER_CODE),
    Reason.NODE_LOST: ("TERM_REMOVE_HUNG_JOB: job removed from LSF since its host was lost", 255),
    Reason.LAUNCH_FAILED: ("TERM_UNKNOWN: job could not be started", 255),
    Reason.OUTPUT_FAILED: ("TERM_UNKNOWN: output of the job could not be written", 255),
}
"""Why LSF has ended a job, and the exit code that it shows then; of other reasons the script's own counts."""


_BEHIND: Final = frozenset({Reason.DEPENDENCY, Reason.DEPENDENCY_NEVER})


def stat(row: JobRow) -> str:
    """One that is to go on when its CPUs are free again is suspended by the system, no longer by anybody. One that
    waits for others is not suspended.
    """
    if row.state is JobState.HELD and row.reason in _BEHIND:
        return "PEND"
    if row.state is JobState.SUSPENDED and row.reason is Reason.RESOURCES:
        return "SSUSP"
    return STAT[row.state]


def suspension_reason(row: JobRow) -> str:
    """Of one that has started."""
    if row.state is JobState.SUSPENDED and row.reason is Reason.RESOURCES:
        return "The job goes on when its job slots are free again"
    return "The job was suspended by its user or an administrator"


def has_ended(row: JobRow) -> bool:
    return row.state.is_final


def exit_code(row: JobRow) -> int | None:
    """As bjobs shows it; None before the end, and of a job that never ran."""
    return code_of(row.state, row.reason, row.exit_code, row.exit_signal)


def code_of(state: JobState, reason: Reason, code: int | None, signal: int | None) -> int | None:
    if not state.is_final:
        return None
    if state is not JobState.FINISHED and reason in TERM:
        return TERM[reason][1]
    if state is JobState.DELETED:
        return report.OWNER_CODE
    if signal is not None:
        return 128 + signal
    return code


def termination(state: JobState, reason: Reason) -> str:
    """`TERM_…: why`; "" for a job that ended by itself."""
    if not state.is_final or state is JobState.FINISHED:
        return ""
    if reason in TERM:
        return TERM[reason][0]
    return report.OWNER if state is JobState.DELETED else ""


def pending_reason(row: JobRow) -> str:
    """Why a job waits, with what the controller adds to that."""
    text = PENDING[row.reason] or PENDING[Reason.NONE]
    if row.message.startswith(text):
        return row.message
    return f"{text}: {row.message}" if row.message else text
