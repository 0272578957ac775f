"""A CRD's structural schema at work: dropping unknown fields, filling in defaults, and checking, with jsonschema."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

import jsonschema
from jsonschema.exceptions import ValidationError

from hpcbatch.clone import clone
from hpcbatch.engine.registry.accepts import accepts_change
from hpcbatch.engine.registry.statuses import (
    DUPLICATE,
    INVALID,
    NOT_SUPPORTED,
    REQUIRED,
    TOO_LONG,
    TOO_MANY,
    TYPE_INVALID,
    Cause,
)
from hpcbatch.engine.registry.tidy import FREE as _FREE
from hpcbatch.engine.registry.tidy import Tidy, tidy
from hpcbatch.engine.registry.values import json_kind

Object = dict[str, Any]
_INT_OR_STRING = "x-kubernetes-int-or-string"
_COPIED = (
    "enum",
    "minimum",
    "maximum",
    "multipleOf",
    "pattern",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "required",
    "format",
)

_formats = jsonschema.FormatChecker(formats=())


@_formats.checks("date-time", raises=ValueError)
def _is_date_time(value: object) -> bool:
    if not isinstance(value, str):
        return True
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})", value):
        return False
    datetime.fromisoformat(re.sub(r"\.\d+", "", value).upper().replace("Z", "+00:00"))
    return True


@_formats.checks("date", raises=ValueError)
def _is_date(value: object) -> bool:
    if isinstance(value, str):
        datetime.strptime(value, "%Y-%m-%d")
    return True


@_formats.checks("uuid")
def _is_uuid(value: object) -> bool:
    return not isinstance(value, str) or bool(
        re.fullmatch(r"[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}", value)
    )


@_formats.checks("int32")
def _is_int32(value: object) -> bool:
    return not isinstance(value, int) or isinstance(value, bool) or -(2**31) <= value < 2**31


@_formats.checks("int64")
def _is_int64(value: object) -> bool:
    return not isinstance(value, int) or isinstance(value, bool) or -(2**63) <= value < 2**63


def _pattern(_validator: Any, pattern: str, instance: object, _schema: Any) -> Iterator[ValidationError]:
    """`$` as Kubernetes reads it: Python's own also matches before a newline that ends the text."""
    if isinstance(instance, str) and not _compiled(pattern).search(instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"(?<!\\)\$$", r"\\Z", pattern))


_Validator = jsonschema.validators.extend(jsonschema.Draft202012Validator, {"pattern": _pattern})  # type: ignore[no-untyped-call]


def to_json_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema in jsonschema's dialect (2020-12): without extensions, `nullable` and boolean `exclusiveMinimum`."""
    out: dict[str, Any] = {word: schema[word] for word in _COPIED if word in schema}
    if schema.get(_INT_OR_STRING):
        out["type"] = ["integer", "string"]
    elif "type" in schema:
        out["type"] = [schema["type"], "null"] if schema.get("nullable") else schema["type"]
        if schema.get("nullable") and "enum" in out:
            out["enum"] = [*out["enum"], None]
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if schema.get(exclusive) is True and bound in out:
            out[exclusive] = out.pop(bound)
    if "properties" in schema:
        out["properties"] = {name: to_json_schema(part) for name, part in schema["properties"].items()}
    for word in ("items", "additionalProperties", "not"):
        if isinstance(schema.get(word), Mapping):
            out[word] = to_json_schema(schema[word])
    for word in ("allOf", "anyOf", "oneOf"):
        if word in schema and not schema.get(_INT_OR_STRING):
            out[word] = [to_json_schema(part) for part in schema[word]]
    return out


def _matches(text: str, pattern: str) -> bool:
    return _compiled(pattern).search(text) is not None


@dataclass(frozen=True, slots=True)
class _Check:
    """A schema in jsonschema's dialect, and the quick way to the usual answer."""

    accepts: Callable[[Any, Any], bool]
    validator: Any

    @classmethod
    def of(cls, schema: Mapping[str, Any]) -> _Check:
        return cls(accepts_change(schema, _matches, _formats.conforms), _Validator(schema, format_checker=_formats))

    def errors(self, value: Any, before: Any = None) -> Iterable[ValidationError]:
        """`before` was found right earlier."""
        return () if self.accepts(value, before) else self.validator.iter_errors(value)


@dataclass(frozen=True, slots=True)
class CompiledSchema:
    """A schema ready for use. Each top-level field is checked apart: a status write checks the status only."""

    schema: Mapping[str, Any]
    whole: _Check
    fields: Mapping[str, _Check]
    has_keys: frozenset[str]
    """Top-level fields in which there are lists whose entries must differ."""
    is_tidy: Tidy
    """Whether `prune` and `default` would leave an object, or some of its fields, as it is; no is only "not surely"."""

    @classmethod
    def of(cls, schema: Mapping[str, Any]) -> CompiledSchema:
        converted = to_json_schema(schema)
        properties = converted.get("properties", {})
        for word in ("apiVersion", "kind", "metadata"):  # the server's own business, whatever the CRD says
            properties.pop(word, None)
        fields = {name: _Check.of(part) for name, part in properties.items()}
        shallow = {word: value for word, value in converted.items() if word != "properties"}
        own = schema.get("properties") or {}
        has_keys = frozenset(name for name in fields if _has_keys(own[name]))
        own_parts = {**own, **{word: {_FREE: True} for word in ("apiVersion", "kind", "metadata")}}
        return cls(schema, _Check.of(shallow), fields, has_keys, tidy({**schema, "properties": own_parts}))

    def prune(self, obj: Object) -> tuple[Object, list[str]]:
        """The object without unknown fields, and their paths. Whole numbers written as floats become integers."""
        unknown: list[str] = []
        return _prune_root(obj, self.schema, unknown), unknown

    def default(self, obj: Object, done: Container[str] = ()) -> Object:
        """The object with the schema's defaults filled in; a null gives way to them. The top-level fields in `done`
        stay as they are.
        """
        apart = {key: value for key, value in obj.items() if key in done}
        rest = {key: value for key, value in obj.items() if key not in apart}
        filled: Object = _default(rest, self.schema)
        return {**filled, **apart}

    def check(self, obj: Object, old: Object | None = None) -> list[Cause]:
        """All faults. Top-level fields, and parts of them, that `old` has are not looked at again."""
        causes: list[Cause] = []
        for error in self.whole.errors(obj):
            causes.extend(_causes(error, ""))
        for name, check in self.fields.items():
            if name not in obj or (old is not None and old.get(name) is obj[name]):
                continue
            for error in check.errors(obj[name], None if old is None else old.get(name)):
                causes.extend(_causes(error, name))
            if name in self.has_keys:
                causes.extend(_duplicates(obj[name], self.schema["properties"][name], name))
        return causes


def _is_free(schema: Mapping[str, Any]) -> bool:
    return bool(schema.get(_FREE))


def _prune_root(obj: Object, schema: Mapping[str, Any], unknown: list[str]) -> Object:
    properties = schema.get("properties") or {}
    result: Object = {}
    for key, value in obj.items():
        if key in {"apiVersion", "kind", "metadata"}:
            result[key] = value
        elif key in properties:
            result[key] = _prune(value, properties[key], key, unknown)
        elif _is_free(schema):
            result[key] = value
        else:
            unknown.append(key)
    return result


def _prune(value: Any, schema: Mapping[str, Any], path: str, unknown: list[str]) -> Any:
    if isinstance(value, (dict, Mapping)):
        if schema.get("x-kubernetes-embedded-resource") and not schema.get("properties"):
            return value
        properties = schema.get("properties") or {}
        other = schema.get("additionalProperties")
        result: Object = {}
        for key, item in value.items():
            here = f"{path}.{key}"
            if key in properties:
                result[key] = _prune(item, properties[key], here, unknown)
            elif isinstance(other, Mapping):
                result[key] = _prune(item, other, here, unknown)
            elif other is True or _is_free(schema):
                result[key] = item
            else:
                unknown.append(here)
        return result
    if isinstance(value, list):
        items = schema.get("items")
        if not isinstance(items, Mapping):
            return value
        return [_prune(item, items, f"{path}[{index}]", unknown) for index, item in enumerate(value)]
    if isinstance(value, float) and value.is_integer() and (schema.get("type") != "number"):
        return int(value)
    return value


def _default(value: Any, schema: Mapping[str, Any]) -> Any:
    if isinstance(value, (dict, Mapping)):
        properties = schema.get("properties") or {}
        result = dict(value)
        for key, part in properties.items():
            if key in result and result[key] is None and not part.get("nullable"):
                if "default" not in part and part.get("type") == "array":
                    continue  # the check then says `must be of type array: "null"`, as the real server does
                del result[key]
            if key not in result and "default" in part:
                result[key] = clone(part["default"])
            if key in result:
                result[key] = _default(result[key], part)
        other = schema.get("additionalProperties")
        if isinstance(other, Mapping):
            for key, item in value.items():
                if key not in properties:
                    result[key] = _default(item, other)
        return result
    if isinstance(value, list) and isinstance(schema.get("items"), Mapping):
        return [_default(item, schema["items"]) for item in value]
    return value


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _kind_of(value: Any) -> str:
    """The schema's word for the kind of a JSON value; the first three are other words than those of Go's decoder."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
    return json_kind(value)


def _path(root: str, steps: Iterator[Any]) -> str:
    path = root
    for step in steps:
        path = f"{path}[{step}]" if isinstance(step, int) else f"{path}.{step}" if path else str(step)
    return path


def _causes(error: ValidationError, root: str) -> list[Cause]:
    """One jsonschema error in the API server's words."""
    path = _path(root, iter(error.absolute_path))
    value: Any = error.instance
    limit: Any = error.validator_value
    word = str(error.validator)
    in_body = f"{path} in body"
    shown = f"Invalid value: {_text(value)}"
    plain = {
        "minimum": f"should be greater than or equal to {limit}",
        "maximum": f"should be less than or equal to {limit}",
        "exclusiveMinimum": f"should be greater than {limit}",
        "exclusiveMaximum": f"should be less than {limit}",
        "pattern": f"should match '{limit}'",
        "minLength": f"should be at least {limit} chars long",
        "multipleOf": f"should be a multiple of {limit}",
        "uniqueItems": "shouldn't contain duplicates",
        "not": "must not validate the schema (not)",
        "anyOf": "must validate at least one schema (anyOf)",
        "oneOf": "must validate one and only one schema (oneOf)",
    }
    if word in plain:
        return [Cause(INVALID, path, f"{shown}: {in_body} {plain[word]}")]
    match word:
        case "required":
            # jsonschema reports each missing field apart, and names it only in the text
            missing = re.match(r"'(.*)' is a required property", error.message)
            name = missing[1] if missing else ""
            return [Cause(REQUIRED, f"{path}.{name}" if path else name, "Required value")]
        case "enum":
            allowed = ", ".join(_text(item) for item in limit if item is not None)
            return [Cause(NOT_SUPPORTED, path, f"Unsupported value: {_text(value)}: supported values: {allowed}")]
        case "type":
            wanted = [limit] if isinstance(limit, str) else [item for item in limit if item != "null"]
            found = _kind_of(value)
            message = f'Invalid value: "{found}": {in_body} must be of type {",".join(wanted)}: "{found}"'
            return [Cause(TYPE_INVALID, path, message)]
        case "format":
            leaf = path.rpartition(".")[2]
            return [Cause(INVALID, path, f"{shown}: {leaf} in body must be of type {limit}: {_text(value)}")]
        case "maxLength":
            return [Cause(TOO_LONG, path, f"Too long: may not be more than {limit} bytes")]
        case "maxItems":
            return [Cause(TOO_MANY, path, f"Too many: {len(value)}: must have at most {limit} items")]
        case "minItems":
            return [Cause(INVALID, path, f"Invalid value: {len(value)}: {in_body} should have at least {limit} items")]
        case "minProperties" | "maxProperties":
            bound = "at least" if word == "minProperties" else "at most"
            return [
                Cause(INVALID, path, f"Invalid value: {len(value)}: {in_body} should have {bound} {limit} properties")
            ]
    return [Cause(INVALID, path, f"{shown}: {error.message}")]


def _has_keys(schema: Any) -> bool:
    """Whether there are maps or sets in the form of lists in it, for `_duplicates`."""
    if not isinstance(schema, Mapping):
        return False
    parts = [*(schema.get("properties") or {}).values(), schema.get("items"), schema.get("additionalProperties")]
    return schema.get("x-kubernetes-list-type") in {"map", "set"} or any(map(_has_keys, parts))


def _duplicates(value: Any, schema: Mapping[str, Any], path: str) -> Iterator[Cause]:
    """Entries of lists that are maps or sets which stand there twice."""
    if isinstance(value, Mapping):
        properties = schema.get("properties") or {}
        other = schema.get("additionalProperties")
        for key, item in value.items():
            part = properties.get(key, other)
            if isinstance(part, Mapping) and isinstance(item, (dict, list)):
                yield from _duplicates(item, part, f"{path}.{key}")
    elif isinstance(value, list):
        keys = schema.get("x-kubernetes-list-map-keys") or ()
        kind = schema.get("x-kubernetes-list-type")
        items = schema.get("items")
        seen: set[str] = set()
        for index, item in enumerate(value):
            here = f"{path}[{index}]"
            if kind in {"map", "set"}:
                identity = item
                if kind == "map" and isinstance(item, Mapping):
                    identity = {key: item[key] for key in keys if key in item}
                text = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
                if text in seen:
                    yield Cause(DUPLICATE, here, f"Duplicate value: {text}")
                seen.add(text)
            if isinstance(items, Mapping) and isinstance(item, (dict, list)):
                yield from _duplicates(item, items, here)
