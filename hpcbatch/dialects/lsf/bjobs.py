"""bjobs: tables of jobs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta, tzinfo

from hpcbatch.dialects.lsf import states
from hpcbatch.dialects.lsf.commands import Line
from hpcbatch.dialects.lsf.rows import (
    ENDED,
    EVERY,
    PENDING,
    RUNNING,
    SUSPENDED,
    UNFINISHED,
    exec_hosts,
    name_of,
    number,
    stats_of,
)
from hpcbatch.model.indices import Indices
from hpcbatch.model.row import JobRow
from hpcbatch.typed import Final

_KINDS: Final = {"p": PENDING, "pe": PENDING, "pi": PENDING, "r": RUNNING, "s": SUSPENDED, "d": ENDED}
_NONE: Final = {
    "p": "No pending job found",
    "r": "No running job found",
    "s": "No suspended job found",
    "d": "No DONE/EXIT job found",
    "a": "No job found",
}
_HEAD: Final = "JOBID   USER    STAT  QUEUE      FROM_HOST   EXEC_HOST   JOB_NAME   SUBMIT_TIME"
_PENDING_HEAD: Final = "JOBID   USER    STAT  QUEUE      FROM_HOST   JOB_NAME   SUBMIT_TIME"
_HOST_COLUMN: Final = 45
_WIDE_HEAD: Final = f"{_HEAD}  PROJ_NAME CPU_USED MEM SWAP PIDS START_TIME FINISH_TIME SLOTS"
_ARRAY_HEAD: Final = "JOBID    ARRAY_SPEC  OWNER   NJOBS PEND DONE  RUN EXIT SSUSP USUSP PSUSP"
_LATER: Final = {"WL": "TIME_LEFT", "WF": "FINISH_TIME", "WP": "%COMPLETE"}


def wanted_stats(line: Line) -> frozenset[str]:
    """What the options select; jobs that are named are shown in any state."""
    if "a" in line or (line.operands and not set(_KINDS) & set(line.options)):
        return EVERY
    kinds = [kind for option, kind in _KINDS.items() if option in line]
    return stats_of(kinds) if kinds else UNFINISHED


def nothing(line: Line) -> str:
    """What is said where there is none."""
    return next((text for option, text in _NONE.items() if option in line), "No unfinished job found")


def short_time(when: datetime | None, zone: tzinfo) -> str:
    """`Apr  9 10:00`"""
    return "-" if when is None else when.astimezone(zone).strftime("%b %e %H:%M")


def _cut(text: str, width: int) -> str:
    """From the left, as job names are."""
    return text if len(text) <= width else f"*{text[len(text) - width + 1 :]}"


def table(rows: Sequence[JobRow], line: Line, now: datetime, zone: tzinfo) -> Iterator[str]:
    """The lines of bjobs, -w, -W, -p, -s, -X and the like."""
    is_wide = bool({"w", "W", "WL", "WF", "WP"} & set(line.options))
    with_reasons = bool({"p", "pe", "pi", "s"} & set(line.options)) and not {"a", "r", "d"} & set(line.options)
    later = next((name for name in _LATER if name in line), "")
    if "noheader" not in line:
        head = _WIDE_HEAD if "W" in line else _PENDING_HEAD if with_reasons and "s" not in line else _HEAD
        yield f"{head}  {_LATER[later]}" if later else head
    for row in rows:
        hosts = exec_hosts(row) or ["-" if is_wide else ""]
        if with_reasons and "s" not in line:
            hosts = []
        first = ":".join(hosts) if is_wide else hosts[0] if hosts else None
        text = _row(row, first, zone, is_wide=is_wide, is_widest="W" in line)
        if "W" in line:
            text += _more(row, zone)
        if later:
            text += f"  {_later(row, later, now, zone)}"
        yield text
        if not is_wide:
            yield from (f"{'':{_HOST_COLUMN}}{host}" for host in hosts[1:])
        if with_reasons:
            why = states.pending_reason(row) if not row.state.is_final else ""
            yield f" {why if row.start_time is None else states.suspension_reason(row)};"


def _row(row: JobRow, host: str | None, zone: tzinfo, *, is_wide: bool, is_widest: bool) -> str:
    name, submitted = name_of(row), (_long_short if is_widest else short_time)(row.submit_time, zone)
    stat, source = states.stat(row), row.submit_host
    if is_wide:
        return (
            f"{number(row):<7} {row.user:<7} {stat:<5} {row.queue:<10} {source:<11} {host:<11} {name:<10} {submitted}"
        )
    start = f"{number(row):<7} {row.user:<7.7} {stat:<5.5} {row.queue:<10.10} {source:<11.11} "
    middle = "" if host is None else f"{host:<11.11} "
    return f"{start}{middle}{_cut(name, 10):<10} {submitted}"


def _more(row: JobRow, zone: tzinfo) -> str:
    used = row.cpu_used_s or 0
    cpu = f"{used // 3600:03}:{used // 60 % 60:02}:{used % 60:02}.00"
    start, end = (_long_short(when, zone) for when in (row.start_time, row.end_time))
    project = row.account or "default"
    return f"  {project:<9} {cpu} - - - {start} {end} {row.cpus}"


def _long_short(when: datetime | None, zone: tzinfo) -> str:
    """`04/09-10:00:00`, without a blank: what all times of -W are."""
    return "-" if when is None else when.astimezone(zone).strftime("%m/%d-%H:%M:%S")


def _later(row: JobRow, which: str, now: datetime, zone: tzinfo) -> str:
    if row.start_time is None or row.walltime_s is None:
        return "-"
    end = row.end_time or row.start_time + timedelta(seconds=row.walltime_s)
    if which == "WF":
        return f"{short_time(end, zone)} {'X' if row.end_time else 'L'}"
    left_s = max(0, round((end - now).total_seconds()))
    if which == "WL":
        return f"{left_s // 3600}:{left_s // 60 % 60} L"
    return f"{100 * (1 - min(1.0, left_s / row.walltime_s)):.2f}% L"


def arrays(rows: Sequence[JobRow], members: Sequence[JobRow], *, noheader: bool) -> Iterator[str]:
    """bjobs -A: each array in a line. `members` are those of all arrays."""
    if not noheader:
        yield _ARRAY_HEAD
    for row in rows:
        counts = dict.fromkeys(states.ORDER, 0)
        for member in members:
            if member.array_id == row.job_id:
                counts[states.stat(member)] += 1
        spec = _cut(f"{row.name}[{Indices.parse(row.array_indices)}]", 11)
        numbers = zip((4, 4, 4, 4, 5, 5, 5), counts.values(), strict=True)
        shown = " ".join(f"{count:>{width}}" for width, count in numbers)
        yield f"{row.job_id:<8} {spec:<11} {row.user:<7.7} {len(Indices.parse(row.array_indices)):>5} {shown}"


def summary(rows: Sequence[JobRow]) -> Iterator[str]:
    """bjobs -sum: slots by state."""
    counts = dict.fromkeys(("RUN", "SSUSP", "USUSP", "UNKNOWN", "PEND", "FWD_PEND"), 0)
    for row in rows:
        stat = states.stat(row)
        counts["PEND" if stat == "PSUSP" else stat] = counts.get("PEND" if stat == "PSUSP" else stat, 0) + row.cpus
    yield " ".join(f"{name:<10}" for name in counts if name not in {"DONE", "EXIT"}).rstrip()
    yield " ".join(f"{count:<10}" for name, count in counts.items() if name not in {"DONE", "EXIT"}).rstrip()
