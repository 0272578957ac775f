"""A line of sacct, and how its values are written. Source: sacct 22.05.8."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, tzinfo

from hpcbatch.model.record import JobRecord
from hpcbatch.model.row import JobRow
from hpcbatch.typed import NamedTuple

MIB = 1024**2
_UNITS = "KMGTP"


class Figure(NamedTuple):
    """What the tasks of a step of srun have used of something."""

    total: int
    most: int
    node: str
    """Where the task with `most` ran."""
    task: int | None


class TaskUsage(NamedTuple):
    """What they have used of all; None: not known."""

    cpu: Figure | None = None
    """Seconds."""
    least_cpu: Figure | None = None
    """Its `most` is the least."""
    rss_total: int | None = None
    vm: Figure | None = None
    read: Figure | None = None
    written: Figure | None = None


class Line(NamedTuple):
    """A line of sacct: a job (`step` is "") or one of its steps, with what its fields show."""

    record: JobRecord
    row: JobRow
    """Of `record`."""
    step: str
    job_id: str
    """`12`, `12_7`, `12_[8-9]`; without the step."""
    job_id_raw: str
    name: str
    state: str
    """Compact."""
    state_text: str
    exit_code: int
    exit_signal: int
    submit: datetime | None
    eligible: datetime | None
    start: datetime | None
    end: datetime | None
    elapsed_s: int
    """Without the time that it was suspended."""
    suspended_s: int
    cpus: int
    nodes: int
    allocated_nodes: int
    node_list: str
    reason: str
    priority: int
    cpu_s: int | None = None
    tasks: int | None = None
    rss_bytes: tuple[tuple[str, int], ...] = ()
    """Of a step: the largest memory of each of its hosts, with the node's name."""
    cpu_by_host: tuple[tuple[str, int], ...] = ()
    """Of a step: seconds, with the node's name."""
    rss_task: int | None = None
    """Of a step of srun: the task with the largest memory, the only one that is known."""
    by_task: TaskUsage | None = None
    """Of a step of srun."""
    layout: str = "Unknown"
    requested_freq: str = "0"
    cancelled_by: str = ""
    """Of a step of srun that was ended by request."""
    submit_line: str = ""
    """Of a step of srun."""

    @property
    def is_step(self) -> bool:
        return bool(self.step)


class View(NamedTuple):
    """How values are written."""

    now: datetime
    tz: tzinfo
    time_format: str = ""
    unit: str = ""
    convert: bool = True
    group_name: Callable[[int], str] = str
    """Of a gid; "" where it has none."""

    def size(self, amount: float, power: int = 0) -> str:
        """`amount` of 1024**power bytes, in the unit requested, or in the greatest that loses nothing (halves count
        as nothing lost). Source: convert_num_unit2().
        """
        number = float(amount)
        if not amount:
            return "0"
        if self.unit:
            wanted = _UNITS.index(self.unit) + 1
            number *= 1024.0 ** (power - wanted)
            power = wanted
        elif self.convert:
            while number >= 1024 and int(number) % 512 == 0 and power < len(_UNITS):
                number /= 1024
                power += 1
        text = str(int(number)) if number == int(number) else f"{number:.2f}"
        return text + ("" if power == 0 else _UNITS[power - 1])


Value = Callable[[Line, View], str]
