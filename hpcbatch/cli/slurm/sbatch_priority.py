"""`sbatch --priority=` and a negative `--nice`: of others than administrators both are passed over, as in Slurm."""

from __future__ import annotations

from hpcbatch.cli.common import Session
from hpcbatch.cli.submission import send
from hpcbatch.client import listing
from hpcbatch.client.alter import alter
from hpcbatch.client.rights import may_change_all
from hpcbatch.dataclass import replace
from hpcbatch.dialects.slurm.submit import SlurmSubmission
from hpcbatch.dialects.slurm.update import with_priority
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.client.submit import Submitted


def send_with_priority(session: Session, wanted: SlurmSubmission) -> Submitted:
    """Submit. A priority given outright counts from the job's number on, so it follows when that is known."""
    submission, priority = wanted.submission, wanted.priority
    if not may_change_all(session.api):
        spec = replace(submission.spec, nice=max(0, submission.spec.nice))
        return send(session, replace(submission, spec=spec), "sbatch", is_quiet=wanted.quiet)
    submitted = send(session, submission, "sbatch", is_quiet=wanted.quiet)
    if priority:
        row = listing.find(session.api, session.namespace, submitted.job_id)
        if not row.state.is_final:
            number = submitted.job_id
            alter(session.api, row, lambda record: with_priority(record.spec, priority, number))
    return submitted
