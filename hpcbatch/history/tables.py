"""The Table form of the history: a column for each value that listings show, so that both are read alike."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from typing import Any

from hpcbatch.api.port import Object
from hpcbatch.model.row import COLUMNS, Column
from hpcbatch.record.rows import cell_at

_FITS: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: type(value) is int,
    "boolean": lambda value: isinstance(value, bool),
}
_NAME = Column("Name", "string", ".metadata.name", {}, 0, "Of the BatchJob")


@cache
def columns() -> tuple[Column, ...]:
    """Name and the columns of listings, without Age: here only the end of a job matters."""
    return (_NAME, *(column for column in COLUMNS if column.type in _FITS))


@cache
def columns_mark() -> str:
    """Distinguishes these columns from those of another version."""
    paths = [(column.name, column.type, tuple(column.path.strip(".").split("."))) for column in columns()]
    return sha256(repr(paths).encode()).hexdigest()[:16]


def cells_of(job: Object) -> str:
    """A row's cells as JSON."""
    return json.dumps([_cell(column, job) for column in columns()], separators=(",", ":"))


def _cell(column: Column, job: Object) -> Any:
    value = cell_at(job, column)
    return value if _FITS[column.type](value) else None


def definitions() -> list[Object]:
    """The Table's columnDefinitions."""
    return [_definition(column) for column in columns()]


def _definition(column: Column) -> Object:
    return {
        "name": column.name,
        "type": column.type,
        "format": "name" if column.name == "Name" else "",
        "description": column.description or column.name,
        "priority": 0 if column.name == "Ended" or column.priority == 0 else 1,
    }
