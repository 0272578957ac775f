"""`scancel`: cancel jobs."""

from __future__ import annotations

import sys
from functools import partial

from hpcbatch.cli.common import NO_CONNECTION, Session, complain, run
from hpcbatch.cli.slurm.common import check_cluster_names, describe
from hpcbatch.errors import HpcBatchError, RefusedError, UnknownJobError
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.model.text import printable
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.api.port import Object
    from hpcbatch.dialects.slurm.scancel import NamedStep, ScancelOptions
    from hpcbatch.model.indices import Indices
    from hpcbatch.model.row import JobRow


def main() -> None:
    run("scancel", _body, partial(describe, "scancel"))


def _body(session: Session) -> int:
    from hpcbatch.dialects.slurm import scancel
    from hpcbatch.dialects.slurm.ids import id_text

    options = scancel.read_options(sys.argv[1:], session.environ, session.user)
    check_cluster_names(session, "scancel", options.clusters)
    from hpcbatch.client import arrays, changes, listing
    from hpcbatch.client.watch import settle

    if options.ids or options.steps:
        numbers = [one.number for one in (*options.ids, *(step.job for step in options.steps))]
        rows = listing.find_all(session.api, session.namespace, numbers)
    else:
        rows = {row.job_id: row for row in listing.list_rows(session.api, session.namespace, finished=False)}
    code = 0
    wanted = list(options.ids)
    if options.needs_match and (options.ids or not options.steps):
        every = list(rows.values())
        if options.ids:
            begun = [row for row in every if row.array_indices]
            every += [row for array in begun for row in arrays.own_rows(session.api, array, ended=False).values()]
        text, code = scancel.no_match(every, options)
        complain(text)
        wanted = scancel.chosen_ids(every, options)
    changed: list[Object] = []
    arrays_changed: list[tuple[Object, Indices]] = []
    for one in wanted:
        error: HpcBatchError | None = None
        try:
            row = rows.get(one.number)
            if row is None or (one.is_array and not row.array_indices):
                raise UnknownJobError(id_text(one))
            if options.interactive and not _agrees(scancel.question(one, row)):
                continue
            if options.signal is not None:
                _signal(session, row, one.members, options.signal, options.scope)
            elif one.members is None:
                changed.append(changes.request_delete(session.api, row))
            else:
                arrays.check_known(row, one.members)
                arrays_changed.append((changes.request_delete(session.api, row, one.members), one.members))
        except NO_CONNECTION:
            raise
        except HpcBatchError as caught:
            error = caught
        text, failed = scancel.outcome(id_text(one), error, options)
        complain(text)
        code = failed or code
    for step in options.steps:
        code = _cancel_step(session, rows.get(step.job.number), step, options) or code
    settle(session.api, changed, arrays_changed)
    return code


def _cancel_step(session: Session, row: JobRow | None, step: NamedStep, options: ScancelOptions) -> int:
    """The exit code."""
    from hpcbatch.client.arrays import own_rows
    from hpcbatch.client.changes import check_unfinished
    from hpcbatch.client.records import exactly
    from hpcbatch.client.signals import signal
    from hpcbatch.dialects.slurm import scancel

    error: HpcBatchError | None = None
    try:
        if row is None or not scancel.lets_through(row, options):
            raise UnknownJobError(step.text)
        if options.interactive and not _agrees(scancel.step_question(step, row)):
            return 0
        members = step.job.members
        targets = [row] if members is None else list(own_rows(session.api, row, members, ended=False).values())
        if not targets:
            raise UnknownJobError(step.text)
        for target in targets:
            record = next(iter(exactly(session.api, session.namespace, target.job_id)), None)
            check_unfinished(target)
            wanted = scancel.step_request(step, record, options.signal)
            if wanted is None:
                raise scancel.NoStepError(step.text)
            signal(session.api, target, *wanted)
    except NO_CONNECTION:
        raise
    except HpcBatchError as caught:
        error = caught
    text, code = scancel.step_outcome(step, error, options)
    complain(text)
    return code


def _signal(session: Session, row: JobRow, members: Indices | None, number: int, scope: str) -> None:
    """Send it to the job, or to those members of the array that run."""
    from hpcbatch.client.arrays import own_rows
    from hpcbatch.client.signals import signal

    targets = [row] if members is None else list(own_rows(session.api, row, members, ended=False).values())
    if not targets:
        raise RefusedError(RefusalCode.NOT_RUNNING, f"no member {members} of job {row.job_id} is running")
    for target in targets:
        signal(session.api, target, number, scope)


def _agrees(question: str) -> bool:
    """Asked until the answer is y or n; where nobody answers, it is n."""
    while True:
        sys.stdout.write(printable(question))
        sys.stdout.flush()
        answer = sys.stdin.readline()
        if not answer or answer[0] in "nN":
            return False
        if answer[0] in "yY":
            return True
