"""`qhold`: keep jobs from starting."""

from __future__ import annotations

import sys
from functools import partial

from hpcbatch.cli.common import Session, run
from hpcbatch.cli.pbs.common import change_hold, describe
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.api.port import Object
    from hpcbatch.model.row import JobRow


def main() -> None:
    run("qhold", _body, partial(describe, "qhold"))


def _body(session: Session) -> int:
    from hpcbatch.client import holds
    from hpcbatch.dialects.pbs.requests import HoldOptions, parse_qhold

    def hold(row: JobRow, options: HoldOptions) -> Object | None:
        return holds.hold(session.api, row, user=options.user, admin=options.admin)

    return change_hold(session, "qhold", sys.argv[1:], parse_qhold, hold)
