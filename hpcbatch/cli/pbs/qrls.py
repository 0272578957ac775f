"""`qrls`: take the hold off jobs."""

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
    run("qrls", _body, partial(describe, "qrls"))


def _body(session: Session) -> int:
    from hpcbatch.client import holds
    from hpcbatch.dialects.pbs.requests import HoldOptions, parse_qrls

    def release(row: JobRow, options: HoldOptions) -> Object | None:
        return holds.release(session.api, row, user=options.user, admin=options.admin)

    return change_hold(session, "qrls", sys.argv[1:], parse_qrls, release)
