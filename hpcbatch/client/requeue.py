"""`scontrol requeue`: a job, or members of an array, queued again, also when they have ended."""

from __future__ import annotations

from hpcbatch.client import arrays
from hpcbatch.client.changes import change_spec, rerun
from hpcbatch.client.request_ids import random_id
from hpcbatch.client.watch import wait_until
from hpcbatch.errors import JobFinishedError, RefusedError, UnknownJobError
from hpcbatch.model.indices import Indices
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.model.row import JobRow
from hpcbatch.model.state import WAITING, JobState
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.api.client import TableApi
    from hpcbatch.api.port import Object

_RUNNING = frozenset({JobState.RUNNING, JobState.SUSPENDED})
_END_S = 5.0
"""An array that is deleted ends within moments once its members are over."""


def requeue(
    api: TableApi, row: JobRow, members: Indices | None, *, hold: bool, is_special: bool, running_only: bool
) -> None:
    """Queue a job, or members of an array, again. `running_only`: jobs that do not run are left alone. Raises as
    `changes.rerun`, and RefusedError for an array of which no member has begun.
    """
    try:
        _requeue(api, row, members, hold=hold, is_special=is_special, running_only=running_only)
    except JobFinishedError:  # only the history has it
        raise UnknownJobError(f"job {row.job_id} has moved to the history") from None


def _requeue(
    api: TableApi, row: JobRow, members: Indices | None, *, hold: bool, is_special: bool, running_only: bool
) -> None:
    if not row.array_indices:
        if not running_only or row.state in _RUNNING:
            rerun(api, row, hold=hold, is_special=is_special, after_end=True)
        return
    own = arrays.own_rows(api, row, members, ended=not running_only)
    begun = {index: each for index, each in own.items() if each.state not in WAITING}
    if running_only:
        begun = {index: each for index, each in begun.items() if each.state in _RUNNING}
    elif not begun:
        raise RefusedError(RefusalCode.NOT_RUNNING, "no member has begun")
    over = Indices.of(index for index, each in begun.items() if each.state.is_final)
    held = Indices.of(begun) if hold else Indices()
    try:
        _prepare(api, row, over, held)
    except RefusedError:
        if len(over) < len(begun):
            raise
        wait_until(api, row, _is_over, timeout_s=_END_S)
        _prepare(api, row, over, held)
    for each in begun.values():
        rerun(api, each, hold=hold, is_special=is_special, after_end=True)


def _prepare(api: TableApi, array: JobRow, over: Indices, held: Indices) -> None:
    """An array that was to be deleted, or these members of it that are over, would have them deleted again; and it
    knows which of its members are `held`.
    """

    def change(obj: Object) -> Object:
        spec = obj["spec"]
        request, changed, of_members = spec.get("arrayRequest") or {}, {}, {}
        if spec.get("deleteRequested"):
            if not _is_over(obj):
                raise RefusedError(RefusalCode.ENDING, "the array is about to end")
            changed = {"deleteRequested": False, "rerunRequest": {"id": random_id()}}
        deleted, kept = arrays.indices_in(request, "deleted"), arrays.indices_in(request, "held")
        if deleted & over:
            of_members["deleted"] = str(deleted - over)
        if held - kept:
            of_members["held"] = str(kept | held)
        return changed | ({"arrayRequest": of_members} if of_members else {})

    change_spec(api, array, change)


def _is_over(obj: Object) -> bool:
    from hpcbatch.record.state import state_of

    return state_of(obj).is_final
