"""PBS's words and exit codes for everything that can go wrong."""

from __future__ import annotations

from collections.abc import Mapping

from hpcbatch.errors import (
    ApiError,
    DirectiveError,
    ForbiddenError,
    HpcBatchError,
    JobFinishedError,
    NotSupportedError,
    ObstaclesError,
    RefusedError,
    UnauthorizedError,
    UnknownJobError,
    UnknownQueueError,
    UnreachableError,
    UsageError,
    place,
)
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.typed import Final, NamedTuple

PBS_VERSION: Final = "23.06.06"

# Numbers of pbs_error.h. A command exits with the low byte of the server's error number.
PBSE_UNKJOBID = 15001
PBSE_NOATTR = 15002
PBSE_ATTRRO = 15003
PBSE_IVALREQ = 15004
PBSE_PERM = 15007
PBSE_INTERNAL = 15008  # of a client too: the server's host is not known
PBSE_PROTOCOL = 15010
PBSE_UNKSIG = 15013
PBSE_BADATVAL = 15014
PBSE_MODATRRUN = 15015
PBSE_BADSTATE = 15016
PBSE_UNKQUE = 15018
PBSE_BADCRED = 15019
PBSE_QUNOENB = 15021
PBSE_QACESS = 15022
PBSE_QUEEXIST = 15025
PBSE_ATTRTYPE = 15026
PBSE_OBJBUSY = 15027
PBSE_BADUSER = 15023
PBSE_UNKRESC = 15035
PBSE_EXCQRESC = 15036
PBSE_NORERUN = 15038
PBSE_ROUTEREJ = 15039
PBSE_BADDEPEND = 15054
PBSE_MAXARRAYSIZE = 15107
PBSE_INVALSELECTRESC = 15108
PBSE_INVALJOBRESC = 15109
PBSE_INVALNODEPLACE = 15110
PBSE_PLACENOSELECT = 15111
PBSE_DUPRESC = 15116
PBSE_BAD_FORMULA = 15123
PBSE_HISTJOBID = 15139
PBSE_ENTLIMCT = 15142
PBSE_ENTLIMRESC = 15143
PBSE_UNKNODE = 15062
PBSE_DUPLIST = 15055
PBSE_NODEEXIST = 15066
PBSE_NOHISTARRAYSUBJOB = 15159
PBSE_RESCBUSY = 15174

USAGE_CODE: Final = 2
DIRECTIVE_CODE: Final = 1
NO_CONNECTION_CODE: Final = 255  # recorded for every command; cnt2server() answers -1

EXIT_CODE: Final[Mapping[type[Exception], int]] = {
    UnknownJobError: PBSE_UNKJOBID & 0xFF,
    JobFinishedError: PBSE_HISTJOBID & 0xFF,
    UnknownQueueError: PBSE_UNKQUE & 0xFF,
    ForbiddenError: PBSE_PERM & 0xFF,
    UnauthorizedError: NO_CONNECTION_CODE,
    UnreachableError: NO_CONNECTION_CODE,
    UsageError: USAGE_CODE,
    NotSupportedError: 1,
    DirectiveError: DIRECTIVE_CODE,
    ApiError: 1,
    HpcBatchError: 1,
}

_UNKNOWN_QUEUE: Final = "Unknown queue"
_OVER_LIMIT: Final = "Job violates queue and/or server resource limits"
_BAD_STATE: Final = "Request invalid for state of job"
_UNAUTHORIZED: Final = "Unauthorized Request"
_NO_DESTINATION: Final = "Job rejected by all possible destinations"
_BAD_DEPENDENCY: Final = "Invalid Job Dependency"
REFUSAL: Final[Mapping[RefusalCode, tuple[str, int]]] = {
    RefusalCode.UNKNOWN_QUEUE: (_UNKNOWN_QUEUE, PBSE_UNKQUE & 0xFF),
    RefusalCode.QUEUE_CLOSED: ("Queue is not enabled", PBSE_QUNOENB & 0xFF),
    RefusalCode.NO_SCRIPT: ("", PBSE_IVALREQ & 0xFF),
    RefusalCode.BAD_SPEC: ("", PBSE_BADATVAL & 0xFF),
    RefusalCode.WALLTIME_LIMIT: (_OVER_LIMIT, PBSE_EXCQRESC & 0xFF),
    RefusalCode.NODE_LIMIT: (_OVER_LIMIT, PBSE_EXCQRESC & 0xFF),
    RefusalCode.CPU_LIMIT: (_OVER_LIMIT, PBSE_EXCQRESC & 0xFF),
    RefusalCode.MEMORY_LIMIT: (_OVER_LIMIT, PBSE_EXCQRESC & 0xFF),
    RefusalCode.IMAGE_NOT_ALLOWED: (_UNAUTHORIZED, PBSE_PERM & 0xFF),
    RefusalCode.UNKNOWN_RESOURCE: ("Unknown resource Resource_List.{}", PBSE_UNKRESC & 0xFF),
    RefusalCode.UNKNOWN_PROPERTY: (
        "Unknown resource select.{}",
        PBSE_UNKRESC & 0xFF,
    ),  # a property is a boolean resource
    RefusalCode.UNKNOWN_NODE: ("Unknown node ", PBSE_UNKNODE & 0xFF),
    RefusalCode.UNKNOWN_LICENSE: ("Unknown resource Resource_List.{}", PBSE_UNKRESC & 0xFF),
    RefusalCode.UNKNOWN_ACCOUNT: ("Invalid account", PBSE_BADATVAL & 0xFF),
    RefusalCode.UNKNOWN_QOS: ("Invalid quality of service", PBSE_BADATVAL & 0xFF),
    RefusalCode.ACCOUNT_POLICY: (_OVER_LIMIT, PBSE_EXCQRESC & 0xFF),
    RefusalCode.JOBS_LIMIT: ("", PBSE_ENTLIMCT & 0xFF),
    RefusalCode.AMOUNT_LIMIT: ("", PBSE_ENTLIMRESC & 0xFF),
    RefusalCode.UNKNOWN_RESERVATION: (_UNKNOWN_QUEUE, PBSE_UNKQUE & 0xFF),  # a reservation is a queue
    RefusalCode.RESERVATION_ACCESS: (_UNAUTHORIZED, PBSE_PERM & 0xFF),  # the queue's acl_users
    RefusalCode.IGNORED: ("", PBSE_BADATVAL & 0xFF),
    RefusalCode.TEST_ONLY: ("", PBSE_BADATVAL & 0xFF),  # no command of PBS tests a job
    RefusalCode.DEADLINE: ("", PBSE_BADATVAL & 0xFF),
    RefusalCode.MIN_WALLTIME: ("", PBSE_BADATVAL & 0xFF),
    RefusalCode.USER_DISABLED: (_UNAUTHORIZED, PBSE_PERM & 0xFF),
    RefusalCode.QUEUE_ACCESS: (_UNAUTHORIZED, PBSE_PERM & 0xFF),
    RefusalCode.FROM_ROUTE_ONLY: ("Access to queue is denied", PBSE_QACESS & 0xFF),
    RefusalCode.NO_DESTINATION: (_NO_DESTINATION, PBSE_ROUTEREJ & 0xFF),
    RefusalCode.GROUP_NOT_ALLOWED: (_UNAUTHORIZED, PBSE_PERM & 0xFF),
    RefusalCode.BAD_DEPENDENCY: ("Invalid request", PBSE_IVALREQ & 0xFF),
    RefusalCode.CIRCULAR_DEPENDENCY: (_BAD_DEPENDENCY, PBSE_BADDEPEND & 0xFF),
    RefusalCode.STARTED: ("Cannot modify attribute while job running  {}", PBSE_MODATRRUN & 0xFF),
    RefusalCode.NOT_RUNNING: (_BAD_STATE, PBSE_BADSTATE & 0xFF),
    RefusalCode.ENDING: (_BAD_STATE, PBSE_BADSTATE & 0xFF),
    RefusalCode.NOT_RERUNNABLE: ("job is not rerunnable", PBSE_NORERUN & 0xFF),
    RefusalCode.NOT_BATCH: ("job is not rerunnable", PBSE_NORERUN & 0xFF),
    RefusalCode.ARRAY_SIZE: ("Array job exceeds server or queue size limit", PBSE_MAXARRAYSIZE & 0xFF),
}
"""PBS's text and exit code; `{}` stands for the controller's own line, to which an empty text gives way."""

_EXPLAINED: Final = frozenset(
    {_UNKNOWN_QUEUE, _OVER_LIMIT, _UNAUTHORIZED, _BAD_DEPENDENCY, "Unknown node ", "Invalid account", _NO_DESTINATION}
    | {"Invalid quality of service"}
)
"""Texts that say too little: the controller's own line follows."""


class Origin(NamedTuple):
    """Where a word stands: in a script (`line` and `column` from 1), or on the command line (all None)."""

    path: str | None = None
    line: int | None = None
    column: int | None = None

    @property
    def in_script(self) -> bool:
        return self.line is not None


COMMAND_LINE: Final = Origin()


class PbsError(DirectiveError):
    """A refusal in PBS's own words. `str()` is its first line; `describe` gives all that the command prints.

    `message` holds one or more lines without the command's name; `usage` follows them as it is.
    """

    def __init__(self, message: str, code: int, *, usage: str = "", origin: Origin = COMMAND_LINE) -> None:
        first = message.partition("\n")[0] or usage.partition("\n")[0]
        super().__init__(first, path=origin.path, line=origin.line, column=origin.column)
        self.text, self.code, self.usage, self.origin = message, code, usage, origin


class PbsUsageError(PbsError):
    """A command line that the command does not understand: its complaints, then its usage text."""

    def __init__(self, message: str, usage: str, code: int = USAGE_CODE) -> None:
        super().__init__(message, code, usage=usage)


def not_supported(what: str, origin: Origin) -> NotSupportedError:
    """The error for `what`, which real PBS has."""
    return NotSupportedError(f"{what} is not supported yet", path=origin.path, line=origin.line, column=origin.column)


def describe(error: Exception, command: str, operand: str = "") -> tuple[str, int]:
    """What `command` prints for `error` (no newline at the end), and its exit code.

    `operand` is what the error is about: a full job id (`12.server`), a queue or a node; the server's name where
    no connection could be made (a job id's server part does).
    """
    if isinstance(error, ObstaclesError):
        described = [describe(problem, command, operand) for problem in error.problems]
        return "\n".join(text for text, _ in described), described[0][1]
    if isinstance(error, PbsError):
        return _pbs_text(error, command), error.code
    if isinstance(error, OSError):
        return _file_text(error, command)
    if isinstance(error, RefusedError):
        return _refusal_text(error, command, operand)
    code = next((EXIT_CODE[kind] for kind in type(error).__mro__ if kind in EXIT_CODE), 1)
    return f"{command}: {_text(error, command, operand)}", code


def _text(error: Exception, command: str, operand: str) -> str:
    match error:
        case UnknownJobError():
            return f"Unknown Job Id {operand or error}"
        case JobFinishedError():
            if command == "qstat":
                return f"{operand or error} Job has finished, use -x or -H to obtain historical job information"
            return f"Job has finished {operand or error}"
        case UnknownQueueError():
            return f"Unknown queue destination {operand or error}" if command == "qstat" else _UNKNOWN_QUEUE
        case ForbiddenError():
            if operand:
                return f"Unauthorized Request  {operand}"
            return f"Unauthorized Request\n{command}: {_one_line(error)}"
        case UnauthorizedError():
            return _no_connection(error, command, operand, PBSE_BADCRED)
        case UnreachableError():
            return _no_connection(error, command, operand, PBSE_PROTOCOL)
        case _:
            return f"{_one_line(error)} {operand}".rstrip() if isinstance(error, ApiError) else _one_line(error)


def _no_connection(error: Exception, command: str, operand: str, number: int) -> str:
    """The first line is the one that clients look for (Cylc: `cannot connect to server`); the second helps."""
    server = operand.partition(".")[2] if operand[:1].isdigit() and "." in operand else operand
    return f"cannot connect to server {server} (errno={number})\n{command}: {_one_line(error)}"


def _pbs_text(error: PbsError, command: str) -> str:
    lines = [f"{command}: {line}" for line in error.text.split("\n")] if error.text else []
    if error.origin.in_script:
        lines.append(f"{command}: {place(error.path or '<stdin>', error.line, error.column)}: refused here")
    return "\n".join(lines + ([error.usage] if error.usage else []))


def _file_text(error: OSError, command: str) -> tuple[str, int]:
    """What qsub says of a script that it cannot read, and its exit codes (source: read_job_script)."""
    reason = error.strerror or str(error)
    if command != "qsub":
        return f"{command}: {error.filename or ''}: {reason}".replace(": : ", ": "), 1
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return f"qsub: script file:: {reason}", 1
    if isinstance(error, IsADirectoryError):
        return "qsub: script not a file", 1
    return f"qsub: opening script file:: {reason}", 8


def _refusal_text(error: RefusedError, command: str, operand: str) -> tuple[str, int]:
    """`operand` is the job that is not changed; "" of one that is not admitted."""
    known = error.code in set(RefusalCode)
    text, code = REFUSAL[RefusalCode(error.code)] if known else ("", 1)
    said, *further = [" ".join(line.split()) for line in str(error).splitlines()] or [type(error).__name__]
    detail = f"no queue {said}" if text == _UNKNOWN_QUEUE else said
    lines = [f"{text.replace('{}', said) or said} {operand}".rstrip(), *([detail] if text in _EXPLAINED else [])]
    lines += further  # several things are refused at once
    return "\n".join(f"{command}: {line}" for line in lines), code


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
