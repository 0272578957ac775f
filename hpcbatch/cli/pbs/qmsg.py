"""`qmsg`: a line in the output of one's own running job."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path

from hpcbatch.cli.common import Session, run
from hpcbatch.cli.pbs.common import answered, check_server, describe, for_each_job
from hpcbatch.errors import JobFinishedError, RefusedError
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.dialects.pbs.messages import Written
    from hpcbatch.model.row import JobRow


def main() -> None:
    run("qmsg", _body, partial(describe, "qmsg"))


def _body(session: Session) -> int:
    if answered(sys.argv[1:]):
        return 0
    from hpcbatch.dialects.pbs.messages import parse_qmsg

    message = parse_qmsg(sys.argv[1:])
    check_server(session, "qmsg")

    def send(row: JobRow) -> None:
        from hpcbatch.client import listing
        from hpcbatch.client.rights import not_permitted
        from hpcbatch.dialects.pbs.errors import PBSE_IVALREQ, PbsError
        from hpcbatch.dialects.pbs.ids import row_id
        from hpcbatch.dialects.pbs.messages import written
        from hpcbatch.model.dialect import Dialect
        from hpcbatch.model.state import JobState
        from hpcbatch.record.batchjob import shown_record

        if row.state.is_final:
            raise JobFinishedError(f"job {row.job_id} has finished")
        record = shown_record(listing.get_object(session.api, row))
        # The file is opened with the rights of the caller, whose only the owner's own are safe: paths are the owner's.
        if row.namespace != session.namespace or record.status.uid != os.getuid():
            raise not_permitted("writes into the output of another user's")
        if row.array_indices or row.state is not JobState.RUNNING:
            raise RefusedError(RefusalCode.NOT_RUNNING, "the job is not running")
        if record.spec.dialect != Dialect.PBS:
            raise PbsError(f"Invalid request {row_id(row)}\nsbatch submitted it: see its --output", PBSE_IVALREQ & 0xFF)
        for stream in message.streams:
            where = written(record, stream)
            if not _append(where, message.text):
                why = f"its output {where.path} is not on this host"
                raise PbsError(f"Invalid request {row_id(row)}\n{why}", PBSE_IVALREQ & 0xFF)

    return for_each_job(session, "qmsg", message.job_ids, send)


def _append(where: Written, text: str) -> bool:
    """A line at the end of the file that the job writes now; False if there is none."""
    path = Path(where.path)
    if where.path.endswith("/") or path.is_dir():
        path = path / where.in_directory
    candidates = [path.parent / where.meanwhile] if where.meanwhile else []
    for candidate in [*candidates, path]:
        try:
            # no file is made: where the job writes elsewhere, a new one would mislead
            file = os.open(candidate, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK)
        except FileNotFoundError:
            continue
        try:
            os.write(file, f"{text}\n".encode(errors="surrogateescape"))
        finally:
            os.close(file)
        return True
    return False
