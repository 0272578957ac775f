"""Rows for the members of arrays. Most members have no record of their own: their row is made from the array's, and
shows the array's number as its own (`is_made_up`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from hpcbatch.model.indices import Indices
from hpcbatch.model.row import JobRow
from hpcbatch.model.state import JobState

_ENDED = {
    "array_succeeded": JobState.FINISHED,
    "array_failed": JobState.FAILED,
    "array_deleted": JobState.DELETED,
}


def indices(array: JobRow) -> Indices:
    """All of an array's members."""
    return Indices.parse(array.array_indices)


def unended(array: JobRow) -> Indices:
    """The members that have not ended."""
    return Indices.parse(array.array_pending) | Indices.parse(array.array_active)


def is_made_up(row: JobRow) -> bool:
    """Whether the row of a member was made from its array's, because it has no record (any more)."""
    return row.array_id == row.job_id


def rows_of(array: JobRow, own: Mapping[int, JobRow], wanted: Indices | None = None) -> Iterator[JobRow]:
    """A row for each member, or for each of `wanted` in the array, in order. `own` are the rows of members with their
    own records, by index.
    """
    ended = {number: state for name, state in _ENDED.items() for number in Indices.parse(getattr(array, name))}
    every = indices(array)
    for number in every if wanted is None else wanted & every:
        if number in own:
            yield own[number]
        else:
            yield made_up(array, number, ended.get(number, JobState.QUEUED))


def made_up(array: JobRow, index: int, state: JobState) -> JobRow:
    """The row of a member that has no record."""
    return array._replace(
        array_id=array.job_id,
        array_index=index,
        state=state,
        start_time=None,
        end_time=array.end_time if state.is_final else None,
        exit_code=None,
        array_indices="",
        array_pending="",
        array_active="",
        array_succeeded="",
        array_failed="",
        array_deleted="",
    )


def by_array(rows: Iterable[JobRow]) -> dict[int, dict[int, JobRow]]:
    """Groups rows of members: array's number -> index -> row."""
    found: dict[int, dict[int, JobRow]] = {}
    for row in rows:
        if row.array_id is not None and row.array_index is not None:
            found.setdefault(row.array_id, {})[row.array_index] = row
    return found
