"""Requests in a BatchJob's spec: what becomes of alterations and reruns, decided and written into the record.

What a request changes and its answer are one write of the status, so it is done once, whenever the controller dies.
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
from hpcbatch.model.record import Answer, JobRecord, JobStatus
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy.admission import grant_walltime
from hpcbatch.policy.alterations import noted
from hpcbatch.record.batchjob import altered_spec
from hpcbatch.record.fields import ALTERABLE, ARRAY_LIMIT, OF_SIZE, WHILE_RUNNING

_GRANTED = OF_SIZE | {"queue", "walltimeSeconds"}
"""What the site has to grant."""
_ALTERATION, _RERUN = "alteration", "rerunRequest"
_RUNNING = frozenset({JobState.RUNNING, JobState.SUSPENDED})


class Requests:
    """Answers what has not been answered yet."""

    def __init__(self, intake: Intake, sites: SiteSource) -> None:
        self._intake, self._sites = intake, sites

    @staticmethod
    def are_open(obj: Object, record: JobRecord) -> bool:
        return _open(obj, record) is not None

    def answer(self, obj: Object, record: JobRecord, *, is_placed: bool) -> JobRecord:
        """The record with the answer to one request of `obj`, if there is any. `is_placed`: its pods have nodes."""
        match _open(obj, record):
            case None:
                return record
            case kind, asked if kind == _ALTERATION:

                def alter() -> JobRecord:
                    return noted(record, self._alter(obj, record, asked, is_placed), datetime.now(UTC))

                return _answered(record, kind, asked["id"], alter)
            case kind, asked:
                return _answered(record, kind, asked["id"], lambda: rerun(record, is_placed=is_placed))

    def _alter(self, obj: Object, record: JobRecord, asked: Mapping[str, Any], is_placed: bool) -> JobRecord:
        status = record.status
        if status.state is JobState.EXITING or obj["spec"].get("deleteRequested"):
            raise RefusedError(RefusalCode.ENDING, "the job is about to end")
        is_array = record.spec.array is not None
        has_started = (status.state in _RUNNING or is_placed) and not is_array
        altered = merge(record, asked, has_started=has_started)
        spec = taken_spec(altered_spec(obj["spec"], altered))
        new = replace(record, spec=spec, status=replace(status, altered=altered))
        if spec.dependency is None:
            new = replace(new, status=replace(new.status, dependency=None))
        elif (spec.dependency, spec.name) != (record.spec.dependency, record.spec.name):
            self._intake.dependents.check_no_cycle(new)
        if ARRAY_LIMIT in asked.get("fields", {}):
            new = replace(new, status=_with_limit(new.status, asked["fields"][ARRAY_LIMIT]))
        site = self._sites.in_force.config
        if has_started:
            queue = site.queue(record.queue)
            if queue is None or spec.walltime_s == record.spec.walltime_s:
                return new
            return replace(new, status=replace(new.status, walltime_s=grant_walltime(spec, queue)))
        changed = {*asked.get("fields", ()), *asked.get("cleared", ())}
        if not changed & _GRANTED:
            return new
        moved = spec if "queue" in changed else replace(spec, queue=record.queue)
        # what a disabled user may not do an admin may still do for him
        owner = replace(self._intake.owner(record.namespace), is_disabled=False)
        queue, granted = self._intake.grant(moved, owner, site, stays_in=record.queue)
        granted_status = replace(new.status, walltime_s=granted.walltime_s, layout=granted.layout)
        return replace(new, queue=queue.name, status=granted_status)


def _open(obj: Object, record: JobRecord) -> tuple[str, Mapping[str, Any]] | None:
    """A request that was not answered yet, and its kind."""
    for kind in (_ALTERATION, _RERUN):
        asked: Mapping[str, Any] = obj["spec"].get(kind) or {}
        if asked and record.status.handled.get(kind) != asked["id"]:
            return kind, asked
    return None


def merge(record: JobRecord, asked: Mapping[str, Any], *, has_started: bool) -> Mapping[str, Any]:
    """`status.altered` with one more alteration. Raises RefusedError for what comes too late."""
    fields: dict[str, Any] = dict(asked.get("fields", {}))
    cleared: list[str] = list(asked.get("cleared", ()))
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
    """The record of a job whose run is to be ended. Raises RefusedError."""
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


def _answered(record: JobRecord, kind: str, request_id: str, act: Callable[[], JobRecord]) -> JobRecord:
    try:
        record, answer = act(), Answer(request_id=request_id)
    except RefusedError as refused:
        answer = Answer(request_id=request_id, code=refused.code, message=str(refused))
    except (ApiError, UnreachableError):
        raise
    except HpcBatchError as error:
        answer = Answer(request_id=request_id, code=RefusalCode.BAD_SPEC, message=str(error))
    handled = {**record.status.handled, kind: request_id}
    return replace(record, status=replace(record.status, answered=answer, handled=handled))
