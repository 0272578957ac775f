"""`bkill`: end jobs, or send them a signal."""

from __future__ import annotations

import sys
from functools import partial

from hpcbatch.cli.common import EndedError, Session, run
from hpcbatch.cli.lsf.common import describe
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.api.port import Object
    from hpcbatch.cli.lsf.jobs import Target


def main() -> None:
    run("bkill", _body, partial(describe, "bkill"))


def _body(session: Session) -> int:
    from hpcbatch.cli.lsf.jobs import FAILED, for_each, members_of, targets
    from hpcbatch.client import arrays, changes
    from hpcbatch.dialects.lsf.commands import parse
    from hpcbatch.dialects.lsf.signals import SIGNALS, read_signal
    from hpcbatch.errors import RefusedError
    from hpcbatch.model.refusal import RefusalCode
    from hpcbatch.model.state import JobState

    line = parse("bkill", sys.argv[1:])
    if "l" in line:
        print(" ".join(SIGNALS))
        return 0
    number: int | None = None
    if (text := line.value("s")) is not None:
        number = read_signal(text)
        if number is None:
            raise EndedError(f"{text}: Illegal signal value", FAILED)
    found = targets(session, "bkill", line, line.operands)

    def end(target: Target) -> Object | None:
        changes.check_unfinished(target.row)
        if target.members is not None:
            arrays.check_known(target.row, target.members)
        return changes.request_delete(session.api, target.row, target.members)

    def send(target: Target) -> None:
        from hpcbatch.client.signals import signal

        assert number is not None  # noqa: S101 - else the jobs end
        changes.check_unfinished(target.row)
        running = {JobState.RUNNING, JobState.SUSPENDED}
        rows = [row for row in members_of(session, target) if row.state in running]
        if not rows:
            raise RefusedError(RefusalCode.NOT_RUNNING, "it does not run")
        for row in rows:
            signal(session.api, row, number, "all")

    act, done = (end, "is being terminated") if number in {None, 9, 15, 2} else (send, "is being signaled")
    return for_each(session, found, act, done, all_known=len(found) >= len(line.operands))
