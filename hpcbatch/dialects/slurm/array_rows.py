"""Arrays as squeue and scontrol list them: what waits of an array is one line, the other members are jobs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hpcbatch.dialects.slurm.states import own_number
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.indices import Indices
from hpcbatch.model.members import by_array, made_up
from hpcbatch.model.named import NamedJob
from hpcbatch.model.row import JobRow
from hpcbatch.model.state import WAITING, JobState, Reason
from hpcbatch.typed import NamedTuple

_STATE = {
    Reason.HELD_BY_USER: JobState.HELD,
    Reason.HELD_BY_ADMIN: JobState.HELD,
    Reason.DEPENDENCY: JobState.HELD,
    Reason.DEPENDENCY_NEVER: JobState.HELD,
    Reason.BEGIN_TIME: JobState.WAITING,
}
"""Of what waits of an array that has begun, by its reason."""


_TOLD_BY = ("name", "queue", "walltime_s", "begin_time", "priority", "nice", "nodes", "cpus", "mem_bytes", "account")


class Parts(NamedTuple):
    """The members of an array that have no line of their own."""

    waiting: Indices
    held: Indices
    """Singly, by a user."""
    cancelled: Indices
    """They were before they had a record."""


def parts(array: JobRow, own: Iterable[JobRow]) -> Parts:
    """Take an array apart. `own` are the rows of its members' records, as many as are known."""
    rows = list(own)
    joined = Indices.of(row.array_index for row in rows if _joins(row, array) and row.array_index is not None)
    recorded = Indices.of(row.array_index for row in rows if row.array_index is not None)
    every = (Indices.parse(array.array_pending) - recorded) | joined
    held = Indices() if waiting_state(array) is JobState.HELD else every & _held(array)
    return Parts(every - held, held, Indices.parse(array.array_deleted) - recorded)


def _held(array: JobRow) -> Indices:
    """A user wrote it, and could have written anything with kubectl: that must not end others' listings."""
    try:
        return Indices.parse(array.array_held)
    except HpcBatchError:
        return Indices()


def listed(rows: Sequence[JobRow], *, unfold: bool = False) -> list[JobRow]:
    """`rows` with each array in the place of its record: a row for all members that wait, whose `array_indices` are
    these, and one for those cancelled before they had a record; with `unfold` (-r) rows for each. Then the members
    that have a line of their own.
    """
    members = by_array(rows)
    arrays = {row.job_id: row for row in rows if row.array_indices}
    found: list[JobRow] = []
    for row in rows:
        if row.array_indices:
            own = members.get(row.job_id, {})
            found += _lines(row, parts(row, own.values()), Indices.of(own) if unfold else None)
        elif row.array_id is None or row.array_id not in arrays:
            found.append(row)
        elif unfold or not _joins(row, arrays[row.array_id]):
            array = arrays[row.array_id]
            found.append(_as_it_waits(row, array)._replace(submit_time=array.submit_time))
    return found


def named(rows: Iterable[JobRow], ids: Sequence[NamedJob]) -> list[JobRow]:
    """Those of `listed` that the ids mean; of a line that many members share only the members meant."""
    numbers = {one.number for one in ids if one.members is None}
    some: dict[int, Indices] = {}
    for one in ids:
        if one.members is not None:
            some[one.number] = some.get(one.number, Indices()) | one.members
    found: list[JobRow] = []
    for row in rows:
        own, members = own_number(row), some.get(own_number(row))
        if row.job_id in numbers or own in numbers:
            found.append(row)
        elif members is None:
            continue
        elif row.array_indices:
            meant = members & Indices.parse(row.array_indices)
            found += [row._replace(array_indices=str(meant))] if meant else []
        elif row.array_index is not None and row.array_index in members:
            found.append(row)
    return found


def _lines(array: JobRow, taken: Parts, own: Indices | None) -> list[JobRow]:
    """With `own`, the members that have a record, a row for each that has none."""
    waiting = waiting_row(array, taken.waiting, waiting_state(array))
    held = waiting_row(array, taken.held, JobState.HELD)._replace(reason=Reason.HELD_BY_USER)
    cancelled = waiting_row(array, taken.cancelled, JobState.DELETED)._replace(end_time=array.end_time)
    lines = [row for row in (waiting, held, cancelled) if row.array_indices]
    if own is not None:
        recorded = Indices.parse(array.array_active) | own  # the array has not counted one that was just queued again
        sets = [(row, Indices.parse(row.array_indices) - recorded) for row in lines]
        return [made_up(row, index, row.state) for row, members in sets for index in members]
    if len(taken.held) == 1:  # in Slurm it is a job of its own
        lines[lines.index(held)] = made_up(held, taken.held.first, held.state)
    return lines


def waiting_state(array: JobRow) -> JobState:
    """Of an array's members that have no record yet."""
    return array.state if array.state in WAITING else _STATE.get(array.reason, JobState.QUEUED)


def waiting_row(array: JobRow, members: Indices, state: JobState) -> JobRow:
    """The row of some members that have not run, as one."""
    return array._replace(
        state=state,
        reason=Reason.NONE if state.is_final else array.reason,
        array_indices=str(members),
        start_time=None,
        end_time=None,
        exit_code=None,
    )


def _joins(row: JobRow, array: JobRow) -> bool:
    """Whether a member waits and nothing tells it from the others: squeue shows it with them then."""
    return row.state in WAITING and all(getattr(row, name) == getattr(array, name) for name in _TOLD_BY)


def is_kept(state: JobState, reason: Reason, index: int | None, array: JobRow) -> bool:
    """Whether a member is held by its array, not by a user: it waits as the others do."""
    return state is JobState.HELD and reason is Reason.HELD_BY_USER and (index is None or index not in _held(array))


def _as_it_waits(row: JobRow, array: JobRow) -> JobRow:
    if not is_kept(row.state, row.reason, row.array_index, array):
        return row
    return row._replace(state=waiting_state(array), reason=array.reason)
