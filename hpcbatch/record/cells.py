"""What a BatchJob's columns show of a whole record, without making all of its JSON first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hpcbatch.model.record import JobRecord, JobStatus
from hpcbatch.model.row import Column
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.stored import TIME, Kind, stored_fields
from hpcbatch.record.fields import COMPUTED, OBJECT_ONLY

_COMPUTED = {part.json: part for part in COMPUTED}


_Getter = Callable[[JobRecord], Any]
_GETTERS: dict[tuple[str, type[JobSpec], type[JobStatus]], _Getter] = {}


def cells_of(record: JobRecord, columns: Sequence[Column]) -> dict[str, Any]:
    """Cells by the name of their column, as the API server's Table would hold them."""
    spec_class, status_class = type(record.spec), type(record.status)
    found = {}
    for column in columns:
        key = column.path, spec_class, status_class
        if key not in _GETTERS:
            _GETTERS[key] = _getter(*key)
        found[column.name] = _GETTERS[key](record)
    return found


def _getter(path: str, spec_class: type[JobSpec], status_class: type[JobStatus]) -> _Getter:
    """How the value at `path` of a BatchJob is made of a record. Raises KeyError if the BatchJob has no such field."""
    root, name, *rest = path.strip(".").split(".")
    if root == "metadata":
        return lambda record: None if (when := record.status.submit_time) is None else TIME.to_json(when)
    if root == "status" and name in _COMPUTED:
        computed = _COMPUTED[name]
        return lambda record: _at(computed.of(record), computed.kind, rest)
    if name in OBJECT_ONLY[root]:
        return lambda _record: None
    part = {part.json: part for part in stored_fields(spec_class if root == "spec" else status_class)}[name]
    if root == "spec":
        return lambda record: _at(getattr(record.spec, part.attribute), part.kind, rest)
    return lambda record: _at(getattr(record.status, part.attribute), part.kind, rest)


def _at(value: Any, kind: Kind, path: Sequence[str]) -> Any:
    """The JSON of what stands at `path` within `value`; None where there is nothing."""
    for name in path:
        if value is None:
            return None
        if kind.parts:
            (part,) = (part for part in kind.parts if part.json == name)
            value, kind = getattr(value, part.attribute), part.kind
        else:
            return value.get(name)  # a mapping of names to text
    return None if value is None else kind.to_json(value)
