"""What Slurm's commands say when something is wrong, and with which exit code they end."""

from __future__ import annotations

from hpcbatch.errors import (
    DirectiveError,
    ForbiddenError,
    HpcBatchError,
    JobFinishedError,
    ObstaclesError,
    RefusedError,
    UnauthorizedError,
    UnknownJobError,
    UnknownQueueError,
    UnreachableError,
    place,
)
from hpcbatch.model import dialect
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.typed import NamedTuple

SLURM_VERSION = dialect.SLURM_VERSION
VERSION_TEXT = dialect.SLURM_VERSION_TEXT

USAGE_EXIT = {"sbatch": 255}
"""Exit code of a command line that getopt refuses; 1 for all other commands."""


class SlurmUsageError(DirectiveError):
    """An option, value or script that the real command refuses: its own words and exit code.

    `text` is what goes to stderr, whole, and may have several lines.
    """

    def __init__(
        self, text: str, code: int = 1, *, path: str | None = None, line: int | None = None, column: int | None = None
    ) -> None:
        self.text, self.code = text, code
        super().__init__(text.splitlines()[0] if text else "", path=path, line=line, column=column)

    def at(self, path: str | None, line: int | None, column: int | None) -> SlurmUsageError:
        """The same error, saying where in a script it stands."""
        return SlurmUsageError(self.text, self.code, path=path, line=line, column=column)


class ArrayError(SlurmUsageError):
    """Not all members of an array were changed; the lines name them."""


class SlurmAnswer(HpcBatchError):  # noqa: N818  no error
    """What goes to stdout: help, the version, and with exit code 1 that something was not found."""

    def __init__(self, text: str, code: int = 0) -> None:
        self.text, self.code = text, code
        super().__init__(text)


INVALID_JOB = "Invalid job id specified"
FINISHED = "Job has already finished"
COMPLETED = "Job/step already completing or completed"
TRANSITION = "Job can not be altered now, try again later"
NOT_PENDING = "Job is no longer pending execution"
DENIED = "Access/permission denied"
POLICY = "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"
NO_CONTROLLER = "Unable to contact slurm controller (connect failure)"

SUBMIT_TEXT: dict[RefusalCode, str] = {
    RefusalCode.UNKNOWN_QUEUE: "Invalid partition name specified",
    RefusalCode.QUEUE_CLOSED: "Required partition not available (inactive or drain)",
    RefusalCode.NO_SCRIPT: "Job script not specified",
    RefusalCode.BAD_SPEC: "Requested node configuration is not available",
    RefusalCode.WALLTIME_LIMIT: "Requested time limit is invalid (missing or exceeds some limit)",
    RefusalCode.MIN_WALLTIME: "Invalid time-min specification (exceeds job's time or other limits)",
    RefusalCode.NODE_LIMIT: "Node count specification invalid",
    RefusalCode.CPU_LIMIT: "More processors requested than permitted",
    RefusalCode.MEMORY_LIMIT: "Memory required by task is not available",
    RefusalCode.IMAGE_NOT_ALLOWED: DENIED,
    RefusalCode.UNKNOWN_RESOURCE: "Invalid generic resource (gres) specification",
    RefusalCode.UNKNOWN_PROPERTY: "Invalid feature specification",
    RefusalCode.UNKNOWN_NODE: "Invalid node name specified",
    RefusalCode.UNKNOWN_LICENSE: "Invalid license specification",
    RefusalCode.UNKNOWN_ACCOUNT: "Invalid account or account/partition combination specified",
    RefusalCode.UNKNOWN_QOS: "Invalid qos specification",
    RefusalCode.ACCOUNT_POLICY: POLICY,
    RefusalCode.JOBS_LIMIT: POLICY,
    RefusalCode.AMOUNT_LIMIT: POLICY,
    RefusalCode.UNKNOWN_RESERVATION: "Requested reservation is invalid",
    RefusalCode.RESERVATION_ACCESS: "Access denied to requested reservation",
    RefusalCode.IGNORED: "Requested operation not supported on this system",
    RefusalCode.TEST_ONLY: "Requested operation not supported on this system",  # sbatch --test-only reads the message
    RefusalCode.DEADLINE: "Requested time limit is invalid (missing or exceeds some limit)",
    RefusalCode.USER_DISABLED: DENIED,
    RefusalCode.QUEUE_ACCESS: DENIED,
    RefusalCode.FROM_ROUTE_ONLY: DENIED,
    RefusalCode.NO_DESTINATION: "Requested partition configuration not available now",
    RefusalCode.GROUP_NOT_ALLOWED: "User's group not permitted to use this partition",
    RefusalCode.BAD_DEPENDENCY: "Job dependency problem",
    RefusalCode.CIRCULAR_DEPENDENCY: "Circular job dependency",
    RefusalCode.STARTED: NOT_PENDING,
    RefusalCode.NOT_RUNNING: "Job is pending execution",
    RefusalCode.ENDING: "Job can not be altered now, try again later",
    RefusalCode.NOT_RERUNNABLE: "Requested operation is presently disabled",
    RefusalCode.NOT_BATCH: "Only batch jobs are accepted or processed",
    RefusalCode.ARRAY_SIZE: "Invalid job array specification",
}
"""slurm_errno.h, messages 2000, 2070, 2009, 2014, 2051, 2006, 2005, 2044, 2002, 2072, 2029 and 2081."""

_SAYS_IT_ALL = frozenset(
    {
        RefusalCode.UNKNOWN_QUEUE,
        RefusalCode.STARTED,
        RefusalCode.NOT_RUNNING,
        RefusalCode.ENDING,
        RefusalCode.NOT_RERUNNABLE,
        RefusalCode.NOT_BATCH,
    }
)
_NAMED: dict[RefusalCode, str] = {
    RefusalCode.UNKNOWN_RESOURCE: "there is no generic resource ",
    RefusalCode.UNKNOWN_PROPERTY: "no node has the feature ",
}
"""What stands before the message of a refusal that is only a name."""


def describe(error: Exception, command: str, operand: str = "") -> tuple[str, int]:
    """What `command` (sbatch, squeue, scontrol, scancel, sinfo) prints on stderr for `error`, and its exit code.

    `operand` is what the error is about: the partition asked of sbatch, the job id of scontrol and scancel.
    """
    if isinstance(error, SlurmAnswer):
        return "", error.code
    if isinstance(error, ObstaclesError):
        described = [describe(problem, command, operand) for problem in error.problems]
        return "\n".join(text for text, _ in described), described[0][1]
    if isinstance(error, SlurmUsageError):
        where = place(error.path, error.line, error.column)
        return error.text + (f"\n{command}: error: {where}: refused here" if where else ""), error.code
    if isinstance(error, DirectiveError):
        return f"{command}: error: {error}", USAGE_EXIT.get(command, 1)
    if isinstance(error, RefusedError):
        return _refused(error, operand), 1
    if isinstance(error, UnknownQueueError):
        return _unknown_partition(operand or str(error)), 1
    text = _slurm_text(error)
    if text is None:
        return f"{command}: error: {error}", getattr(error, "exit_code", 1)
    lines = [_command_text(command, operand, text)]
    is_others_job = command == "scancel" and bool(operand) and isinstance(error, ForbiddenError)
    if isinstance(error, UnreachableError | UnauthorizedError | ForbiddenError) and not is_others_job:
        lines.append(f"{command}: {error}")
    return "\n".join(lines), 1


def _slurm_text(error: Exception) -> str | None:
    if isinstance(error, UnknownJobError):
        return INVALID_JOB
    if isinstance(error, JobFinishedError):
        return FINISHED
    if isinstance(error, ForbiddenError | UnauthorizedError):
        return DENIED
    if isinstance(error, UnreachableError):
        return NO_CONTROLLER
    return None


def _command_text(command: str, operand: str, text: str) -> str:
    match command:
        case "sbatch":
            return f"sbatch: error: Batch job submission failed: {text}"
        case "scancel" if operand:
            return f"scancel: error: Kill job error on job id {operand}: {COMPLETED if text == FINISHED else text}"
        case "sinfo":
            return f"slurm_load_partitions: {text}"
        case "sacct" | "sacctmgr" | "seff" | "sreport":  # ask slurmdbd, not the controller
            why = "Connection refused" if text == NO_CONTROLLER else text
            return f"{command}: error: Problem talking to the database: {why}"
        case "sdiag":
            return f"slurm_get_statistics: {text}"
        case _:
            return f"slurm_load_jobs error: {text}"


def describe_hold(error: Exception, operand: str) -> tuple[str, int]:
    """What `scontrol hold`, `uhold` or `release` prints on stderr when it fails for one job."""
    text = _slurm_text(error)
    if text is None or isinstance(error, UnreachableError):
        return describe(error, "scontrol", operand)
    return f"{text} for job {operand}\nslurm_suspend error: {text}", 1


class ChangeRefusal(NamedTuple):
    """Slurm's text for what went wrong, and the lines before it that say more."""

    text: str
    more: tuple[str, ...] = ()


def describe_change(error: Exception, operand: str) -> tuple[str, int]:
    """What `scontrol update`, `requeue` and their like print on stderr when they fail for one job."""
    said = change_refusal(error)
    if said is None:
        return describe(error, "scontrol", operand)
    code = error.code if isinstance(error, SlurmUsageError) else 1
    return "\n".join([*said.more, f"{said.text} for job {operand}"]), code


def change_refusal(error: Exception) -> ChangeRefusal | None:
    """The same without the job; None for what is said in another form."""
    if isinstance(error, SlurmUsageError):
        is_whole = isinstance(error, ArrayError) or error.text.startswith("scontrol: ")
        return None if is_whole else ChangeRefusal(error.text)
    if isinstance(error, RefusedError) and error.code in SUBMIT_TEXT:
        code = RefusalCode(error.code)
        more = () if code in _SAYS_IT_ALL else (f"scontrol: error: {_NAMED.get(code, '')}{error}",)
        return ChangeRefusal(SUBMIT_TEXT[code], more)
    text = _slurm_text(error)
    return None if text is None or isinstance(error, UnreachableError) else ChangeRefusal(text)


def _refused(error: RefusedError, operand: str) -> str:
    try:
        code = RefusalCode(error.code)
    except ValueError:
        return f"sbatch: error: Batch job submission failed: {error}"
    if code is RefusalCode.UNKNOWN_QUEUE:
        return _unknown_partition(operand.rpartition("; there ")[0] or operand)
    # The reasons in the controller's own words come first, as Slurm's own details do; there may be several.
    reasons = "\n".join(f"sbatch: error: {line}" for line in f"{_NAMED.get(code, '')}{error}".splitlines())
    if code is RefusalCode.UNKNOWN_RESOURCE:  # which sbatch itself finds out
        return f"{reasons}\nsbatch: error: {SUBMIT_TEXT[code]}"
    return f"{reasons}\nsbatch: error: Batch job submission failed: {SUBMIT_TEXT[code]}"


def _unknown_partition(name: str) -> str:
    return (
        f"sbatch: error: invalid partition specified: {name or '(null)'}\n"
        f"sbatch: error: Batch job submission failed: {SUBMIT_TEXT[RefusalCode.UNKNOWN_QUEUE]}"
    )
