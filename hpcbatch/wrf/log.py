"""What the logs of rank 0 say of a run of real.exe or wrf.exe, and how the run ended.

It writes two, rsl.error.0000 and rsl.out.0000, and rsl.error.0000 may break off in a run that goes well (WRF 4.7.1 with
sppt=1): both are witnesses. `Log` takes the text as it grows, `judge` takes texts that are complete. The strings are
those of recorded runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from statistics import fmean, median

from hpcbatch.wrf.launcher import ended_by_signal
from hpcbatch.wrf.run import Program

MAIN_LOG = "rsl.error.0000"
OUT_LOG = "rsl.out.0000"
_DATE = r"([0-9]{4}-[0-9]{2}-[0-9]{2}_[0-9]{2}[:_][0-9]{2}[:_][0-9]{2})"
_BANNER = re.compile(r"\s*(?:(REAL_EM) V\S+ PREPROCESSOR|(WRF) V\S+ MODEL)")
_STEP = re.compile(rf"\s*Timing for main: time {_DATE} on domain\s+([0-9]+):\s+([0-9.Ee+-]+) elapsed seconds")
_OTHER = re.compile(r"\s*Timing for (Writing|processing) (.*?) for domain\s+([0-9]+):\s+([0-9.Ee+-]+) elapsed seconds")
_LOOP = re.compile(r"\s*(?:d01 \S+\s+)?Timing for loop #\s*([0-9]+) =\s*([0-9.]+) s")
_GRID = re.compile(r"\s*Ntasks in X\s+([0-9]+)\s*,\s*ntasks in Y\s+([0-9]+)")
_DT = re.compile(r"\s*D01: Time step\s+=\s+([0-9.Ee+-]+)\s+\(s\)")
_START = re.compile(rf"\s*CURRENT DATE\s+= {_DATE}")
_RESTART = re.compile(r"\s*RESTART run: opening")
_SUCCESS = re.compile(r"SUCCESS COMPLETE (WRF|REAL_EM INIT|IDEAL INIT|NDOWN_EM INIT|TC BOGUS)")
_CFL = re.compile(r"points exceeded (?:v_)?cfl\s*=")
_NOT_OPENED = re.compile(r"error opening (\S+) for writing")
_FATAL = re.compile(r"-{3,}\s*FATAL CALLED\s*-{3,}")
_RULE = re.compile(r"\s*-{20,}\s*")
_CRASH = re.compile(
    r"Program received signal (\S+)|forrtl: severe \([0-9]+\):? *(.*)|Fortran runtime error: (.*)|(Segmentation fault)"
)
_EXPLAINS = re.compile(
    r"--- ?ERROR|^\s*-* ?ERRORS?[ :]|domain size is too small|SIZE MISMATCH|Ran out of valid|is probably too large"
    r"|ERROR (?:while )?reading|cell width in|UNABLE TO GENERATE|Maybe here|bad date in|does not match"
)
"""Lines before or in a FATAL block that say more than the block's own line."""
_GENERAL = re.compile(
    r"NOTE: .*(?:namelist settings are wrong|check and reset)|ERRORS while reading one or more|module_dm: mpaspect"
    r"|namelist vs input data"
)
_KEPT_LINES = 12
_LONGEST = 500


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
    is_restart: bool = False
    loops: int = 0
    """Input times that real.exe has done."""
    loop_seconds: list[float] = field(default_factory=list)
    written: dict[str, None] = field(default_factory=dict)
    """History files as named when written, in order; the first of each domain and stream is a file of that name."""
    not_opened: list[str] = field(default_factory=list)
    """Files that could not be opened for writing, after which WRF goes on."""
    success: str = ""
    """The success line."""
    fatal: list[str] = field(default_factory=list)
    """The last FATAL block's message, and the lines before it that explain it."""
    cfl: str = ""
    """The last line on the Courant number."""
    crash: str = ""
    """The runtime's own words: a signal, a Fortran error."""
    last: str = ""
    """The last line that is not empty."""
    _rest: str = ""
    _recent: list[str] = field(default_factory=list)
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
        return bool(self.success or (self.fatal and not self._in_block) or self.crash)

    @property
    def tells_end(self) -> bool:
        return bool(self.success or self.fatal or self.crash)

    def _line(self, line: str) -> None:
        stripped = line.strip()
        if not stripped:
            return
        self.last = stripped
        if self._in_block:
            self._fatal_line(line)
        elif (step := _STEP.match(line)) is not None:
            domain = self._domain(step[2])
            domain.time = _moment(step[1])
            domain.step_seconds.append(_seconds(step[3]))
        elif not self._rare(line):
            self._recent.append(self.last)
            del self._recent[:-_KEPT_LINES]

    def _domain(self, number: str) -> DomainLog:
        return self.domains.setdefault(int(number), DomainLog())

    def _rare(self, line: str) -> bool:
        """Whether the line was understood, so that it explains nothing later."""
        if (other := _OTHER.match(line)) is not None:
            self._domain(other[3]).other_s += _seconds(other[4])
            if other[1] == "Writing" and other[2] != "restart":
                self.written[other[2]] = None
        elif (loop := _LOOP.match(line)) is not None:
            self.loops = max(self.loops, int(loop[1]))
            self.loop_seconds.append(_seconds(loop[2]))
        elif _SUCCESS.search(line):
            self.success = line.strip()
        elif _FATAL.search(line):
            self._in_block = True
            self.fatal = [each for each in self._recent if _EXPLAINS.search(each)]
        elif _CFL.search(line):
            self.cfl = line.strip()
        elif _CRASH.search(line):
            self.crash = self.crash or line.strip()
        else:
            return self._head(line)
        return True

    def _head(self, line: str) -> bool:
        if (banner := _BANNER.match(line)) is not None:
            self.program = Program.REAL if banner[1] else Program.WRF
        elif (grid := _GRID.match(line)) is not None:
            self.grid = int(grid[1]), int(grid[2])
        elif (step := _DT.match(line)) is not None:
            self.time_step_s = _seconds(step[1]) or None
        elif (start := _START.match(line)) is not None:
            self.start = self.start or _moment(start[1])
        elif _RESTART.match(line):
            self.is_restart = True
        elif (failed := _NOT_OPENED.search(line)) is not None:
            self.not_opened.append(failed[1])
        else:
            return False
        return True

    def _fatal_line(self, line: str) -> None:
        if _RULE.fullmatch(line):
            self._in_block = False
        elif not line.lstrip().startswith("FATAL CALLED FROM"):
            self.fatal.append(line.strip())


def read(text: str) -> Log:
    """A complete log."""
    log = Log()
    log.feed(text)
    return log.finish()


def witness(error: Log, out: Log) -> Log:
    """Of rank 0's two logs the one that knows more of the run: how it ended, else how far it came."""
    if error.tells_end or (error.program is not None and out.program is not None and error.program is not out.program):
        return error  # the program starts both anew: one of another program is left over
    return out if out.tells_end or _reached(out) > _reached(error) else error


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
            program=log.program, percent=100.0 if log.success else percent, time=None, loops=log.loops,
            loops_total=loops_total, eta_s=None if left is None or log.success else left * fmean(log.loop_seconds),
        )  # fmt: skip
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
    if log.success:
        percent, eta_s = 100.0, None
    return Progress(program=log.program, percent=percent, time=first.time or log.start, eta_s=eta_s, domains=domains)


def _domain_progress(number: int, log: DomainLog) -> DomainProgress:
    steps = log.step_seconds[1:] or log.step_seconds
    return DomainProgress(
        domain=number, time=log.time, steps=len(log.step_seconds), mean_s=fmean(steps), median_s=median(steps)
    )


# How it ended


@dataclass(frozen=True, slots=True)
class Verdict:
    is_success: bool
    message: str
    """One line of at most 500 characters: WRF's own last words, or what is missing."""


def _verdict(is_success: bool, message: str) -> Verdict:
    line = " ".join("".join(char if char.isprintable() else " " for char in message).split())
    return Verdict(is_success, line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…")


def judge(
    texts: Mapping[str, str],
    *,
    exists: Callable[[str], bool] | None = None,
    wants_history: bool = True,
    launcher: str = "",
) -> Verdict:
    """Whether a run that is over went well.

    `texts`: the rsl files by name, those of rank 0 whole, of others at least their ends; `exists` says whether a file
    is there that wrf.exe tells it wrote, where that can be looked at; `wants_history`: the namelist asks for wrfout;
    `launcher`: standard error of mpirun, as far as known. The exit code is the caller's to look at.
    """
    if MAIN_LOG not in texts:
        return _verdict(False, f"there is no {MAIN_LOG}: the program was never started, or not in this directory")
    return judge_log(
        witness(read(texts[MAIN_LOG]), read(texts.get(OUT_LOG, ""))),
        {name: text for name, text in texts.items() if name not in (MAIN_LOG, OUT_LOG)},
        exists=exists, wants_history=wants_history, launcher=launcher,
    )  # fmt: skip


def judge_log(
    log: Log,
    others: Mapping[str, str],
    *,
    exists: Callable[[str], bool] | None = None,
    wants_history: bool = True,
    launcher: str = "",
) -> Verdict:
    """As `judge`, with the log of rank 0 read already, the `witness` of the two."""
    if log.fatal:
        return _verdict(False, _with_cfl(log, _fatal_line(log)))
    if log.success:
        return _judge_success(log, exists, wants_history)
    if log.crash:
        return _verdict(False, _with_cfl(log, log.crash))
    logs = {name: read(text) for name, text in sorted(others.items())}
    for name, other in logs.items():
        if other.fatal:
            return _verdict(False, f"{_fatal_line(other)} ({name})")
    for name, other in logs.items():
        if other.crash:
            return _verdict(False, _with_cfl(log, f"{other.crash} ({name})"))
    signalled = ended_by_signal(launcher)
    at = _stopped_at(log)
    if log.cfl or signalled:
        return _verdict(False, _with_cfl(log, f"{signalled or 'no SUCCESS line'}{at}"))
    return _verdict(False, f"no SUCCESS line{at}; the last line is: {log.last or '(the file is empty)'}")


def _judge_success(log: Log, exists: Callable[[str], bool] | None, wants_history: bool) -> Verdict:
    if log.not_opened:
        return _verdict(False, f"{log.success}, but: error opening {log.not_opened[0]} for writing; there is no output")
    if log.program is Program.REAL or " WRF" not in log.success:
        return _verdict(True, log.success)
    if wants_history and not log.written and not log.is_restart:
        return _verdict(False, f"{log.success}, but it wrote no wrfout")
    if exists is not None:
        gone = [name for name in first_files(log.written) if not (exists(name) or exists(f"{name}_0000"))]
        if gone:
            return _verdict(False, f"{log.success}, but there is no {gone[0]}, which it says it wrote")
    return _verdict(True, log.success)


def first_files(written: Iterable[str]) -> Iterator[str]:
    """The first name of each domain and stream: with several frames a file only that one is the name of a file."""
    seen = set()
    for name in written:
        stream = re.sub(_DATE, "", name)
        if stream not in seen:
            seen.add(stream)
            yield name


def _fatal_line(log: Log) -> str:
    """Without what only says that something else was wrong, where that something is there too."""
    lines = list(dict.fromkeys(log.fatal))
    told = [line for line in lines if not _GENERAL.search(line)] or lines
    return " / ".join(" ".join(line.split()) for line in told[:4])


def _with_cfl(log: Log, text: str) -> str:
    return f"{text} (before that: {' '.join(log.cfl.split())})" if log.cfl else text


def _stopped_at(log: Log) -> str:
    first = log.domains.get(1)
    return f", stopped after {first.time:%Y-%m-%d_%H:%M:%S}" if first is not None and first.time is not None else ""
