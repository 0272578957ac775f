"""The errors that a Kubernetes API server answers: their codes, reasons, texts and details."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hpcbatch.engine.registry.kinds import Kind
from hpcbatch.errors import (
    AlreadyExistsError,
    ApiError,
    BusyError,
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
)

INVALID, REQUIRED, NOT_SUPPORTED = "FieldValueInvalid", "FieldValueRequired", "FieldValueNotSupported"
TYPE_INVALID, DUPLICATE, FORBIDDEN = "FieldValueTypeInvalid", "FieldValueDuplicate", "FieldValueForbidden"
TOO_LONG, TOO_MANY = "FieldValueTooLong", "FieldValueTooMany"


@dataclass(frozen=True, slots=True)
class Cause:
    """One fault of an object. `field` is its path, `spec.tasks[0].name`."""

    reason: str
    field: str
    message: str


def _details(kind: Kind, name: str) -> dict[str, object]:
    details: dict[str, object] = {"name": name, "group": kind.resource.group, "kind": kind.resource.plural}
    return {word: value for word, value in details.items() if value}


def not_found(kind: Kind, name: str) -> NotFoundError:
    return NotFoundError(404, "NotFound", f'{kind.qualified} "{name}" not found', _details(kind, name))


def no_such_resource() -> NotFoundError:
    return NotFoundError(404, "NotFound", "the server could not find the requested resource")


def already_exists(kind: Kind, name: str) -> AlreadyExistsError:
    return AlreadyExistsError(409, "AlreadyExists", f'{kind.qualified} "{name}" already exists', _details(kind, name))


def modified(kind: Kind, name: str) -> ConflictError:
    message = (
        f'Operation cannot be fulfilled on {kind.qualified} "{name}": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )
    return ConflictError(409, "Conflict", message, _details(kind, name))


def precondition(kind: Kind, name: str, word: str, wanted: str, found: str) -> ConflictError:
    """`word` is UID or ResourceVersion."""
    after = (
        "The object might have been deleted and then recreated"
        if word == "UID"
        else "The object might have been modified"
    )
    message = (
        f'Operation cannot be fulfilled on {kind.resource.kind} "{name}": the {word} in the precondition ({wanted}) '
        f"does not match the {word} in record ({found}). {after}"
    )
    return ConflictError(409, "Conflict", message, {"name": name, "kind": kind.resource.kind})


def uid_differs(kind: Kind, name: str, wanted: str, found: str) -> ConflictError:
    message = (
        f'Operation cannot be fulfilled on {kind.qualified} "{name}": Precondition failed: '
        f"UID in precondition: {wanted}, UID in object meta: {found}"
    )
    return ConflictError(409, "Conflict", message, _details(kind, name))


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


def forbidden(kind: Kind, name: str, why: str, causes: Sequence[Cause] = ()) -> ForbiddenError:
    details = _details(kind, name)
    if causes:
        details["causes"] = [_cause(cause) for cause in causes]
    return ForbiddenError(403, "Forbidden", f'{kind.qualified} "{name}" is forbidden: {why}', details)


def method_not_allowed() -> ApiError:
    return ApiError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")


def too_many_requests() -> BusyError:
    message = "Too many requests, please try again later."
    return BusyError(429, "TooManyRequests", message, {"retryAfterSeconds": 1})


def invalid(kind: Kind, name: str, causes: Sequence[Cause]) -> InvalidError:
    """422 with all faults together, as one line and one by one."""
    faults = [f"{cause.field}: {cause.message}" for cause in causes]
    text = faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]"
    details: dict[str, Any] = {"name": name, "group": kind.resource.group, "kind": kind.resource.kind}
    details = {word: value for word, value in details.items() if value}
    details["causes"] = [_cause(cause) for cause in causes]
    return InvalidError(422, "Invalid", f'{kind.qualified_kind} "{name}" is invalid: {text}', details)


def invalid_options(options: str, causes: Sequence[Cause]) -> InvalidError:
    """422 about the request's own parameters; `options` is CreateOptions, PodLogOptions ..."""
    faults = [f"{cause.field}: {cause.message}" for cause in causes]
    text = faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]"
    details: dict[str, object] = {
        "group": "meta.k8s.io",
        "kind": options,
        "causes": [_cause(cause) for cause in causes],
    }
    return InvalidError(422, "Invalid", f'{options}.meta.k8s.io "" is invalid: {text}', details)


def _cause(cause: Cause) -> dict[str, str]:
    return {"reason": cause.reason, "message": cause.message, "field": cause.field}


def status_object(error: ApiError) -> dict[str, Any]:
    """The Status that a client gets."""
    status: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    status["message"] = error.message
    if error.reason:
        status["reason"] = error.reason
    if error.details or error.reason in {"MethodNotAllowed", "NotFound"}:
        status["details"] = error.details
    status["code"] = error.code
    return status
