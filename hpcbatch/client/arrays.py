"""Members of arrays: their records, and requests for some of them, which go to the array's record.

The controller passes these on to the members that have their own record (`spec.arrayRequest`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping

from hpcbatch.api.client import TableApi
from hpcbatch.api.names import ARRAY_ID_LABEL
from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import BATCHJOBS
from hpcbatch.client import listing
from hpcbatch.client.changes import change_spec
from hpcbatch.client.watch import wait_until
from hpcbatch.errors import HpcBatchError, JobFinishedError, UnknownJobError, UnreachableError
from hpcbatch.model.array import MAX_OWN
from hpcbatch.model.indices import Indices
from hpcbatch.model.members import by_array, unended
from hpcbatch.model.row import JobRow
from hpcbatch.record.rows import row_of
from hpcbatch.record.state import state_of
from hpcbatch.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hpcbatch.model.record import JobRecord

SPLIT_S = 20.0
_FEW = 4
"""Up to this many records are read by name; more are taken from one listing."""


def own_rows(api: TableApi, array: JobRow, wanted: Indices | None = None, *, ended: bool = True) -> dict[int, JobRow]:
    """The rows of the members that have their own record, by index; without `ended` only the unfinished ones."""
    active = Indices.parse(array.array_active)
    over = Indices.parse(array.array_indices) - active - Indices.parse(array.array_pending)
    candidates = active | over if ended else active
    if wanted is not None:
        candidates &= wanted
    if not candidates:
        return {}
    if len(candidates) <= _FEW:
        names = (f"{array.object_name}-{index}" for index in candidates)
        found = [row for name in names for row in listing.rows_in(api, array.namespace, fields=f"metadata.name={name}")]
    else:
        fields = "" if ended else listing.UNFINISHED
        found = listing.rows_in(api, array.namespace, labels=_label(array), fields=fields)
    own = by_array(found).get(array.job_id, {})
    missing = [index for index in candidates & over if index not in own]
    if missing:
        own |= _moved(api, array, missing)
    return {index: row for index, row in own.items() if index in candidates}


def get_records(api: Api, array: JobRow, rows: Collection[JobRow]) -> list[JobRecord]:
    """The whole records of some members of an array."""
    from hpcbatch.record.batchjob import shown_record

    there: dict[str, Object] = {}
    if len(rows) > _FEW:
        listed = api.list(BATCHJOBS, array.namespace, labels=_label(array)).items
        there = {obj["metadata"]["name"]: obj for obj in listed}
    return [shown_record(there.get(row.object_name) or listing.get_object(api, row)) for row in rows]


def _moved(api: TableApi, array: JobRow, members: list[int]) -> dict[int, JobRow]:
    """The members that have moved to the history."""
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


def check_known(array: JobRow, members: Indices) -> None:
    """Raise UnknownJobError if the array has none of the members."""
    if not members & Indices.parse(array.array_indices):
        raise UnknownJobError(f"job {array.job_id} has no members {members}")


def split(api: TableApi, array: JobRow, members: Indices, *, timeout_s: float = SPLIT_S) -> dict[int, JobRow]:
    """Give waiting members their own records. Returns the rows of `members` by index, without those that have ended
    meanwhile. Raises UnreachableError if the controller takes too long, HpcBatchError for too many members.
    """
    if (count := len(members & Indices.parse(array.array_pending))) > MAX_OWN:
        raise HpcBatchError(f"{count} waiting members cannot be altered singly at once, only {MAX_OWN}")
    obj = request_of_members(
        api, array, lambda request, _: {"own": str(indices_in(request, "own") | (members & unended(array)))}
    )

    def is_split(seen: Object) -> bool:
        """A member's record is made before its index leaves the waiting ones, and numbered after that."""
        pending = ((seen.get("status") or {}).get("array") or {}).get("pending", "")
        return state_of(seen).is_final or not members & Indices.parse(pending)

    def has_number(seen: Object) -> bool:
        return state_of(seen).is_final or "jobId" in (seen.get("status") or {})

    deadline = time.monotonic() + timeout_s
    late = UnreachableError(f"hpcbatch's controller did not answer within {timeout_s:.0f} seconds")
    if not is_split(wait_until(api, array, is_split, seen=obj, timeout_s=timeout_s)):
        raise late
    latest = listing.find(api, array.namespace, array.job_id)
    own = own_rows(api, latest, members, ended=False)
    unnumbered = (members & unended(latest)) - Indices.of(own)
    if not unnumbered:
        return own
    for index in unnumbered:
        member = latest._replace(object_name=f"{latest.object_name}-{index}")
        try:
            seen = wait_until(api, member, has_number, timeout_s=max(0.0, deadline - time.monotonic()))
        except UnknownJobError:
            continue  # it has ended, and its array has counted it
        if not has_number(seen):
            raise late
    return own_rows(api, listing.find(api, array.namespace, array.job_id), members, ended=False)


def held_members(obj: Object) -> str:
    """The members of an array that users hold individually, as set of indices."""
    return str((obj["spec"].get("arrayRequest") or {}).get("held", ""))


def check_left(array: JobRow, members: Indices) -> None:
    """Raise JobFinishedError if all of the members have ended."""
    if not members & unended(array):
        raise JobFinishedError(f"no job {array.job_id}[{members}] is left")


def indices_in(request: Mapping[str, Any], name: str) -> Indices:
    return Indices.parse(request.get(name, ""))


def request_of_members(
    api: Api,
    array: JobRow,
    change: Callable[[Mapping[str, Any], Mapping[str, Any]], dict[str, Any]],
    more: Mapping[str, Any] | None = None,
) -> Object:
    """Merge a request into the array's, which others may change at the same time."""

    def wanted(obj: Object) -> Object:
        if state_of(obj).is_final:
            raise JobFinishedError(f"job {array.job_id} has finished")
        spec = obj["spec"]
        return {"arrayRequest": change(spec.get("arrayRequest") or {}, spec), **(more or {})}

    changed = change_spec(api, array, wanted)
    assert changed is not None  # noqa: S101 - something is always wanted
    return changed
