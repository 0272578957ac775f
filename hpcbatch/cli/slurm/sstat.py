"""`sstat`: what the steps of running jobs use."""

from __future__ import annotations

import sys
from functools import partial

from hpcbatch.cli.common import Session, complain, run
from hpcbatch.cli.slurm.common import describe
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.dialects.slurm.sacct_line import Line
    from hpcbatch.model.record import JobRecord


def main() -> None:
    run("sstat", _body, partial(describe, "sstat"))


def _body(session: Session) -> int:
    from hpcbatch.client.records import by_number
    from hpcbatch.dialects.slurm import sstat
    from hpcbatch.dialects.slurm.sacct_line import View

    options = sstat.read_options(sys.argv[1:])
    found: list[Line] = []
    complaints: list[str] = []
    for wanted in options.wanted:
        records = by_number(session.api, session.namespace, {wanted.job.number})
        lines = lines_of(session, records, wanted.text.partition(".")[0])
        steps = sstat.chosen(lines, wanted, all_steps=options.all_steps)
        if not steps:
            complaints.append(sstat.complaint(wanted, has_job=bool(records)))
        found += steps
    view = View(now=session.now, tz=session.zone, convert=options.convert)
    sys.stdout.writelines(sstat.format_usage(found, options, view))
    complain("\n".join(complaints))
    return 0


def lines_of(session: Session, records: list[JobRecord], job: str) -> list[Line]:
    """sacct's lines of one job, array or member."""
    from hpcbatch.cli.unix_names import group_name, uid_of
    from hpcbatch.dialects.slurm.sacct import Facts, select_lines
    from hpcbatch.dialects.slurm.sacct_options import read_options

    options = read_options(["-j", job], {}, session.user, session.now)
    return select_lines(records, options, Facts(session.now, uid_of, group_name))
