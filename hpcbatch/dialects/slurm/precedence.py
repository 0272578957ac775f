"""Who goes before whom: what scontrol top and scontrol update make of a job's priority, and who may do that."""

from __future__ import annotations

from collections.abc import Iterable

from hpcbatch.dialects.slurm import states
from hpcbatch.dialects.slurm.errors import NOT_PENDING, SlurmUsageError
from hpcbatch.dialects.slurm.update import RELEASE, Update
from hpcbatch.model.row import JobRow
from hpcbatch.model.state import WAITING, JobState

_NOT_LASTING = "Changes to job priority are not persistent, change nice instead"


def priority_before(row: JobRow, others: Iterable[JobRow]) -> int:
    """The least that a job's priority without its nice must be, for it to go before all other waiting jobs of its user
    in its partition. Raises SlurmUsageError for a job that does not wait.
    """
    if row.state not in WAITING and not row.state.is_final:
        raise SlurmUsageError(NOT_PENDING)
    rivals = [
        other
        for other in others
        if (other.user, other.queue) == (row.user, row.queue) and other.state in WAITING and other.job_id != row.job_id
    ]
    if row.rank is not None:
        best = max((other.rank for other in rivals if other.rank is not None), default=row.rank)
        # what is shown is right to a hundredth
        return row.priority - row.nice + max(0, best + best // 50 + 1 - row.rank)
    number = states.own_number(row)
    # squeue shows later jobs a little lower: it is to be first there, too
    over = [max(p := other.priority - other.nice, p - states.own_number(other) + number) for other in rivals]
    return max(over, default=row.priority - row.nice - 1) + 1


def brings_forward(update: Update, row: JobRow) -> bool:
    """Whether only an administrator may do that. Users put their own jobs back, by nice."""
    return _wants_priority(update) or _wants_less_nice(update, row)


def is_lowered(update: Update, row: JobRow) -> bool:
    """Whether an update that `brings_forward` only lowers the priority, which would not last."""
    now = states.priority_of(row._replace(state=JobState.QUEUED))
    return update.priority is not None and update.priority < now and not _wants_less_nice(update, row)


def not_lasting() -> SlurmUsageError:
    return SlurmUsageError(_NOT_LASTING)


def _wants_priority(update: Update) -> bool:
    return update.priority not in {None, 0, RELEASE}


def _wants_less_nice(update: Update, row: JobRow) -> bool:
    return update.nice is not None and update.nice < min(0, row.nice)
