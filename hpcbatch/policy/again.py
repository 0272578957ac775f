"""Jobs queued again by request: after a run that is ended for it, or when they have ended. No API, no clock."""

from __future__ import annotations

from datetime import datetime, timedelta

from hpcbatch.dataclass import replace
from hpcbatch.dialects.registry import door
from hpcbatch.errors import RefusedError
from hpcbatch.model.array import ArrayStatus
from hpcbatch.model.indices import Indices
from hpcbatch.model.record import JobRecord, JobStatus
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy.past_runs import remembered
from hpcbatch.policy.statuses import queued_again
from hpcbatch.units import rfc3339

_BEGIN = "beginTime"


def may_run_again(spec: JobSpec) -> bool:
    """Whether the job can be queued again when it has ended: so its script and environment are kept till then."""
    return door(spec.dialect).rules.requeues_ended and spec.rerunnable and spec.interactive is None


def put_off(status: JobStatus, spec: JobSpec, now: datetime) -> JobStatus:
    """`status` of a job that is queued again: it waits as long as its dialect has such jobs wait."""
    delay_s = door(spec.dialect).rules.requeue_delay_s
    if not delay_s or (spec.begin_time is not None and spec.begin_time > now):
        return status
    begin = now.replace(microsecond=0) + timedelta(seconds=delay_s)
    return replace(status, altered={**status.altered, _BEGIN: rfc3339(begin)})


def after_its_end(record: JobRecord, *, is_held: bool, is_special: bool, now: datetime) -> JobRecord:
    """The record of an ended job that is queued again under its number. Raises RefusedError if it may not.
    An array's own record follows its members: see `with_members_again`.
    """
    spec, status = record.spec, record.status
    if not door(spec.dialect).rules.requeues_ended:
        raise RefusedError(RefusalCode.NOT_RUNNING, "the job has ended")
    if spec.interactive is not None:
        raise RefusedError(RefusalCode.NOT_BATCH, "an interactive job cannot be queued again")
    if not spec.rerunnable:
        raise RefusedError(RefusalCode.NOT_RERUNNABLE, "the job is not rerunnable")
    if spec.array is not None:
        return record
    again = replace(
        queued_again(status, now),
        state=JobState.HELD if is_held else JobState.QUEUED,
        reason=Reason.NONE,
        eligible_time=None,
        end_time=None,
        exit_code=None,
        exit_signal=None,
        walltime_used_s=None,
        deleted_by="",
        is_rerunning=False,
        is_special=is_special and is_held,
    )
    again = put_off(remembered(status, again, status.end_time or now), spec, now)
    if is_held:
        again = replace(again, reason=Reason.SPECIAL_EXIT if again.is_special else Reason.HELD_BY_USER)
    elif _BEGIN in again.altered:
        again = replace(again, state=JobState.WAITING, reason=Reason.BEGIN_TIME)
    return replace(record, status=again)


def with_members_again(status: JobStatus, alive: Indices) -> JobStatus | None:
    """The status of an ended array some of whose members, `alive`, have been queued again; None if none has."""
    if status.array is None or not alive:
        return None
    return replace(
        status,
        state=JobState.RUNNING if status.start_time is not None else JobState.QUEUED,
        reason=Reason.NONE,
        message="",
        end_time=None,
        exit_code=None,
        exit_signal=None,
        walltime_used_s=None,
        deleted_by="",
        array=counted_again(status.array, alive),
    )


def counted_again(array: ArrayStatus, alive: Indices) -> ArrayStatus:
    """Members that have been counted as ended, and live, were queued again."""
    again = alive & (array.succeeded | array.failed | array.deleted)
    return replace(
        array,
        active=array.active | again,
        succeeded=array.succeeded - again,
        failed=array.failed - again,
        deleted=array.deleted - again,
    )
