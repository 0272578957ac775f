"""How qsub -W block=true ends: with the exit code of the job, or with what became of it."""

from __future__ import annotations

from hpcbatch.dialects.pbs.states import exit_status
from hpcbatch.model.record import JobRecord
from hpcbatch.model.state import JobState, Reason

DELETED = 3
"""Exit code for a job that was deleted."""


def outcome(record: JobRecord) -> tuple[str, int]:
    """What is said about the job, "" if nothing, and qsub's exit code."""
    status, spec = record.status, record.spec
    if status.state is JobState.DELETED or not status.state.is_final:
        text = f"Job to be deleted at request of {status.deleted_by or status.owner}@{spec.submit_host}"
        return status.message if status.reason is Reason.DEPENDENCY_NEVER else text, DELETED
    code = exit_status(
        status.state,
        status.reason,
        has_started=status.start_time is not None,
        exit_code=status.exit_code,
        exit_signal=status.exit_signal,
    )
    return "", 1 if code is None else code & 0xFF
