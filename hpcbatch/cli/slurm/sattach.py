"""`sattach`: come back to a job of srun, or look in at it from another terminal."""

from __future__ import annotations

import sys
from functools import partial

from hpcbatch.cli.common import EndedError, Session, run
from hpcbatch.cli.slurm.common import describe
from hpcbatch.errors import UnknownJobError


def main() -> None:
    run("sattach", _body, partial(describe, "sattach"))


def _body(session: Session) -> int:
    from hpcbatch.dialects.slurm.sattach import read_sattach, refusal

    step = read_sattach(sys.argv[1:])
    from hpcbatch.cli.slurm.allocate import Waiting
    from hpcbatch.client import interactive
    from hpcbatch.client.listing import find, get_object
    from hpcbatch.client.terminal import is_terminal
    from hpcbatch.record.batchjob import shown_record

    try:
        row = find(session.api, session.namespace, step.job_id)
        record = shown_record(get_object(session.api, row))
    except UnknownJobError:
        raise EndedError(refusal(step, None, is_terminal=True), 1) from None
    if text := refusal(step, record, is_terminal=is_terminal()):
        raise EndedError(text, 1)
    kind = record.spec.interactive
    has_terminal = kind is not None and kind.is_terminal
    waiting = Waiting(session, step.job_id, row, "sattach", is_quiet=step.quiet)
    try:
        stream = interactive.attach(session.api, row, step.job_id, has_terminal=has_terminal)
    except interactive.NotRunningError:
        raise EndedError(refusal(step, None, is_terminal=True), 1) from None
    return waiting.looking_in(stream, has_terminal=has_terminal)
