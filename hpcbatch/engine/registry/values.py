"""Small operations on JSON values: copy, share what did not change, read a path."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from hpcbatch.errors import ApiError

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
MAX_DEPTH = 100
"""Levels of an object. Definitions of kinds come to forty; a level costs several of Python's own."""
MAX_BYTES = 3 * 1024 * 1024
"""Of a request, as the real server's, and so of an object."""
_USUAL_DEPTH = MAX_DEPTH // 2
_SHARED: Final = frozenset({dict, list, str})
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"{}[]")


def too_deep() -> ApiError:
    return ApiError(400, "BadRequest", f"the object is nested too deeply: {MAX_DEPTH} levels are the limit")


def too_large() -> ApiError:
    return ApiError(413, "RequestEntityTooLarge", f"Request entity too large: limit is {MAX_BYTES}")


def check_size(value: Any, left: int = MAX_BYTES, depth: int = 0) -> int:
    """Refuse a value that is nested too deeply, or is too large when all that it shares is written out.
    Returns what is left of the bytes. It stops as soon as it knows: a few kilobytes can stand for terabytes.
    Raises ApiError 400, 413.
    """
    if depth > MAX_DEPTH:
        raise too_deep()
    left -= len(value) + 2 if isinstance(value, str) else 2
    if isinstance(value, dict):
        if value and depth == MAX_DEPTH:
            raise too_deep()
        for key, item in value.items():
            left -= len(str(key)) + 3
            if isinstance(item, (dict, list)):
                left = check_size(item, left, depth + 1)
            else:
                left -= len(item) + 2 if isinstance(item, str) else 2
    elif isinstance(value, list):
        for item in value:
            left = check_size(item, left - 1, depth + 1)
    if left < 0:
        raise too_large()
    return left


def is_small(text: str) -> bool:
    """Whether a value that is this JSON keeps `check_size` for sure: told by its brackets alone, without a walk.
    Brackets within texts count too; where many do not match, the answer is no.
    """
    if text.count("{") + text.count("[") <= _USUAL_DEPTH:
        return len(text) <= MAX_BYTES // 2
    brackets = text.encode().translate(None, _NO_BRACKETS)
    for _ in range(_USUAL_DEPTH):
        if not brackets:
            return len(text) <= MAX_BYTES // 2
        brackets = brackets.replace(b"{}", b"").replace(b"[]", b"")
    return False


def same(one: Any, other: Any) -> bool:
    """Equality of JSON values. Python's own is quicker, but takes 1 for True: it is asked for the differences."""
    return one is other or (one == other and _same(one, other))


def _same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return len(one) == len(other) and all(key in other and _same(item, other[key]) for key, item in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


def share(new: dict[str, Any], old: Mapping[str, Any]) -> dict[str, Any]:
    """`new` with the equal parts of its first two levels taken from `old`, so that a history of changes stays small,
    and checks need not look at them again.
    """
    for key, value in new.items():
        if isinstance(value, (dict, list)):
            before = old.get(key)
            if before is value:
                continue
            if same(before, value):
                new[key] = before
            elif type(before) is dict is type(value):
                new[key] = {name: _shared(one, before.get(name)) for name, one in value.items()}
    return new


def _shared(one: Any, before: Any) -> Any:
    return before if type(one) in _SHARED and same(one, before) else one


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
            )
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
