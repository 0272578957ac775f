"""`qsig`: send a signal to running jobs, suspend and resume them."""

from __future__ import annotations

import sys
from functools import partial

from hpcbatch.cli.common import Session, run
from hpcbatch.cli.pbs.common import answered, check_server, describe, for_each_job
from hpcbatch.errors import JobFinishedError, RefusedError
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.model.state import JobState
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.api.port import Object
    from hpcbatch.model.indices import Indices
    from hpcbatch.model.row import JobRow


def main() -> None:
    run("qsig", _body, partial(describe, "qsig"))


def _body(session: Session) -> int:
    if answered(sys.argv[1:]):
        return 0
    from hpcbatch.client.signals import resume, signal, suspend
    from hpcbatch.dialects.pbs import signals
    from hpcbatch.dialects.pbs.ids import row_id

    options = signals.parse_qsig(sys.argv[1:])
    check_server(session, "qsig")

    def send(row: JobRow) -> Object | None:
        if row.state.is_final:
            raise JobFinishedError(f"job {row.job_id} has finished")
        if options.signal in signals.SUSPEND:
            return suspend(session.api, row)
        if options.signal in signals.RESUME:
            return resume(session.api, row)
        number = signals.number_of(options.signal, row_id(row))
        if row.state not in {JobState.RUNNING, JobState.SUSPENDED}:
            raise RefusedError(RefusalCode.NOT_RUNNING, f"job {row.job_id} is not running")
        if number:
            signal(session.api, row, number, "session")
        return None

    def send_to_members(array: JobRow, members: Indices) -> None:
        from hpcbatch.client.arrays import own_rows

        running = own_rows(session.api, array, members, ended=False)
        if not running:
            raise RefusedError(RefusalCode.NOT_RUNNING, f"no member {members} of {array.job_id} is running")
        for row in running.values():
            send(row)

    return for_each_job(session, "qsig", options.job_ids, send, send_to_members)
