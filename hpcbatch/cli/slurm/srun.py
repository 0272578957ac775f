"""`srun` on the login node: an allocation of its own, or a step in one of salloc, and what runs there, here."""

from __future__ import annotations

import os
import sys
from functools import partial

from hpcbatch.cli.common import Session, complain, run
from hpcbatch.cli.slurm.common import describe

_IN_JOB = "/hpcbatch/run/job/bin/srun"
"""The runner's, which scripts find first in PATH; this one is here for those that name it by its path."""
_OF_OTHER = "HPCBATCH_STEP_OF_OTHER_JOB"
"""Set by the runner's, where --jobid names another job (runner/steps/srun_other.sh)."""


def main() -> None:
    if os.environ.pop(_OF_OTHER, None) is None and os.access(_IN_JOB, os.X_OK):
        os.execv(_IN_JOB, ["srun", *sys.argv[1:]])  # noqa: S606
    run("srun", _body, partial(describe, "srun"))


def _body(session: Session) -> int:
    from hpcbatch.cli.slurm.allocate import Waiting, submitted, surroundings
    from hpcbatch.client import interactive
    from hpcbatch.client.terminal import is_terminal
    from hpcbatch.dialects.slurm.allocation import allocation_of, launching, read_srun

    if (job_id := allocation_of(sys.argv[1:], session.environ)) is not None:
        from hpcbatch.cli.slurm.step import run_step

        return run_step(session, job_id)
    wanted = read_srun(sys.argv[1:], surroundings(session), is_terminal=is_terminal())
    if wanted.test_only:
        from hpcbatch.cli.slurm.sbatch_test import tested

        return tested(session, wanted.submission, "srun")
    if wanted.lacks_terminal:
        complain("srun: error: Not using a pseudo-terminal, disregarding --pty option")
    job = submitted(session, wanted, "srun")
    waiting = Waiting(session, job.job_id, job, "srun", is_quiet=wanted.quiet)
    if (code := waiting.until_it_runs()) is not None:
        return code
    if wanted.is_verbose and waiting.record is not None:
        for line in launching(waiting.record):
            complain(f"srun: {line}")
    try:
        stream = interactive.attach(session.api, job, job.job_id, has_terminal=wanted.has_terminal)
    except interactive.NotRunningError:
        return waiting.ended()
    hello = interactive.HELLO_TERMINAL if wanted.has_terminal else interactive.HELLO_STREAMS
    return waiting.attached(stream, hello, has_terminal=wanted.has_terminal)
