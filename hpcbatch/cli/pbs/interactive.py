"""`qsub -I`: a shell in the job's first pod, on this terminal. Source of its words: OpenPBS, qsub.c."""

from __future__ import annotations

import gc
import os
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from hpcbatch.cli.common import EndedError, Session, complain, write_now
from hpcbatch.client.terminal import is_terminal
from hpcbatch.errors import HpcBatchError, NotFoundError, UnknownJobError
from hpcbatch.record.state import state_of
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.client.submit import Submitted

_NO_TERMINAL = "qsub:\tstandard input and output must be a terminal for\n\tinteractive job submission"
_ANSWER_S = 60


class _StoppedError(BaseException):
    """A signal, or the user, ends the job and this command."""


def check_terminal() -> None:
    """Raises EndedError as qsub ends."""
    if not is_terminal():
        raise EndedError(_NO_TERMINAL, 1)


def converse(session: Session, submitted: Submitted, shown_id: str) -> int:
    """Wait for the job, lead its terminal here, and return qsub's exit code."""
    signal.signal(signal.SIGINT, _ask)
    gc.enable()  # this command lives long
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)
    try:
        return _converse(session, submitted, shown_id)
    except _StoppedError:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)  # another one must not keep the job from being deleted
        with suppress(OSError):  # the terminal may be what has gone
            print(f"Job {shown_id} is being deleted", flush=True)
        _end(session, submitted)
        return 1


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise _StoppedError


def _end(session: Session, submitted: Submitted) -> None:
    from hpcbatch.client.changes import request_end

    session.api.close()  # a signal may have come in the middle of an answer
    with suppress(NotFoundError):  # it has ended, and been put away
        request_end(session.api, submitted)


def _converse(session: Session, submitted: Submitted, shown_id: str) -> int:
    print(f"qsub: waiting for job {shown_id} to start", flush=True)
    from hpcbatch.client import interactive
    from hpcbatch.client.entering import Pod
    from hpcbatch.client.terminal import Relay

    try:
        record = interactive.await_run(session.api, submitted)
    except UnknownJobError:
        complain(f"qsub: job {shown_id} apparently deleted")
        return 1
    signal.signal(signal.SIGINT, _stop)
    if state_of(record).is_final or record["spec"].get("deleteRequested"):
        complain(f"qsub: job {shown_id} apparently deleted")
        return 1
    try:
        stream = interactive.attach(session.api, submitted, submitted.job_id, has_terminal=True)
    except interactive.NotRunningError:
        complain(f"qsub: job {shown_id} apparently deleted")
        return 1
    except HpcBatchError:
        _end(session, submitted)
        raise
    print(f"qsub: job {shown_id} ready\n", flush=True)
    lost = ""
    try:
        beside = Pod(session.api, session.namespace, submitted.job_id).live
        Relay(stream, has_terminal=True, beside=beside).run(interactive.HELLO_TERMINAL)
    except HpcBatchError as error:
        # a pod that ends may take its connection with it
        if not interactive.has_ended(session.api, submitted):
            lost = str(error)
            _end(session, submitted)
    if lost:
        complain(f"\nqsub: {lost}: job {shown_id} is being deleted")
        return 1
    print(f"\nqsub: job {shown_id} completed", flush=True)
    return 0


def _ask(number: int, frame: FrameType | None) -> None:
    """Ctrl-C while the job waits."""
    signal.signal(signal.SIGINT, _stop)
    with _woken_by_signals() as wake:
        write_now("Do you wish to terminate the job and exit (y|[n])? ", 1)
        while True:
            ready = select.select([sys.stdin, wake], [], [], _ANSWER_S)[0]
            if not ready:
                write_now("Timeout -- deleting job\n", 1)
                _stop(number, frame)
            if sys.stdin not in ready:
                os.read(wake, 1024)
                continue
            answer = sys.stdin.readline()[:1]
            if answer in {"y", "Y", ""}:
                _stop(number, frame)
            if answer in {"n", "N", "\n"}:
                break
            write_now("yes or no please\n", 1)
    signal.signal(signal.SIGINT, _ask)


@contextmanager
def _woken_by_signals() -> Iterator[int]:
    """A descriptor that can be read as soon as a signal comes, so that one that comes just before a wait ends it."""
    wake, written = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    before = signal.set_wakeup_fd(written, warn_on_full_buffer=False)
    try:
        yield wake
    finally:
        signal.set_wakeup_fd(before)
        os.close(wake)
        os.close(written)
