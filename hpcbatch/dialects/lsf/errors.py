"""What LSF's commands say when something is wrong. They all end with 255 then. Texts: lsb_perror()'s and bsub's."""

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
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.typed import Final

FAILED: Final = 255
VERSION: Final = "IBM Spectrum LSF Standard 10.1.0.0, by hpcbatch"
"""What `-V` of each command prints. Programs look for `LSF` and the number in it."""


class LsfError(DirectiveError):
    """What the real command refuses, in its own words, without a full stop; `text` may quote the option first."""


class LsfUsageError(HpcBatchError):
    """A command line that is none: a complaint, and how the command is used."""

    def __init__(self, complaint: str, usage: str) -> None:
        self.complaint, self.usage = complaint, usage
        super().__init__("\n".join(filter(None, (complaint, usage))))


class LsfAnswer(HpcBatchError):  # noqa: N818  no error
    """What goes to stdout in place of what the command is for: the version, or how it is used."""


NO_JOB: Final = "No matching job found"
FINISHED: Final = "Job has already finished"
NO_QUEUE: Final = "No such queue"
DENIED: Final = "User permission denied"

REFUSED: Final[dict[RefusalCode, str]] = {
    RefusalCode.UNKNOWN_QUEUE: NO_QUEUE,
    RefusalCode.QUEUE_CLOSED: "Queue has been closed",
    RefusalCode.NO_SCRIPT: "No command is specified",
    RefusalCode.BAD_SPEC: "Bad resource requirement syntax",
    RefusalCode.WALLTIME_LIMIT: "RUNLIMIT: Cannot exceed queue's hard limit(s)",
    RefusalCode.MIN_WALLTIME: "RUNLIMIT: Cannot exceed queue's hard limit(s)",
    RefusalCode.NODE_LIMIT: "Too many processors requested",
    RefusalCode.CPU_LIMIT: "Too many processors requested",
    RefusalCode.MEMORY_LIMIT: "MEMLIMIT: Cannot exceed queue's hard limit(s)",
    RefusalCode.IMAGE_NOT_ALLOWED: DENIED,
    RefusalCode.UNKNOWN_RESOURCE: "Bad resource requirement syntax",
    RefusalCode.UNKNOWN_PROPERTY: "Bad resource requirement syntax",
    RefusalCode.UNKNOWN_NODE: "Bad host name, host group name or cluster name",
    RefusalCode.UNKNOWN_LICENSE: "Bad resource requirement syntax",
    RefusalCode.UNKNOWN_ACCOUNT: "Project does not exist or the user may not use it",
    RefusalCode.UNKNOWN_QOS: DENIED,
    RefusalCode.ACCOUNT_POLICY: "Pending job threshold reached",
    RefusalCode.JOBS_LIMIT: "Pending job threshold reached",
    RefusalCode.AMOUNT_LIMIT: "Too many processors requested",
    RefusalCode.UNKNOWN_RESERVATION: "Advance reservation not found",
    RefusalCode.RESERVATION_ACCESS: "User cannot use the advance reservation",
    RefusalCode.IGNORED: "Request aborted by esub",
    RefusalCode.TEST_ONLY: "Request aborted by esub",
    RefusalCode.DEADLINE: "Start time is later than termination time",
    RefusalCode.USER_DISABLED: DENIED,
    RefusalCode.QUEUE_ACCESS: "User cannot use the queue",
    RefusalCode.FROM_ROUTE_ONLY: "User cannot use the queue",
    RefusalCode.NO_DESTINATION: NO_QUEUE,
    RefusalCode.GROUP_NOT_ALLOWED: "User cannot use the queue",
    RefusalCode.ARRAY_SIZE: "Job array index too large",
    RefusalCode.BAD_DEPENDENCY: "Dependency condition invalid",
    RefusalCode.CIRCULAR_DEPENDENCY: "Dependency condition invalid",
    RefusalCode.STARTED: "Job has already started",
    RefusalCode.NOT_RUNNING: "Job has not started yet",
    RefusalCode.ENDING: FINISHED,
    RefusalCode.NOT_RERUNNABLE: "Job is not rerunnable",
    RefusalCode.NOT_BATCH: "Job is interactive",
}
_SAYS_IT_ALL = frozenset(
    {
        RefusalCode.STARTED,
        RefusalCode.NOT_RUNNING,
        RefusalCode.ENDING,
        RefusalCode.NOT_RERUNNABLE,
        RefusalCode.NOT_BATCH,
    }
)


def describe(error: Exception, command: str) -> tuple[str, int]:
    """What `command` prints on stderr for what ends it, and its exit code."""
    if isinstance(error, LsfAnswer):
        return "", 0
    if isinstance(error, ObstaclesError):
        return "\n".join(describe(problem, command)[0] for problem in error.problems), FAILED
    if isinstance(error, LsfUsageError):
        complaint = f"{command}: {error.complaint}" if error.complaint else ""
        return "\n".join(filter(None, (complaint, error.usage))), FAILED
    if command == "bsub":
        return f"{_of_submission(error)}. Job not submitted.", FAILED
    text = of_job(error)
    if isinstance(error, UnreachableError):
        return f"{command}: Failed in LSF library call: LSF daemon not responding ... {error}", FAILED
    if isinstance(error, ForbiddenError | UnauthorizedError):
        return f"{command}: {text}: {error}", FAILED
    return f"{command}: {text}" if isinstance(error, HpcBatchError) else f"{command}: {_system(error)}", FAILED


def of_job(error: Exception) -> str:
    """What a command says behind `Job <12>: `."""
    if isinstance(error, UnknownJobError):
        return NO_JOB
    if isinstance(error, JobFinishedError):
        return FINISHED
    if isinstance(error, ForbiddenError | UnauthorizedError):
        return DENIED
    if isinstance(error, RefusedError):
        return _refused(error)
    return str(error)


def _of_submission(error: Exception) -> str:
    if isinstance(error, DirectiveError):
        where = place(error.path, error.line, error.column)
        return f"{where}: {error.message}" if where else error.message
    if isinstance(error, UnknownQueueError):
        return NO_QUEUE
    if isinstance(error, UnreachableError):
        return f"LSF daemon not responding ... {error}"
    if isinstance(error, ForbiddenError | UnauthorizedError):
        return f"{DENIED}: {error}"
    if isinstance(error, HpcBatchError):
        return of_job(error)
    return _system(error)


def _refused(error: RefusedError) -> str:
    try:
        code = RefusalCode(error.code)
    except ValueError:
        return " ".join(str(error).split())
    if code in _SAYS_IT_ALL:
        return REFUSED[code]
    if code is RefusalCode.UNKNOWN_QUEUE:
        return f"{str(error).partition(';')[0]}: {NO_QUEUE}"
    return f"{REFUSED[code]}: {' '.join(str(error).split())}"


def _system(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror)
    return " ".join(str(error).split())
