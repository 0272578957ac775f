"""The steps of jobs that run: `batch`, the script, or `interactive`, what salloc began; `extern`, what runs on the
other hosts of a job of several; and those of srun, by their numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from hpcbatch.dialects.slurm.ids import row_id
from hpcbatch.model.interactive import Interactive
from hpcbatch.model.row import JobRow
from hpcbatch.model.state import JobState
from hpcbatch.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from hpcbatch.model.record import JobRecord
    from hpcbatch.model.step import StepRecord

BATCH, INTERACTIVE, EXTERN, TERMINAL_STEP = "batch", "interactive", "extern", "0"
_ACTIVE = frozenset({JobState.RUNNING, JobState.SUSPENDED, JobState.EXITING})


class Step(NamedTuple):
    row: JobRow
    """Of its job."""
    name: str
    """`batch`, `interactive`, `extern`, or the number."""
    srun: StepRecord | None = None
    nodes: tuple[str, ...] = ()
    """Of a step of srun, each once."""

    @property
    def step_id(self) -> str:
        return f"{row_id(self.row)}.{self.name}"

    @property
    def title(self) -> str:
        """What it is called."""
        return self.name if self.srun is None else self.srun.name

    @property
    def hosts(self) -> tuple[str, ...]:
        """Each once, in order."""
        if self.srun is not None:
            return self.nodes
        hosts = tuple(dict.fromkeys(self.row.hosts))
        return hosts if self.name == EXTERN else hosts[:1]

    @property
    def tasks(self) -> int:
        if self.srun is not None:
            return self.srun.tasks
        return len(self.row.hosts) if self.name == EXTERN else 1

    @property
    def start_time(self) -> datetime | None:
        return self.row.start_time if self.srun is None else self.srun.start_time


def steps_of(rows: Iterable[JobRow], records: Mapping[int, JobRecord]) -> Iterator[Step]:
    """Those of the jobs that have begun and not ended, in order. `records` are those of the jobs, by their numbers:
    the steps of srun stand in them.
    """
    for row in rows:
        if row.state not in _ACTIVE or row.start_time is None or row.array_indices:
            continue
        record = records.get(row.job_id)
        first = BATCH if record is None else first_of(record)
        if first in {BATCH, INTERACTIVE}:
            yield Step(row, first)
        if len(row.hosts) > 1:
            yield Step(row, EXTERN)
        if record is not None:
            from hpcbatch.dialects.slurm.srun_steps import all_steps, node_names

            for one in all_steps(record):
                if one.end_time is None:
                    yield Step(row, str(one.number), one, node_names(record.status, one))


def first_of(record: JobRecord) -> str:
    """The name of the step that the runner starts on the first host: Slurm has no `batch` of jobs without a script, and
    `interactive` where salloc's shell runs in the allocation. The program of `srun --pty` is step 0; "": the runner
    starts srun, whose steps are in the record.
    """
    if record.spec.interactive is None:
        return BATCH
    return {Interactive.TERMINAL: TERMINAL_STEP, Interactive.STREAMS: ""}.get(record.spec.interactive, INTERACTIVE)
