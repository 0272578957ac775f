"""A request as values: its path, its parameters and the form of the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote

from hpcbatch.engine.registry.statuses import INVALID, NOT_SUPPORTED, Cause, bad_request, invalid_options
from hpcbatch.engine.registry.writes import WriteOptions
from hpcbatch.errors import ApiError

Form = Literal["object", "table", "partial", "yaml"]
_META = "meta.k8s.io"
_YAML = "application/yaml"
_INT64 = 2**63
_DIGITS = 20
"""More than any number of 64 bits has."""
# Namespaces are the one kind whose URLs begin like those of everything inside it.
_NAMESPACE_SUBRESOURCES = frozenset({"status", "finalize"})


@dataclass(frozen=True, slots=True)
class ResourcePath:
    """`/apis/GROUP/VERSION[/namespaces/NAMESPACE]/PLURAL[/NAME[/SUBRESOURCE]]`."""

    group: str
    version: str
    plural: str
    namespace: str | None = None
    name: str = ""
    subresource: str = ""


def parse_path(path: str) -> ResourcePath | None:
    """Read the path of a resource; None if it is none."""
    parts = [unquote(part) for part in path.strip("/").split("/")]
    if parts[0] == "api" and len(parts) > 2:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    if not all(rest):
        return None
    namespace: str | None = None
    inside = rest[0] == "namespaces" and len(rest) > 2
    if inside and not (group == "" and len(rest) == 3 and rest[2] in _NAMESPACE_SUBRESOURCES):
        namespace, rest = rest[1], rest[2:]
    if len(rest) > 3:
        return None
    rest = [*rest, "", ""]
    return ResourcePath(group, version, rest[0], namespace, rest[1], rest[2])


@dataclass(frozen=True, slots=True)
class Accepted:
    """The form in which a client wants its answer."""

    form: Form = "object"
    aggregated: str = ""
    """Version of aggregated discovery that is requested, v2 or v2beta1."""
    table_version: str = "v1"


def negotiate(header: str) -> Accepted:
    """The first form in the Accept header that we can give. Raises ApiError 406."""
    if not header:
        return Accepted()
    for entry in header.split(","):
        media, *words = (part.strip() for part in entry.split(";"))
        parameters = dict(word.split("=", 1) for word in words if "=" in word)
        shape = parameters.get("as", "")
        if media == _YAML and not shape:
            return Accepted("yaml")
        if media not in {"application/json", "application/*", "*/*"}:
            continue
        version = parameters.get("v", "v1")
        if not shape:
            return Accepted()
        if shape == "Table" and parameters.get("g") == _META and version in {"v1", "v1beta1"}:
            return Accepted("table", table_version=version)
        if shape in {"PartialObjectMetadataList", "PartialObjectMetadata"} and parameters.get("g") == _META:
            return Accepted("partial")
        if shape == "APIGroupDiscoveryList" and version in {"v2", "v2beta1"}:
            return Accepted(aggregated=version)
    message = (
        "only the following media types are accepted: application/json, application/yaml, "
        "application/vnd.kubernetes.protobuf"
    )
    raise ApiError(406, "NotAcceptable", message)


def flag(query: Mapping[str, str], name: str) -> bool:
    return query.get(name, "").lower() in {"true", "1", "t"}


def integer(query: Mapping[str, str], name: str) -> int | None:
    """A number parameter, None if it is absent. Raises ApiError 400."""
    text = query.get(name)
    if text is None or text == "":
        return None
    sign, digits = (text[0], text[1:]) if text[:1] in {"+", "-"} else ("", text)
    if not (digits.isascii() and digits.isdigit()):
        raise bad_request(f'strconv.ParseInt: parsing "{_shown(text)}": invalid syntax')
    number = int(sign + digits) if len(digits) <= _DIGITS else _INT64
    if not -_INT64 <= number < _INT64:
        raise bad_request(f'strconv.ParseInt: parsing "{_shown(text)}": value out of range')
    return number


def _shown(text: str) -> str:
    return text if len(text) <= 2 * _DIGITS else f"{text[: 2 * _DIGITS]}…"


def write_options(query: Mapping[str, str], options: str) -> WriteOptions:
    """`dryRun` and `fieldValidation`; `options` is the kind that messages name. Raises ApiError 422."""
    dry_run = query.get("dryRun", "")
    if dry_run not in {"", "All"}:
        message = f'Unsupported value: ["{dry_run}"]: supported values: "All"'
        raise invalid_options(options, [Cause(NOT_SUPPORTED, "dryRun", message)])
    validation = query.get("fieldValidation") or "Warn"
    if validation not in {"Ignore", "Warn", "Strict"}:
        message = f'Unsupported value: "{validation}": supported values: "", "Ignore", "Strict", "Warn"'
        raise invalid_options(options, [Cause(NOT_SUPPORTED, "fieldValidation", message)])
    return WriteOptions(dry_run=bool(dry_run), field_validation=validation)  # type: ignore[arg-type]


def revision(text: str) -> int | None:
    """A resourceVersion parameter; None for "" and 0, which mean the present. Raises ApiError 400."""
    if text in {"", "0"}:
        return None
    if not (text.isascii() and text.isdigit()):
        raise bad_request(
            f'invalid resource version: resourceVersion: Invalid value: "{_shown(text)}": strconv.ParseUint: '
            f'parsing "{_shown(text)}": invalid syntax'
        )
    if len(text) > _DIGITS:
        raise bad_request(
            f'invalid resource version: resourceVersion: Invalid value: "{_shown(text)}": strconv.ParseUint: '
            f'parsing "{_shown(text)}": value out of range'
        )
    return int(text)


@dataclass(frozen=True, slots=True)
class WatchOptions:
    since: int | None
    bookmarks: bool
    timeout_s: float | None
    initial_events: bool
    """A streaming list: what is there as ADDED, then a bookmark that says so."""


def watch_options(query: Mapping[str, str]) -> WatchOptions:
    """Raises ApiError 400, 422."""
    match = query.get("resourceVersionMatch", "")
    initial = query.get("sendInitialEvents")
    bookmarks = flag(query, "allowWatchBookmarks")
    if initial is None:
        if match:
            message = "Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            raise invalid_options("ListOptions", [Cause("FieldValueForbidden", "resourceVersionMatch", message)])
    elif match != "NotOlderThan":
        message = "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        raise invalid_options("ListOptions", [Cause("FieldValueForbidden", "resourceVersionMatch", message)])
    seconds = integer(query, "timeoutSeconds")
    since = revision(query.get("resourceVersion", ""))
    streaming = initial is not None and flag(query, "sendInitialEvents")
    return WatchOptions(
        since=None if streaming else since,
        bookmarks=bookmarks,
        timeout_s=float(seconds) if seconds else None,
        initial_events=streaming,
    )


def check_list(query: Mapping[str, str]) -> None:
    """Refuse parameters that contradict each other. Raises ApiError 400, 422."""
    match = query.get("resourceVersionMatch", "")
    version = query.get("resourceVersion", "")
    causes: list[Cause] = []
    if "sendInitialEvents" in query:
        causes.append(
            Cause("FieldValueForbidden", "sendInitialEvents", "Forbidden: sendInitialEvents is forbidden for list")
        )
    if match and not version:
        message = "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"
        causes.append(Cause("FieldValueForbidden", "resourceVersionMatch", message))
    elif match not in {"", "Exact", "NotOlderThan"}:
        message = f'Unsupported value: "{match}": supported values: "Exact", "NotOlderThan", ""'
        causes.append(Cause(NOT_SUPPORTED, "resourceVersionMatch", message))
    elif match == "Exact" and version == "0":
        message = 'Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
        causes.append(Cause(INVALID, "resourceVersionMatch", message))
    if causes:
        raise invalid_options("ListOptions", causes)
    if query.get("continue") and version not in {"", "0"}:
        raise bad_request("specifying resource version is not allowed when using continue")
