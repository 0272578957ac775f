"""`qhold`: keep jobs from starting."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

from hpcbatch.cli.common import Session, run
from hpcbatch.cli.pbs import change_hold, describe

if TYPE_CHECKING:
    from hpcbatch.api.port import Object
    from hpcbatch.model.row import JobRow


def main() -> None:
    run("qhold", _body, partial(describe, "qhold"))


def _body(session: Session) -> int:
    from hpcbatch import jobs
    from hpcbatch.pbs.requests import parse_qhold

    def hold(row: JobRow) -> Object:
        return jobs.hold(session.api, row)

    return change_hold(session, "qhold", sys.argv[1:], parse_qhold, hold)
