"""The steps of jobs that run: `batch`, the script, and `extern`, what runs on the other hosts of a job of several."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from hpcbatch.dialects.slurm.ids import row_id
from hpcbatch.model.row import JobRow
from hpcbatch.model.state import JobState

BATCH, EXTERN = "batch", "extern"
_ACTIVE = frozenset({JobState.RUNNING, JobState.SUSPENDED, JobState.EXITING})


class Step(NamedTuple):
    row: JobRow
    """Of its job."""
    name: str

    @property
    def step_id(self) -> str:
        return f"{row_id(self.row)}.{self.name}"

    @property
    def hosts(self) -> tuple[str, ...]:
        """Each once, in order."""
        hosts = tuple(dict.fromkeys(self.row.hosts))
        return hosts[:1] if self.name == BATCH else hosts

    @property
    def tasks(self) -> int:
        return 1 if self.name == BATCH else len(self.row.hosts)


def steps_of(rows: Iterable[JobRow]) -> Iterator[Step]:
    """Those of the jobs that have begun and not ended, in order."""
    for row in rows:
        if row.state in _ACTIVE and row.start_time is not None and not row.array_indices:
            yield Step(row, BATCH)
            if len(row.hosts) > 1:
                yield Step(row, EXTERN)
