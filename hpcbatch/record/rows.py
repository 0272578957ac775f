"""Rows of listings: from the cells of the server-side Table that the BatchJob's columns give, and from records."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.row import AS_IT_IS, COLUMNS, ROW, Column, JobRow
from hpcbatch.model.state import JobState, Reason
from hpcbatch.model.text import printable, printable_tree
from hpcbatch.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hpcbatch.model.record import JobRecord

UNREADABLE = (HpcBatchError, ValueError, TypeError, KeyError, AttributeError, ArithmeticError)
"""Errors from reading a malformed record."""
_LONGEST = 300  # characters
_KEPT = frozenset({"Id", "State", "Dialect", "Server", "Job", "User", "Queue", "ArrayId", "ArrayIndex"})

_PLACES = {name: place for place, name in enumerate(JobRow._fields)}
_JOB_ID, _NAMESPACE, _OBJECT_NAME = _PLACES["job_id"], _PLACES["namespace"], _PLACES["object_name"]
_READS = tuple(
    (_PLACES[attribute], column.name, None if read in AS_IT_IS else read)
    for column in COLUMNS
    for attribute, read in column.reads.items()
)
"""Place in the row, column, and how its cell is read; None: it is the value."""
_REQUIRED = {"job_id", "state"}
_OF_NONE = [
    None if name in _REQUIRED else read(None)
    for name in JobRow._fields
    for read in [next((column.reads[name] for column in COLUMNS if name in column.reads), lambda _: None)]
]
"""The row of a job without any value."""


def row_from_cells(columns: Mapping[str, int], cells: Sequence[Any], namespace: str, object_name: str) -> JobRow | None:
    """One row of the server-side Table; `columns` gives each column's place. None: not admitted, so not to be shown.
    An unreadable row keeps its identity and is marked: it must not prevent the listing of all others.
    Its texts contain no terminal control characters.
    """
    found = {
        name: printable(cell) if isinstance(cell := cells[place], str) else cell for name, place in columns.items()
    }
    if found.get("Id") is None or found.get("State") is None:
        return None
    try:
        if text := found.get(ROW.name):
            found |= _in_row(text)
        return _row(found, namespace, object_name)
    except UNREADABLE as error:
        kept = {name: found[name] for name in _KEPT & found.keys()}
        if kept["State"] not in list(JobState):
            kept["State"] = next(iter(JobState))
        row = _row(kept, namespace, object_name)
        return row._replace(reason=Reason.BROKEN, message=unreadable(error))


def rows_from_table(columns: Sequence[str], rows: Iterable[tuple[Sequence[Any], str, str]]) -> list[JobRow]:
    """Those of a server-side Table: the names of its columns, and of each row cells, namespace and name. Those that are
    not to be shown are left out.
    """
    places = {name: index for index, name in enumerate(columns)}
    read = (row_from_cells(places, *row) for row in rows)
    return [row for row in read if row is not None]


def _in_row(text: str) -> Mapping[str, Any]:
    """The cells in ROW. Control characters that are written as escapes come to light here."""
    cells = json.loads(text)
    return {**(printable_tree(cells) if "\\" in text else cells)}


def are_incomplete(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> bool:
    """Whether one of the rows, as their cells, is of a record that a controller before ROW has written last. Then they
    have to be made from whole records.
    """
    if ROW.name not in columns or "Id" not in columns:
        return False
    row, job_id = columns.index(ROW.name), columns.index("Id")
    return any(cells[row] is None and cells[job_id] is not None for cells in rows)


def row_of(record: JobRecord) -> JobRow:
    """The row of a whole record, as in a listing."""
    from hpcbatch.record.cells import cells_of

    return _row(cells_of(record, COLUMNS), record.namespace, record.object_name)


class Rows:
    """Rows of many records. Of those with one spec and one status (`shown_record` lets equal ones be one), which differ
    in number and name only, one row is made; the others are copies of it.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[int, int, str, str], tuple[JobRecord, JobRow]] = {}
        """With the record itself, so that the ids of its parts stay theirs."""

    def of(self, record: JobRecord) -> JobRow:
        key = id(record.spec), id(record.status), record.queue, record.namespace
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = record, row_of(record)
            return known[1]
        values = list(known[1])
        values[_JOB_ID], values[_OBJECT_NAME] = record.job_id, record.object_name
        return JobRow._make(values)


def _row(cells: Mapping[str, Any], namespace: str, object_name: str) -> JobRow:
    """`cells` by column; a definition older than this command lacks the newer ones."""
    values = _OF_NONE.copy()
    for place, name, read in _READS:
        if (cell := cells.get(name)) is not None:
            values[place] = cell if read is None else read(cell)
    values[_NAMESPACE], values[_OBJECT_NAME] = namespace, object_name
    return JobRow._make(values)


def unreadable(error: Exception) -> str:
    """The message for a record that could not be read because of `error`."""
    text = error if isinstance(error, HpcBatchError) else f"{type(error).__name__}: {error}"
    return f"its record cannot be read: {text}"[:_LONGEST]


def cell_at(obj: object, column: Column) -> Any:
    """The value of `column` in a BatchJob as JSON; None if there is none."""
    for key in column.path.strip(".").split("."):
        obj = obj.get(key) if isinstance(obj, dict) else None
    return obj
