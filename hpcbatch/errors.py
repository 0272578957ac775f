"""Errors that a user can act on. The class says what went wrong; each dialect says it in its own words."""

from __future__ import annotations

from collections.abc import Sequence

from hpcbatch.typed import ClassVar


class HpcBatchError(Exception):
    """Base of every error raised on purpose; `str()` is one clear line, ready to show a user."""

    exit_code: ClassVar[int] = 1


class UsageError(HpcBatchError):
    """A command line that the command does not understand."""

    exit_code = 2


def place(path: str | None, line: int | None = None, column: int | None = None) -> str:
    """`path:line:column` of a value in a file, of what is known of it; lines and columns count from 1."""
    return ":".join(str(part) for part in (path, line, column) if part is not None)


class DirectiveError(HpcBatchError):
    """A directive or option that cannot be honoured: where it stands, and what was expected.

    `path`, `line` and `column` (both from 1) are None for an option of the command line.
    """

    def __init__(
        self, message: str, *, path: str | None = None, line: int | None = None, column: int | None = None
    ) -> None:
        self.message, self.path, self.line, self.column = message, path, line, column
        where = place(path, line, column)
        super().__init__(f"{where}: {message}" if where else message)


class ObstaclesError(HpcBatchError):
    """Everything that is wrong with a script, in its order; two errors at least."""

    def __init__(self, problems: Sequence[HpcBatchError]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in problems))


def raise_all(problems: Sequence[HpcBatchError]) -> None:
    """Raise what is wrong: a single error as it is, several as one ObstaclesError; nothing for none."""
    if len(problems) == 1:
        raise problems[0]
    if problems:
        raise ObstaclesError(problems)


class NotSupportedError(DirectiveError):
    """The real system has it, hpcbatch does not yet."""


class UnknownQueueError(HpcBatchError):
    """A queue or partition that the site does not have."""


class UnknownJobError(HpcBatchError):
    """A job id that the server has never given, or that its history no longer holds."""


class JobFinishedError(HpcBatchError):
    """The job has ended, so the request comes too late."""


class RefusedError(HpcBatchError):
    """The controller did not admit the job. `code` is one of hpcbatch.model.refusal.RefusalCode."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


class ApiError(HpcBatchError):
    """The API server answered with a Status object. `code` is the HTTP status, `reason` its machine word."""

    def __init__(self, code: int, reason: str, message: str, details: dict[str, object] | None = None) -> None:
        self.code, self.reason, self.message, self.details = code, reason, message, details or {}
        super().__init__(message)


class NotFoundError(ApiError):
    """404: no such object, namespace or resource."""


class AlreadyExistsError(ApiError):
    """409 AlreadyExists: an object of that name is there."""


class ConflictError(ApiError):
    """409 Conflict: the object has changed since it was read."""


class GoneError(ApiError):
    """410 Expired: that resourceVersion is too old; list again."""


class BusyError(ApiError):
    """429 and 503: the server takes no requests for now."""


class InvalidError(ApiError):
    """422 Invalid: the schema or the validation refuses the object."""


class ForbiddenError(ApiError):
    """403: the user may not do that."""


class UnauthorizedError(ApiError):
    """401: the credentials are wrong or have expired."""


class UnreachableError(HpcBatchError):
    """No API server answered: none is configured, it is down, or the time limit ran out."""
