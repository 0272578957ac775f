"""`scontrol update StepId=… TimeLimit=…`: its command line, and what it asks of the runner."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from signal import SIGALRM

from hpcbatch.dataclass import dataclass
from hpcbatch.dialects.slurm import values
from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.dialects.slurm.ids import parse_id
from hpcbatch.dialects.slurm.update import is_tag, pairs_of
from hpcbatch.model.named import NamedJob
from hpcbatch.model.step import StepRecord

INVALID = "slurm_update error: Invalid job id specified"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepUpdate:
    job: NamedJob
    number: int | None
    """None: all of the job's steps that run."""
    limit_s: int | None
    """None: no limit."""

    def means(self, step: StepRecord) -> bool:
        return step.end_time is None and self.number in {None, step.number}

    def request(self, step: StepRecord) -> tuple[int, str]:
        """Signal and scope of the request to the runner."""
        return SIGALRM, f"limit.{step.number}.{self.limit_s or 0}"


def is_of_steps(words: Sequence[str]) -> bool:
    return any(is_tag(word.partition("=")[0], "StepId", 4) for word in words)


def read_step_update(words: Sequence[str]) -> StepUpdate:
    """Raises SlurmUsageError, exit 1."""
    step_id, limit = "", None
    for tag, value, sign in pairs_of(words):
        if is_tag(tag, "StepId", 4):
            step_id = value
        elif is_tag(tag, "TimeLimit", 5) and not sign:
            limit = value
        else:
            raise SlurmUsageError(f"Invalid input: {tag}={value}\nRequest aborted")
    if limit is None:
        raise SlurmUsageError("No changes specified")
    job, point, number = step_id.partition(".")
    try:
        named = parse_id(job)
        chosen = int(number) if point else None
    except ValueError:
        raise SlurmUsageError(INVALID) from None
    try:
        return StepUpdate(job=named, number=chosen, limit_s=values.parse_time_s(limit))
    except ValueError:
        raise SlurmUsageError("Invalid TimeLimit value") from None


def running(update: StepUpdate, steps: Iterable[StepRecord]) -> list[StepRecord]:
    return [step for step in steps if update.means(step)]
