"""What the logs of rank 0 say of a run of real.exe or wrf.exe while it goes on: how far it is, and whether it is over.

It writes two, rsl.error.0000 and rsl.out.0000, and rsl.error.0000 may break off in a run that goes well (WRF 4.7.1 with
sppt=1): both are followed. Whether a run that is over went well is for the runner's awk to say (verdict.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from statistics import fmean, median

from hpcbatch.wrf.lines import known_lines
from hpcbatch.wrf.run import Program

MAIN_LOG = "rsl.error.0000"
OUT_LOG = "rsl.out.0000"
_LINES = known_lines()


@dataclass(slots=True)
class DomainLog:
    """Of one domain, so far."""

    time: datetime | None = None
    """End of its last step."""
    step_seconds: list[float] = field(default_factory=list)
    """Wall time of each step; that of a parent has its nests' in it."""
    other_s: float = 0.0
    """Wall time of its output and boundaries."""


@dataclass(slots=True)
class Log:
    """A log that is being read. Feed it whole text; what comes in parts is put together."""

    program: Program | None = None
    domains: dict[int, DomainLog] = field(default_factory=dict)
    grid: tuple[int, int] | None = None
    """Compute ranks in x and y."""
    time_step_s: float | None = None
    start: datetime | None = None
    loops: int = 0
    """Input times that real.exe has done."""
    loop_seconds: list[float] = field(default_factory=list)
    written: dict[str, None] = field(default_factory=dict)
    """History files as named when written, in order; the first of each domain and stream is a file of that name."""
    is_success: bool = False
    """It has a success line."""
    is_fatal: bool = False
    """It has a FATAL block."""
    is_crash: bool = False
    """It has the runtime's own words: a signal, a Fortran error."""
    _rest: str = ""
    _in_block: bool = False

    def feed(self, text: str) -> None:
        """More of the text; what follows the last newline waits for the next call, or for `finish`."""
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            self._line(line.rstrip("\r"))

    def finish(self) -> Log:
        rest, self._rest = self._rest, ""
        if rest:
            self._line(rest)
        return self

    @property
    def is_over(self) -> bool:
        """Whether nothing more is to be expected of it."""
        return self.is_success or (self.is_fatal and not self._in_block) or self.is_crash

    @property
    def is_end_logged(self) -> bool:
        return self.is_success or self.is_fatal or self.is_crash

    def _line(self, line: str) -> None:
        if not line.strip():
            return
        if self._in_block:
            self._fatal_line(line)
        elif (step := _LINES["step"].match(line)) is not None:
            domain = self._domain(step[2])
            domain.time = _moment(step[1])
            domain.step_seconds.append(_seconds(step[3]))
        else:
            self._rare(line)

    def _domain(self, number: str) -> DomainLog:
        return self.domains.setdefault(int(number), DomainLog())

    def _rare(self, line: str) -> None:
        if (other := _LINES["timing"].match(line)) is not None:
            self._domain(other[3]).other_s += _seconds(other[4])
            if other[1] == "Writing" and other[2] != "restart":
                self.written[other[2]] = None
        elif (loop := _LINES["loop"].match(line)) is not None:
            self.loops = max(self.loops, int(loop[2]))
            self.loop_seconds.append(_seconds(loop[3]))
        elif _LINES["success"].search(line):
            self.is_success = True
        elif _LINES["fatal"].search(line):
            self._in_block, self.is_fatal = True, False
        elif _LINES["crash"].search(line):
            self.is_crash = True
        else:
            self._head(line)

    def _head(self, line: str) -> None:
        if _LINES["real"].match(line):
            self.program = Program.REAL
        elif _LINES["wrf"].match(line):
            self.program = Program.WRF
        elif (grid := _LINES["grid"].match(line)) is not None:
            self.grid = int(grid[1]), int(grid[2])
        elif (step := _LINES["time_step"].match(line)) is not None:
            self.time_step_s = _seconds(step[1]) or None
        elif (start := _LINES["start"].match(line)) is not None:
            self.start = self.start or _moment(start[1])

    def _fatal_line(self, line: str) -> None:
        if _LINES["rule"].match(line):
            self._in_block = False
        elif not line.lstrip().startswith("FATAL CALLED FROM"):
            self.is_fatal = True


def read(text: str) -> Log:
    """A complete log."""
    log = Log()
    log.feed(text)
    return log.finish()


def witness(error: Log, out: Log) -> Log:
    """Of rank 0's two logs the one to follow: that tells how the run ended, else how far it came."""
    if error.is_end_logged or (
        error.program is not None and out.program is not None and error.program is not out.program
    ):
        return error  # the program starts both anew: one of another program is left over
    return out if out.is_end_logged or _reached(out) > _reached(error) else error


def _reached(log: Log) -> tuple[datetime, int]:
    return log.domains.get(1, DomainLog()).time or datetime.min, log.loops


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(f"{text[:10]}T{text[11:13]}:{text[14:16]}:{text[17:]}")
    except ValueError:
        return None


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


# How far it is


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainProgress:
    domain: int
    time: datetime | None
    steps: int
    mean_s: float
    """Wall seconds of a step, the first of the run left out (it reads tables and makes room)."""
    median_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    program: Program | None
    percent: float | None
    """None: nothing is known to measure it by. Of domain 1; of real.exe by input times."""
    time: datetime | None
    """Simulated, of domain 1."""
    eta_s: float | None
    """Wall seconds that are left, at the pace so far: output included, initialisation not."""
    domains: tuple[DomainProgress, ...] = ()
    loops: int = 0
    loops_total: int | None = None


def progress(log: Log, start: datetime | None, end: datetime | None, loops_total: int | None = None) -> Progress:
    """`start`, `end` and `loops_total` as the namelist has them; None where it could not be read."""
    if log.program is Program.REAL:
        percent = 100.0 * min(log.loops, loops_total) / loops_total if loops_total else None
        left = None if loops_total is None or not log.loop_seconds else max(0, loops_total - log.loops)
        return Progress(
            program=log.program,
            percent=100.0 if log.is_success else percent,
            time=None,
            loops=log.loops,
            loops_total=loops_total,
            eta_s=None if left is None or log.is_success else left * fmean(log.loop_seconds),
        )
    domains = tuple(_domain_progress(number, each) for number, each in sorted(log.domains.items()) if each.step_seconds)
    first = log.domains.get(1, DomainLog())
    begin = start or log.start
    percent, eta_s = None, None
    if begin is not None and end is not None and end > begin:
        done = (first.time - begin) / (end - begin) if first.time else 0.0
        percent = 100.0 * min(1.0, max(0.0, done))
        if first.time is not None and first.time > begin:
            pace = (sum(first.step_seconds) + first.other_s) / (first.time - begin).total_seconds()
            eta_s = pace * max(timedelta(0), end - first.time).total_seconds()
    if log.is_success:
        percent, eta_s = 100.0, None
    return Progress(program=log.program, percent=percent, time=first.time or log.start, eta_s=eta_s, domains=domains)


def _domain_progress(number: int, log: DomainLog) -> DomainProgress:
    steps = log.step_seconds[1:] or log.step_seconds
    return DomainProgress(
        domain=number, time=log.time, steps=len(log.step_seconds), mean_s=fmean(steps), median_s=median(steps)
    )
