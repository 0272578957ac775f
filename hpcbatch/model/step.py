"""A step of a job: what an `srun` in it started."""

from __future__ import annotations

from datetime import datetime

from hpcbatch.dataclass import dataclass, field
from hpcbatch.model.indices import Indices
from hpcbatch.model.stored import ANY_TEXT, BOOLEAN, COUNT, COUNTED_INDICES, TIME, integer, stored
from hpcbatch.typed import Final

MAX_STEPS: Final = 64
"""The steps that a record holds of one run: those that run, and the newest. Its runner reports as many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecord:
    number: int = field(metadata=stored("number", COUNT))
    """They count from 0 in each run."""
    name: str = field(default="", metadata=stored("name", ANY_TEXT))
    """The program's, or that of `srun -J`."""
    submit_line: str = field(
        default="", metadata=stored("submitLine", ANY_TEXT, description="The command line of its srun.")
    )
    """At most 200 characters of it, without values of variables and the program's arguments: others see the record.
    Empty where a job has had too many steps to tell it of all.
    """
    start_time: datetime = field(metadata=stored("startTime", TIME))
    end_time: datetime | None = field(default=None, metadata=stored("endTime", TIME))
    """None: it runs."""
    exit_code: int | None = field(default=None, metadata=stored("exitCode", integer(0, 255)))
    """The highest of its tasks; None while it runs, and when that was killed by a signal."""
    exit_signal: int | None = field(default=None, metadata=stored("exitSignal", integer(1, 127)))
    is_cancelled: bool = field(
        default=False, metadata=stored("cancelled", BOOLEAN, description="It was ended by request.")
    )
    is_timed_out: bool = field(
        default=False, metadata=stored("timedOut", BOOLEAN, description="It was ended at its time limit.")
    )
    limit_s: int | None = field(default=None, metadata=stored("limitSeconds", integer(1)))
    """Its own time limit (srun -t), from its start; None: it ends with the job."""
    tasks: int = field(default=1, metadata=stored("tasks", COUNT))
    cpus: int = field(default=1, metadata=stored("cpus", COUNT))
    """Of all its tasks."""
    hosts: Indices = field(
        default=Indices(),
        metadata=stored("hosts", COUNTED_INDICES, description="Places in status.hosts, from 0; a set of indices."),
    )
    distribution: str = field(default="", metadata=stored("distribution", ANY_TEXT))
    """`block`, `cyclic`, `plane` or `arbitrary`."""
    cpu_s: int | None = field(default=None, metadata=stored("cpuSeconds", COUNT))
    """Of all tasks. With the memory: as far as it could be measured."""
    max_rss_bytes: int | None = field(default=None, metadata=stored("maxRssBytes", COUNT))
    """Of the largest task."""
    max_rss_host: int | None = field(default=None, metadata=stored("maxRssHost", COUNT))
    """The place of its host in status.hosts."""
    max_rss_task: int | None = field(default=None, metadata=stored("maxRssTask", COUNT))
