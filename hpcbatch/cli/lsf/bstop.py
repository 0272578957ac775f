"""`bstop` and `bresume`: suspend jobs and go on with them; those that wait are held and released."""

from __future__ import annotations

import os
import sys
from functools import partial

from hpcbatch.cli.common import Session, run
from hpcbatch.cli.lsf.common import describe
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.api.port import Object
    from hpcbatch.cli.lsf.jobs import Target
    from hpcbatch.model.indices import Indices
    from hpcbatch.model.row import JobRow
    from hpcbatch.model.state import JobState


def main() -> None:
    command = os.path.basename(sys.argv[0])  # noqa: PTH119  pathlib costs milliseconds
    run(command, partial(_body, command), partial(describe, command))


def _body(command: str, session: Session) -> int:
    from hpcbatch.cli.lsf.jobs import for_each, targets
    from hpcbatch.dialects.lsf.commands import parse

    line = parse(command, sys.argv[1:])
    found = targets(session, command, line, line.operands)
    act, done = (_stop, "is being stopped") if command == "bstop" else (_resume, "is being resumed")
    return for_each(session, found, partial(act, session), done, all_known=len(found) >= len(line.operands))


def _stop(session: Session, target: Target) -> Object | None:
    from hpcbatch.client.changes import check_unfinished
    from hpcbatch.client.holds import hold
    from hpcbatch.client.signals import suspend
    from hpcbatch.model.state import WAITING, JobState

    row = target.row
    check_unfinished(row)
    if row.state in WAITING:
        return hold(session.api, row, target.members)
    if not row.array_indices:
        return suspend(session.api, row)
    for member in _begun(session, target, JobState.RUNNING):
        suspend(session.api, member)
    return hold(session.api, row, _waiting(target))


def _resume(session: Session, target: Target) -> Object | None:
    from hpcbatch.client.changes import check_unfinished
    from hpcbatch.client.holds import release
    from hpcbatch.client.signals import resume
    from hpcbatch.model.state import JobState

    row = target.row
    check_unfinished(row)
    if row.state is JobState.SUSPENDED and not row.array_indices:
        return resume(session.api, row)
    if row.array_indices:
        for member in _begun(session, target, JobState.SUSPENDED):
            resume(session.api, member)
    return release(session.api, row, target.members)


def _begun(session: Session, target: Target, state: JobState) -> list[JobRow]:
    from hpcbatch.client.arrays import own_rows

    rows = own_rows(session.api, target.row, target.members, ended=False).values()
    return [row for row in rows if row.state is state]


def _waiting(target: Target) -> Indices:
    """Members that wait: the others have their own states."""
    from hpcbatch.model.indices import Indices
    from hpcbatch.model.members import unended

    wanted = unended(target.row) if target.members is None else target.members
    return wanted & Indices.parse(target.row.array_pending) if target.row.array_pending else wanted
