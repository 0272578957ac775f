"""`bjobs`: jobs, as LSF shows them."""

from __future__ import annotations

import sys
from datetime import timedelta
from functools import partial

from hpcbatch.cli.common import EndedError, Session, complain, run
from hpcbatch.cli.lsf.common import describe
from hpcbatch.cli.lsf.jobs import print_lines
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.dialects.lsf.commands import Line
    from hpcbatch.model.row import JobRow

_FAILED = 255


def main() -> None:
    run("bjobs", _body, partial(describe, "bjobs"))


def _body(session: Session) -> int:
    from hpcbatch.dialects.lsf import bjobs
    from hpcbatch.dialects.lsf.commands import parse, usage

    line = parse("bjobs", sys.argv[1:])
    form = None
    if (text := line.value("o")) is not None or "json" in line:
        from hpcbatch.dialects.lsf.fields import read_format

        form = read_format(text or "jobid stat user queue from_host exec_host job_name submit_time", usage("bjobs"))
    if "A" in line:
        return _arrays(session, line)
    rows, is_complete = _rows(session, line)
    code = 0 if is_complete else _FAILED
    if "sum" in line:
        print_lines(bjobs.summary(rows))
        return code
    if form is not None and "json" in line:
        from hpcbatch.cli.lsf.jobs import with_records
        from hpcbatch.dialects.lsf.fields import as_json
        from hpcbatch.dialects.lsf.rows import number

        known = {str(number(row)) for row in rows}
        unknown = [text for text in line.operands if text.partition("[")[0] not in known] if code else []
        print_lines([as_json(with_records(session, rows), form, unknown)])
        return 0  # the records say it
    if not rows:
        if line.operands and not is_complete:
            return _FAILED
        raise EndedError(bjobs.nothing(line), _FAILED)
    if form is not None:
        from hpcbatch.cli.lsf.jobs import with_records
        from hpcbatch.dialects.lsf.fields import lines

        print_lines(lines(with_records(session, rows), form, noheader="noheader" in line))
    elif "l" in line:
        from hpcbatch.cli.lsf.jobs import with_records
        from hpcbatch.dialects.lsf.long import job_text, separated

        blocks = (job_text(job, unformatted="UF" in line) for job in with_records(session, rows))
        print_lines(separated(blocks, "-" * 78))
    else:
        print_lines(bjobs.table(rows, line, session.now, session.zone))
    return code


def _rows(session: Session, line: Line) -> tuple[list[JobRow], bool]:
    """The jobs and members that the line chooses, and whether all that it names are there."""
    from hpcbatch.cli.lsf.jobs import all_rows, by_attributes, parse_ids, rows_of_ids
    from hpcbatch.dialects.lsf.bjobs import wanted_stats
    from hpcbatch.dialects.lsf.rows import CLEAN_PERIOD_S, EVERY, UNFINISHED, choice_of, number, unfolded
    from hpcbatch.dialects.lsf.states import stat

    stats = wanted_stats(line)
    ended = bool(stats - UNFINISHED)
    if line.operands and line.operands != ("0",):
        named = parse_ids(line.operands)
        found = rows_of_ids(session, named, ended=True)
        known = {number(row) for row in found}
        is_complete = all(one.number in known for _, one in named)
        return [row for row in found if stats == EVERY or stat(row) in stats], is_complete
    since = session.now - timedelta(seconds=CLEAN_PERIOD_S)
    choice = choice_of(line, session.user, stats)
    rows = unfolded(all_rows(session, ended=ended, since=since), ended=ended)
    rows = [row for row in rows if choice.takes(row) and (row.end_time is None or row.end_time >= since)]
    return by_attributes(session, line, rows), True


def _arrays(session: Session, line: Line) -> int:
    from hpcbatch.cli.lsf.jobs import all_rows, parse_ids
    from hpcbatch.dialects.lsf import bjobs
    from hpcbatch.dialects.lsf.rows import EVERY, choice_of, unfolded

    choice = choice_of(line, session.user, EVERY)
    rows = all_rows(session, ended=True)
    found = [row for row in rows if row.array_indices]
    if line.operands:
        numbers = {one.number for _, one in parse_ids(line.operands)}
        missing = numbers - {row.job_id for row in found}
        for number in sorted(missing):
            complain(f"Job <{number}> is not found")
        found = [row for row in found if row.job_id in numbers]
    else:
        found = [row for row in found if choice.takes(row) and ("a" in line or not row.state.is_final)]
    if not found:
        raise EndedError("No unfinished job array found" if not line.operands else "", _FAILED)
    print_lines(bjobs.arrays(found, unfolded(rows, ended=True), noheader="noheader" in line))
    return 0
