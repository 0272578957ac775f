"""A BatchJob's columns from a whole record, without making all of its JSON first."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from operator import attrgetter
from types import MappingProxyType

from hpcbatch.model.record import JobRecord, JobStatus
from hpcbatch.model.row import IN_ROW, Column
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.stored import TIME, Kind, stored_fields
from hpcbatch.record.fields import COMPUTED, OBJECT_ONLY
from hpcbatch.typed import Any, NamedTuple
from hpcbatch.units import rfc3339

_COMPUTED = {part.json: part for part in COMPUTED}
_Shown = Callable[[Any], Any]
_time_text = lru_cache(maxsize=4096)(rfc3339)  # of many jobs a second
_spelled = json.JSONEncoder(separators=(",", ":")).encode


class _Plan(NamedTuple):
    """How the cells of records of two classes are made: all attributes are read at once."""

    fetch: Callable[[JobRecord], tuple[Any, ...]]
    computed: tuple[str, ...]
    """Names of what is computed of the record; the values stand behind its attributes."""
    steps: tuple[tuple[str, int, _Shown | None], ...]
    """The column's name, the place of its value, and what its cell shows of a value other than None; None: itself."""


_PLANS: dict[tuple[type[JobSpec], type[JobStatus], int], tuple[_Plan, Sequence[Column]]] = {}


def cells_of(
    record: JobRecord, columns: Sequence[Column], computed: Mapping[str, Any] = MappingProxyType({})
) -> dict[str, Any]:
    """Cells by column name, as the API server's Table would have them; columns without a value are left out.
    `computed`: those of COMPUTED that are known already.
    """
    key = type(record.spec), type(record.status), id(columns)
    known = _PLANS.get(key)
    if known is None:
        known = _PLANS[key] = _plan(type(record.spec), type(record.status), columns), columns
    fetch, names, steps = known[0]
    values = [*fetch(record), *[computed[name] if name in computed else _COMPUTED[name].of(record) for name in names]]
    return {
        name: value if shown is None else shown(value)
        for name, place, shown in steps
        if (value := values[place]) is not None
    }


def row_text(record: JobRecord, computed: Mapping[str, Any]) -> str:
    """The value of model.row.ROW; without what says nothing. `computed` as in `cells_of`."""
    cells = cells_of(record, IN_ROW, computed)
    return _spelled({name: cell for name, cell in cells.items() if cell is not None and cell != ""})


@cache
def row_mark() -> str:
    """Distinguishes the texts of `row_text` from those of another version."""
    from hashlib import sha256

    return sha256(repr([(column.name, column.path) for column in IN_ROW]).encode()).hexdigest()[:8]


def _plan(spec_class: type[JobSpec], status_class: type[JobStatus], columns: Sequence[Column]) -> _Plan:
    """Raises KeyError if the BatchJob has no field that a column shows."""
    found = [(column.name, *_source(column.path, spec_class, status_class)) for column in columns]
    sources = dict.fromkeys(source for _, source, _ in found if source)
    computed = [source for source in sources if source in _COMPUTED]
    # these two are always read: attrgetter returns a tuple of several only
    attributes = ["job_id", "queue", *(source for source in sources if source not in _COMPUTED)]
    places = {source: place for place, source in enumerate(attributes)}
    places |= {source: len(attributes) + place for place, source in enumerate(computed)}
    steps = tuple((name, places[source], shown) for name, source, shown in found if source)
    return _Plan(attrgetter(*attributes), tuple(computed), steps)


def _source(path: str, spec_class: type[JobSpec], status_class: type[JobStatus]) -> tuple[str, _Shown | None]:
    """Where the value at `path` of a BatchJob comes from: an attribute of the record, or the name of a computed field;
    "" if it never has one. Raises KeyError if the BatchJob has no such field.
    """
    root, name, *rest = path.strip(".").split(".")
    if root == "metadata":
        return "status.submit_time", _time_text
    if root == "status" and name in _COMPUTED:
        return name, _shown(_COMPUTED[name].kind, rest)
    if name in OBJECT_ONLY[root]:
        return "", None
    part = {part.json: part for part in stored_fields(spec_class if root == "spec" else status_class)}[name]
    return f"{root}.{part.attribute}", _shown(part.kind, rest)


def _shown(kind: Kind, path: Sequence[str]) -> _Shown | None:
    """The function for the JSON at `path` within a value of that kind; None if it is missing."""
    if not path:
        if kind.to_json is TIME.to_json:
            return _time_text
        return None if kind.to_json is _PLAIN.to_json else kind.to_json
    name, *rest = path
    if not kind.parts:
        return lambda value: value.get(name)  # a mapping of names to text
    part = {part.json: part for part in kind.parts}[name]
    attribute, inner = part.attribute, _shown(part.kind, rest)
    if inner is None:
        return attrgetter(attribute)
    return lambda value: None if (held := getattr(value, attribute)) is None else inner(held)


_PLAIN = Kind({})
