"""What srun and salloc do alike: submit, wait until the job runs, and end it when the user wants no more."""

from __future__ import annotations

import gc
import signal
import time
from contextlib import suppress
from types import FrameType

from hpcbatch.cli.common import EndedError, Session, complain, write_now
from hpcbatch.client import interactive
from hpcbatch.client.changes import request_end
from hpcbatch.client.submit import Submitted
from hpcbatch.dialects.slurm.allocation import Allocation, Surroundings
from hpcbatch.dialects.slurm.states import attached_code
from hpcbatch.errors import HpcBatchError, NotFoundError, RefusedError, UnknownJobError
from hpcbatch.model.state import JobState
from hpcbatch.record.batchjob import shown_record
from hpcbatch.record.state import state_of
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.api.port import Object
    from hpcbatch.api.streams import PodStream
    from hpcbatch.client.listing import Named
    from hpcbatch.model.record import JobRecord

_AT_ONCE_S = 2.0
"""What starts by then was not queued, as far as the user is told."""
_AGAIN_S = 1.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StoppedError(BaseException):
    """The user wants no more of it."""


class LeftError(BaseException):
    """This terminal has gone; that of the job stays."""


def surroundings(session: Session) -> Surroundings:
    from hpcbatch.cli.script import read_script
    from hpcbatch.cli.slurm.sbatch import reader

    taken = reader(session, (), lambda path: (path, b"")).keywords
    others = {name: value for name, value in taken.items() if name not in {"environ", "script"}}
    others["reader"] = lambda path: read_script(session, path, prompt=False)
    return Surroundings(session.environ, others)


def submitted(session: Session, wanted: Allocation, command: str) -> Submitted:
    from hpcbatch.cli.submission import send
    from hpcbatch.dialects.slurm import errors

    try:
        return send(session, wanted.submission, command, is_quiet=wanted.quiet)
    except RefusedError as refused:
        text, _ = errors.describe(refused, "sbatch", str(refused))
        said = text.replace("sbatch:", f"{command}:").replace(
            "Batch job submission failed", "Unable to allocate resources"
        )
        raise EndedError(said, 1) from None


class Waiting:
    """From the submission to the end."""

    def __init__(self, session: Session, job_id: int, job: Named, command: str, *, is_quiet: bool) -> None:
        self._api, self._job_id, self._job = session.api, job_id, job
        self._command, self._is_quiet = command, is_quiet
        self._interrupted = -_AGAIN_S
        self.record: JobRecord | None = None
        """Of the job when it runs."""
        gc.enable()  # this command lives long
        for number in _SIGNALS:
            signal.signal(number, _stop)

    def say(self, text: str) -> None:
        if not self._is_quiet:
            complain(f"{self._command}: {text}")

    def until_it_runs(self) -> int | None:
        """None when it does, else the command's exit code."""
        was_told = False
        try:
            obj = interactive.await_run(self._api, self._job, _AT_ONCE_S)
            if state_of(obj) is not JobState.RUNNING and not state_of(obj).is_final:
                if self._command == "salloc":
                    self.say(f"Pending job allocation {self._job_id}")
                self.say(f"job {self._job_id} queued and waiting for resources")
                was_told = True
                obj = interactive.await_run(self._api, self._job)
        except UnknownJobError:
            return self._revoked()
        except StoppedError:
            self.end()
            return self._revoked()
        if state_of(obj) is not JobState.RUNNING and (
            not state_of(obj).is_final or obj["status"].get("startTime") is None
        ):
            return self._revoked()
        if was_told:
            self.say(f"job {self._job_id} has been allocated resources")
        self.record = shown_record(obj)
        return None

    def attached(self, stream: PodStream, hello: bytes, *, has_terminal: bool) -> int:
        """Lead the streams there and back to the end; returns the exit code."""
        from hpcbatch.client.terminal import Relay

        if has_terminal:
            signal.signal(signal.SIGHUP, _leave)
        else:
            signal.signal(signal.SIGINT, self._interrupt)
        try:
            Relay(stream, has_terminal=has_terminal).run(hello)
        except StoppedError:
            complain(f"{self._command}: forcing job termination")
            self.end()
        except LeftError:
            return 1
        except HpcBatchError as error:
            # a pod that ends may take its connection with it
            if not interactive.has_ended(self._api, self._job):
                stays = f"; `sattach {self._job_id}.0` comes back to it" if has_terminal else ""
                complain(f"{self._command}: error: {error}{stays}")
                return 1
        return self.ended()

    def looking_in(self, stream: PodStream, *, has_terminal: bool) -> int:
        """The same for one who comes later, and whose going changes nothing."""
        from hpcbatch.client.terminal import Relay

        try:
            Relay(stream, has_terminal=has_terminal).run()
        except (StoppedError, LeftError):
            return 1
        except HpcBatchError as error:
            if not interactive.has_ended(self._api, self._job):
                complain(f"{self._command}: error: {error}")
                return 1
        return self._code(interactive.await_end(self._api, self._job))

    def ended(self) -> int:
        """Wait for the end, and tell what there is to be told."""
        for number in _SIGNALS:
            signal.signal(number, _stop)
        try:
            obj = interactive.await_end(self._api, self._job)
        except StoppedError:
            self.end()
            obj = interactive.await_end(self._api, self._job)
        except UnknownJobError:
            return 1
        if state_of(obj) is JobState.DELETED:
            complain(f"{self._command}: Force Terminated job {self._job_id}")
        return self._code(obj)

    def lost(self) -> str:
        """Wait until the allocation has ended, by whatever; returns what is said about that."""
        try:
            state = state_of(interactive.await_end(self._api, self._job))
        except HpcBatchError:
            state = JobState.DELETED
        if state is JobState.TIMEOUT:
            return f"Job {self._job_id} has exceeded its time limit and its allocation has been revoked."
        return f"Job allocation {self._job_id} has been revoked."

    def end(self) -> None:
        """The job ends, whatever else the user presses."""
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        self._api.close()  # a signal may have come in the middle of an answer
        with suppress(NotFoundError):  # it has ended, and been put away
            request_end(self._api, self._job)

    def _code(self, obj: Object) -> int:
        return attached_code(shown_record(obj).status)

    def _revoked(self) -> int:
        self.say(f"Job allocation {self._job_id} has been revoked")
        return 1

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        """Ctrl-C: the first only tells how it stands, a second within a second ends the job."""
        now = time.monotonic()
        if now - self._interrupted < _AGAIN_S:
            raise StoppedError
        self._interrupted = now
        write_now(
            f"{self._command}: interrupt (one more within 1 sec to abort)\n"
            f"{self._command}: StepId={self._job_id}.0 tasks: running\n"
        )


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise StoppedError


def _leave(_number: int, _frame: FrameType | None) -> None:
    raise LeftError
