"""`qrun`: an operator has a job start before all others."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial

from hpcbatch.cli.common import EndedError, Session, run
from hpcbatch.cli.pbs.common import answered, check_server, describe, for_each_job
from hpcbatch.errors import JobFinishedError, RefusedError
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.model.row import JobRow

_FAILED = 2


def main() -> None:
    run("qrun", _body, partial(describe, "qrun"))


def _body(session: Session) -> int:
    if answered(sys.argv[1:]):
        return 0
    from hpcbatch.dialects.pbs.requests import parse_qrun

    options = parse_qrun(sys.argv[1:])
    check_server(session, "qrun")
    if options.hosts and (unknown := _unknown_host(session, options.hosts)):
        raise EndedError(f"qrun: Unknown node  {unknown}", _FAILED)

    def start(row: JobRow) -> None:
        from hpcbatch.client.order import bring_forward
        from hpcbatch.dialects.pbs.errors import PbsError
        from hpcbatch.dialects.pbs.ids import row_id
        from hpcbatch.dialects.pbs.states import comment
        from hpcbatch.model.state import JobState

        if row.state.is_final:
            raise JobFinishedError(f"job {row.job_id} has finished")
        if row.state is not JobState.QUEUED or row.array_indices:
            raise RefusedError(RefusalCode.NOT_RUNNING, "the job is not queued")
        waited = bring_forward(session.api, row, options.hosts)
        if waited is not None:
            why = comment(waited, timezone=session.zone) or "Not Running"
            raise PbsError(f"{why} {row_id(row)}", _FAILED)

    return _FAILED if for_each_job(session, "qrun", options.job_ids, start) else 0


def _unknown_host(session: Session, hosts: Sequence[str]) -> str:
    """The first of them that no node is; "": there is none."""
    from hpcbatch.client.nodes import list_nodes

    known = {name for node in list_nodes(session.api, session.namespace) for name in (node.name, node.host)}
    return next((host for host in hosts if host not in known), "")
