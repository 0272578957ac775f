"""`qsub -W block=true`: waits for the end of the job that was just submitted."""

from __future__ import annotations

import gc
import signal
import sys
from contextlib import suppress
from types import FrameType

from hpcbatch.cli.common import Session, complain
from hpcbatch.client.watch import wait_until
from hpcbatch.errors import NotFoundError, UnknownJobError
from hpcbatch.record.state import state_of
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.client.submit import Submitted

_SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)
_INTERRUPTED = 2


class _SignalledError(BaseException):
    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(number)


def wait(session: Session, submitted: Submitted, shown_id: str) -> int:
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
    gc.enable()  # this command lives long
    try:
        sys.stdout.flush()  # whoever reads the id may send a signal from now on
        ended = wait_until(
            session.api,
            submitted,
            lambda obj: state_of(obj).is_final or bool(obj["spec"].get("deleteRequested")),
            tell=lambda error: complain(f"qsub: {error}; waiting on"),
        )
    except _SignalledError as signalled:
        complain(f"qsub: wait for job {shown_id} interrupted by signal {signalled.number}")
        print(f"Job {shown_id} is being deleted")
        from hpcbatch.client.changes import request_end

        with suppress(NotFoundError):  # it has ended, and been put away
            request_end(session.api, submitted)
        return _INTERRUPTED
    except UnknownJobError:
        from hpcbatch.dialects.pbs.block import DELETED

        complain(f"qsub: Unknown Job Id {shown_id}")
        return DELETED
    from hpcbatch.dialects.pbs.block import outcome
    from hpcbatch.record.batchjob import shown_record

    text, code = outcome(shown_record(ended))
    if text:
        complain(f"qsub: {shown_id} {text}")
    return code
