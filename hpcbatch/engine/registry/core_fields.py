"""Which fields the core kinds have, and of which type: unknown ones are dropped, wrong ones refused."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from hpcbatch.clone import clone
from hpcbatch.engine.registry.core_types import TYPES
from hpcbatch.engine.registry.kinds import Kind
from hpcbatch.engine.registry.statuses import bad_request
from hpcbatch.engine.registry.values import json_kind

Object = dict[str, Any]
# Where the OpenAPI documents of the real server keep these types.
_GROUP_OF: dict[tuple[str, str], str] = {
    ("", "v1"): "io.k8s.api.core.v1",
    ("coordination.k8s.io", "v1"): "io.k8s.api.coordination.v1",
    ("networking.k8s.io", "v1"): "io.k8s.api.networking.v1",
    ("scheduling.k8s.io", "v1"): "io.k8s.api.scheduling.v1",
    ("apiextensions.k8s.io", "v1"): "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1",
}
_INT64 = 2**63
_TEXTS = frozenset({"str", "time", "bytes", "qty", "ios"})
"""Types of which every text is a value."""
_GO_NAMES = {"str": "string", "int": "int64", "num": "float64", "bool": "bool", "time": "string", "bytes": "[]uint8"}


@cache
def _fields(type_name: str) -> Mapping[str, str]:
    return dict(entry.split(":", 1) for entry in TYPES[type_name].split())


class _WrongTypeError(Exception):
    """`found` stands where `wanted` belongs."""

    def __init__(self, found: str, owner: str, path: str, wanted: str) -> None:
        plain = re.sub(r"\[\d+\]", "", path)
        super().__init__(f"json: cannot unmarshal {found} into Go struct field {owner}.{plain} of type {wanted}")


def _go_type(type_name: str) -> str:
    if type_name.startswith("["):
        return f"[]{_go_type(type_name[1:-1])}"
    if type_name.startswith("{"):
        return f"map[string]{_go_type(type_name[1:-1])}"
    return _GO_NAMES.get(type_name, f"v1.{type_name}")


def _fits(value: Any, type_name: str) -> bool:
    match type_name:
        case "str" | "time" | "bytes":
            return isinstance(value, str)
        case "bool":
            return isinstance(value, bool)
        case "int":
            return isinstance(value, int) and not isinstance(value, bool) and -_INT64 <= value < _INT64
        case "num" | "qty" | "ios":
            return (isinstance(value, str) and type_name != "num") or (
                isinstance(value, (int, float)) and not isinstance(value, bool)
            )
    return True


class _Cleaner:
    """Walks through one object; the paths of unknown fields gather in `unknown`."""

    def __init__(self) -> None:
        self.unknown: list[str] = []

    def clean(self, value: Any, type_name: str, owner: str, field: str) -> Any:
        """`owner` is the type that has the field, `field` its path."""
        if type(value) is str and type_name in _TEXTS:
            return value
        if type_name == "any":
            return _without_nulls(value)
        if type_name == "schemaOrBool":
            return value if isinstance(value, bool) else self.clean(value, "JSONSchemaProps", owner, field)
        if type_name[0] in "[{" or type_name in TYPES:
            wanted = list if type_name[0] == "[" else dict
            if not isinstance(value, wanted):
                raise _WrongTypeError(json_kind(value), owner, field, _go_type(type_name))
            if type_name in TYPES:
                return self._message(value, type_name, field)
            inner = type_name[1:-1]
            if isinstance(value, list):
                items = enumerate(value)
                return [self.clean(item, inner, owner, f"{field}[{i}]") for i, item in items if item is not None]
            return {key: self.clean(item, inner, owner, field) for key, item in value.items() if item is not None}
        if isinstance(value, float) and value.is_integer() and type_name == "int":
            value = int(value)
        if not _fits(value, type_name):
            raise _WrongTypeError(json_kind(value), owner, field, _go_type(type_name))
        return str(value) if type_name == "qty" else value

    def _message(self, value: Any, type_name: str, field: str) -> Object:
        known = _fields(type_name)
        result: Object = {}
        for key, item in value.items():
            if key not in known:
                self.unknown.append(f"{field}.{key}")
            elif type(item) is str and known[key] in _TEXTS:  # most are, and need no walk
                result[key] = item
            elif item is not None:
                result[key] = self.clean(item, known[key], type_name, f"{field}.{key}")
        return result


def clean_core(kind: Kind, obj: Object, old: Object | None) -> tuple[Object, list[str]]:
    """(the object without nulls and unknown fields, the paths of those). Parts that `old` has stay shared with it.
    Raises ApiError 400 for a value of the wrong type.
    """
    name = kind.resource.kind
    known = _fields(name)
    cleaner = _Cleaner()
    result: Object = {}
    for key, value in obj.items():
        if key in {"apiVersion", "kind", "metadata"} or (old is not None and old.get(key) is value):
            result[key] = value
        elif key not in known:
            cleaner.unknown.append(key)
        elif value is not None:
            try:
                result[key] = cleaner.clean(value, known[key], name, key)
            except _WrongTypeError as error:
                raise bad_request(
                    f'{name} in version "{kind.resource.version}" cannot be handled as a {name}: {error}'
                ) from None
    return result, cleaner.unknown


def read_typed(value: Any, type_name: str) -> Object:
    """A value that is not stored, such as DeleteOptions, without unknown fields and nulls. Raises ApiError 400."""
    try:
        read: Object = _Cleaner().clean(value, type_name, type_name, type_name)
    except _WrongTypeError as error:
        raise bad_request(f'{type_name} in version "v1" cannot be handled as a {type_name}: {error}') from None
    return read


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return clone(value)


# --- the same as OpenAPI, for `kubectl explain` ---

_SIMPLE: dict[str, Object] = {
    "str": {"type": "string"},
    "int": {"type": "integer", "format": "int64"},
    "num": {"type": "number"},
    "bool": {"type": "boolean"},
    "time": {"type": "string", "format": "date-time"},
    "bytes": {"type": "string", "format": "byte"},
    "ios": {"oneOf": [{"type": "integer"}, {"type": "string"}], "format": "int-or-string"},
    "qty": {"oneOf": [{"type": "string"}, {"type": "number"}]},
    "schemaOrBool": {"x-kubernetes-preserve-unknown-fields": True},
    "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
}


def _openapi(type_name: str) -> Object:
    if type_name.startswith("["):
        return {"type": "array", "items": _openapi(type_name[1:-1])}
    if type_name.startswith("{"):
        return {"type": "object", "additionalProperties": _openapi(type_name[1:-1])}
    if type_name in TYPES:
        return {"allOf": [{"$ref": f"#/components/schemas/io.k8s.api.core.v1.{type_name}"}]}
    return dict(_SIMPLE[type_name])


def _reachable(type_name: str, found: dict[str, None]) -> None:
    for field_type in _fields(type_name).values():
        inner = field_type.strip("[]{}")
        if inner in TYPES and inner not in found:
            found[inner] = None
            _reachable(inner, found)


def root_schema(kind: Kind) -> Object:
    """The schema of a core kind."""
    properties = {name: _openapi(word) for name, word in _fields(kind.resource.kind).items()}
    return {"type": "object", "description": f"{kind.resource.kind} of Kubernetes.", "properties": properties}


def component_schemas(group: str, version: str) -> Object:
    """The types below the kinds of a built-in group."""
    if (group, version) not in _GROUP_OF:
        return {}
    found: dict[str, None] = {}
    for name in _ROOTS.get(group, ()):
        _reachable(name, found)
    return {
        f"io.k8s.api.core.v1.{name}": {
            "type": "object",
            "properties": {field: _openapi(word) for field, word in _fields(name).items()},
        }
        for name in found
    }


_ROOTS: dict[str, tuple[str, ...]] = {
    "": ("Pod", "Service", "ConfigMap", "Secret", "ServiceAccount", "Event", "Node", "Namespace"),
    "coordination.k8s.io": ("Lease",),
    "networking.k8s.io": ("NetworkPolicy",),
    "scheduling.k8s.io": ("PriorityClass",),
    "apiextensions.k8s.io": ("CustomResourceDefinition",),
}


def metadata_schema() -> Object:
    text = {"type": "string"}
    time = {"type": "string", "format": "date-time"}
    return {
        "type": "object",
        "description": "What every object has: its name, its labels, who owns it.",
        "properties": {
            "name": text,
            "generateName": text,
            "namespace": text,
            "uid": text,
            "resourceVersion": text,
            "generation": {"type": "integer", "format": "int64"},
            "creationTimestamp": time,
            "deletionTimestamp": time,
            "deletionGracePeriodSeconds": {"type": "integer", "format": "int64"},
            "labels": {"type": "object", "additionalProperties": text},
            "annotations": {"type": "object", "additionalProperties": text},
            "finalizers": {"type": "array", "items": text},
            "ownerReferences": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "apiVersion": text,
                        "kind": text,
                        "name": text,
                        "uid": text,
                        "controller": {"type": "boolean"},
                        "blockOwnerDeletion": {"type": "boolean"},
                    },
                },
            },
        },
    }
