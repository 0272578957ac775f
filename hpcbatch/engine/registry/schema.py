"""A CRD's structural schema at work: dropping unknown fields, filling in defaults, and checking, with jsonschema."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hpcbatch.clone import clone
from hpcbatch.engine.registry.accepts import accepts_change
from hpcbatch.engine.registry.formats import conforms, matches
from hpcbatch.engine.registry.statuses import DUPLICATE, Cause
from hpcbatch.engine.registry.tidy import FREE as _FREE
from hpcbatch.engine.registry.tidy import Tidy, tidy

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


@dataclass(frozen=True, slots=True)
class _Check:
    """A schema in jsonschema's dialect, and the quick way to the usual answer."""

    accepts: Callable[[Any, Any], bool]
    schema: Mapping[str, Any]

    @classmethod
    def of(cls, schema: Mapping[str, Any]) -> _Check:
        return cls(accepts_change(schema, matches, conforms), schema)

    def faults(self, value: Any, root: str, before: Any = None) -> list[Cause]:
        """`before` was found right earlier."""
        if self.accepts(value, before):
            return []
        from hpcbatch.engine.registry.faults import faults

        return faults(self.schema, value, root)


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
        causes = self.whole.faults(obj, "")
        for name, check in self.fields.items():
            if name not in obj or (old is not None and old.get(name) is obj[name]):
                continue
            causes += check.faults(obj[name], name, None if old is None else old.get(name))
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
