"""`qmove`: put waiting jobs into another queue."""

from __future__ import annotations

import sys
from functools import partial

from hpcbatch.cli.common import Session, run
from hpcbatch.cli.pbs.common import answered, check_server, describe, for_each_job
from hpcbatch.dataclass import replace
from hpcbatch.errors import RefusedError
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.model.record import JobRecord
    from hpcbatch.model.row import JobRow
    from hpcbatch.model.spec import JobSpec


def main() -> None:
    run("qmove", _body, partial(describe, "qmove"))


def _body(session: Session) -> int:
    if answered(sys.argv[1:]):
        return 0
    from hpcbatch.client.alter import alter_with_members
    from hpcbatch.client.queues import default_queue
    from hpcbatch.dialects.pbs.alter import read_qmove
    from hpcbatch.model.state import WAITING

    queue, job_ids = read_qmove(sys.argv[1:], session.server)
    check_server(session, "qmove")
    if not queue:
        queue = default_queue(session.api)

    def into(record: JobRecord) -> JobSpec:
        return replace(record.spec, queue=queue)

    def move(row: JobRow) -> None:
        too_late = RefusedError(RefusalCode.ENDING, "the job is not waiting")
        if row.state not in WAITING and not row.state.is_final:
            raise too_late
        try:
            alter_with_members(session.api, row, into)
        except RefusedError as refused:
            raise too_late if refused.code == RefusalCode.STARTED else refused from None

    return for_each_job(session, "qmove", job_ids, move)
