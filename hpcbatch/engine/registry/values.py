"""Small operations on JSON values: copy, share what did not change, read a path."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

_STEP = re.compile(
    r"""\.(?P<name>(?:[^.\[\]\\]|\\.)+)               # .spec, .foo\.bar/baz
      | \[(?P<index>\d+)\]
      | \[(?P<all>\*)\]
      | \[['"](?P<quoted>[^'"]+)['"]\]
      | \[\?\(@\.(?P<field>\w+)\s*==\s*['"](?P<value>[^'"]*)['"]\)\]  # [?(@.type=="Ready")]
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Where:
    """A step of a path: the first item of a list whose field has this value."""

    field: str
    value: str


Step = str | int | Where


def clone(value: Any) -> Any:
    """A deep copy of a JSON value; several times as fast as copy.deepcopy."""
    if isinstance(value, Mapping):
        return {key: clone(item) if isinstance(item, (dict, list)) else item for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [clone(item) if isinstance(item, (dict, list)) else item for item in value]
    return value


def same(one: Any, other: Any) -> bool:
    """Equality of JSON values. Python's own takes 1 for True."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return len(one) == len(other) and all(key in other and same(item, other[key]) for key, item in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def share(new: dict[str, Any], old: Mapping[str, Any]) -> dict[str, Any]:
    """`new` with the equal parts of its first level taken from `old`, so that a history of changes stays small."""
    for key, value in new.items():
        if isinstance(value, (dict, list)):
            before = old.get(key)
            if before is not value and same(before, value):
                new[key] = before
    return new


@lru_cache(maxsize=1024)
def parse_path(path: str) -> tuple[Step, ...]:
    """Read a JSON path as CRDs use them, `.spec.a[0]['b.c']`, `.status.conditions[?(@.type=="Ready")].status`.
    Of `[*]` the first item counts, as in kubectl's columns. Raises ValueError.
    """
    steps: list[Step] = []
    position = 0
    while position < len(path):
        match = _STEP.match(path, position)
        if match is None:
            raise ValueError(f"{path!r} is not a simple JSON path")
        if match["index"] is not None or match["all"] is not None:
            steps.append(int(match["index"] or 0))
        elif match["field"] is not None:
            steps.append(Where(match["field"], match["value"]))
        else:
            steps.append(match["quoted"] or re.sub(r"\\(.)", r"\1", match["name"]))
        position = match.end()
    return tuple(steps)


def follow(obj: Any, steps: tuple[Step, ...]) -> Any:
    """The value at the end of a path, None if there is none."""
    value = obj
    for step in steps:
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int):
            value = value[step] if step < len(value) else None
        elif isinstance(value, list) and isinstance(step, Where):
            value = next(
                (item for item in value if isinstance(item, dict) and item.get(step.field) == step.value), None
            )  # fmt: skip
        else:
            return None
    return value


def read_path(obj: Any, path: str) -> Any:
    """The value at a path, None if there is none."""
    return follow(obj, parse_path(path))


def as_dict(value: Any) -> dict[str, Any]:
    """`value` if it is a map, else an empty one: for optional parts such as metadata.labels."""
    return value if isinstance(value, dict) else {}


def json_kind(value: Any) -> str:
    """What Go's decoder calls the kind of a JSON value."""
    match value:
        case bool():
            return "bool"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
    return "object"
