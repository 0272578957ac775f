"""One write, step by step: who has a say in it, how it is treated, and what is checked that needs no other object."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from hpcbatch.api.port import Object
from hpcbatch.engine.registry import statuses
from hpcbatch.engine.registry.kinds import Kind
from hpcbatch.engine.registry.statuses import Cause
from hpcbatch.engine.registry.values import same
from hpcbatch.errors import ApiError

Operation = Literal["CREATE", "UPDATE", "DELETE"]
Mutator = Callable[[Operation, Object, Object | None], Object]
"""(operation, object, the object before or None) to the object with defaults; may not change what it was given."""
Validator = Callable[[Operation, Object, Object | None], None]
"""Raises ApiError to refuse. For DELETE both objects are the one to be deleted."""


@dataclass(slots=True)
class Admission:
    """Who else has a say when an object of one resource is written; run in order, mutators before the schema."""

    mutators: list[Mutator] = field(default_factory=list)
    validators: list[Validator] = field(default_factory=list)


@dataclass(slots=True)
class WriteOptions:
    """How one request is treated. `warnings` collects what its sender is to be warned of."""

    dry_run: bool = False
    field_validation: Literal["Ignore", "Warn", "Strict"] = "Warn"
    warnings: list[str] = field(default_factory=list)
    verb: Literal["write", "patch", "apply"] = "write"
    """Decides how a refused unknown field is worded."""
    decoding_errors: list[str] = field(default_factory=list)
    """Faults that the decoder found, `duplicate field "spec.a"`."""
    managed_fields: list[Object] = field(default_factory=list)
    """What server-side apply records in a new object."""


def decode(kind: Kind, given: Mapping[str, Any]) -> Object:
    """A copy of the first level with the right apiVersion and kind. Raises ApiError 400."""
    resource = kind.resource
    if not isinstance(given, Mapping):
        raise statuses.bad_request(
            f"the object provided is unrecognized (must be of type {resource.kind}): it is no JSON object"
        )
    api_version, name = given.get("apiVersion"), given.get("kind")
    if not isinstance(api_version or "", str) or not isinstance(name or "", str):
        raise statuses.bad_request(
            f"the object provided is unrecognized (must be of type {resource.kind}): couldn't get version/kind; "
            "apiVersion and kind must be text"
        )
    if kind.custom and not (api_version and name):
        missing = "apiVersion" if name else "Kind"
        raise statuses.bad_request(
            f"the object provided is unrecognized (must be of type {resource.kind}): "
            f"Object '{missing}' is missing in '{str(dict(given))[:200]}'"
        )
    if api_version and api_version != resource.api_version:
        served = {f"{resource.group}/{version}" for version in kind.versions}
        if api_version not in served:
            raise statuses.bad_request(
                f"the API version in the data ({api_version}) does not match the expected API version "
                f"({resource.api_version})"
            )
    if name and name != resource.kind:
        raise statuses.bad_request(
            f'{name} in version "{resource.version}" cannot be handled as a {resource.kind}: '
            f"converting ({resource.version}.{name}) to ({resource.group or 'core'}.{resource.kind}): "
            "unknown conversion"
        )
    return {**given, "apiVersion": resource.api_version, "kind": resource.kind}


def report_unknown(kind: Kind, obj: Object, unknown: list[str], options: WriteOptions) -> None:
    faults = [*options.decoding_errors, *(f'unknown field "{path}"' for path in sorted(unknown))]
    if not faults or options.field_validation == "Ignore":
        return
    if options.field_validation == "Warn":
        options.warnings.extend(faults)
        return
    resource = kind.resource
    text = f"strict decoding error: {', '.join(faults)}"
    name = obj["metadata"].get("name", "")
    match options.verb:
        case "write":
            raise statuses.bad_request(
                f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: {text}'
            )
        case "patch":
            cause = Cause(statuses.INVALID, "patch", f'Invalid value: "{{..}}": {text}')
            error = statuses.invalid(kind, "", [cause])
            error.message = f' "" is invalid: patch: {cause.message}'
            error.args = (error.message,)
            raise error
        case "apply":
            space = obj["metadata"].get("namespace", "")
            path = sorted(unknown)[0] if unknown else ""
            raise ApiError(
                500,
                "",
                f"failed to create typed patch object ({space}/{name}; {resource.api_version}, "
                f"Kind={resource.kind}): .{path}: field not declared in schema",
            )


def count_generation(kind: Kind, obj: Object, old: Object) -> None:
    if not kind.has_generation:
        return
    aside = {"metadata", "status"} if kind.has_status else {"metadata"}
    if any(not same(obj.get(key), old.get(key)) for key in obj.keys() | old.keys() if key not in aside):
        generation = old["metadata"].get("generation", 1) + 1
        obj["metadata"] = {**obj["metadata"], "generation": generation}


def check_identity(kind: Kind, old: Object, meta: Object) -> None:
    """That a write is meant for this very object in this very state."""
    own = old["metadata"]
    name = own["name"]
    if meta.get("name", name) != name:
        raise statuses.bad_request(
            f"the name of the object ({meta['name']}) does not match the name on the URL ({name})"
        )
    if meta.get("namespace", own.get("namespace", "")) != own.get("namespace", ""):
        raise statuses.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    if meta.get("uid", own["uid"]) != own["uid"]:
        raise statuses.uid_differs(kind, name, meta["uid"], own["uid"])
    if meta.get("resourceVersion", own["resourceVersion"]) != own["resourceVersion"]:
        raise statuses.modified(kind, name)


def namespace_of(kind: Kind, meta: Object, namespace: str) -> str:
    if not kind.resource.namespaced:
        return ""
    if meta.get("namespace", namespace) != namespace:
        raise statuses.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    if not namespace:
        raise statuses.bad_request("an empty namespace may not be set during creation")
    return namespace
