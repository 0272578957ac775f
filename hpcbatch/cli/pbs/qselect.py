"""`qselect`: the ids of the jobs that meet conditions."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial

from hpcbatch.cli.common import Session, run
from hpcbatch.cli.pbs.common import answered, check_server, describe
from hpcbatch.record.rows import row_of
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.dialects.pbs.qselect import Job, QselectOptions
    from hpcbatch.model.row import JobRow


def main() -> None:
    run("qselect", _body, partial(describe, "qselect"))


def _body(session: Session) -> int:
    if answered(sys.argv[1:]):
        return 0
    from hpcbatch.dialects.pbs.ids import row_id
    from hpcbatch.dialects.pbs.qselect import parse_qselect

    options = parse_qselect(sys.argv[1:], session.now)
    queue, _, server = options.destination.partition("@")
    check_server(session, "qselect", server or None)
    every = list(_jobs(session, options))
    if queue:
        every = [job for job in every if job.row.queue == queue]
        if not every:
            from hpcbatch.client.queues import queue_called

            name = queue_called(session.api, queue)
            every = [job for job in _jobs(session, options) if job.row.queue == name]
    living = {job.row.job_id for job in every if job.row.array_indices and not job.row.state.is_final}
    own = _members(every) if options.members else {}
    for job in every:
        row = job.row
        if row.array_id is not None or (row.state.is_final and not options.history) or not options.accepts(job):
            continue
        rows = [row]
        if options.members and row.array_indices:
            from hpcbatch.model.members import rows_of

            rows = list(rows_of(row, own.get(row.job_id, {})))
        sys.stdout.write("".join(f"{row_id(one)}\n" for one in rows if options.accepts_state(one, living)))
    return 0


def _members(every: list[Job]) -> dict[int, dict[int, JobRow]]:
    from hpcbatch.model.members import by_array

    return by_array(job.row for job in every)


def _jobs(session: Session, options: QselectOptions) -> Iterator[Job]:
    """All jobs, and with -T the members of arrays; those that have ended too where they may be wanted."""
    from hpcbatch.client import listing
    from hpcbatch.dialects.pbs.qselect import Job

    ended_too = options.history or options.members
    if not options.needs_attributes:
        yield from map(
            Job, listing.list_rows(session.api, session.namespace, finished=ended_too, members=options.members)
        )
        return
    from hpcbatch.dialects.pbs.qstat_full import full_attributes
    from hpcbatch.record.batchjob import shown_record

    found = (
        listing.in_order(listing.iter_ended(session.api, session.namespace, include_unfinished=True))
        if ended_too
        else listing.list_objects(session.api, session.namespace, finished=False)
    )
    for obj in found:
        record = shown_record(obj)
        yield Job(row_of(record), dict(full_attributes(record, {}, session.now, session.zone)))
