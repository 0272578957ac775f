"""`btop` and `bbot`: move a waiting job to the top or the bottom of its user's waiting jobs in its queue."""

from __future__ import annotations

import os
import sys
from functools import partial

from hpcbatch.cli.common import EndedError, Session, run
from hpcbatch.cli.lsf.common import describe
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.model.row import JobRow

_MOST = 200
"""Places that a job is moved by: each is an exchange of its own."""


def main() -> None:
    command = os.path.basename(sys.argv[0])  # noqa: PTH119  pathlib costs milliseconds
    run(command, partial(_body, command), partial(describe, command))


def _body(command: str, session: Session) -> int:
    from hpcbatch.cli.lsf.jobs import FAILED, targets
    from hpcbatch.client.changes import check_unfinished
    from hpcbatch.client.order import exchange
    from hpcbatch.dialects.lsf.commands import parse, usage
    from hpcbatch.dialects.lsf.errors import LsfUsageError, of_job
    from hpcbatch.errors import HpcBatchError, NotSupportedError, RefusedError
    from hpcbatch.model.refusal import RefusalCode
    from hpcbatch.model.state import WAITING

    line = parse(command, sys.argv[1:])
    words = line.operands
    if not 1 <= len(words) <= 2 or (len(words) == 2 and not (words[1].isdigit() and int(words[1]) > 0)):
        raise LsfUsageError("expected a job, and a position above 0", usage(command))
    position = int(words[1]) if len(words) == 2 else 1
    found = targets(session, command, line, words[:1])
    if not found:
        return FAILED
    target, end = found[0], "top" if command == "btop" else "bottom"
    try:
        check_unfinished(target.row)
        if target.members is not None:
            raise NotSupportedError("members of an array have its place: move the whole array")
        if target.row.state not in WAITING:
            raise RefusedError(RefusalCode.STARTED, "it has started")
        places = _in_order(session, target.row)
        at = next(place for place, row in enumerate(places) if row.job_id == target.row.job_id)
        to = min(position - 1, len(places) - 1) if end == "top" else max(0, len(places) - position)
        if abs(to - at) > _MOST:
            raise NotSupportedError(f"a job is moved by {_MOST} places at most, this would be {abs(to - at)}")
        step = -1 if to < at else 1
        while at != to:
            exchange(session.api, target.row, places[at + step], session.namespace)
            at += step
    except HpcBatchError as error:
        raise EndedError(f"Job <{target.shown}>: {of_job(error)}", FAILED) from None
    print(f"Job <{target.shown}> has been moved to position {position} from {end}.")
    return 0


def _in_order(session: Session, row: JobRow) -> list[JobRow]:
    """The waiting jobs of the same user in the same queue, the first one first."""
    from hpcbatch.client import listing
    from hpcbatch.model.state import WAITING
    from hpcbatch.policy.order import weight_of
    from hpcbatch.record.batchjob import shown_record
    from hpcbatch.record.rows import row_of

    found = []
    for obj in listing.list_objects(session.api, session.namespace, finished=False):
        record = shown_record(obj)
        if record.status.state in WAITING and record.spec.member_of is None:
            each = row_of(record)
            if (each.user, each.queue) == (row.user, row.queue):
                order = record.status.order
                place = order.number if order is not None and order.number else record.job_id
                found.append(((-weight_of(each), place), each))
    return [each for _, each in sorted(found, key=lambda pair: pair[0])]
