"""Arrays as `scontrol show job` shows them: a block for all members that have no record, and one for each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hpcbatch.dataclass import replace
from hpcbatch.dialects.slurm.array_rows import is_kept, parts, waiting_state
from hpcbatch.dialects.slurm.ids import task_text
from hpcbatch.model.array import Membership
from hpcbatch.model.indices import Indices
from hpcbatch.model.record import JobRecord
from hpcbatch.model.state import JobState, Reason
from hpcbatch.record.rows import row_of
from hpcbatch.typed import NamedTuple


class ShownJob(NamedTuple):
    """A block of `scontrol show job`."""

    record: JobRecord
    in_array: str = ""
    """Behind JobId: `ArrayJobId=12 ArrayTaskId=3 ArrayTaskThrottle=2 `."""


def shown_jobs(records: Sequence[JobRecord], held: Mapping[int, str]) -> list[ShownJob]:
    """Jobs, arrays and members in the order given; an array takes its place with the members that have no record.
    `held` are those held singly, by the array's number.
    """
    arrays = {record.job_id: record for record in records if record.spec.array is not None}
    own: dict[int, list[JobRecord]] = {}
    for record in records:
        if record.spec.member_of is not None:
            own.setdefault(record.spec.member_of.array_id, []).append(record)
    found: list[ShownJob] = []
    for record in records:
        if record.spec.array is not None:
            found += _without_records(record, own.get(record.job_id, []), held.get(record.job_id, ""))
        elif record.spec.member_of is not None:
            number = record.spec.member_of.array_id
            found.append(shown_member(record, arrays.get(number), held.get(number, "")))
        else:
            found.append(ShownJob(record))
    return found


def shown_array(array: JobRecord, own: Iterable[JobRecord], held: str = "") -> list[ShownJob]:
    """An array with its members: those that have no record, then the newest first, as slurmctld finds them. One that
    has ended, and of whose members none is known any more, is shown itself.
    """
    newest = sorted(own, key=lambda record: record.job_id, reverse=True)
    found = [*_without_records(array, newest, held), *(shown_member(record, array, held) for record in newest)]
    return found or [ShownJob(array, _in_array(array, task_text(_indices(array))))]


def shown_index(array: JobRecord, own: Iterable[JobRecord], index: int, held: str = "") -> ShownJob | None:
    """One member, with or without a record; None if the array has no such, or not any more: of a member that was
    cancelled while it waited slurmctld keeps nothing, unless the array was as a whole.
    """
    is_left = array.status.state is not JobState.DELETED
    for record in own:
        if record.spec.member_of is not None and record.spec.member_of.index == index:
            is_gone = is_left and record.status.state is JobState.DELETED and record.status.start_time is None
            return None if is_gone else shown_member(record, array, held)
    cancelled = Indices() if array.status.array is None else array.status.array.deleted
    if index not in _indices(array) or (is_left and index in cancelled):
        return None
    found = next((record for members, record in _blocks(array, (), held) if index in members), array)
    member = Membership(array_id=array.job_id, array_name=array.object_name, index=index)
    spec = replace(found.spec, array=None, member_of=member)
    return ShownJob(replace(found, spec=spec), _in_array(array, str(index)))


def shown_member(record: JobRecord, array: JobRecord | None, held: str = "") -> ShownJob:
    """A member with a record of its own; `array` is its array's where that is known."""
    member = record.spec.member_of
    if member is None:
        return ShownJob(record)
    if array is None:
        return ShownJob(record, f"ArrayJobId={member.array_id} ArrayTaskId={member.index} ")
    status, row = replace(record.status, submit_time=array.status.submit_time), row_of(array)._replace(array_held=held)
    if is_kept(status.state, status.reason, member.index, row):
        status = replace(status, state=waiting_state(row), reason=array.status.reason)
    return ShownJob(replace(record, status=status), _in_array(array, str(member.index)))


def _without_records(array: JobRecord, own: Iterable[JobRecord], held: str) -> list[ShownJob]:
    limit = _limit(array)
    return [
        ShownJob(record, _in_array(array, task_text(members, limit)))
        for members, record in _blocks(array, own, held)[:_SHARED]
        if members
    ]


_SHARED = 3
"""The first of `_blocks` are shown; members that have ended have records, as long as they are of interest."""


def _blocks(array: JobRecord, own: Iterable[JobRecord], held: str) -> list[tuple[Indices, JobRecord]]:
    """The members that have no record, by what has become of them, with the record that shows it."""
    row = row_of(array)._replace(array_held=held)
    taken = parts(row, [row_of(record) for record in own])
    pending = Indices.parse(row.array_pending)
    blank = replace(array.status, start_time=None, end_time=None, exit_code=None)
    ended = replace(blank, reason=Reason.NONE, message="", end_time=array.status.end_time)
    return [
        (members, replace(array, status=status))
        for members, status in (
            (taken.waiting & pending, replace(blank, state=waiting_state(row))),
            (taken.held & pending, replace(blank, state=JobState.HELD, reason=Reason.HELD_BY_USER)),
            (taken.cancelled, replace(ended, state=JobState.DELETED)),
            (Indices.parse(row.array_succeeded), replace(ended, state=JobState.FINISHED)),
            (Indices.parse(row.array_failed), replace(ended, state=JobState.FAILED, reason=Reason.NON_ZERO_EXIT)),
        )
    ]


def _in_array(array: JobRecord, tasks: str) -> str:
    limit = _limit(array)
    throttle = "" if limit is None else f"ArrayTaskThrottle={limit} "
    return f"ArrayJobId={array.job_id} ArrayTaskId={tasks} {throttle}"


def _limit(array: JobRecord) -> int | None:
    return None if array.status.array is None else array.status.array.limit


def _indices(array: JobRecord) -> Indices:
    return Indices() if array.spec.array is None else array.spec.array.indices
