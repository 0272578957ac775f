"""Signals, suspension and resumption of running jobs: what qsig, scancel and scontrol ask of the controller."""

from __future__ import annotations

import time

from hpcbatch.api.client import TableApi
from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import BATCHJOBS
from hpcbatch.client import jobs
from hpcbatch.client.changes import ANSWER_S, may_change_all
from hpcbatch.errors import (
    ForbiddenError,
    JobFinishedError,
    NotFoundError,
    RefusedError,
    UnknownJobError,
    UnreachableError,
)
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.model.row import JobRow
from hpcbatch.model.state import JobState

_FIRST_LOOK_S, _LATER_LOOK_S = 0.02, 0.3


def signal(api: Api, row: JobRow, number: int, scope: str) -> None:
    """Send a signal to the running job, or to the running members of an array. `scope`: `script` is its shell alone,
    `session` that shell and what it has started in its session, `steps` all in all pods but the shell, `all` all of it.

    Returns when the controller has passed it on; the runner acts on it within a second or two. Raises RefusedError if
    the job does not run, JobFinishedError, or UnreachableError if the controller did not answer.
    """
    request_id = jobs.random_id()
    obj = _change(api, row, {"signalRequest": {"id": request_id, "signal": number, "scope": scope}})
    give_up, pause_s = time.monotonic() + ANSWER_S, _FIRST_LOOK_S
    while (status := obj.get("status") or {}).get("signalled") != request_id:
        if JobState(status.get("state", JobState.QUEUED)).is_final:
            raise JobFinishedError(f"job {row.job_id} has finished")
        if time.monotonic() >= give_up:
            raise UnreachableError(f"hpcbatch's controller did not answer within {ANSWER_S:.0f} seconds")
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, _LATER_LOOK_S)
        obj = jobs.get_object(api, row)
    answer = status.get("answered") or {}
    if answer.get("id") == request_id and answer.get("code"):
        raise RefusedError(answer["code"], answer.get("message", ""))


def suspend(api: Api, row: JobRow) -> Object:
    """Stop all processes of the running job. Needs the right to change all jobs (ForbiddenError). RefusedError if it
    does not run; JobFinishedError.
    """
    return _set_suspended(api, row, is_suspended=True)


def resume(api: TableApi, row: JobRow) -> Object:
    """Let a suspended job go on, of an array also its members that were suspended by themselves; raises likewise."""
    resumed = _set_suspended(api, row, is_suspended=False)
    if row.array_indices:
        from hpcbatch.client.arrays import own_rows

        for member in own_rows(api, row, ended=False).values():
            if member.state is JobState.SUSPENDED:
                _set_suspended(api, member, is_suspended=False)
    return resumed


def _set_suspended(api: Api, row: JobRow, *, is_suspended: bool) -> Object:
    if not may_change_all(api):
        raise ForbiddenError(403, "Forbidden", "only who may change all jobs suspends and resumes them")
    before = JobState.RUNNING if is_suspended else JobState.SUSPENDED
    if not (row.state is before or row.array_indices or row.state.is_final):
        raise RefusedError(RefusalCode.NOT_RUNNING, f"job {row.job_id} is {row.state.value}")
    if row.state.is_final:
        raise JobFinishedError(f"job {row.job_id} has finished")

    def change(obj: Object) -> Object:
        # a run that comes after this one is not meant; an array has no runs
        run = (obj.get("status") or {}).get("runCount")
        return {"suspended": is_suspended, "suspendedRun": run if is_suspended else None}

    return jobs.change_spec(api, row, change) or {}


def _change(api: Api, row: JobRow, change: Object) -> Object:
    if row.state.is_final:
        raise JobFinishedError(f"job {row.job_id} has finished")
    try:
        return api.patch(BATCHJOBS, row.object_name, {"spec": change}, row.namespace)
    except NotFoundError:
        raise UnknownJobError(f"unknown job {row.job_id}") from None
