"""`scancel`: cancel jobs."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

from hpcbatch.cli.common import Session, complain, run
from hpcbatch.cli.slurm import NO_CONNECTION, describe
from hpcbatch.errors import HpcBatchError, UnknownJobError

if TYPE_CHECKING:
    from hpcbatch.api.port import Object


def main() -> None:
    run("scancel", _body, partial(describe, "scancel"))


def _body(session: Session) -> int:
    from hpcbatch.slurm import scancel

    options = scancel.read_options(sys.argv[1:], session.environ, session.user)
    from hpcbatch import jobs

    if options.ids:
        rows = jobs.find_all(session.api, session.namespace, options.ids)
    else:
        rows = {row.job_id: row for row in jobs.list_rows(session.api, session.namespace, finished=False)}
    code = 0
    wanted = options.ids
    if options.has_filter:
        wanted = tuple(scancel.matching(list(rows.values()), options))
        text, code = scancel.no_match(list(rows.values()), options)
        complain(text)
    changed: list[Object] = []
    for number in wanted:
        error: HpcBatchError | None = None
        try:
            if number not in rows:
                raise UnknownJobError(str(number))
            changed.append(jobs.request_delete(session.api, rows[number]))
        except NO_CONNECTION:
            raise
        except HpcBatchError as caught:
            error = caught
        text, failed = scancel.outcome(number, error, options)
        complain(text)
        code = failed or code
    if changed:
        jobs.settle(session.api, changed)
    return code
