"""`bswitch`: move waiting jobs to another queue."""

from __future__ import annotations

import sys
from functools import partial

from hpcbatch.cli.common import EndedError, Session, run
from hpcbatch.cli.lsf.common import describe
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.cli.lsf.jobs import Target
    from hpcbatch.model.record import JobRecord
    from hpcbatch.model.spec import JobSpec


def main() -> None:
    run("bswitch", _body, partial(describe, "bswitch"))


def _body(session: Session) -> int:
    from hpcbatch.cli.lsf.jobs import FAILED, for_each, targets
    from hpcbatch.client.alter import alter_with_members
    from hpcbatch.client.queues import queue_called
    from hpcbatch.dataclass import replace
    from hpcbatch.dialects.lsf.commands import parse, usage
    from hpcbatch.dialects.lsf.errors import LsfUsageError
    from hpcbatch.errors import NotSupportedError, UnknownQueueError

    line = parse("bswitch", sys.argv[1:])
    if not line.operands:
        raise LsfUsageError("Queue name must be specified", usage("bswitch"))
    try:
        queue = queue_called(session.api, line.operands[0])
    except UnknownQueueError:
        raise EndedError(f"{line.operands[0]}: No such queue", FAILED) from None
    found = targets(session, "bswitch", line, line.operands[1:])

    def into(record: JobRecord) -> JobSpec:
        return replace(record.spec, queue=queue, other_queues=())

    def switch(target: Target) -> None:
        if target.members is not None:
            raise NotSupportedError("members of an array stay in its queue: switch the whole array")
        alter_with_members(session.api, target.row, into)

    return for_each(
        session, found, switch, f"is switched to queue <{queue}>", all_known=len(found) >= len(line.operands) - 1
    )
