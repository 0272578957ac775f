"""Alterations of arrays, with the result for each part."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hpcbatch.api.client import TableApi
from hpcbatch.client import listing
from hpcbatch.client.alter import alter
from hpcbatch.client.arrays import own_rows, split
from hpcbatch.dataclass import replace
from hpcbatch.errors import (
    HpcBatchError,
    JobFinishedError,
    NotSupportedError,
    UnauthorizedError,
    UnknownJobError,
    UnreachableError,
)
from hpcbatch.model.indices import Indices
from hpcbatch.model.state import WAITING, JobState
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.model.record import JobRecord
    from hpcbatch.model.row import JobRow
    from hpcbatch.model.spec import JobSpec

    Change = Callable[[JobRecord], JobSpec]

Outcome = tuple[Indices, HpcBatchError | None]
"""Members, and why they could not be altered; None if they were altered."""
_Errors = dict[int, HpcBatchError | None]
_MOST_SPLIT = 100
_STARTED = frozenset({JobState.RUNNING, JobState.SUSPENDED})


def alter_array(api: TableApi, array: JobRow, change: Change, array_limit: int | None) -> list[Outcome]:
    """Alter the unfinished part of an array, as far as possible: the waiting members as one, each started one alone."""
    own = own_rows(api, array, ended=False)
    waiting = Indices.parse(array.array_pending) | Indices.of(_in(own, WAITING))
    of_array: HpcBatchError | None = None
    if waiting or array_limit is not None:
        of_array = _alter_record(api, array, change, array_limit)
        # some have started meanwhile
        array = listing.find(api, array.namespace, array.job_id)
        own = own_rows(api, array, ended=False)
    errors = _alter_each(api, _in(own, _STARTED), change)
    if of_array is None:
        _alter_each(api, _in(own, WAITING), change)
        if not waiting and None in errors.values():
            of_array = _alter_record(api, array, change, None)
    left = waiting - Indices.of(errors)
    parts: list[Outcome] = [(left, of_array)] if left or of_array else []
    return [*parts, *((Indices.of([i]), error) for i, error in errors.items())]


def alter_members(api: TableApi, array: JobRow, wanted: Indices, change: Change) -> list[Outcome]:
    """Alter the named members, each as a job of its own."""
    own = own_rows(api, array, wanted, ended=False)
    waiting = (wanted & Indices.parse(array.array_pending)) - Indices.of(own)
    if len(waiting) > _MOST_SPLIT:
        raise NotSupportedError(
            f"{array.job_id}: {len(waiting)} members that wait cannot be altered singly, at most {_MOST_SPLIT}; "
            "the whole array can"
        )
    if waiting:
        own = split(api, array, waiting | Indices.of(own))
    errors = _alter_each(api, own, change)
    rest, every = wanted - Indices.of(errors), Indices.parse(array.array_indices)
    parts: list[Outcome] = [(Indices.of([i]), error) for i, error in errors.items()]
    for indices, error in ((rest & every, JobFinishedError()), (rest - every, UnknownJobError())):
        parts += [(indices, error)] if indices else []
    return parts


def _alter_record(api: TableApi, array: JobRow, change: Change, limit: int | None) -> HpcBatchError | None:
    """Alter the array's own record, which represents its waiting members: for them the array has not started."""

    def of_waiting(record: JobRecord) -> JobSpec:
        waits = replace(record.status, state=JobState.QUEUED, start_time=None)
        return change(replace(record, status=waits))

    return _error_of(lambda: alter(api, array, of_waiting, array_limit=limit))


def _alter_each(api: TableApi, own: Mapping[int, JobRow], change: Change) -> _Errors:
    """The result by index, without members that have ended meanwhile."""
    errors: _Errors = {}
    for index, row in own.items():
        error = _error_of(lambda row=row: alter(api, row, change))  # type: ignore[misc]
        if not isinstance(error, JobFinishedError | UnknownJobError):
            errors[index] = error
    return errors


def _error_of(act: Callable[[], object]) -> HpcBatchError | None:
    try:
        act()
    except (UnreachableError, UnauthorizedError):
        raise
    except HpcBatchError as error:
        return error
    return None


def _in(own: Mapping[int, JobRow], wanted: frozenset[JobState]) -> dict[int, JobRow]:
    return {index: row for index, row in own.items() if row.state in wanted}
