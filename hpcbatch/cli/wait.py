"""Waiting for the end of a job that was just submitted: `qsub -W block=true` and `sbatch --wait`."""

from __future__ import annotations

import gc
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import TYPE_CHECKING

from hpcbatch.api.port import Object
from hpcbatch.api.resources import BATCHJOBS
from hpcbatch.cli.common import Session, complain
from hpcbatch.client import listing
from hpcbatch.client.submit import Submitted
from hpcbatch.errors import ApiError, ForbiddenError, HpcBatchError, NotFoundError, UnauthorizedError, UnreachableError
from hpcbatch.model.state import JobState, Reason

if TYPE_CHECKING:
    from hpcbatch.model.record import JobRecord

_WATCH_S = 60.0  # a connection that has died unseen is found out so late
_PAUSES_S = (0.2, 0.5, 1.0, 2.0, 5.0)
_SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)
_DELETED = 3  # of qsub, whose job was deleted
_INTERRUPTED = 2  # of qsub


class _SignalledError(BaseException):
    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(number)


def wait_as_qsub(session: Session, submitted: Submitted, shown_id: str) -> int:
    """Wait as qsub does, and return its exit code: that of the job, or 3 when it was deleted. A signal deletes it, but
    not the end of the terminal under nohup.
    """

    def stop(number: int, _frame: FrameType | None) -> None:
        for each in _SIGNALS:  # a second one, as timeout(1) sends, must not keep the job from being deleted
            signal.signal(each, signal.SIG_IGN)
        raise _SignalledError(number)

    for number in _SIGNALS:
        if number is not signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, stop)
    try:
        sys.stdout.flush()  # whoever reads the id may send a signal from now on
        ended = await_end(
            session, submitted, is_over=lambda obj: _has_ended(obj) or bool(obj["spec"].get("deleteRequested")),
            tell=lambda error: complain(f"qsub: {error}; waiting on"),
        )  # fmt: skip
    except _SignalledError as signalled:
        complain(f"qsub: wait for job {shown_id} interrupted by signal {signalled.number}")
        print(f"Job {shown_id} is being deleted")
        with suppress(NotFoundError):  # it has ended, and been put away
            change = {"spec": {"deleteRequested": True}}
            session.api.patch(BATCHJOBS, submitted.object_name, change, submitted.namespace)
        return _INTERRUPTED
    if ended is None:
        complain(f"qsub: Unknown Job Id {shown_id}")
        return _DELETED
    return _qsub_code(ended, shown_id)


def _qsub_code(obj: Object, shown_id: str) -> int:
    from hpcbatch.pbs.states import exit_status
    from hpcbatch.record.batchjob import shown_record

    record = shown_record(obj)
    status, spec = record.status, record.spec
    if status.state is JobState.DELETED or not status.state.is_final:
        text = f"Job to be deleted at request of {status.deleted_by or status.owner}@{spec.submit_host}"
        complain(f"qsub: {shown_id} {status.message if status.reason is Reason.DEPENDENCY_NEVER else text}")
        return _DELETED
    code = exit_status(
        status.state, status.reason, has_started=status.start_time is not None, exit_code=status.exit_code,
        exit_signal=status.exit_signal,
    )  # fmt: skip
    return 1 if code is None else code & 0xFF


def wait_as_sbatch(session: Session, submitted: Submitted) -> int:
    """Wait as sbatch does, and return its exit code: that of the job, of an array the highest of its tasks; 1 where a
    signal ended it."""
    sys.stdout.flush()
    text = "sbatch: error: Currently unable to load job state information, retrying:"
    ended = await_end(session, submitted, is_over=_has_ended, tell=lambda error: complain(f"{text} {error}"))
    if ended is None:
        complain(f"sbatch: error: Job {submitted.job_id} no longer found and exit code not found")
        return 1
    from hpcbatch.record.batchjob import shown_record

    record = shown_record(ended)
    if record.spec.array is None:
        return _sbatch_code(record)
    array = record.status.array
    if array is None or not array.failed:
        return 0
    found = listing.list_ended(session.api, submitted.namespace, since=record.status.submit_time)
    tasks = [obj for obj in found if obj["spec"].get("memberOf", {}).get("arrayId") == submitted.job_id]
    return max((_sbatch_code(shown_record(obj)) for obj in tasks), default=0) or 1


def _sbatch_code(record: JobRecord) -> int:
    from hpcbatch.slurm.states import exit_status

    status = record.status
    code, killed_by = exit_status(
        status.state, status.reason, status.exit_code, status.exit_signal, status.start_time is not None
    )
    if killed_by:
        return 1
    return code or (1 if status.state is JobState.FAILED else 0)  # a lost node's job has 0:0


def await_end(
    session: Session,
    submitted: Submitted,
    *,
    is_over: Callable[[Object], bool],
    tell: Callable[[HpcBatchError], None],
) -> Object | None:
    """The job's record as soon as `is_over` says so, from the history if it has gone there; None if there is none.

    Waits through whatever the API server and the network do; `tell` hears of the first failure of each outage.
    Raises ForbiddenError and UnauthorizedError.
    """
    gc.enable()  # this command lives long
    api, failures = session.api, 0
    while True:
        try:
            obj = api.get(BATCHJOBS, submitted.object_name, submitted.namespace)
            failures = 0
            if is_over(obj):
                return obj
            found = _watch(session, obj, is_over)
            if found is not None:
                return found
        except NotFoundError:
            return next(iter(listing.list_ended(api, submitted.namespace, numbers=[submitted.job_id])), None)
        except (ForbiddenError, UnauthorizedError):
            raise
        except (ApiError, UnreachableError) as error:
            if failures == 0:
                tell(error)
            time.sleep(_PAUSES_S[min(failures, len(_PAUSES_S) - 1)])
            failures += 1


def _watch(session: Session, obj: Object, is_over: Callable[[Object], bool]) -> Object | None:
    """The record as soon as it is over; None when it has gone, or the watch ends."""
    metadata = obj["metadata"]
    watch = session.api.watch(
        BATCHJOBS, metadata["namespace"], fields=f"metadata.name={metadata['name']}",
        resource_version=metadata["resourceVersion"], timeout_s=_WATCH_S,
    )  # fmt: skip
    try:
        for event in watch:
            if event.type == "DELETED":
                return None
            if event.type != "BOOKMARK" and is_over(event.object):
                return event.object
    finally:
        watch.close()
    return None


def _has_ended(obj: Object) -> bool:
    return JobState((obj.get("status") or {}).get("state", JobState.QUEUED)).is_final
