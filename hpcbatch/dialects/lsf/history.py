"""bhist and bacct: how long jobs were in which state, and sums over those that have ended."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from hpcbatch.dialects.lsf import states
from hpcbatch.dialects.lsf.bjobs import short_time
from hpcbatch.dialects.lsf.commands import Line, usage
from hpcbatch.dialects.lsf.errors import LsfUsageError
from hpcbatch.dialects.lsf.fields import Job, run_s
from hpcbatch.dialects.lsf.long import clock, events, job_text
from hpcbatch.dialects.lsf.rows import EVERY, UNFINISHED, name_of, number, stats_of
from hpcbatch.model.state import JobState
from hpcbatch.typed import Final, NamedTuple

_TIMES_HEAD: Final = "JOBID   USER    JOB_NAME  PEND    PSUSP   RUN     USUSP   SSUSP   UNKWN   TOTAL"
_LONG_HEAD: Final = "  PEND     PSUSP    RUN      USUSP    SSUSP    UNKWN    TOTAL"
_LINE: Final = "-" * 78
_ACCOUNTED: Final = (
    "accounted on all projects.",
    "completed normally or exited",
    "executed on all hosts.",
    "submitted to all queues.",
    "accounted on all service classes.",
)
_MOMENT = re.compile(r"(?:(\d{4})/)?(?:(\d{1,2})/)?(\d{1,2})?(?:/?(\d{1,2}):(\d{2}))?", re.ASCII)


class Times(NamedTuple):
    """Seconds in each state."""

    pend: int
    psusp: int
    run: int
    ususp: int

    @property
    def total(self) -> int:
        return sum(self)

    @property
    def cells(self) -> tuple[int, ...]:
        return self.pend, self.psusp, self.run, self.ususp, 0, 0, self.total


def times(job: Job) -> Times:
    """How long it was held is known as long as it waits; later that counts as waiting."""
    row = job.row
    if row.submit_time is None:
        return Times(0, 0, 0, 0)
    end = row.end_time or job.now
    began = row.start_time or end
    waited = max(0, round((began - row.submit_time).total_seconds()))
    held = states.stat(row) == "PSUSP"
    stopped = ran_before = 0
    if row.array_id != row.job_id:
        runs = job.record.status.past_runs
        ran_before = round(sum((past.end_time - past.start_time).total_seconds() for past in runs))
        if row.start_time is not None:
            stopped = job.record.status.suspended_s(row.start_time, end)
    waited = max(0, waited - ran_before)
    return Times(0 if held else waited, waited if held else 0, run_s(job) + ran_before, stopped)


def wanted_stats(line: Line) -> frozenset[str]:
    if "a" in line or line.operands:
        return EVERY
    kinds = {"d": "ended", "e": "ended", "p": "pending", "r": "running", "s": "suspended"}
    chosen = [kind for option, kind in kinds.items() if option in line]
    found = stats_of(chosen) if chosen else UNFINISHED
    return found - {"DONE"} if "e" in line and "d" not in line else found


def short(jobs: Sequence[Job]) -> Iterator[str]:
    yield "Summary of time in seconds spent in various states:"
    yield _TIMES_HEAD
    for job in jobs:
        name = name_of(job.row)
        cut = name if len(name) <= 9 else f"*{name[-8:]}"
        cells = " ".join(f"{cell:<7}" for cell in times(job).cells).rstrip()
        yield f"{number(job.row):<7} {job.row.user:<7.7} {cut:<9} {cells}"


def long(job: Job) -> Iterator[str]:
    head, *_ = job_text(job, unformatted=False)
    yield head
    for event in events(job, short=False):
        yield f"{clock(event.when, job.zone)}: {event.text};"
    yield ""
    yield f"Summary of time in seconds spent in various states by  {clock(job.now, job.zone)}"
    yield _LONG_HEAD
    yield "  " + " ".join(f"{cell:<8}" for cell in times(job).cells).rstrip()


# bacct


def in_period(job: Job, line: Line, command: str) -> bool:
    """-C, -D and -S: whether it ended, started and was submitted then."""
    for option, when in (("C", job.row.end_time), ("D", job.row.start_time), ("S", job.row.submit_time)):
        text = line.value(option)
        if text is None:
            continue
        first, last = _period(text, job.now, command)
        if when is None or not first <= when <= last:
            return False
    return True


def _period(text: str, now: datetime, command: str) -> tuple[datetime, datetime]:
    first, comma, last = text.partition(",")
    start = _moment(first, now, command) if first else datetime(1970, 1, 1, tzinfo=now.tzinfo)
    if not comma:
        return start, start + timedelta(days=1)
    return start, _moment(last, now, command) if last else now


def _moment(text: str, now: datetime, command: str) -> datetime:
    """Read `[[year/]month/]day[/hour:minute]`."""
    match = _MOMENT.fullmatch(text.strip())
    if match is None or not text.strip():
        raise LsfUsageError(f"{text}: Bad time: expected [[year/]month/]day[/hour:minute]", usage(command))
    year, month, day, hour, minute = (None if part is None else int(part) for part in match.groups())
    try:
        return now.replace(
            year=year or now.year,
            month=month or now.month,
            day=day or now.day,
            hour=hour or 0,
            minute=minute or 0,
            second=0,
            microsecond=0,
        )
    except ValueError:
        raise LsfUsageError(f"{text}: Bad time: there is no such day", usage(command)) from None


def accounting(jobs: Sequence[Job], line: Line, user: str) -> Iterator[str]:
    yield ""
    yield "Accounting information about jobs that are: "
    by = line.value("u") or user
    yield f"  - submitted by {'all users' if by == 'all' else f'users {by}'}, "
    yield from (f"  - {text}" for text in _ACCOUNTED)
    yield _LINE
    if "l" in line:
        for job in jobs:
            yield ""
            yield from job_text(job, unformatted=False)
            yield from _share(job)
            yield _LINE
    yield from ("", "SUMMARY:      ( time unit: second ) ")
    done = sum(job.row.state is JobState.FINISHED for job in jobs)
    yield _pair("Total number of done jobs", f"{done}", "Total number of exited jobs", f"{len(jobs) - done}")
    cpu = [float(job.row.cpu_used_s or 0) for job in jobs]
    wait = [float(times(job).pend + times(job).psusp) for job in jobs]
    turn = [float(times(job).total) for job in jobs]
    ran = [float(times(job).run) for job in jobs]
    hog = [used / most if most else 0.0 for used, most in zip(cpu, turn, strict=True)]
    yield _pair("Total CPU time consumed", f"{sum(cpu):.1f}", "Average CPU time consumed", f"{_mean(cpu):.1f}")
    yield _extremes("CPU time of a job", cpu, ".1f")
    yield f" Total wait time in queues: {sum(wait):>10.1f}"
    yield f" Average wait time in queue:{_mean(wait):>10.1f}"
    yield _extremes("wait time in queue", wait, ".1f")
    yield f" Average turnaround time:   {_mean(turn):>10.0f} (seconds/job)"
    yield _extremes("turnaround time", turn, ".0f")
    yield f" Average hog factor of a job: {_mean(hog):>8.2f} ( cpu time / turnaround time )"
    yield _extremes("hog factor of a job", hog, ".2f")
    yield _pair("Total Run time consumed", f"{sum(ran):.0f}", "Average Run time consumed", f"{_mean(ran):.0f}")
    yield _extremes("Run time of a job", ran, ".0f")
    if ends := [job.row.end_time for job in jobs if job.row.end_time is not None]:
        hours = max((max(ends) - min(ends)).total_seconds() / 3600, 0.0)
        zone = jobs[0].zone
        yield f" Total throughput:{len(jobs) / hours if hours else 0:>12.2f} (jobs/hour)  during {hours:>7.2f} hours"
        first, last = short_time(min(ends), zone), short_time(max(ends), zone)
        yield f" Beginning time:       {first}      Ending time:          {last}"


def _share(job: Job) -> Iterator[str]:
    spent = times(job)
    used = job.row.cpu_used_s or 0
    yield "Accounting information about this job:"
    yield "     CPU_T     WAIT     TURNAROUND   STATUS     HOG_FACTOR    MEM    SWAP"
    hog = used / spent.total if spent.total else 0.0
    mem = job.record.status.max_rss_bytes
    most = "-" if mem is None else f"{mem // 1024**2}M"
    status = "done" if job.row.state is JobState.FINISHED else "exit"
    yield f"{used:>10.2f} {spent.pend + spent.psusp:>8} {spent.total:>14} {status:>8} {hog:>14.4f} {most:>6}      -"


def _pair(left: str, first: str, right: str, second: str) -> str:
    return f" {left + ':':<27}{first:>8}      {right + ':':<28}{second:>8}"


def _extremes(what: str, values: Sequence[float], form: str) -> str:
    low, high = (min(values), max(values)) if values else (0.0, 0.0)
    return _pair(f"Maximum {what}", format(high, form), f"Minimum {what}", format(low, form))


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found) if found else 0.0
