"""A BatchJob's columns from a whole record, without making all of its JSON first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from hpcbatch.model.record import JobRecord, JobStatus
from hpcbatch.model.row import Column
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.stored import TIME, Kind, stored_fields
from hpcbatch.record.fields import COMPUTED, OBJECT_ONLY
from hpcbatch.typed import Any

_COMPUTED = {part.json: part for part in COMPUTED}
_Getter = Callable[[JobRecord, Callable[[str], Any]], Any]
"""The value for a column; the second argument returns the value of a `COMPUTED` field, made once per record."""
_GETTERS: dict[tuple[type[JobSpec], type[JobStatus]], dict[str, _Getter]] = {}


def cells_of(record: JobRecord, columns: Sequence[Column]) -> dict[str, Any]:
    """Cells by column name, as the API server's Table would have them."""
    classes = type(record.spec), type(record.status)
    getters = _GETTERS.setdefault(classes, {})

    @cache
    def computed(name: str) -> Any:
        return _COMPUTED[name].of(record)

    found = {}
    for column in columns:
        if column.path not in getters:
            getters[column.path] = _getter(column.path, *classes)
        found[column.name] = getters[column.path](record, computed)
    return found


def _getter(path: str, spec_class: type[JobSpec], status_class: type[JobStatus]) -> _Getter:
    """The function for the value at `path` of a BatchJob. Raises KeyError if the BatchJob has no such field."""
    root, name, *rest = path.strip(".").split(".")
    if root == "metadata":
        return lambda record, _: None if (when := record.status.submit_time) is None else TIME.to_json(when)
    if root == "status" and name in _COMPUTED:
        shown = _shown(_COMPUTED[name].kind, rest)
        return lambda _, computed: shown(computed(name))
    if name in OBJECT_ONLY[root]:
        return lambda _, __: None
    part = {part.json: part for part in stored_fields(spec_class if root == "spec" else status_class)}[name]
    attribute, shown = part.attribute, _shown(part.kind, rest)
    if root == "spec":
        return lambda record, _: shown(getattr(record.spec, attribute))
    return lambda record, _: shown(getattr(record.status, attribute))


def _shown(kind: Kind, path: Sequence[str]) -> Callable[[Any], Any]:
    """The function for the JSON at `path` within a value of that kind; None if it is missing."""
    if not path:
        return lambda value: None if value is None else kind.to_json(value)
    name, *rest = path
    if not kind.parts:
        return lambda value: None if value is None else value.get(name)  # a mapping of names to text
    part = {part.json: part for part in kind.parts}[name]
    inner = _shown(part.kind, rest)
    return lambda value: None if value is None else inner(getattr(value, part.attribute))
