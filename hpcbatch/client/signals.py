"""Signals, suspension and resumption of running jobs: the requests of qsig, scancel and scontrol."""

from __future__ import annotations

from hpcbatch.api.client import TableApi
from hpcbatch.api.port import Api, Object
from hpcbatch.client.changes import ANSWER_S, change_spec, check_reply, check_unfinished, request, too_late
from hpcbatch.client.request_ids import random_id
from hpcbatch.client.rights import check_may_change_all
from hpcbatch.client.watch import wait_until
from hpcbatch.errors import RefusedError, UnreachableError
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.model.row import JobRow
from hpcbatch.model.state import JobState, Reason
from hpcbatch.record.state import state_of


def signal(api: Api, row: JobRow, number: int, scope: str) -> None:
    """Send a signal to the running job, or to the running members of an array. `scope`: `script` is its shell alone,
    `session` that shell and what it started in its session, `steps` everything in all pods but the shell, `all` all.

    Returns when the controller has passed it on; the runner acts on it within a second or two. Raises RefusedError if
    the job does not run, JobFinishedError, or UnreachableError if the controller did not reply.
    """
    request_id = random_id()

    def is_passed_on(obj: Object) -> bool:
        return bool((obj.get("status") or {}).get("signalled") == request_id)

    requested = request(api, row, {"signalRequest": {"id": request_id, "signal": number, "scope": scope}})
    obj = wait_until(
        api, row, lambda seen: is_passed_on(seen) or state_of(seen).is_final, seen=requested, timeout_s=ANSWER_S
    )
    if not is_passed_on(obj):
        raise too_late(row, obj)
    if (obj["status"].get("answered") or {}).get("id") == request_id:
        check_reply(row, obj, request_id)


def limit_step(api: Api, row: JobRow, step: int, limit_s: int | None, request: tuple[int, str]) -> None:
    """Request another time limit of a running step, and wait until its runner has told that it is in force, or the step
    has ended. `request` is its signal and scope. Raises as `signal`, UnreachableError if the runner tells nothing.
    """
    signal(api, row, *request)

    def is_in_force(obj: Object) -> bool:
        steps = (obj.get("status") or {}).get("steps", ())
        told = next((one for one in steps if one["number"] == step), None)
        return told is None or "endTime" in told or told.get("limitSeconds") == limit_s

    from hpcbatch.client.listing import get_object

    seen = wait_until(
        api, row, lambda obj: is_in_force(obj) or state_of(obj).is_final, seen=get_object(api, row), timeout_s=ANSWER_S
    )
    if not (is_in_force(seen) or state_of(seen).is_final):
        raise UnreachableError(f"the job's runner did not answer within {ANSWER_S:.0f} seconds")


def suspend(api: Api, row: JobRow) -> Object:
    """Stop all processes of the running job. Needs the right to change all jobs (ForbiddenError). RefusedError if it
    does not run; JobFinishedError.
    """
    return _set_suspended(api, row, is_suspended=True)


def resume(api: TableApi, row: JobRow) -> Object:
    """Resume a suspended job, for an array also its individually suspended members; raises likewise."""
    resumed = _set_suspended(api, row, is_suspended=False)
    if row.array_indices:
        from hpcbatch.client.arrays import own_rows

        for member in own_rows(api, row, ended=False).values():
            if member.state is JobState.SUSPENDED:
                _set_suspended(api, member, is_suspended=False)
    return resumed


def _set_suspended(api: Api, row: JobRow, *, is_suspended: bool) -> Object:
    check_may_change_all(api, "suspends and resumes them")
    before = JobState.RUNNING if is_suspended else JobState.SUSPENDED
    waits = is_suspended and row.state is JobState.SUSPENDED and row.reason is Reason.RESOURCES  # to go on
    if not (row.state is before or waits or row.array_indices or row.state.is_final):
        raise RefusedError(RefusalCode.NOT_RUNNING, f"job {row.job_id} is {row.state.value}")
    check_unfinished(row)

    def change(obj: Object) -> Object:
        # the request does not apply to a later run; an array has no runs
        run = (obj.get("status") or {}).get("runCount")
        return {"suspended": is_suspended, "suspendedRun": run if is_suspended else None}

    return change_spec(api, row, change) or {}
