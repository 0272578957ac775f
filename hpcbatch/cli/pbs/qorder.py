"""`qorder`: two waiting jobs change places."""

from __future__ import annotations

import sys
from functools import partial

from hpcbatch.cli.common import NO_CONNECTION, Session, complain, run
from hpcbatch.cli.pbs.common import Jobs, answered, check_server, describe
from hpcbatch.errors import HpcBatchError, JobFinishedError, RefusedError
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.model.row import JobRow


def main() -> None:
    run("qorder", _body, partial(describe, "qorder"))


def _body(session: Session) -> int:
    if answered(sys.argv[1:]):
        return 0
    from hpcbatch.client.order import exchange
    from hpcbatch.dialects.pbs.errors import describe as pbs_describe
    from hpcbatch.dialects.pbs.ids import full_id, is_id
    from hpcbatch.dialects.pbs.requests import parse_qorder

    ids = parse_qorder(sys.argv[1:])
    check_server(session, "qorder")
    for text in ids:
        if not is_id(text):
            complain(f"qorder: illegally formed job identifier: {text}")
            return 1
    both = " or ".join(full_id(text, session.server) for text in ids)
    try:
        jobs = Jobs(session, ids)
        one, other = (_waiting(jobs, text, both) for text in ids)
        _check_queues(one, other, both)
        exchange(session.api, one, other, session.namespace)
    except NO_CONNECTION:
        raise
    except HpcBatchError as error:
        text, code = pbs_describe(error, "qorder", both)
        complain(text)
        return code
    return 0


def _waiting(jobs: Jobs, text: str, both: str) -> JobRow:
    from hpcbatch.dialects.pbs.ids import invalid_request
    from hpcbatch.model.state import WAITING

    row, members = jobs.target(text)
    if members is not None:
        raise invalid_request(both)
    if row.state.is_final:
        raise JobFinishedError(f"job {row.job_id} has finished")
    if row.state not in WAITING:
        raise RefusedError(RefusalCode.NOT_RUNNING, "the job is not waiting")
    return row


def _check_queues(one: JobRow, other: JobRow, both: str) -> None:
    from hpcbatch.dialects.pbs.errors import PBSE_IVALREQ, PbsError

    if one.queue != other.queue:
        why = f"they wait in different queues, {one.queue} and {other.queue}: qmove moves them"
        raise PbsError(f"Invalid request {both}\n{why}", PBSE_IVALREQ & 0xFF)
