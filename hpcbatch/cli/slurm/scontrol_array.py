"""`scontrol update` of an array: the members that wait are one, each that has started is another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from hpcbatch.cli.common import Session
from hpcbatch.cli.slurm.common import NO_CONNECTION
from hpcbatch.client import arrays, changes, jobs
from hpcbatch.errors import HpcBatchError, JobFinishedError, NotSupportedError, UnknownJobError
from hpcbatch.model.indices import Indices
from hpcbatch.model.state import JobState
from hpcbatch.slurm import states
from hpcbatch.slurm.array_answers import check_answers

if TYPE_CHECKING:
    from hpcbatch.model.record import JobRecord
    from hpcbatch.model.row import JobRow
    from hpcbatch.model.spec import JobSpec

    Change = Callable[[JobRecord], JobSpec]
    Answers = dict[int, HpcBatchError | None]

_MOST_SPLIT = 100
_STARTED = frozenset({JobState.RUNNING, JobState.SUSPENDED})


def alter_array(session: Session, array: JobRow, change: Change, array_limit: int | None) -> None:
    """Alter what has not ended of an array, as far as it can be. Raises HpcBatchError if that is not all."""
    own = arrays.own_rows(session.api, array, ended=False)
    waiting = Indices.parse(array.array_pending) | Indices.of(_in(own, states.WAITING))
    of_array: HpcBatchError | None = None
    if waiting or array_limit is not None:
        of_array = _alter_record(session, array, change, array_limit)
        # some have started meanwhile
        array = jobs.find(session.api, session.namespace, array.job_id)
        own = arrays.own_rows(session.api, array, ended=False)
    answers = _alter_each(session, _in(own, _STARTED), change)
    if of_array is None:
        _alter_each(session, _in(own, states.WAITING), change)
        if not waiting and None in answers.values():
            of_array = _alter_record(session, array, change, None)
    left = waiting - Indices.of(answers)
    parts = [(left, of_array)] if left or of_array else []
    check_answers(array.job_id, [*parts, *((Indices.of([i]), error) for i, error in answers.items())])


def alter_members(session: Session, array: JobRow, wanted: Indices, change: Change) -> None:
    """The same of those members that are named: each is a job of its own then."""
    own = arrays.own_rows(session.api, array, wanted, ended=False)
    waiting = (wanted & Indices.parse(array.array_pending)) - Indices.of(own)
    if len(waiting) > _MOST_SPLIT:
        raise NotSupportedError(
            f"{array.job_id}: {len(waiting)} members that wait cannot be altered singly, at most {_MOST_SPLIT}; "
            "the whole array can"
        )
    if waiting:
        own = arrays.split(session.api, array, waiting | Indices.of(own))
    answers = _alter_each(session, own, change)
    rest, every = wanted - Indices.of(answers), Indices.parse(array.array_indices)
    parts: list[tuple[Indices, HpcBatchError | None]] = [(Indices.of([i]), error) for i, error in answers.items()]
    for indices, error in ((rest & every, JobFinishedError()), (rest - every, UnknownJobError())):
        parts += [(indices, error)] if indices else []
    check_answers(array.job_id, parts)


def _alter_record(session: Session, array: JobRow, change: Change, limit: int | None) -> HpcBatchError | None:
    """Alter the array itself, which stands for its members that wait: to them it has not begun."""

    def of_waiting(record: JobRecord) -> JobSpec:
        waits = replace(record.status, state=JobState.QUEUED, start_time=None)
        return change(replace(record, status=waits))

    return _error_of(lambda: changes.alter(session.api, array, of_waiting, array_limit=limit))


def _alter_each(session: Session, own: Mapping[int, JobRow], change: Change) -> Answers:
    """By index what became of it; without those that have ended meanwhile."""
    answers: Answers = {}
    for index, row in own.items():
        error = _error_of(lambda row=row: changes.alter(session.api, row, change))  # type: ignore[misc]
        if not isinstance(error, JobFinishedError | UnknownJobError):
            answers[index] = error
    return answers


def _error_of(act: Callable[[], object]) -> HpcBatchError | None:
    try:
        act()
    except NO_CONNECTION:
        raise
    except HpcBatchError as error:
        return error
    return None


def _in(own: Mapping[int, JobRow], wanted: frozenset[JobState]) -> dict[int, JobRow]:
    return {index: row for index, row in own.items() if row.state in wanted}
