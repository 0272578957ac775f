"""Requests in a BatchJob's spec: alterations and reruns are decided and written into the record.

A request's change and its reply are one write of the status, so it is handled once, whenever the controller dies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from hpcbatch.api.port import Object
from hpcbatch.controller.intake import Intake, taken_spec
from hpcbatch.controller.site_source import SiteSource
from hpcbatch.errors import ApiError, HpcBatchError, RefusedError, UnreachableError
from hpcbatch.model.record import JobRecord, JobStatus, Reply
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy.admission import grant_walltime
from hpcbatch.policy.alterations import noted
from hpcbatch.record.batchjob import altered_spec
from hpcbatch.record.fields import ALTERABLE, ARRAY_LIMIT, OF_SIZE, WHILE_RUNNING

_GRANTED = OF_SIZE | {"queue", "walltimeSeconds"}
"""Fields that the site has to grant."""
_ALTERATION, _RERUN = "alteration", "rerunRequest"
_RUNNING = frozenset({JobState.RUNNING, JobState.SUSPENDED})


class Requests:
    """Handles the open requests."""

    def __init__(self, intake: Intake, sites: SiteSource) -> None:
        self._intake, self._sites = intake, sites

    @staticmethod
    def are_open(obj: Object, record: JobRecord) -> bool:
        return _open(obj, record) is not None

    def handle(self, obj: Object, record: JobRecord, *, is_placed: bool) -> JobRecord:
        """The record after one open request of `obj`, with the reply to it. `is_placed`: its pods have nodes."""
        match _open(obj, record):
            case None:
                return record
            case kind, request if kind == _ALTERATION:

                def alter() -> JobRecord:
                    return noted(record, self._alter(obj, record, request, is_placed), datetime.now(UTC))

                return _replied(record, kind, request["id"], alter)
            case kind, request:
                return _replied(record, kind, request["id"], lambda: rerun(record, is_placed=is_placed))

    def _alter(self, obj: Object, record: JobRecord, request: Mapping[str, Any], is_placed: bool) -> JobRecord:
        status = record.status
        if status.state is JobState.EXITING or obj["spec"].get("deleteRequested"):
            raise RefusedError(RefusalCode.ENDING, "the job is about to end")
        is_array = record.spec.array is not None
        has_started = (status.state in _RUNNING or is_placed) and not is_array
        altered = merge(record, request, has_started=has_started)
        spec = taken_spec(altered_spec(obj["spec"], altered))
        new = replace(record, spec=spec, status=replace(status, altered=altered))
        if spec.dependency is None:
            new = replace(new, status=replace(new.status, dependency=None))
        elif (spec.dependency, spec.name) != (record.spec.dependency, record.spec.name):
            self._intake.dependents.check_no_cycle(new)
        if ARRAY_LIMIT in request.get("fields", {}):
            new = replace(new, status=_with_limit(new.status, request["fields"][ARRAY_LIMIT]))
        site = self._sites.in_force.config
        if has_started:
            queue = site.queue(record.queue)
            if queue is None or spec.walltime_s == record.spec.walltime_s:
                return new
            return replace(new, status=replace(new.status, walltime_s=grant_walltime(spec, queue)))
        changed = {*request.get("fields", ()), *request.get("cleared", ())}
        if not changed & _GRANTED:
            return new
        moved = spec if "queue" in changed else replace(spec, queue=record.queue)
        # an admin may still act for a disabled user
        owner = replace(self._intake.owner(record.namespace), is_disabled=False)
        queue, granted = self._intake.grant(moved, owner, site, stays_in=record.queue)
        granted_status = replace(new.status, walltime_s=granted.walltime_s, layout=granted.layout)
        return replace(new, queue=queue.name, status=granted_status)


def _open(obj: Object, record: JobRecord) -> tuple[str, Mapping[str, Any]] | None:
    """An open request and its kind."""
    for kind in (_ALTERATION, _RERUN):
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


def rerun(record: JobRecord, *, is_placed: bool) -> JobRecord:
    """The record of a job whose run is to be ended for a rerun. Raises RefusedError."""
    status = record.status
    if not record.spec.rerunnable:
        raise RefusedError(RefusalCode.NOT_RERUNNABLE, "the job is not rerunnable")
    if status.state is JobState.EXITING:
        raise RefusedError(RefusalCode.ENDING, "the job is about to end")
    if status.state not in _RUNNING and not is_placed:
        raise RefusedError(RefusalCode.NOT_RUNNING, "the job is not running")
    return replace(record, status=replace(status, is_rerunning=True, state=JobState.EXITING, reason=Reason.NONE))


def _with_limit(status: JobStatus, limit: int) -> JobStatus:
    if status.array is None:
        raise HpcBatchError("the job is not an array")
    return replace(status, array=replace(status.array, limit=limit or None))


def _replied(record: JobRecord, kind: str, request_id: str, act: Callable[[], JobRecord]) -> JobRecord:
    try:
        record, reply = act(), Reply(request_id=request_id)
    except RefusedError as refused:
        reply = Reply(request_id=request_id, code=refused.code, message=str(refused))
    except (ApiError, UnreachableError):
        raise
    except HpcBatchError as error:
        reply = Reply(request_id=request_id, code=RefusalCode.BAD_SPEC, message=str(error))
    handled = {**record.status.handled, kind: request_id}
    return replace(record, status=replace(record.status, answered=reply, handled=handled))
