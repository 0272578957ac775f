"""`srun` in the shell of salloc, or with --jobid: a step in that allocation, whose streams or terminal are here."""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import FrameType

from hpcbatch.api.streams import exit_code
from hpcbatch.cli.common import EndedError, Session, complain, write_now
from hpcbatch.client.entering import Pod
from hpcbatch.client.terminal import Relay, is_terminal
from hpcbatch.dialects.slurm.allocation import no_allocation, of_mpirun, read_step
from hpcbatch.errors import HpcBatchError, NotFoundError

_AGAIN_S = 1.0
_OF_THIS_SHELL = frozenset({"PWD", "OLDPWD", "SHLVL", "_", "HOSTNAME", "TERMCAP"})
_OF_A_JOB = ("SLURM_", "OMPI_", "PRTE_", "PMIX_", "PMI_", "HYDRA_", "I_MPI_", "MV2_", "HPCBATCH_")
"""Beginnings of variables: in another job they would mean that one's hosts."""


def run_step(session: Session, job_id: int) -> int:
    step = read_step(sys.argv[1:], is_terminal=is_terminal())
    if step.lacks_terminal:
        complain("srun: error: Not using a pseudo-terminal, disregarding --pty option")
    environment = {name: value for name, value in session.environ.items() if name not in _OF_THIS_SHELL}
    if session.environ.get("SLURM_JOB_ID") not in {None, str(job_id)}:
        environment = {name: value for name, value in environment.items() if not name.startswith(_OF_A_JOB)}
    pod = Pod(session.api, session.namespace, job_id)
    gc.enable()  # this command lives long
    try:
        word = pod.prepare(session.cwd, environment, step.command)
        stream = pod.step(word, has_terminal=step.has_terminal)
    except NotFoundError:
        raise EndedError(no_allocation(job_id), 1) from None
    if not step.has_terminal:
        signal.signal(signal.SIGINT, _Interrupts(pod, word, f"{job_id}"))
    try:
        code = exit_code(Relay(stream, has_terminal=step.has_terminal).run())
    except HpcBatchError as error:
        complain(f"srun: error: {error}")
        return 1
    if code and step.daemon_of:
        _tell(of_mpirun(step.daemon_of))
    return code


def _tell(text: str) -> None:
    """On standard error or, since mpirun throws away what its launcher writes there, on the terminal."""
    error, null = os.fstat(2), Path(os.devnull).stat()
    if (error.st_dev, error.st_ino) != (null.st_dev, null.st_ino):
        complain(text)
        return
    with suppress(OSError), Path("/dev/tty").open("w") as terminal:
        terminal.write(text.replace("\n", "\r\n") + "\r\n")


class _Interrupts:
    """Ctrl-C: the first only tells how it stands, a second within a second ends the step."""

    def __init__(self, pod: Pod, word: str, job_id: str) -> None:
        self._pod, self._word, self._job_id = pod, word, job_id
        self._last = -_AGAIN_S

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        now = time.monotonic()
        if now - self._last >= _AGAIN_S:
            self._last = now
            write_now(f"srun: interrupt (one more within 1 sec to abort)\nsrun: tasks of job {self._job_id}: running\n")
            return
        write_now("srun: sending Ctrl-C to the step\n")
        with suppress(HpcBatchError):
            self._pod.interrupt(self._word)
