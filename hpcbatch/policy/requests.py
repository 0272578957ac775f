"""What a request in a BatchJob's spec changes: alterations and reruns. Pure: no API, no clock.

A request's change and its reply are one write of the status, so it is handled once, whenever the controller dies.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from hpcbatch.dataclass import replace
from hpcbatch.errors import HpcBatchError, RefusedError
from hpcbatch.model.record import JobRecord, JobStatus, Reply
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy.again import after_its_end
from hpcbatch.policy.holds import hold_reason
from hpcbatch.record.fields import ALTERABLE, ARRAY_LIMIT, WHILE_RUNNING
from hpcbatch.typed import Any

ALTERATION, RERUN, EXCHANGE = "alteration", "rerunRequest", "exchangeRequest"
RUNNING = frozenset({JobState.RUNNING, JobState.SUSPENDED})


def open_rerun(obj: Mapping[str, Any], record: JobRecord) -> Mapping[str, Any] | None:
    """The request to queue an ended job again, if it has no reply."""
    request: Mapping[str, Any] = obj["spec"].get(RERUN) or {}
    return request if request and record.status.handled.get(RERUN) != request["id"] else None


def open_request(obj: Mapping[str, Any], record: JobRecord) -> tuple[str, Mapping[str, Any]] | None:
    """The kind of the first request without a reply, and the request."""
    for kind in (ALTERATION, RERUN, EXCHANGE):
        request: Mapping[str, Any] = obj["spec"].get(kind) or {}
        if request and record.status.handled.get(kind) != request["id"]:
            return kind, request
    return None


def merge(record: JobRecord, request: Mapping[str, Any], *, has_started: bool) -> Mapping[str, Any]:
    """`status.altered` with one more alteration. Raises RefusedError for one that comes too late."""
    fields: dict[str, Any] = dict(request.get("fields", {}))
    cleared: list[str] = list(request.get("cleared", ()))
    names = [*fields, *(name.partition(".")[0] for name in cleared)]
    if unknown := [name for name in names if name not in ALTERABLE]:
        raise HpcBatchError(f"{unknown[0]} cannot be altered")
    if has_started and (late := [name for name in names if name not in WHILE_RUNNING]):
        raise RefusedError(RefusalCode.STARTED, late[0])
    fields.pop(ARRAY_LIMIT, None)
    if "attributes" in names:
        gone = {name.partition(".")[2] for name in cleared if "." in name}
        kept = {name: value for name, value in record.spec.attributes.items() if name not in gone}
        fields["attributes"] = kept | fields.get("attributes", {})
    return {**record.status.altered, **{name: None for name in cleared if "." not in name}, **fields}


def rerun(record: JobRecord, request: Mapping[str, Any], *, is_placed: bool, now: datetime) -> JobRecord:
    """The record of a job whose run is to be ended for a rerun, or which is queued again after its end. Raises
    RefusedError.
    """
    status = record.status
    is_special = bool(request.get("special"))
    if status.state.is_final:
        return after_its_end(record, is_held=bool(hold_reason(record.spec)), is_special=is_special, now=now)
    if not record.spec.rerunnable:
        raise RefusedError(RefusalCode.NOT_RERUNNABLE, "the job is not rerunnable")
    if status.state is JobState.EXITING:
        raise RefusedError(RefusalCode.ENDING, "the job is about to end")
    if status.state not in RUNNING and not is_placed:
        raise RefusedError(RefusalCode.NOT_RUNNING, "the job is not running")
    ending = replace(status, is_rerunning=True, state=JobState.EXITING, reason=Reason.NONE)
    return replace(record, status=replace(ending, is_special=is_special and record.spec.hold))


def with_limit(status: JobStatus, limit: int) -> JobStatus:
    """`status` of an array with at most `limit` members that run at once; 0: as many as there are."""
    if status.array is None:
        raise HpcBatchError("the job is not an array")
    return replace(status, array=replace(status.array, limit=limit or None))


def replied(record: JobRecord, kind: str, request_id: str, refusal: HpcBatchError | None) -> JobRecord:
    """`record` with the reply to a request: None is yes."""
    if refusal is None:
        reply = Reply(request_id=request_id)
    else:
        code = refusal.code if isinstance(refusal, RefusedError) else RefusalCode.BAD_SPEC
        reply = Reply(request_id=request_id, code=code, message=str(refusal))
    handled = {**record.status.handled, kind: request_id}
    return replace(record, status=replace(record.status, answered=reply, handled=handled))
