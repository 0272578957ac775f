"""Requests to the controller about one job, to end or rerun it; and how every request gets into the job's record."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import BATCHJOBS
from hpcbatch.client.listing import Named, get_object
from hpcbatch.client.request_ids import random_id
from hpcbatch.client.watch import wait_until
from hpcbatch.errors import (
    ConflictError,
    HpcBatchError,
    JobFinishedError,
    NotFoundError,
    RefusedError,
    UnknownJobError,
    UnreachableError,
)
from hpcbatch.model.row import JobRow
from hpcbatch.record.state import state_of
from hpcbatch.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hpcbatch.model.indices import Indices

ANSWER_S = 20.0
END_S = 60.0
"""How long `qdel -x` waits for a running job to end. Pods may take up to half a minute."""
_CHANGE_S = 10.0
_RERUN = "rerunRequest"
_NO_REPLY = f"hpcbatch's controller did not answer within {ANSWER_S:.0f} seconds"


def request_delete(api: Api, row: JobRow, members: Indices | None = None) -> Object:
    """Request the end of a job, or of members of an array. Raises JobFinishedError if they have ended."""
    if members is None:
        return request(api, row, {"deleteRequested": True})
    from hpcbatch.client.arrays import check_left, indices_in, request_of_members

    check_left(row, members)
    return request_of_members(api, row, lambda request, _: {"deleted": str(indices_in(request, "deleted") | members)})


def request_end(api: Api, job: Named) -> None:
    """The same for a job of which only the name is known."""
    api.patch(BATCHJOBS, job.object_name, {"spec": {"deleteRequested": True}}, job.namespace)


def end(api: Api, row: JobRow) -> None:
    """End a job and wait until it has ended; an ended job stays as it is. Raises HpcBatchError if it takes too long."""
    if row.state.is_final:
        return
    obj = request_delete(api, row)
    obj = wait_until(api, row, lambda seen: state_of(seen).is_final, seen=obj, timeout_s=END_S)
    if not state_of(obj).is_final:
        raise HpcBatchError(f"job {row.job_id} has not ended after {END_S:.0f} seconds: its record stays until then")


def forget(api: Api, row: JobRow) -> None:
    """Remove the record of an ended job (`qdel -x`). Raises ForbiddenError for users who may not remove its usage: on
    a cluster all but admins.
    """
    from hpcbatch.client import history

    was_there = True
    try:
        api.delete(BATCHJOBS, row.object_name, row.namespace)
    except NotFoundError:
        was_there = False
    # also if it was just being moved
    if not history.remove(api, row.object_name, row.namespace) and not was_there:
        raise UnknownJobError(f"unknown job {row.job_id}")


def rerun(api: Api, row: JobRow, *, hold: bool = False, is_special: bool = False, after_end: bool = False) -> Object:
    """End the run of a job and requeue it under its number; `hold`: held, `is_special`: and marked. With `after_end` a
    job is requeued that has ended, as long as it is a BatchJob. Raises as `await_reply`.
    """
    was_held = False

    def change(obj: Object) -> Object:
        nonlocal was_held
        was_held = bool(obj["spec"].get("hold"))
        request = {"id": random_id()} | ({"special": True} if is_special else {})
        over = {"deleteRequested": False} if state_of(obj).is_final and obj["spec"].get("deleteRequested") else {}
        return {_RERUN: request} | ({"hold": True} if hold else {}) | over

    if not after_end:
        check_unfinished(row)
    requested = change_spec(api, row, change, kind=_RERUN) or {}
    try:
        return await_reply(api, row, requested, _RERUN, after_end=after_end)
    except RefusedError:
        if hold and not was_held:
            change_spec(api, row, lambda _: {"hold": False})
        raise


def await_rerun(api: Api, row: JobRow, obj: Object, *, timeout_s: float) -> bool:
    """Wait until the run to be ended is over; False on timeout."""

    def is_over(seen: Object) -> bool:
        return not (seen.get("status") or {}).get("rerunning")

    return is_over(wait_until(api, row, is_over, seen=obj, timeout_s=timeout_s))


# The record


def check_unfinished(row: JobRow) -> None:
    """Raise JobFinishedError for a job that has ended."""
    if row.state.is_final:
        raise JobFinishedError(f"job {row.job_id} has finished")


def request(api: Api, row: JobRow, change: Mapping[str, Any]) -> Object:
    """Merge a change into the spec that does not depend on its content. Raises JobFinishedError if the job has ended,
    and UnknownJobError.
    """
    check_unfinished(row)
    try:
        return api.patch(BATCHJOBS, row.object_name, {"spec": dict(change)}, row.namespace)
    except NotFoundError:
        raise _finished_error(api, row) from None
    except ConflictError as error:
        raise _busy(row, error) from None


def change_spec(api: Api, row: JobRow, change: Callable[[Object], Object], *, kind: str = "") -> Object | None:
    """Merge into the spec what `change` returns for the current record; after a conflict it is called again. None if it
    returns nothing. A request of the same `kind` without reply is waited for, a while: it would otherwise be lost.
    Raises JobFinishedError, UnknownJobError, or HpcBatchError if conflicts never end.
    """
    give_up = time.monotonic() + _CHANGE_S
    while True:
        obj = get_object(api, row)
        if kind:
            left_s = max(0.0, give_up - time.monotonic())
            obj = wait_until(api, row, lambda seen: not _is_open(seen, kind), seen=obj, timeout_s=left_s)
        spec = change(obj)
        if not spec:
            return None
        version = {"resourceVersion": obj["metadata"]["resourceVersion"]}
        try:
            return api.patch(BATCHJOBS, row.object_name, {"metadata": version, "spec": spec}, row.namespace)
        except NotFoundError:
            raise _finished_error(api, row) from None
        except ConflictError as error:
            if time.monotonic() > give_up:
                raise _busy(row, error) from None
            time.sleep(0.02)


def _is_open(obj: Object, kind: str) -> bool:
    requested, status = obj["spec"].get(kind) or {}, obj.get("status") or {}
    is_answered = (status.get("handled") or {}).get(kind) == requested.get("id")
    return bool(requested) and not is_answered and not state_of(obj).is_final


def _finished_error(api: Api, row: JobRow) -> JobFinishedError:
    get_object(api, row)  # it may have just moved to the history; else this raises UnknownJobError
    return JobFinishedError(f"job {row.job_id} has finished")


def _busy(row: JobRow, error: ConflictError) -> HpcBatchError:
    return HpcBatchError(f"job {row.job_id} is being changed by others: {error}")


# The controller's reply


def await_reply(api: Api, row: JobRow, requested: Object, kind: str, *, after_end: bool = False) -> Object:
    """The BatchJob once the controller has granted the request of that kind. Raises RefusedError with its message,
    JobFinishedError, or UnreachableError if it did not reply. `after_end`: it may reply for an ended job, too.
    """
    request_id = requested["spec"][kind]["id"]

    def is_handled(obj: Object) -> bool:
        return bool(((obj.get("status") or {}).get("handled") or {}).get(kind) == request_id)

    obj = wait_until(
        api,
        row,
        lambda seen: is_handled(seen) or (state_of(seen).is_final and not after_end),
        seen=requested,
        timeout_s=ANSWER_S,
    )
    if not is_handled(obj):
        raise UnreachableError(_NO_REPLY) if after_end else too_late(row, obj)
    check_reply(row, obj, request_id)
    return obj


def too_late(row: JobRow, obj: Object) -> HpcBatchError:
    """The error for a missing reply."""
    if state_of(obj).is_final:
        return JobFinishedError(f"job {row.job_id} has finished")
    return UnreachableError(_NO_REPLY)


def check_reply(row: JobRow, obj: Object, request_id: str) -> None:
    """Raise RefusedError if the controller refused it, HpcBatchError if it has replied to another request since."""
    reply = obj["status"].get("answered") or {}
    if reply.get("id") != request_id:
        raise HpcBatchError(f"the answer for job {row.job_id} was overtaken by that to another request")
    if reply.get("code"):
        raise RefusedError(reply["code"], reply.get("message", ""))
