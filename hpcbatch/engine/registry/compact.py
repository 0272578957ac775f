"""Objects that take less memory: each name of a field is one string, however many objects have it, and so are the texts
that many have alike, such as the environment of all jobs from one session.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from sys import intern
from typing import Any, Final

_SHORT: Final = 256
_MOST_SHORT, _MOST_LONG = 4096, 64
"""So many texts are remembered; then all are forgotten, and those that come again are remembered again."""
_LONGEST: Final = 65536
_SCALARS: Final = frozenset({int, float, bool, type(None)})

_short: dict[str, str] = {}
_long: dict[str, str] = {}


def compact(value: Any) -> Any:
    """A copy of a JSON value whose texts are shared with those before it."""
    kind = type(value)
    if kind is str:
        return _shared(value)
    if kind is dict:
        return {
            intern(key) if type(key) is str else key: (
                _shared(item) if type(item) is str else item if type(item) in _SCALARS else compact(item)
            )
            for key, item in value.items()
        }
    if kind is list:
        return [compact(item) for item in value]
    if isinstance(value, Mapping):
        return compact(dict(value))
    return [compact(item) for item in value] if isinstance(value, tuple) else value


def loads(text: str) -> Any:
    """Read JSON so."""
    return json.loads(text, object_pairs_hook=_object)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {intern(key): _shared(item) if type(item) is str else item for key, item in pairs}


def _shared(text: str) -> str:
    if len(text) > _LONGEST:
        return text
    memory, most = (_short, _MOST_SHORT) if len(text) <= _SHORT else (_long, _MOST_LONG)
    known = memory.get(text)
    if known is not None:
        return known
    if len(memory) >= most:
        memory.clear()
    memory[text] = text
    return text
