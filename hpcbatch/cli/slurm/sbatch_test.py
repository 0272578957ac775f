"""`sbatch --test-only`, `srun --test-only`: whether the site would take the job, and when and where it would start."""

from __future__ import annotations

from hpcbatch.cli.common import EndedError, Session, complain
from hpcbatch.cli.explanation import is_taken
from hpcbatch.client.submit import foresee
from hpcbatch.dialects.slurm import errors
from hpcbatch.dialects.slurm.hostlist import compress
from hpcbatch.errors import RefusedError
from hpcbatch.model.spec import Submission


def tested(session: Session, submission: Submission, command: str) -> int:
    """Print the answer; the exit code is 1 if the job would be refused."""
    if not is_taken(session, submission.spec):
        complain(f"{command}: the job cannot be submitted; nothing was")
        return 1
    try:
        found = foresee(session.api, session.namespace, submission)
    except RefusedError as refused:
        text, code = errors.describe(refused, "sbatch", str(refused))
        raise EndedError(
            text.replace("sbatch: error: Batch job submission failed", "allocation failure"), code
        ) from None
    if found.never_fits:
        complain("allocation failure: Requested node configuration is not available")
        return 1
    if found.start is None:
        complain(f"{command}: the job can be submitted; when it would start is not known; nothing was submitted")
        return 0
    complain(
        f"{command}: Job {found.job_id} to start at {found.start.astimezone(session.zone):%Y-%m-%dT%H:%M:%S} "
        f"using {found.cpus} processors on nodes {compress(found.nodes)} in partition {found.queue}"
    )
    if found.preempts:
        complain(f"sbatch:   Preempts: {','.join(map(str, found.preempts))}")
    return 0
