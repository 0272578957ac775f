"""The neutral states and reasons of a job in Slurm's words. Every table is total."""

from __future__ import annotations

from datetime import datetime, timedelta

from hpcbatch.model.row import JobRow
from hpcbatch.model.state import KOORDINATOR_SAYS, KUEUE_SAYS, WAITING, JobState, Reason
from hpcbatch.model.warning import warning_in
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.model.record import JobStatus

LONG: dict[str, str] = {
    "PD": "PENDING",
    "R": "RUNNING",
    "S": "SUSPENDED",
    "CD": "COMPLETED",
    "CA": "CANCELLED",
    "F": "FAILED",
    "TO": "TIMEOUT",
    "NF": "NODE_FAIL",
    "PR": "PREEMPTED",
    "BF": "BOOT_FAIL",
    "DL": "DEADLINE",
    "OOM": "OUT_OF_MEMORY",
    "CG": "COMPLETING",
    "CF": "CONFIGURING",
    "RS": "RESIZING",
    "RD": "RESV_DEL_HOLD",
    "RQ": "REQUEUED",
    "RF": "REQUEUE_FED",
    "RH": "REQUEUE_HOLD",
    "RV": "REVOKED",
    "SI": "SIGNALING",
    "SE": "SPECIAL_EXIT",
    "SO": "STAGE_OUT",
    "ST": "STOPPED",
}
"""Long name of every compact one, in the order in which squeue lists them. Source: squeue's own error message."""

COMPACT: dict[JobState, str] = {
    JobState.QUEUED: "PD",
    JobState.HELD: "PD",
    JobState.WAITING: "PD",
    JobState.RUNNING: "R",
    JobState.SUSPENDED: "S",
    JobState.EXITING: "CG",
    JobState.FINISHED: "CD",
    JobState.FAILED: "F",
    JobState.TIMEOUT: "TO",
    JobState.DELETED: "CA",
    JobState.REFUSED: "F",  # never admitted: it has no number to be listed by
}
_FAILED_BY: dict[Reason, str] = {Reason.NODE_LOST: "NF", Reason.OUT_OF_MEMORY: "OOM", Reason.PREEMPTED: "PR"}

REASON: dict[Reason, str] = {
    Reason.NONE: "None",
    Reason.RESOURCES: "Resources",
    Reason.NEVER_FITS: "PartitionConfig",
    Reason.PRIORITY: "Priority",
    Reason.HELD_BY_USER: "JobHeldUser",
    Reason.HELD_BY_ADMIN: "JobHeldAdmin",
    Reason.SPECIAL_EXIT: "JobHeldUser",
    Reason.DEPENDENCY: "Dependency",
    Reason.DEPENDENCY_NEVER: "DependencyNeverSatisfied",
    Reason.ARRAY_LIMIT: "JobArrayTaskLimit",
    Reason.PREEMPTED: "None",
    Reason.WITHDRAWN: "None",
    Reason.RESERVATION: "Reservation",
    Reason.RESERVATION_GONE: "ReservationDeleted",
    Reason.RESERVED: "ReqNodeNotAvail, May be reserved for other job",
    Reason.MAINTENANCE: "ReqNodeNotAvail, Reserved for maintenance",
    Reason.LICENSES: "Licenses",
    Reason.LIMIT: "QOSResourceLimit",  # of one of PBS; those of Slurm have a word each: shown_reason
    Reason.BEGIN_TIME: "BeginTime",
    Reason.QUEUE_UNAVAILABLE: "PartitionInactive",
    Reason.QUEUE_STOPPED: "PartitionDown",
    Reason.STARTING: "None",
    Reason.NON_ZERO_EXIT: "NonZeroExitCode",
    Reason.PROGRAM_FAILED: "NonZeroExitCode",
    Reason.SIGNALLED: "JobLaunchFailure",  # recorded: a script that killed itself with 9
    Reason.TIME_LIMIT: "TimeLimit",
    Reason.RESERVATION_ENDED: "TimeLimit",
    Reason.DEADLINE: "DeadLine",
    Reason.IDLE_LIMIT: "InactiveLimit",
    Reason.CPU_TIME_LIMIT: "TimeLimit",
    Reason.OUT_OF_MEMORY: "OutOfMemory",
    Reason.LAUNCH_FAILED: "JobLaunchFailure",
    Reason.OUTPUT_FAILED: "JobLaunchFailure",
    Reason.NODE_LOST: "NodeDown",
    Reason.DELETED_BY_USER: "None",
    Reason.BROKEN: "SystemFailure",
}

_BEFALLEN = frozenset(
    {
        Reason.STARTING,
        Reason.LAUNCH_FAILED,
        Reason.OUTPUT_FAILED,
        Reason.OUT_OF_MEMORY,
        Reason.NODE_LOST,
        Reason.PREEMPTED,
        Reason.PROGRAM_FAILED,
    }
)

ACTIVE = frozenset({"PD", "R", "S", "CG", "CF", "RS", "SE", "SI", "SO", "ST"})
"""What squeue shows when no states are requested."""

FIRST_PRIORITY = 4294901760
"""priority/basic counts down from here, one a job, so that earlier jobs come first."""


def compact(state: JobState, reason: Reason) -> str:
    """The compact state: `PD`, `R`, `CD`, …"""
    if state is JobState.TIMEOUT and reason is Reason.DEADLINE:
        return "DL"
    if state is JobState.HELD and reason is Reason.SPECIAL_EXIT:
        return "SE"
    return _FAILED_BY.get(reason, "F") if state is JobState.FAILED else COMPACT[state]


def long(state: JobState, reason: Reason) -> str:
    """The long state: `PENDING`, `RUNNING`, `COMPLETED`, …"""
    return LONG[compact(state, reason)]


def shown_reason(state: JobState, reason: Reason, message: str) -> str:
    """What stands behind `Reason=`: a running job has none, one whose pods do not start has Kubernetes' word for it,
    with which `message` begins: `ErrImagePull: …`. So does that of a limit: `AssocMaxJobsLimit: …`.
    """
    word = message.partition(":")[0]
    if state is JobState.QUEUED and reason in {Reason.STARTING, Reason.LIMIT} and word.isalpha():
        return word
    return "None" if state in {JobState.RUNNING, JobState.EXITING, JobState.FINISHED} else REASON[reason]


def described_reason(state: JobState, reason: Reason, message: str) -> str:
    """What squeue and `Reason=` say: where Slurm itself would describe it (its state_desc), that. Kueue's and
    Koordinator's own words."""
    return state_description(state, message) or shown_reason(state, reason, message)


def state_description(state: JobState, message: str) -> str:
    return message if state is JobState.QUEUED and message.startswith((KUEUE_SAYS, KOORDINATOR_SAYS)) else ""


def system_comment(state: JobState, reason: Reason, message: str) -> str:
    """What happened to the job, where its exit code does not show it, and what it is warned of; "" where there is
    nothing to say.
    """
    is_told = state in {JobState.RUNNING, JobState.FINISHED} or reason in _BEFALLEN
    return message if is_told else warning_in(message)


def own_number(row: JobRow) -> int:
    """The job's number, of a member of an array that of its array."""
    return row.job_id if row.array_id is None else row.array_id


def alone_number(row: JobRow) -> int:
    """The number that Slurm shows of the job alone: see model.array.shown_number."""
    return row.array_id if row.keeps_number and row.array_id is not None else row.job_id


def priority(job_id: int, state: JobState, priority: int, reason: Reason = Reason.HELD_BY_USER) -> int:
    """The number that squeue's %Q and scontrol show; 0 while held by somebody, not by a dependency."""
    is_held = state is JobState.HELD and reason not in {Reason.DEPENDENCY, Reason.DEPENDENCY_NEVER}
    return 0 if is_held else max(1, FIRST_PRIORITY - job_id + priority)


def priority_of(row: JobRow) -> int:
    """As `priority`; where the site's has factors, that by which the job waits or has started."""
    number = own_number(row)
    if row.rank is None:
        return priority(number, row.state, row.priority - row.nice, row.reason)
    return max(1, row.rank) if priority(number, row.state, 0, row.reason) else 0


def exit_status(
    state: JobState, reason: Reason, exit_code: int | None, exit_signal: int | None, started: bool
) -> tuple[int, int]:
    """Exit code and signal as `ExitCode=` shows them; 0:53 when the output or the directory could not be opened."""
    if reason is Reason.OUTPUT_FAILED and exit_code is None and exit_signal is None:
        return 0, 53
    if reason is Reason.OUT_OF_MEMORY:
        return 0, 125
    if state is JobState.TIMEOUT:
        return 0, 0
    if state is JobState.DELETED:
        return 0, 15 if started else 0
    if reason is Reason.LAUNCH_FAILED and exit_code is None and exit_signal is None:
        return 1, 0  # the script has no part in it
    return exit_code or 0, exit_signal or 0


def wait_code(status: JobStatus) -> int:
    """What sbatch --wait exits with for one job."""
    code, killed_by = exit_status(
        status.state, status.reason, status.exit_code, status.exit_signal, status.start_time is not None
    )
    if killed_by:
        return 1
    return code or (1 if status.state is JobState.FAILED else 0)  # a lost node's job has 0:0


def attached_code(status: JobStatus) -> int:
    """What srun exits with, whose job it was: as a shell has it, 128 and the signal where one has ended it."""
    code, killed_by = exit_status(
        status.state, status.reason, status.exit_code, status.exit_signal, status.start_time is not None
    )
    return 128 + killed_by if killed_by else code or (0 if status.state is JobState.FINISHED else 1)


def restarts(state: JobState, run_count: int) -> int:
    """A job that waits to run again counts as restarted."""
    return run_count if state in WAITING else max(0, run_count - 1)


def used_s(row: JobRow, now: datetime) -> int:
    """Wall-clock time used so far, or altogether, without suspensions."""
    return row.ran_s(now)


def expected_start(row: JobRow) -> datetime | None:
    """When it started, or will by the plan; with a begin time to come, not before that."""
    return row.start_time or (row.begin_time if row.state is JobState.WAITING else row.planned_start)


def expected_end(row: JobRow) -> datetime | None:
    """When it ended, or at the latest will; None when that is not known."""
    if row.end_time is not None:
        return row.end_time
    start = expected_start(row)
    return None if start is None or row.walltime_s is None else start + timedelta(seconds=row.walltime_s + row.stood_s)
