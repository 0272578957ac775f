"""The Table form of the history: the BatchJob's own printer columns, so that listings read both alike."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any, NamedTuple

from hpcbatch.api.port import Object


class Column(NamedTuple):
    name: str
    type: str
    priority: int
    description: str
    path: tuple[str, ...]

    def cell(self, job: Object) -> Any:
        value: Any = job
        for key in self.path:
            value = value.get(key) if isinstance(value, dict) else None
        return value if _FITS[self.type](value) else None

    def definition(self) -> Object:
        return {"name": self.name, "type": self.type, "format": "name" if self.name == "Name" else "",
                "description": self.description or self.name, "priority": self.priority}  # fmt: skip


_FITS: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: type(value) is int,
    "boolean": lambda value: isinstance(value, bool),
}


@cache
def columns() -> tuple[Column, ...]:
    """Name and then those of the BatchJob's definition; not Age, since what counts is when a job ended."""
    import yaml

    text = files("hpcbatch").joinpath("api/crd/batchjobs.yaml").read_text()
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    (version,) = yaml.load(text, Loader=loader)["spec"]["versions"]  # noqa: S506 - a safe loader
    given = (
        Column(
            item["name"],
            item["type"],
            0 if item["name"] == "Ended" else item.get("priority", 0),
            item.get("description", ""),
            tuple(item["jsonPath"].strip(".").split(".")),
        )
        for item in version["additionalPrinterColumns"]
        if item["type"] in _FITS
    )
    return (Column("Name", "string", 0, "Of the BatchJob", ("metadata", "name")), *given)


@cache
def columns_mark() -> str:
    """Tells these columns from those of another version."""
    return sha256(repr([(column.name, column.type, column.path) for column in columns()]).encode()).hexdigest()[:16]


def cells_of(job: Object) -> str:
    """A row's cells as JSON."""
    return json.dumps([column.cell(job) for column in columns()], separators=(",", ":"))


def definitions() -> list[Object]:
    """The Table's columnDefinitions."""
    return [column.definition() for column in columns()]
