"""A step of a job: what an `srun` in it started."""

from __future__ import annotations

from datetime import datetime

from hpcbatch.dataclass import dataclass, field
from hpcbatch.model.indices import Indices
from hpcbatch.model.stored import ANY_TEXT, BOOLEAN, COUNT, COUNTED_INDICES, TIME, integer, stored, struct
from hpcbatch.typed import Final

MAX_STEPS: Final = 64
"""The steps that a record holds of one run: those that run, and the newest. Its runner reports as many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFigure:
    """What each task of a step has used of something, as far as that was seen while it ran, once a second."""

    total: int = field(default=0, metadata=stored("total", COUNT))
    """Of all tasks: the greatest of each."""
    most: int = field(default=0, metadata=stored("most", COUNT))
    """Of one task."""
    host: int | None = field(default=None, metadata=stored("host", COUNT))
    """The place of that task's host in status.hosts."""
    task: int | None = field(default=None, metadata=stored("task", COUNT))


_FIGURE: Final = struct(TaskFigure)


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
    rss_total_bytes: int | None = field(default=None, metadata=stored("rssTotalBytes", COUNT))
    """The sum of the tasks' largest memories. This and the following are known only once all tasks have been seen."""
    cpu_by_task: TaskFigure | None = field(default=None, metadata=stored("cpuByTask", _FIGURE))
    """Seconds."""
    least_cpu: TaskFigure | None = field(default=None, metadata=stored("leastCpu", _FIGURE))
    """Its `most` is the CPU time of the task that has used least, in seconds."""
    vm_by_task: TaskFigure | None = field(default=None, metadata=stored("vmByTask", _FIGURE))
    """Bytes of virtual memory."""
    read_by_task: TaskFigure | None = field(default=None, metadata=stored("readByTask", _FIGURE))
    """Bytes that were read, from pipes and the cache too, as /proc/PID/io counts them."""
    written_by_task: TaskFigure | None = field(default=None, metadata=stored("writtenByTask", _FIGURE))
    srun_pid: int | None = field(default=None, metadata=stored("srunPid", COUNT))
    """The process of its srun, in the job's first pod."""
