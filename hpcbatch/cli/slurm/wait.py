"""`sbatch --wait`: waits for the end of the job that was just submitted."""

from __future__ import annotations

import gc
import sys

from hpcbatch.cli.common import Session, complain
from hpcbatch.client import listing
from hpcbatch.client.submit import Submitted
from hpcbatch.client.watch import wait_until
from hpcbatch.dialects.slurm.states import wait_code
from hpcbatch.errors import UnknownJobError
from hpcbatch.record.batchjob import shown_record
from hpcbatch.record.state import state_of

_RETRYING = "sbatch: error: Currently unable to load job state information, retrying:"


def wait(session: Session, submitted: Submitted) -> int:
    """Wait as sbatch does, and return its exit code: that of the job, of an array the highest of its tasks; 1 where a
    signal ended it."""
    gc.enable()  # this command lives long
    sys.stdout.flush()
    try:
        ended = wait_until(
            session.api,
            submitted,
            lambda obj: state_of(obj).is_final,
            tell=lambda error: complain(f"{_RETRYING} {error}"),
        )
    except UnknownJobError:
        complain(f"sbatch: error: Job {submitted.job_id} no longer found and exit code not found")
        return 1
    record = shown_record(ended)
    if record.spec.array is None:
        return wait_code(record.status)
    array = record.status.array
    if array is None or not array.failed:
        return 0
    found = listing.in_order(listing.iter_ended(session.api, submitted.namespace, since=record.status.submit_time))
    tasks = [obj for obj in found if obj["spec"].get("memberOf", {}).get("arrayId") == submitted.job_id]
    return max((wait_code(shown_record(obj).status) for obj in tasks), default=0) or 1
