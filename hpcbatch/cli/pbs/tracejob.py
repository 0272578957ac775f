"""`tracejob`: what happened to jobs, as PBS's logs show it."""

from __future__ import annotations

import sys
from functools import partial

from hpcbatch.cli.common import Session, complain, run
from hpcbatch.cli.pbs.common import answered, check_server, describe
from hpcbatch.record.rows import row_of
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.model.record import JobRecord


def main() -> None:
    run("tracejob", _body, partial(describe, "tracejob"))


def _body(session: Session) -> int:
    if answered(sys.argv[1:]):
        return 0
    from hpcbatch.dialects.pbs.tracejob import USAGE, events, format_trace, not_found, read_options

    options = read_options(sys.argv[1:])
    if options is None:
        sys.stdout.write(USAGE)
        return 1
    check_server(session, "tracejob")
    from hpcbatch.cli.unix_names import group_name
    from hpcbatch.dialects.pbs.ids import row_id

    width = _columns() if options.width is None else max(options.width, 0)
    code = 0
    for operand in options.operands:
        record = _find(session, operand)
        text = ""
        if record is not None:
            text = format_trace(
                row_id(row_of(record)),
                events(record, session.now, group_name),
                options,
                now=session.now,
                timezone=session.zone,
                width=width,
            )
        if not text:
            complain(not_found(operand, session.server, options.days))
            code = 1
        sys.stdout.write(text)
    return code


def _find(session: Session, operand: str) -> JobRecord | None:
    """The job, array or member of an array that an operand names; None if there is none."""
    from hpcbatch.client.records import by_number, exactly
    from hpcbatch.dialects.pbs.errors import PbsError
    from hpcbatch.dialects.pbs.ids import parse_id
    from hpcbatch.errors import UnknownJobError

    try:
        named = parse_id(operand, session.server)
    except (UnknownJobError, PbsError):
        return None
    found = (
        by_number(session.api, session.namespace, {named.number})
        if named.members is not None
        else exactly(session.api, session.namespace, named.number)
    )
    for record in found:
        member = record.spec.member_of
        if named.members is not None:
            if member is not None and member.array_id == named.number and member.index in named.members:
                return record
        elif record.job_id == named.number and named.is_array == (record.spec.array is not None):
            return record
    return None


def _columns() -> int:
    """Of the terminal; 0 where the output is none."""
    import os

    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        return 0
