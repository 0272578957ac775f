"""`bsub -K`: waits for the end of the job that was just submitted."""

from __future__ import annotations

import gc
import signal
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

from hpcbatch.cli.common import Session, complain
from hpcbatch.client.watch import wait_until
from hpcbatch.errors import NotFoundError, UnknownJobError
from hpcbatch.record.state import state_of
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.api.port import Object
    from hpcbatch.client.submit import Submitted

_SIGNALS = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)
_FAILED = 255


class _SignalledError(BaseException):
    """The user wants no more of it."""


def wait(session: Session, submitted: Submitted) -> int:
    """Wait as bsub does, and return its exit code: that of the job. A signal ends the job, as it does in LSF."""
    for number in _SIGNALS:
        if number is not signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop)
    gc.enable()  # this command lives long
    complain("<<Waiting for dispatch ...>>")
    try:
        started = _until(session, submitted, lambda obj: state_of(obj).is_final or _node(obj) != "")
        if node := _node(started):  # said of a short job that has ended by now, too
            complain(f"<<Starting on {node}>>")
        ended = _until(session, submitted, lambda obj: state_of(obj).is_final)
    except _SignalledError:
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        from hpcbatch.client.changes import request_end

        session.api.close()
        with suppress(NotFoundError):  # it has ended, and been put away
            request_end(session.api, submitted)
        complain(f"Job <{submitted.job_id}> is being terminated")
        return 130
    except UnknownJobError:
        complain(f"Job <{submitted.job_id}> is not found")
        return _FAILED
    if ended["status"].get("startTime") is not None:
        complain("<<Job is finished>>")
    else:
        complain("<<Terminated while pending>>")
    return code_of(ended)


def code_of(ended: Object) -> int:
    """The exit code of a job that has ended."""
    from hpcbatch.dialects.lsf.states import code_of as code
    from hpcbatch.record.batchjob import shown_record

    status = shown_record(ended).status
    found = code(status.state, status.reason, status.exit_code, status.exit_signal)
    return _FAILED if found is None else found


def _until(session: Session, submitted: Submitted, is_so: Callable[[Object], bool]) -> Object:
    return wait_until(
        session.api,
        submitted,
        is_so,
        tell=lambda error: complain(f"bsub: {error}; waiting on"),
    )


def _node(obj: Object) -> str:
    status = obj.get("status") or {}
    hosts = status.get("hosts") or ()
    return str(hosts[0]["node"]) if status.get("startTime") and hosts else ""


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise _SignalledError
