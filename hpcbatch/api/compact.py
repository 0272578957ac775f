"""Objects that take less memory: each name of a field is one string, however many objects have it, and so are the texts
that many have alike, such as the environment of all jobs from one session, and the parts, such as their chunks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from sys import intern
from types import MappingProxyType
from typing import Any, Final

_SHORT: Final = 256
_MOST_SHORT, _MOST_LONG = 4096, 64
"""So many texts are remembered; then all are forgotten, and those that come again are remembered again."""
_LONGEST: Final = 65536
_SCALARS: Final = frozenset({int, float, bool, type(None)})
_NESTED: Final = frozenset({dict, list})

_MOST_PARTS, _LARGEST_PART = 2048, 512
"""Of the latter in characters of JSON."""
_LONG_FIELD: Final = 64
"""Shorter texts of a status are mostly its own: times and numbers."""
_SPELLED: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

_parts: dict[str, Any] = {}
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


def share_parts(value: dict[str, Any], before: Mapping[str, Any] = MappingProxyType({})) -> None:
    """Let what stands in the fields of an object's spec, status or metadata be one value with what others have alike
    there: dicts, lists and long texts. `value` is that spec; nobody may change its parts any more. Those that it has of
    `before` are shared already.
    """
    for name, part in value.items():
        kind = type(part)
        if not part or kind in _SCALARS or part is before.get(name):
            continue
        if kind is not str:
            if name != "ownerReferences":  # each has its own
                value[name] = _one(part)
        elif len(part) >= _LONG_FIELD:
            value[name] = _shared(part)


def _one(part: Any) -> Any:
    text = _SPELLED(part)
    if len(text) > _LARGEST_PART:
        return part
    known = _parts.get(text)
    if known is None:
        if len(_parts) >= _MOST_PARTS:
            _parts.clear()
        known = _parts[text] = part
    return known


Packed = tuple[Any, ...]
"""Its form, which is one value for all objects of that form, and then what stands in it."""
_MOST_FORMS = 1024
_forms: dict[Any, Any] = {}


def pack(value: Any) -> Packed:
    """A JSON value in a third of its memory, for what is read rarely."""
    leaves: list[Any] = []
    form = _form(value, leaves)
    if len(_forms) >= _MOST_FORMS:
        _forms.clear()
    return (_forms.setdefault(form, form), *leaves)


def unpack(packed: Packed) -> Any:
    """The value, made anew."""
    form, *leaves = packed
    return _filled(form, iter(leaves))


def _form(value: Any, leaves: list[Any]) -> Any:
    """The keys of an object (None for a list) and the forms of what is in it; None for what goes among the leaves."""
    items: Any
    if type(value) is dict:
        keys, items = tuple(value), value.values()
    elif type(value) is list:
        keys, items = None, value
    else:
        leaves.append(value)
        return None
    parts = []
    for item in items:
        if type(item) in _NESTED:
            parts.append(_form(item, leaves))
        else:
            leaves.append(item)
            parts.append(None)
    return keys, tuple(parts)


def _filled(form: Any, leaves: Iterator[Any]) -> Any:
    if form is None:
        return next(leaves)
    keys, parts = form
    items = [next(leaves) if part is None else _filled(part, leaves) for part in parts]
    return items if keys is None else dict(zip(keys, items, strict=True))


def loads(text: str) -> Any:
    """Read JSON so."""
    return json.loads(text, object_pairs_hook=_object)


def read(text: str) -> Any:
    """A stored object."""
    return _with_shared_parts(loads(text))


def compact_object(obj: dict[str, Any]) -> dict[str, Any]:
    """A copy of it, whose texts and parts are shared with those of objects before it."""
    return _with_shared_parts(compact(obj))


def _with_shared_parts(obj: dict[str, Any]) -> dict[str, Any]:
    for value in obj.values():
        if type(value) is dict:
            share_parts(value)
    return obj


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
