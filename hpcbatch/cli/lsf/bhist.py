"""`bhist`: the history of jobs."""

from __future__ import annotations

import sys
from functools import partial

from hpcbatch.cli.common import EndedError, Session, run
from hpcbatch.cli.lsf.common import describe
from hpcbatch.cli.lsf.jobs import FAILED, print_lines


def main() -> None:
    run("bhist", _body, partial(describe, "bhist"))


def _body(session: Session) -> int:
    from hpcbatch.cli.lsf.jobs import ended_jobs
    from hpcbatch.dialects.lsf import history
    from hpcbatch.dialects.lsf.commands import parse
    from hpcbatch.dialects.lsf.long import separated
    from hpcbatch.errors import NotSupportedError

    line = parse("bhist", sys.argv[1:])
    for option in ("T", "t"):
        if option in line:
            raise NotSupportedError(f"-{option} is not supported here: events are told by job, -l shows them")
    jobs, is_complete = ended_jobs(session, line, history.wanted_stats(line))
    jobs = [job for job in jobs if history.in_period(job, line, "bhist")]
    if not jobs:
        if line.operands and not is_complete:
            return FAILED
        raise EndedError("No matching job found", FAILED)
    if "l" in line:
        print_lines(separated((history.long(job) for job in jobs), "-" * 78))
    else:
        print_lines(history.short(jobs))
    return 0 if is_complete else FAILED
