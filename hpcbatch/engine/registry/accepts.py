"""A quick answer to whether a value keeps a schema. No is only "not surely": then jsonschema looks, which says what is
wrong, but takes some thirty times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sized
from functools import reduce
from math import inf
from typing import Any, Final

Accepts = Callable[[Any], bool]
Matches = Callable[[str, str], bool]
"""Whether a text matches a pattern, or a value a format."""

_TYPES: Final[Mapping[str, frozenset[type]]] = {
    "object": frozenset({dict}),
    "array": frozenset({list}),
    "string": frozenset({str}),
    "integer": frozenset({int}),
    "number": frozenset({int, float}),
    "boolean": frozenset({bool}),
    "null": frozenset({type(None)}),
}
_NESTED: Final[Mapping[str, type]] = {"object": dict, "array": list}
_INTEGERS: Final[Mapping[str, int]] = {"int32": 31, "int64": 63}
"""The bits of a number without its sign."""
_KNOWN: Final = frozenset(
    {
        "type",
        "enum",
        "minimum",
        "maximum",
        "pattern",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "minProperties",
        "maxProperties",
        "required",
        "format",
        "properties",
        "items",
        "additionalProperties",
    }
)
_OF_ALL: Final = frozenset({"type", "required", "minProperties", "maxProperties"})
"""What is said of a map as a whole."""


def accepts(schema: Mapping[str, Any], matches: Matches, has_format: Callable[[Any, str], bool]) -> Accepts:
    """For a schema in jsonschema's dialect. One with words that are not known here accepts nothing."""
    if not schema.keys() <= _KNOWN:
        return lambda _: False
    tests = [*_scalar(schema, matches, has_format), *_sizes(schema)]
    if (inside := _inside(schema, matches, has_format)) is not None:
        sees_type = isinstance(schema.get("type"), str) and schema["type"] in _NESTED
        tests = [*(tests[1:] if sees_type else tests), inside]
    if not tests:
        return lambda _: True
    return reduce(_both, tests)


def accepts_change(
    schema: Mapping[str, Any], matches: Matches, has_format: Callable[[Any, str], bool]
) -> Callable[[Any, Any], bool]:
    """The same for a value and the one before it, which was right: what the two have in common, as the same object, is
    not looked at again.
    """
    whole = accepts(schema, matches, has_format)
    if "properties" not in schema:
        return lambda value, _before: whole(value)
    of_all = accepts({word: part for word, part in schema.items() if word in _OF_ALL}, matches, has_format)
    of_parts = accepts(
        {word: part for word, part in schema.items() if word not in _OF_ALL - {"type"}}, matches, has_format
    )

    def test(value: Any, before: Any) -> bool:
        if type(value) is not dict or type(before) is not dict:
            return whole(value)
        other = {name: one for name, one in value.items() if name not in before or before[name] is not one}
        return of_all(value) and of_parts(other)

    return test


def _both(one: Accepts, other: Accepts) -> Accepts:
    return lambda value: one(value) and other(value)


def _scalar(schema: Mapping[str, Any], matches: Matches, has_format: Callable[[Any, str], bool]) -> list[Accepts]:
    tests: list[Accepts] = []
    if "type" in schema:  # the first one
        words = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
        types = frozenset().union(*(_TYPES.get(word, frozenset()) for word in words))
        tests.append(lambda value: type(value) in types)
    if "enum" in schema:
        texts = frozenset(item for item in schema["enum"] if isinstance(item, str))
        has_null = None in schema["enum"]
        tests.append(lambda value: value in texts if type(value) is str else value is None and has_null)
    if "minimum" in schema:
        least = schema["minimum"]
        tests.append(lambda value: type(value) not in {int, float} or value >= least)
    if "maximum" in schema:
        most = schema["maximum"]
        tests.append(lambda value: type(value) not in {int, float} or value <= most)
    if "pattern" in schema:
        pattern = schema["pattern"]
        tests.append(lambda value: type(value) is not str or matches(value, pattern))
    if "format" in schema:
        name = schema["format"]
        if (bits := _INTEGERS.get(name)) is not None:
            tests.append(lambda value: type(value) is not int or -(2**bits) <= value < 2**bits)
        else:
            tests.append(lambda value: has_format(value, name))
    return tests


def _sizes(schema: Mapping[str, Any]) -> list[Accepts]:
    return [
        _has_size(kind, schema.get(f"min{word}", 0), schema.get(f"max{word}", inf))
        for word, kind in (("Length", str), ("Items", list), ("Properties", dict))
        if f"min{word}" in schema or f"max{word}" in schema
    ]


def _has_size(kind: type[Sized], least: float, most: float) -> Accepts:
    return lambda value: type(value) is not kind or least <= len(value) <= most


def _inside(schema: Mapping[str, Any], matches: Matches, has_format: Callable[[Any, str], bool]) -> Accepts | None:
    """What the schema wants of the parts of a map or a list, and that it is one where nothing else is allowed."""
    parts = {name: accepts(part, matches, has_format) for name, part in schema.get("properties", {}).items()}
    required = frozenset(schema.get("required", ()))
    other = schema.get("additionalProperties")
    rest = accepts(other, matches, has_format) if isinstance(other, Mapping) else None
    item = accepts(schema["items"], matches, has_format) if "items" in schema else None
    if not parts and not required and rest is None and item is None and other is not False:
        return None
    wanted = _NESTED.get(schema["type"]) if isinstance(schema.get("type"), str) else None

    def test(value: Any) -> bool:
        kind = type(value)
        if wanted is not None and kind is not wanted:
            return False
        if kind is dict:
            if not required <= value.keys():
                return False
            for name, one in value.items():
                part = parts.get(name, rest)
                if part is not None:
                    if not part(one):
                        return False
                elif other is False and name not in parts:
                    return False
            return True
        return kind is not list or item is None or all(map(item, value))

    return test
