"""`bsub -I`, `-Ip`, `-Is`: the job's input and output, or its terminal, here."""

from __future__ import annotations

import gc
import signal
from contextlib import suppress
from types import FrameType

from hpcbatch.cli.common import EndedError, Session, complain
from hpcbatch.errors import HpcBatchError, NotFoundError, UnknownJobError
from hpcbatch.model.interactive import Interactive
from hpcbatch.record.state import state_of
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.api.port import Object
    from hpcbatch.client.submit import Submitted

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_FAILED = 255


class _StoppedError(BaseException):
    """The user wants no more of it."""


def check_terminal(kind: Interactive) -> None:
    """Raises EndedError where a terminal is wanted and there is none."""
    from hpcbatch.client.terminal import is_terminal

    if kind.is_terminal and not is_terminal():
        raise EndedError(
            "Interactive job with a pseudo-terminal: standard input is no terminal. Job not submitted.", 255
        )


def converse(session: Session, submitted: Submitted, *, has_terminal: bool) -> int:
    """Wait for the job, lead its streams here, and return the exit code of the job."""
    from hpcbatch.cli.lsf.wait import code_of

    gc.enable()  # this command lives long
    for number in _SIGNALS:
        signal.signal(number, _stop)
    try:
        ended = _converse(session, submitted, has_terminal=has_terminal)
    except _StoppedError:
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)  # another one must not keep the job from being ended
        _end(session, submitted)
        complain(f"Job <{submitted.job_id}> is being terminated")
        return 130
    return _FAILED if ended is None else code_of(ended)


def _converse(session: Session, submitted: Submitted, *, has_terminal: bool) -> Object | None:
    from hpcbatch.client import interactive
    from hpcbatch.client.entering import Pod
    from hpcbatch.client.terminal import Relay

    complain("<<Waiting for dispatch ...>>")
    try:
        record = interactive.await_run(session.api, submitted)
        if state_of(record).is_final:
            return record
        stream = interactive.attach(session.api, submitted, submitted.job_id, has_terminal=has_terminal)
    except UnknownJobError:
        return None
    except interactive.NotRunningError:
        return interactive.await_end(session.api, submitted)
    except HpcBatchError:
        _end(session, submitted)
        raise
    hosts = [host["node"] for host in (record.get("status") or {}).get("hosts") or ()]
    complain(f"<<Starting on {hosts[0] if hosts else 'the host'}>>")
    hello = interactive.HELLO_TERMINAL if has_terminal else interactive.HELLO_STREAMS
    try:
        beside = Pod(session.api, session.namespace, submitted.job_id).live if has_terminal else None
        Relay(stream, has_terminal=has_terminal, beside=beside).run(hello)
    except HpcBatchError as error:
        # a pod that ends may take its connection with it
        if not interactive.has_ended(session.api, submitted):
            _end(session, submitted)
            complain(f"bsub: {error}: job <{submitted.job_id}> is being terminated")
            return None
    return interactive.await_end(session.api, submitted)


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise _StoppedError


def _end(session: Session, submitted: Submitted) -> None:
    from hpcbatch.client.changes import request_end

    session.api.close()  # a signal may have come in the middle of an answer
    with suppress(NotFoundError):  # it has ended, and been put away
        request_end(session.api, submitted)
