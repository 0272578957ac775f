"""Members of arrays: their records, and requests for some of them, which go to the array's record.

The controller carries these over to the members that have a record of their own (`spec.arrayRequest`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from hpcbatch.api.client import TableApi
from hpcbatch.api.names import ARRAY_ID_LABEL
from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import BATCHJOBS
from hpcbatch.client import jobs
from hpcbatch.errors import HpcBatchError, JobFinishedError, NotFoundError, UnknownJobError, UnreachableError
from hpcbatch.model.array import MAX_OWN
from hpcbatch.model.indices import Indices
from hpcbatch.model.members import by_array, unended
from hpcbatch.model.row import JobRow
from hpcbatch.model.state import JobState
from hpcbatch.record.rows import row_from_cells, row_of

if TYPE_CHECKING:
    from hpcbatch.model.record import JobRecord

SPLIT_S = 20.0
_FEW = 4
"""So many records are asked for by name; more are picked out of one listing."""


def own_rows(api: TableApi, array: JobRow, wanted: Indices | None = None, *, ended: bool = True) -> dict[int, JobRow]:
    """The members' own records by index, as far as they have one; without `ended` those that had not ended."""
    active = Indices.parse(array.array_active)
    over = Indices.parse(array.array_indices) - active - Indices.parse(array.array_pending)
    candidates = active | over if ended else active
    if wanted is not None:
        candidates &= wanted
    if not candidates:
        return {}
    if len(candidates) <= _FEW:
        names = (f"{array.object_name}-{index}" for index in candidates)
        found = [row for name in names for row in _rows(api, array, fields=f"metadata.name={name}")]
    else:
        found = _rows(api, array, labels=_label(array), fields="" if ended else jobs.UNFINISHED)
    own = by_array(found).get(array.job_id, {})
    missing = [index for index in candidates & over if index not in own]
    if missing:
        own |= _moved(api, array, missing)
    return {index: row for index, row in own.items() if index in candidates}


def get_records(api: Api, array: JobRow, rows: Collection[JobRow]) -> list[JobRecord]:
    """The whole records of members of an array."""
    from hpcbatch.record.batchjob import shown_record

    there: dict[str, Object] = {}
    if len(rows) > _FEW:
        listed = api.list(BATCHJOBS, array.namespace, labels=_label(array)).items
        there = {obj["metadata"]["name"]: obj for obj in listed}
    return [shown_record(there.get(row.object_name) or jobs.get_object(api, row)) for row in rows]


def _moved(api: TableApi, array: JobRow, members: list[int]) -> dict[int, JobRow]:
    """Those that have left the BatchJobs for the history."""
    from hpcbatch.client import history
    from hpcbatch.record.batchjob import shown_record

    if len(members) > _FEW:
        rows = history.rows(api, array.namespace, f"spec.memberOf.arrayId={array.job_id}")
    else:
        objects = (history.get(api, f"{array.object_name}-{index}", array.namespace) for index in members)
        rows = [row_of(shown_record(obj)) for obj in objects if obj is not None]
    return by_array(rows).get(array.job_id, {})


def _label(array: JobRow) -> str:
    return f"{ARRAY_ID_LABEL}={array.job_id}"


def _rows(api: TableApi, array: JobRow, *, labels: str = "", fields: str = "") -> list[JobRow]:
    columns, rows = api.table(BATCHJOBS, array.namespace, labels=labels, fields=fields)
    places = {name: index for index, name in enumerate(columns)}
    found = (row_from_cells(places, row.cells, row.namespace, row.name) for row in rows)
    return [row for row in found if row is not None]


def check_known(array: JobRow, members: Indices) -> None:
    """Raise UnknownJobError if the array has none of the members."""
    if not members & Indices.parse(array.array_indices):
        raise UnknownJobError(f"job {array.job_id} has no members {members}")


def request_delete(api: Api, array: JobRow, members: Indices) -> Object:
    """Ask the controller to end members. Raises JobFinishedError if all of them have ended."""
    if not members & unended(array):
        raise JobFinishedError(f"no job {array.job_id}[{members}] is left")
    return _ask(api, array, lambda request, _: {"deleted": str(_asked(request, "deleted") | members)})


def hold(api: Api, array: JobRow, members: Indices) -> Object:
    """Keep members from starting. Raises JobFinishedError if all of them have ended."""
    if not members & unended(array):
        raise JobFinishedError(f"no job {array.job_id}[{members}] is left")
    return _ask(api, array, lambda request, _: {"held": str(_asked(request, "held") | members)})


def split(api: TableApi, array: JobRow, members: Indices, *, timeout_s: float = SPLIT_S) -> dict[int, JobRow]:
    """Have members that wait given a record of their own. Returns the rows of `members` by index, without those that
    have ended meanwhile. Raises UnreachableError if the controller takes too long, HpcBatchError for too many members.
    """
    if (count := len(members & Indices.parse(array.array_pending))) > MAX_OWN:
        raise HpcBatchError(f"{count} waiting members cannot be altered singly at once, only {MAX_OWN}")
    deadline = time.monotonic() + timeout_s
    _ask(api, array, lambda request, _: {"own": str(_asked(request, "own") | (members & unended(array)))})
    while True:
        array = jobs.find(api, array.namespace, array.job_id)
        own = own_rows(api, array, members, ended=False)
        if not (members & unended(array)) - Indices.of(own):
            return own
        if time.monotonic() >= deadline:
            raise UnreachableError(f"hpcbatch's controller did not answer within {timeout_s:.0f} seconds")
        time.sleep(0.1)


def release(api: Api, array: JobRow, members: Indices) -> Object:
    """Take the hold off members, also where the array as a whole is held: the others stay held then."""
    if not members & unended(array):
        raise JobFinishedError(f"no job {array.job_id}[{members}] is left")

    def change(request: Mapping[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
        held = unended(array) if spec.get("hold") else _asked(request, "held")
        return {"held": str(held - members)}

    return _ask(api, array, change, {"hold": False})


def release_all(api: Api, array: JobRow) -> None:
    """Take off the holds of single members; that of the whole array is `jobs.release`'s."""
    if held_members(jobs.get_object(api, array)):
        _ask(api, array, lambda _request, _spec: {"held": ""})


def held_members(obj: Object) -> str:
    """Those of an array that users hold singly, as set of indices."""
    return str((obj["spec"].get("arrayRequest") or {}).get("held", ""))


def _asked(request: Mapping[str, Any], name: str) -> Indices:
    return Indices.parse(request.get(name, ""))


def _ask(
    api: Api,
    array: JobRow,
    change: Callable[[Mapping[str, Any], Mapping[str, Any]], dict[str, Any]],
    more: Mapping[str, Any] | None = None,
) -> Object:
    """Merge a request into the array's, which others may change at the same time."""

    def wanted(obj: Object) -> Object:
        if JobState((obj.get("status") or {}).get("state", JobState.QUEUED)).is_final:
            raise JobFinishedError(f"job {array.job_id} has finished")
        spec = obj["spec"]
        return {"arrayRequest": change(spec.get("arrayRequest") or {}, spec), **(more or {})}

    changed = jobs.change_spec(api, array, wanted)
    assert changed is not None  # noqa: S101 - something is always wanted
    return changed


def settle(api: Api, arrays: Iterable[tuple[Object, Indices]], *, timeout_s: float = jobs.SETTLE_S) -> None:
    """Wait a moment until the controller has dealt with members that were asked to end: `arrays` are the arrays'
    objects as they were answered. Members that run are given this time to begin to end. No error if it takes longer.
    """
    deadline = time.monotonic() + timeout_s
    for answered, members in arrays:
        obj, pause_s = answered, 0.03
        try:
            while not _are_gone(api, obj, members) and time.monotonic() + pause_s < deadline:
                time.sleep(pause_s)
                pause_s = min(2 * pause_s, 0.3)
                obj = api.get(BATCHJOBS, obj["metadata"]["name"], obj["metadata"]["namespace"])
        except HpcBatchError:
            continue


def _are_gone(api: Api, obj: Object, members: Indices) -> bool:
    status = (obj.get("status") or {}).get("array") or {}
    if Indices.parse(status.get("pending", "")) & members:
        return False
    active = Indices.parse(status.get("active", "")) & members
    for index in active.take(_FEW):
        try:
            member = api.get(BATCHJOBS, f"{obj['metadata']['name']}-{index}", obj["metadata"]["namespace"])
        except NotFoundError:
            continue
        state = JobState((member.get("status") or {}).get("state", JobState.QUEUED))
        if not (state.is_final or state is JobState.EXITING):
            return False
    return True
