"""`bacct`: sums over jobs that have ended."""

from __future__ import annotations

import sys
from functools import partial

from hpcbatch.cli.common import EndedError, Session, run
from hpcbatch.cli.lsf.common import describe
from hpcbatch.cli.lsf.jobs import FAILED, print_lines


def main() -> None:
    run("bacct", _body, partial(describe, "bacct"))


def _body(session: Session) -> int:
    from hpcbatch.cli.lsf.jobs import ended_jobs
    from hpcbatch.dialects.lsf import history
    from hpcbatch.dialects.lsf.commands import parse
    from hpcbatch.dialects.lsf.rows import stats_of

    line = parse("bacct", sys.argv[1:])
    stats = stats_of(["ended"])
    if "d" in line and "e" not in line:
        stats = stats - {"EXIT"}
    elif "e" in line and "d" not in line:
        stats = stats - {"DONE"}
    jobs, is_complete = ended_jobs(session, line, stats)
    jobs = [job for job in jobs if history.in_period(job, line, "bacct")]
    if not jobs and line.operands:
        raise EndedError("" if not is_complete else "No matching job found", FAILED)
    print_lines(history.accounting(jobs, line, session.user))
    return 0 if is_complete else FAILED
