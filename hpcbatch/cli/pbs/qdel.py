"""`qdel`: delete jobs."""

from __future__ import annotations

import sys
from functools import partial

from hpcbatch.cli.common import Session, run
from hpcbatch.cli.pbs.common import answered, check_server, describe, for_each_job
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.api.port import Object
    from hpcbatch.model.indices import Indices
    from hpcbatch.model.row import JobRow


def main() -> None:
    run("qdel", _body, partial(describe, "qdel"))


def _body(session: Session) -> int:
    if answered(sys.argv[1:]):
        return 0
    from hpcbatch.client import changes
    from hpcbatch.dialects.pbs.ids import row_id
    from hpcbatch.dialects.pbs.requests import parse_qdel, record_stays
    from hpcbatch.errors import ForbiddenError

    options = parse_qdel(sys.argv[1:])
    check_server(session, "qdel")

    def delete(row: JobRow) -> Object | None:
        if options.delete_history:
            changes.end(session.api, row)
            try:
                changes.forget(session.api, row)
            except ForbiddenError:
                raise record_stays(row_id(row)) from None
            return None
        return changes.request_delete(session.api, row)

    def delete_members(array: JobRow, members: Indices) -> Object | None:
        from hpcbatch.client.arrays import own_rows
        from hpcbatch.dialects.pbs.array_requests import deletable

        chosen = deletable(array, members, own_rows(session.api, array, members, ended=False))
        return changes.request_delete(session.api, array, chosen) if chosen else None

    return for_each_job(session, "qdel", options.job_ids, delete, delete_members)
