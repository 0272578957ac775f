"""What `qstat -f` shows of arrays and their members beside what it shows of any job."""

from __future__ import annotations

from collections.abc import Mapping

from hpcbatch.dialects.pbs.output import INDEX_TAG, default_name
from hpcbatch.dialects.pbs.states import comment, letter
from hpcbatch.model.array import Array
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.indices import Indices
from hpcbatch.model.record import JobRecord
from hpcbatch.model.row import JobRow
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.dialects.pbs.qstat_full import Attributes

_RUNNING = frozenset({JobState.RUNNING, JobState.SUSPENDED})
_STARTED = frozenset({*_RUNNING, *(state for state in JobState if state is JobState.EXITING or state.is_final)})
"""A member that has just ended counts as exiting, until its array knows."""
_FIRST = "array"
"""A member that has no record is shown with the array's attributes up to this one."""


def array_attributes(record: JobRecord, own: Mapping[int, JobRow]) -> list[tuple[str, str]]:
    """`array` and all that follows it. `own` are the rows of the members' own records by index."""
    spec, array = record.spec, record.status.array
    if spec.member_of is not None:
        member = spec.member_of
        return [("array_id", f"{member.array_id}[].{spec.server}"), ("array_index", str(member.index))]
    if spec.array is None or array is None:
        return []
    states = [own[index].state if index in own else JobState.QUEUED for index in array.active]
    waiting = (index for index, state in zip(array.active, states, strict=True) if state not in _STARTED)
    queued = array.pending | Indices.of(waiting)
    running = sum(state in _RUNNING for state in states)
    exiting = sum(state not in _RUNNING for state in states if state in _STARTED)
    expired = 0 if record.status.state.is_final else len(array.succeeded) + len(array.failed) + len(array.deleted)
    count = f"Queued:{len(queued)} Running:{running} Exiting:{exiting} Expired:{expired}"
    return [
        (_FIRST, "True"),
        ("array_state_count", count),
        ("array_indices_submitted", _as_submitted(spec, spec.array)),
        ("array_indices_remaining", str(queued) or "-"),
    ]


def _as_submitted(spec: JobSpec, array: Array) -> str:
    """The range as the user of PBS wrote it, without the limit behind it."""
    if spec.dialect == Dialect.PBS and array.text:
        return array.text.partition("%")[0].strip()
    return str(array.indices)


def member_attributes(array: Attributes, row: JobRow, living: frozenset[int]) -> Attributes:
    """Those of a member that has no record: the array's, up to where PBS cuts them, with the member's own state."""
    found: Attributes = []
    for name, value in array:
        if name == _FIRST:
            break
        if name == "job_state":
            found.append((name, letter(row, living)))
        elif name == "comment":
            found.append((name, comment(row) or value))
        else:
            found.append((name, value))
    return found


def shown_name(record: JobRecord, stream: str) -> str:
    """The default name of an output file: `arr.o12`, of an array `arr.o12.^array_index^`, of a member `arr.o12.7`."""
    spec = record.spec
    if spec.member_of is not None:
        return f"{default_name(spec.name, stream, spec.member_of.array_id)}.{spec.member_of.index}"
    name = default_name(spec.name, stream, record.job_id)
    return name if spec.array is None else f"{name}.{INDEX_TAG}"
