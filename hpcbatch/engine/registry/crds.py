"""CustomResourceDefinitions: what is filled in and refused when one is written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hpcbatch.engine.registry.statuses import INVALID, NOT_SUPPORTED, REQUIRED, Cause
from hpcbatch.engine.registry.values import parse_path

Object = dict[str, Any]
_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_TYPES = frozenset({"object", "array", "string", "integer", "number", "boolean"})
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"


def fill_in(crd: Object, old: Mapping[str, Any] | None, now: str) -> None:
    """Defaults, and the status of a definition that is in force at once. Changes `crd`, whose parts must be its own."""
    spec = crd.setdefault("spec", {})
    names = spec.get("names") or {}
    if "kind" in names:
        names.setdefault("singular", names["kind"].lower())
        names.setdefault("listKind", f"{names['kind']}List")
    spec.setdefault("conversion", {"strategy": "None"})
    before = (old or {}).get("status") or {}
    stored = list(before.get("storedVersions") or ())
    for version in spec.get("versions") or ():
        if version.get("storage") and version.get("name", "") not in stored:
            stored.append(version.get("name", ""))
    since = {item["type"]: item["lastTransitionTime"] for item in before.get("conditions") or ()}

    def condition(word: str, reason: str, message: str) -> Object:
        time = since.get(word, now)
        return {"type": word, "status": "True", "lastTransitionTime": time, "reason": reason, "message": message}

    crd["status"] = {
        "conditions": [
            condition("NamesAccepted", "NoConflicts", "no conflicts found"),
            condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        ],
        "acceptedNames": names,
        "storedVersions": stored,
    }


def check(crd: Mapping[str, Any]) -> list[Cause]:
    """The faults for which a definition is refused."""
    causes: list[Cause] = []
    spec = crd["spec"]
    for field in ("group", "scope"):
        if not spec.get(field):
            causes.append(Cause(REQUIRED, f"spec.{field}", "Required value"))
    names = spec.get("names")
    if not names:
        return [*causes, Cause(REQUIRED, "spec.names", "Required value")]
    for field in ("plural", "kind"):
        if not names.get(field):
            causes.append(Cause(REQUIRED, f"spec.names.{field}", "Required value"))
    if causes:
        return causes
    if spec["scope"] not in {"Cluster", "Namespaced"}:
        message = f'Unsupported value: "{spec["scope"]}": supported values: "Cluster", "Namespaced"'
        causes.append(Cause(NOT_SUPPORTED, "spec.scope", message))
    name = crd["metadata"].get("name", "")
    if name != f"{names['plural']}.{spec['group']}":
        message = f'Invalid value: "{name}": must be spec.names.plural+"."+spec.group'
        causes.append(Cause(INVALID, "metadata.name", message))
    versions = spec.get("versions")
    if not versions:
        return [*causes, Cause(REQUIRED, "spec.versions", "Required value")]
    if sum(1 for version in versions if version.get("storage")) != 1:
        message = "Invalid value: must have exactly one version marked as storage version"
        causes.append(Cause(INVALID, "spec.versions", message))
    for index, version in enumerate(versions):
        causes.extend(_check_version(version, f"spec.versions[{index}]"))
    return causes


def _check_version(version: Mapping[str, Any], field: str) -> list[Cause]:
    causes: list[Cause] = []
    if not re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", version.get("name", "")):
        causes.append(Cause(INVALID, f"{field}.name", f'Invalid value: "{version.get("name", "")}"'))
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    if not schema:
        causes.append(Cause(REQUIRED, f"{field}.schema.openAPIV3Schema", "Required value"))
    else:
        causes.extend(_check_schema(schema, f"{field}.schema.openAPIV3Schema"))
    for index, column in enumerate(version.get("additionalPrinterColumns") or ()):
        here = f"{field}.additionalPrinterColumns[{index}]"
        if not column.get("name"):
            causes.append(Cause(REQUIRED, f"{here}.name", "Required value"))
        if column.get("type") not in _COLUMN_TYPES:
            message = f'Invalid value: "{column.get("type", "")}": must be one of {",".join(_COLUMN_TYPES)}'
            causes.append(Cause(INVALID, f"{here}.type", message))
        causes.extend(_check_path(column.get("jsonPath"), f"{here}.JSONPath"))
    for index, selectable in enumerate(version.get("selectableFields") or ()):
        here = f"{field}.selectableFields[{index}].jsonPath"
        wrong = _check_path(selectable.get("jsonPath"), here)
        causes.extend(wrong)
        if not wrong and schema and not _in_schema(schema, selectable["jsonPath"]):
            message = f'Invalid value: "{selectable["jsonPath"]}": is an invalid path: does not refer to a valid field'
            causes.append(Cause(INVALID, here, message))
    return causes


def _check_path(path: Any, field: str) -> list[Cause]:
    if not isinstance(path, str) or not path.startswith("."):
        return [Cause(INVALID, field, f'Invalid value: "{path or ""}": must be a simple json path starting with .')]
    try:
        parse_path(path)
    except ValueError as error:
        return [Cause(INVALID, field, f'Invalid value: "{path}": {error}')]
    return []


def _in_schema(schema: Mapping[str, Any], path: str) -> bool:
    part: Any = schema
    for step in parse_path(path):
        part = (part.get("properties") or {}).get(step) if isinstance(part, Mapping) else None
    return isinstance(part, Mapping)


def _check_schema(schema: Mapping[str, Any], field: str) -> list[Cause]:
    """That the schema is structural as far as pruning, defaulting and checking need it."""
    causes: list[Cause] = []
    free = schema.get("x-kubernetes-preserve-unknown-fields") or schema.get("x-kubernetes-int-or-string")
    kind = schema.get("type")
    if kind is None and not free:
        message = "Required value: must not be empty for specified object fields"
        causes.append(Cause(REQUIRED, f"{field}.type", message))
    elif kind is not None and kind not in _TYPES:
        words = ", ".join(f'"{word}"' for word in sorted(_TYPES))
        causes.append(Cause(NOT_SUPPORTED, f"{field}.type", f'Unsupported value: "{kind}": supported values: {words}'))
    pattern = schema.get("pattern")
    if isinstance(pattern, str):
        try:
            re.compile(pattern)
        except re.error as error:
            message = f'Invalid value: "{pattern}": must be a valid regular expression: {error}'
            causes.append(Cause(INVALID, f"{field}.pattern", message))
    properties = schema.get("properties") or {}
    if not isinstance(properties, Mapping) or not all(isinstance(part, Mapping) for part in properties.values()):
        return [*causes, Cause(INVALID, f"{field}.properties", "Invalid value: must be a map of schemas")]
    for name, part in properties.items():
        causes.extend(_check_schema(part, f"{field}.properties[{name}]"))
    for word in ("items", "additionalProperties"):
        part = schema.get(word)
        if isinstance(part, Mapping):
            causes.extend(_check_schema(part, f"{field}.{word}"))
        elif part is not None and not (word == "additionalProperties" and isinstance(part, bool)):
            causes.append(Cause(INVALID, f"{field}.{word}", "Invalid value: must be a schema"))
    return causes


def unevaluated_rules(schema: Any) -> bool:
    """Whether the schema has CEL rules (x-kubernetes-validations), which this server does not evaluate."""
    if isinstance(schema, Mapping):
        return "x-kubernetes-validations" in schema or any(unevaluated_rules(part) for part in schema.values())
    if isinstance(schema, list):
        return any(unevaluated_rules(part) for part in schema)
    return False
