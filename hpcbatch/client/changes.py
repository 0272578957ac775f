"""Requests that the controller answers: to alter a job, to run it again. And the holds of users and operators."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from hpcbatch.api.client import TableApi
from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import ACCESS_REVIEWS, BATCHJOBS
from hpcbatch.client import jobs
from hpcbatch.errors import (
    ApiError,
    ForbiddenError,
    HpcBatchError,
    JobFinishedError,
    NotFoundError,
    RefusedError,
    UnknownJobError,
    UnreachableError,
)
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.model.row import JobRow
from hpcbatch.model.state import JobState

if TYPE_CHECKING:
    from hpcbatch.model.record import JobRecord
    from hpcbatch.model.spec import JobSpec

ANSWER_S = 20.0
_WAITING = frozenset({JobState.QUEUED, JobState.HELD, JobState.WAITING})
_ALTERATION, _RERUN, _ATTRIBUTES = "alteration", "rerunRequest", "attributes"


def alter(
    api: Api, row: JobRow, change: Callable[[JobRecord], JobSpec], *, array_limit: int | None = None
) -> Object | None:
    """Make a job what `change` makes of its record, all of it or nothing; None if that is what it is already.
    `array_limit` is how many members of an array may run at once, 0: as many as fit.

    Raises RefusedError with what the controller said, JobFinishedError, or UnreachableError if it did not answer.
    """
    from hpcbatch.record.batchjob import record_from, spec_to_json

    def ask(obj: Object) -> Object:
        record = record_from(obj)
        fields, cleared = difference(spec_to_json(record.spec), spec_to_json(change(record)))
        if array_limit is not None:
            fields["arrayLimit"] = array_limit
        if not fields and not cleared:
            return {}
        request = {"id": jobs.random_id(), "fields": fields, "cleared": cleared}
        # a merge patch adds to what is there, but this request takes the place of the one before
        return {_ALTERATION: replacing(obj["spec"].get(_ALTERATION), request)}

    asked = _change(api, row, ask, kind=_ALTERATION)
    return None if asked is None else _answer(api, row, asked, _ALTERATION)


def alter_with_members(
    api: TableApi, row: JobRow, change: Callable[[JobRecord], JobSpec], *, array_limit: int | None = None
) -> None:
    """The same, and of an array also those of its members that have a record, but have not started. Raises as `alter`
    for the array; a member that starts meanwhile stays as it is.
    """
    alter(api, row, change, array_limit=array_limit)
    if not row.array_indices:
        return
    from hpcbatch.client.arrays import own_rows

    def of_waiting(record: JobRecord) -> JobSpec:
        return change(record) if record.status.state in _WAITING else record.spec

    for member in own_rows(api, row, ended=False).values():
        if member.state in _WAITING:
            try:
                alter(api, member, of_waiting)
            except (JobFinishedError, UnknownJobError):
                continue
            except RefusedError as refused:
                if refused.code not in {RefusalCode.STARTED, RefusalCode.ENDING}:
                    raise


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The fields that are other in `after`, and those that it lacks; of the attributes one by one."""
    fields = {name: value for name, value in after.items() if before.get(name) != value}
    cleared = [name for name in before if name not in after and name != _ATTRIBUTES]
    old, new = before.get(_ATTRIBUTES, {}), after.get(_ATTRIBUTES, {})
    changed = {name: value for name, value in new.items() if old.get(name) != value}
    fields.pop(_ATTRIBUTES, None)
    if changed:
        fields[_ATTRIBUTES] = changed
    return fields, cleared + [f"{_ATTRIBUTES}.{name}" for name in old if name not in new]


def rerun(api: Api, row: JobRow, *, hold: bool = False) -> Object:
    """End the run of a job, to be queued again under its number; with `hold` it is held then. Raises as `alter`."""
    was_held = False

    def change(obj: Object) -> Object:
        nonlocal was_held
        was_held = bool(obj["spec"].get("hold"))
        return {_RERUN: {"id": jobs.random_id()}} | ({"hold": True} if hold else {})

    asked = _change(api, row, change, kind=_RERUN) or {}
    try:
        return _answer(api, row, asked, _RERUN)
    except RefusedError:
        if hold and not was_held:
            _change(api, row, lambda _: {"hold": False})
        raise


def await_rerun(api: Api, obj: Object, *, timeout_s: float) -> bool:
    """Wait until the run that was to end is over; False if it takes longer."""
    give_up = time.monotonic() + timeout_s
    while (obj.get("status") or {}).get("rerunning"):
        left_s = give_up - time.monotonic()
        if left_s <= 0:
            return False
        obj = _watch(api, obj, lambda seen: not (seen.get("status") or {}).get("rerunning"), left_s)
    return True


def hold(api: Api, row: JobRow, *, user: bool = True, admin: str = "") -> Object | None:
    """Add holds: the user's, and of `admin` the letters `o` (operator) and `s` (system), which need the right to change
    all jobs (ForbiddenError).
    """
    if admin:
        check_right(api)

    def change(obj: Object) -> Object:
        held: Object = {"adminHolds": "".join(sorted({*obj["spec"].get("adminHolds", ""), *admin}))} if admin else {}
        return held | ({"hold": True} if user else {})

    return _change(api, row, change)


def release(api: Api, row: JobRow, *, user: bool = True, admin: str = "") -> Object | None:
    """Take holds off, in the same way."""
    if admin:
        check_right(api)

    def change(obj: Object) -> Object:
        left = "".join(sorted(set(obj["spec"].get("adminHolds", "")) - set(admin)))
        return ({"adminHolds": left or None} if admin else {}) | ({"hold": False} if user else {})

    return _change(api, row, change)


def may_change_all(api: Api) -> bool:
    """Whether this user may change everybody's jobs: what PBS calls an operator or manager, Slurm an administrator."""
    asked = {"group": BATCHJOBS.group, "resource": BATCHJOBS.plural, "verb": "update"}
    review = {
        "apiVersion": ACCESS_REVIEWS.api_version,
        "kind": ACCESS_REVIEWS.kind,
        "metadata": {},
        "spec": {"resourceAttributes": asked},
    }
    return bool(api.create(ACCESS_REVIEWS, review)["status"].get("allowed"))


def check_right(api: Api) -> None:
    """Raise ForbiddenError for who may not change all jobs."""
    if not may_change_all(api):
        raise ForbiddenError(403, "Forbidden", "only who may change all jobs sets and takes off these holds")


def replacing(old: Any, new: Mapping[str, Any]) -> Object:
    """The merge patch that turns `old` into `new`."""
    before: Mapping[str, Any] = old if isinstance(old, Mapping) else {}
    patch: Object = {name: None for name in before if name not in new}
    for name, value in new.items():
        patch[name] = replacing(before.get(name), value) if isinstance(value, Mapping) else value
    return patch


def _change(api: Api, row: JobRow, change: Callable[[Object], Object], *, kind: str = "") -> Object | None:
    """Merge into the spec what `change` makes of the record, while others may change that too; None: it is nothing.
    A request of the same `kind` that was not answered yet is waited for: it would never be.
    """
    if row.state.is_final:
        raise JobFinishedError(f"job {row.job_id} has finished")
    return jobs.change_spec(api, row, change, lambda obj: bool(kind) and _is_open(obj, kind))


def _is_open(obj: Object, kind: str) -> bool:
    asked, status = obj["spec"].get(kind) or {}, obj.get("status") or {}
    return bool(asked) and (status.get("handled") or {}).get(kind) != asked["id"]


def _answer(api: Api, row: JobRow, asked: Object, kind: str) -> Object:
    """The BatchJob once the controller has said yes."""
    request_id = asked["spec"][kind]["id"]

    def is_answered(obj: Object) -> bool:
        status = obj.get("status") or {}
        handled = (status.get("handled") or {}).get(kind)
        return handled == request_id or JobState(status.get("state", JobState.QUEUED)).is_final

    deadline = time.monotonic() + ANSWER_S
    obj = asked
    while not is_answered(obj):
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            raise UnreachableError(f"hpcbatch's controller did not answer within {ANSWER_S:.0f} seconds")
        obj = _watch(api, obj, is_answered, left_s)
    status = obj["status"]
    if (status.get("handled") or {}).get(kind) != request_id:
        raise JobFinishedError(f"job {row.job_id} has finished")
    answer = status.get("answered") or {}
    if answer.get("id") != request_id:  # another request was answered right after
        raise HpcBatchError(f"the answer for job {row.job_id} was overtaken by that to another request")
    if answer.get("code"):
        raise RefusedError(answer["code"], answer.get("message", ""))
    return obj


def _watch(api: Api, obj: Object, is_enough: Callable[[Object], bool], timeout_s: float) -> Object:
    """The object as soon as that is so; as it stands where the watch ends before."""
    name, namespace = obj["metadata"]["name"], obj["metadata"]["namespace"]
    version = obj["metadata"]["resourceVersion"]
    try:
        watch = api.watch(
            BATCHJOBS, namespace, fields=f"metadata.name={name}", resource_version=version, timeout_s=timeout_s
        )
        try:
            for event in watch:
                if event.type == "DELETED":
                    raise UnknownJobError(f"job {name} is gone")
                if is_enough(event.object):
                    return event.object
        finally:
            watch.close()
        return api.get(BATCHJOBS, name, namespace)
    except NotFoundError:
        raise UnknownJobError(f"job {name} is gone") from None
    except (ApiError, UnreachableError) as error:
        if isinstance(error, ForbiddenError):
            raise
        time.sleep(0.2)
        return api.get(BATCHJOBS, name, namespace)
