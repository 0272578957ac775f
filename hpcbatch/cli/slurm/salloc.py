"""`salloc`: an allocation, and a shell or command on the login node for as long as that runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial

from hpcbatch.cli.common import Session, complain, run
from hpcbatch.cli.slurm.common import describe
from hpcbatch.errors import HpcBatchError
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.cli.slurm.allocate import Waiting

_OF_THE_SCRIPT = frozenset(
    {"SLURM_TASK_PID", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_GTIDS", "SLURM_NODEID", "SLURM_JOB_START_TIME"}
    | {"SLURM_TOPOLOGY_ADDR", "SLURM_TOPOLOGY_ADDR_PATTERN", "SLURM_PRIO_PROCESS", "SLURM_CPUS_ON_NODE"}
)
_NOT_FOUND, _NOT_STARTED = 127, 126


def main() -> None:
    run("salloc", _body, partial(describe, "salloc"))


def _body(session: Session) -> int:
    from hpcbatch.cli.slurm.allocate import Waiting, submitted, surroundings
    from hpcbatch.client.entering import Pod
    from hpcbatch.dialects.slurm.allocation import is_mpirun, of_mpirun, read_salloc

    wanted = read_salloc(sys.argv[1:], surroundings(session))
    job = submitted(session, wanted, "salloc")
    waiting = Waiting(session, job.job_id, job, "salloc", is_quiet=wanted.quiet)
    if (code := waiting.until_it_runs()) is not None:
        return code
    try:
        pod = Pod(session.api, session.namespace, job.job_id)
        allocated = pod.environment()
    except BaseException:
        waiting.end()
        raise
    waiting.say(f"Granted job allocation {job.job_id}")
    if not wanted.shell:
        return 0
    command = wanted.command or (session.environ.get("SHELL") or "/bin/sh",)
    variables = {
        name: value for name, value in allocated.items() if name.startswith("SLURM_") and name not in _OF_THE_SCRIPT
    }
    code = _run(session, command, variables, waiting)
    if code and is_mpirun(command):
        complain(of_mpirun(command="salloc"))
    waiting.say(f"Relinquishing job allocation {job.job_id}")
    try:
        pod.release(code)
    except HpcBatchError:  # it has ended, or is not to be reached
        waiting.end()
    return code


def _run(session: Session, command: Sequence[str], variables: Mapping[str, str], waiting: Waiting) -> int:
    """The user's command, which gets the keys of the terminal itself."""
    try:
        child = subprocess.Popen(command, env={**session.environ, **variables})
    except OSError as error:
        complain(f'salloc: error: Unable to exec command "{command[0]}": {error.strerror}')
        return _NOT_FOUND if isinstance(error, FileNotFoundError) else _NOT_STARTED
    for number in (signal.SIGINT, signal.SIGQUIT):  # these come to the command, too
        signal.signal(number, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _frame: _pass_on(child, received))
    threading.Thread(target=_watch, args=(waiting, child), daemon=True).start()
    code = child.wait()
    return 128 - code if code < 0 else code


def _pass_on(child: subprocess.Popen[bytes], number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(child.pid, number)


def _watch(waiting: Waiting, child: subprocess.Popen[bytes]) -> None:
    """The command ends with the allocation: a shell by SIGHUP, as when its terminal goes."""
    text = waiting.lost()
    if child.poll() is None:
        complain(f"salloc: {text}")
        _pass_on(child, signal.SIGHUP)
