"""JSON as the PBS commands write it: cJSON's layout, and values that look like JSON written as such."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from hpcbatch.model.text import UNPRINTABLE
from hpcbatch.typed import TypeAlias

Json: TypeAlias = "str | int | float | bool | Mapping[str, Json] | Sequence[Json] | None"

_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?")
_ESCAPE = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ESCAPED = re.compile(rf'["\\{UNPRINTABLE}]')
_EPSILON = 2.0**-52
_BLANK = "".join(map(chr, range(33)))


def parsed(text: str) -> Json:
    """`text` as the JSON value that it spells, else itself: `40` is a number, `00:10:00` and `4gb` are strings.
    Source: OpenPBS, pbs_json_insert_parsed().
    """
    word = text.strip(_BLANK)
    if len(word) < 64 and _NUMBER.fullmatch(word):
        return float(word)
    if word in {"true", "false", "null"}:
        return {"true": True, "false": False, "null": None}[word]
    if word[:1] in {'"', "[", "{"}:
        import json  # only few values are of this kind

        try:
            value: Json = json.loads(word)
        except (ValueError, RecursionError):
            return text
        return value
    return text


def dump(value: Json, depth: int = 0) -> str:
    """`value` in cJSON's layout: one item a line, a tab for each level and after each colon; lists on one line."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return _number(float(value))
        case str():
            return _string(value)
        case Mapping():
            inner = "\t" * (depth + 1)
            items = ",\n".join(f"{inner}{_string(key)}:\t{dump(item, depth + 1)}" for key, item in value.items())
            return "{\n" + (f"{items}\n" if items else "") + "\t" * depth + "}"
        case _:
            return "[" + ", ".join(dump(item, depth) for item in value) + "]"


def _string(text: str) -> str:
    return '"' + _ESCAPED.sub(lambda match: _ESCAPE.get(match[0]) or f"\\u{ord(match[0]):04x}", text) + '"'


def _number(value: float) -> str:
    """As cJSON: whole numbers plain, others with 15 digits, or 17 where 15 lose something."""
    if value != value or value in {float("inf"), float("-inf")}:  # noqa: PLR0124
        return "null"
    if value == int(value) and abs(value) < 2**31:
        return str(int(value))
    short = f"{value:.15g}"
    if abs(float(short) - value) <= max(abs(float(short)), abs(value)) * _EPSILON:
        return short
    return f"{value:.17g}"
