"""`qrerun`: end the run of jobs and queue them again."""

from __future__ import annotations

import sys
from functools import partial

from hpcbatch.cli.common import Session, run
from hpcbatch.cli.pbs.common import answered, check_server, describe, for_each_job
from hpcbatch.errors import HpcBatchError, RefusedError
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.model.state import JobState
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.api.port import Object
    from hpcbatch.model.indices import Indices
    from hpcbatch.model.row import JobRow

_TIMEOUT_S = 45.0  # OpenPBS, job_requeue_timeout


def main() -> None:
    run("qrerun", _body, partial(describe, "qrerun"))


def _body(session: Session) -> int:
    if answered(sys.argv[1:]):
        return 0
    from hpcbatch.client.changes import await_rerun
    from hpcbatch.client.changes import rerun as rerun_job
    from hpcbatch.client.rights import may_change_all, not_permitted
    from hpcbatch.dialects.pbs.alter import read_qrerun

    job_ids = read_qrerun(sys.argv[1:])
    check_server(session, "qrerun")

    is_permitted = may_change_all(session.api)

    def check_right() -> None:
        if not is_permitted:
            raise not_permitted("reruns one")

    def rerun(row: JobRow) -> None:
        if not row.state.is_final:
            check_right()
        wait(row, rerun_job(session.api, row))

    def wait(row: JobRow, obj: Object) -> None:
        if not await_rerun(session.api, row, obj, timeout_s=_TIMEOUT_S):
            text = f"Response timed out. Job rerun request still in progress for {row.job_id}.{row.server}"
            raise HpcBatchError(text)

    def rerun_members(array: JobRow, members: Indices | None = None) -> None:
        from hpcbatch.client.arrays import own_rows

        own = own_rows(session.api, array, members, ended=False).values()
        running = [row for row in own if row.state in {JobState.RUNNING, JobState.SUSPENDED}]
        if not running:
            raise RefusedError(RefusalCode.NOT_RUNNING, "no member is running")
        check_right()
        asked = [(row, rerun_job(session.api, row)) for row in running]
        for row, obj in asked:
            wait(row, obj)

    def rerun_any(row: JobRow) -> None:
        if row.array_indices and not row.state.is_final:
            rerun_members(row)
        else:
            rerun(row)

    return for_each_job(session, "qrerun", job_ids, rerun_any, rerun_members)
