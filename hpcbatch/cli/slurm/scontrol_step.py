"""`scontrol update StepId=…`: the time limit of steps that run."""

from __future__ import annotations

from hpcbatch.cli.common import Session
from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.errors import UnknownJobError
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hpcbatch.model.row import JobRow


def update_steps(session: Session, words: Sequence[str]) -> int:
    """Returns when the runners have told that the limits are in force."""
    from hpcbatch.client.records import exactly
    from hpcbatch.client.signals import limit_step
    from hpcbatch.dialects.slurm.step_update import INVALID, read_step_update, running

    update = read_step_update(words)
    invalid = SlurmUsageError(INVALID)
    try:
        jobs = _jobs(session, update.job.number, update.job.members)
    except UnknownJobError:
        raise invalid from None
    found = False
    for job in jobs:
        record = next(iter(exactly(session.api, session.namespace, job.job_id)), None)
        for step in () if record is None else running(update, record.status.steps):
            found = True
            limit_step(session.api, job, step.number, update.limit_s, update.request(step))
    if not found:
        raise invalid
    return 0


def _jobs(session: Session, number: int, members: object) -> list[JobRow]:
    from hpcbatch.client import arrays, listing
    from hpcbatch.model.indices import Indices

    row = listing.find(session.api, session.namespace, number)
    if not row.array_indices:
        return [row]
    wanted = members if isinstance(members, Indices) else None
    return list(arrays.own_rows(session.api, row, wanted, ended=False).values())
