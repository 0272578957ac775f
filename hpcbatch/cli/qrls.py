"""`qrls`: take the hold off jobs."""

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
    run("qrls", _body, partial(describe, "qrls"))


def _body(session: Session) -> int:
    from hpcbatch import jobs
    from hpcbatch.pbs.requests import parse_qrls

    def release(row: JobRow) -> Object:
        return jobs.release(session.api, row)

    return change_hold(session, "qrls", sys.argv[1:], parse_qrls, release)
