"""`squeue`: jobs, as Slurm shows them."""

from __future__ import annotations

import sys
from functools import partial

from hpcbatch.cli.common import Session, run
from hpcbatch.cli.slurm import describe


def main() -> None:
    run("squeue", _body, partial(describe, "squeue"))


def _body(session: Session) -> int:
    from hpcbatch.slurm.squeue_options import read_options

    options = read_options(sys.argv[1:], session.environ, session.user)
    from hpcbatch import jobs
    from hpcbatch.slurm.squeue import check_ids, format_queue
    from hpcbatch.slurm.states import ACTIVE

    if options.ids is not None:
        rows = list(jobs.find_all(session.api, session.namespace, options.ids).values())
        check_ids(rows, options)
    else:
        ended_too = options.states is None or not options.states <= ACTIVE
        rows = jobs.list_rows(session.api, session.namespace, finished=ended_too)
    sys.stdout.write(format_queue(rows, options, session.now, session.zone))
    return 0
