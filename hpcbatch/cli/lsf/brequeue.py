"""`brequeue`: end runs of jobs and queue them again."""

from __future__ import annotations

import sys
from functools import partial

from hpcbatch.cli.common import Session, run
from hpcbatch.cli.lsf.common import describe
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.cli.lsf.jobs import Target


def main() -> None:
    run("brequeue", _body, partial(describe, "brequeue"))


def _body(session: Session) -> int:
    from hpcbatch.cli.lsf.jobs import for_each, targets
    from hpcbatch.client.requeue import requeue
    from hpcbatch.dialects.lsf.commands import parse
    from hpcbatch.errors import JobFinishedError, RefusedError
    from hpcbatch.model.refusal import RefusalCode
    from hpcbatch.model.state import WAITING, JobState

    line = parse("brequeue", sys.argv[1:])
    found = targets(session, "brequeue", line, line.operands)
    takes_done, takes_failed = ("a" in line or "d" in line), ("a" in line or "e" in line)
    takes_running = "r" in line or "a" in line or not (takes_done or takes_failed)

    def again(target: Target) -> None:
        row = target.row
        if not row.array_indices:
            if row.state.is_final:
                if not (takes_done if row.state is JobState.FINISHED else takes_failed):
                    raise JobFinishedError(target.shown)
            elif row.state in WAITING or not takes_running:
                raise RefusedError(RefusalCode.NOT_RUNNING, "it does not run")
        is_only_running = not (takes_done or takes_failed)
        requeue(session.api, row, target.members, hold="H" in line, is_special=False, running_only=is_only_running)

    return for_each(session, found, again, "is being requeued", all_known=len(found) >= len(line.operands))
