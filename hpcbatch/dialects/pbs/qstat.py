"""qstat's tables: the default one, and the alternate one of -a, -i, -r, -H, -u, -n, -s, -T, -G and -M.

Widths, headings and blanks are those of OpenPBS 23.06.06 (its qstat.c), as scripts cut columns by position.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta, tzinfo

from hpcbatch.dialects.pbs.ids import row_id
from hpcbatch.dialects.pbs.states import comment, elapsed_s, exec_host, letter
from hpcbatch.dialects.pbs.values import size_of_bytes
from hpcbatch.model.row import JobRow
from hpcbatch.model.state import JobState
from hpcbatch.units import hms

_HEADER = """\
Job id            Name             User              Time Use S Queue
----------------  ---------------- ----------------  -------- - -----
"""
_WIDE_HEADER = """\
Job id                         Name            User             Time Use S Queue
-----------------------------  --------------- ---------------  -------- - ---------------
"""
_BLANK = " -- "
_ESTIMATED = frozenset({JobState.QUEUED, JobState.SUSPENDED})
_YEARS = 5
_LINE = 78
_IPV4 = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}")


def format_default(
    rows: Sequence[JobRow],
    *,
    wide: bool = False,
    header: bool = True,
    percent: bool = False,
    now: datetime | None = None,
    living: Collection[int] = (),
) -> str:
    """The table of a plain `qstat`; "" for no rows. `percent` (-p) needs `now`.

    `header` is for the first table of a command: with several ids each good one is a table of its own.
    `living` are the numbers of the arrays that have not ended.
    """
    if not rows:
        return ""
    lines = [_WIDE_HEADER if wide else _HEADER] if header else []
    if percent and header:
        lines = [lines[0].replace(" Time Use", "  % done ")]
    for row in rows:
        state = letter(row, living)
        used = _percent(row, state, now) if percent else _cut(_cput(row), 8)
        name, job_id = row.name, row_id(row, is_short=True)
        if wide:
            cells = (_cut(job_id, 30), _cut_at(name, 15), _cut(row.user, 15), used)
            lines.append("{:<30} {:<15} {:<15}  {:>8}".format(*cells) + f" {state} {row.queue:<15}\n")
        else:
            cells = (_cut(job_id, 17), _cut_at(name, 16), _cut(row.user, 16), used)
            lines.append("{:<17} {:<16} {:<16}  {:>8}".format(*cells) + f" {state} {row.queue:<16}\n")
    return "".join(lines)


def format_alternate(
    rows: Sequence[JobRow],
    *,
    server: str,
    now: datetime,
    nodes: bool = False,
    comments: bool = False,
    one_line: bool = False,
    wide: bool = False,
    estimates: bool = False,
    gigabytes: bool = False,
    megawords: bool = False,
    header: bool = True,
    timezone: tzinfo | None = None,
    living: Collection[int] = (),
) -> str:
    """The table of `qstat -a` and its like; "" for no rows. The parameters are named as in QstatOptions, `living` is
    as in `format_default`.
    """
    if not rows:
        return ""
    lines = [_alternate_header(server, wide=wide, estimates=estimates)] if header else []
    for row in sorted(rows, key=_by_estimate) if estimates else rows:
        asked = row.mem_bytes
        mem = _BLANK if asked is None else memory(asked, gigabytes=gigabytes, megawords=megawords)
        walltime = _BLANK if row.walltime_s is None else hms(row.walltime_s)
        used = elapsed_s(row, now)
        time = _estimate(row, now, timezone, wide=wide) if estimates else _BLANK if used is None else hms(used)
        tail = f"{mem:>6.6} {walltime:>5.5} {letter(row, living)} {time if wide and estimates else f'{time:>5.5}'}"
        session = _BLANK if row.session_id is None else str(row.session_id)
        tasks = str(row.cpus) if row.cpus else _BLANK
        job_id = row_id(row)
        if wide:
            cells = [_cut(row.user, 15), _cut(row.queue, 15), _cut(row.name, 15), _cut(session, 8)]
            cells += [_cut(str(row.nodes), 4), tasks if tasks == _BLANK else _cut(tasks, 5)]
            lines.append("{:<30} {:<15} {:<15} {:<15} {:>8} {:>4} {:>5} ".format(_cut(job_id, 30), *cells) + tail)
        else:
            cells = [_cut(row.user, 8), _cut(row.queue, 8), _cut(row.name, 10), _cut(session, 6)]
            cells += [_cut(str(row.nodes), 3), _BLANK[:3] if tasks == _BLANK else _cut(tasks, 3)]
            lines.append("{:<15} {:<8} {:<8} {:<10} {:>6} {:>3} {:>3} ".format(_cut(job_id, 15), *cells) + tail)
        lines.append(" " if one_line else "\n")
        if nodes:
            lines.append(_node_lines(exec_host(row.hosts, row.cpus_per_host) or _BLANK, one_line=one_line))
        if comments:
            text = comment(row, timezone=timezone) or _BLANK
            limit = 114 if wide else 74
            lines.append(f"   {text if len(text) <= limit else text[: limit - 4] + '...'}\n")
    return "".join(lines)


def _estimate(row: JobRow, now: datetime, timezone: tzinfo | None, *, wide: bool) -> str:
    """When a queued job is expected to start: in five characters the time, the day and hour, the month or the year, as
    far away as it is. Source: OpenPBS, cnvt_est_start_time().
    """
    if row.planned_start is None or row.planned_start < now or row.state not in _ESTIMATED:
        return "--"
    when, today = row.planned_start.astimezone(timezone), now.astimezone(timezone)
    if wide:
        return f"{when:%a %b %d %H:%M}"
    if when.date() == today.date():
        return f"{when:%H:%M}"
    if when - today < timedelta(days=7):
        return f"{f'{when:%a}'[:2]} {when:%H}"
    if when.year == today.year:
        return f"{when:%b}"
    return str(when.year) if when.year - today.year < _YEARS else ">5yrs"


def _by_estimate(row: JobRow) -> tuple[bool, float]:
    """Jobs that have started go first, by their start, then those whose start is expected. Source: cmp_est_time()."""
    if row.start_time is not None:
        return False, row.start_time.timestamp()
    return True, math.inf if row.planned_start is None else row.planned_start.timestamp()


def _alternate_header(server: str, *, wide: bool, estimates: bool) -> str:
    indent = " " * (99 if wide else 60)
    last = "Start" if estimates else "Elap"
    above = f"{indent}{'':15}Est\n" if estimates else ""
    titles = f"\n{server}: \n{above}{indent}Req'd  Req'd   {last}\n"
    if wide:
        names = ("Job ID", "Username", "Queue", "Jobname", "SessID", "NDS", "TSK")
        widths = (30, 15, 15, 15, 8, 4, 5)
        heads = " ".join(f"{name:<{width}}" for name, width in zip(names, widths, strict=True))
        rule = " ".join("-" * width for width in widths)
        return f"{titles}{heads} Memory Time  S Time\n{rule} ------ ----- - -----\n"
    return (
        f"{titles}Job ID          Username Queue    Jobname    SessID NDS TSK Memory Time  S Time\n"
        "--------------- -------- -------- ---------- ------ --- --- ------ ----- - -----\n"
    )


def _cut(text: str, width: int) -> str:
    """`text` in at most `width` characters, `*` for the last where some are lost."""
    return text if len(text) <= width else f"{text[: width - 1]}*"


def _cut_at(text: str, width: int) -> str:
    """As `_cut`, but already at `width` characters: qstat does so with names."""
    return text if len(text) < width else f"{text[: width - 1]}*"


def _cput(row: JobRow) -> str:
    """CPU time as PBS shows it: `0` for a job that has never run, and for an array."""
    return "0" if row.start_time is None or row.array_indices else hms(row.cpu_used_s or 0)


def _percent(row: JobRow, state: str, now: datetime | None) -> str:
    """The share of its walltime that a job has used; of an array, of its members that have ended.
    Source: OpenPBS, percent_cal().
    """
    if state == "X":
        return "100"
    if row.array_indices and not row.state.is_final and state not in "QTW":
        from hpcbatch.model.members import indices, unended

        every = len(indices(row))
        return f"{(every - len(unended(row))) * 100 // every:3d} "
    used = elapsed_s(row, now) if now is not None else None
    if used is None or not row.walltime_s:
        return "-- "
    return f"{used * 100 // row.walltime_s:3d} "


def memory(mem_bytes: int, *, gigabytes: bool = False, megawords: bool = False) -> str:
    """Memory with at most four digits. Source: OpenPBS, cnv_size(), and the five characters that it keeps."""
    size = size_of_bytes(mem_bytes)
    number, shift, unit = size.number, size.shift, "b"
    if gigabytes or megawords:
        target = 30 if gigabytes else 20
        words = 8 if megawords else 1
        number, shift, unit = -(-mem_bytes // ((1 << target) * words)), target, "w" if megawords else "b"
    while number > 9999:
        number, shift = (number + 1023) >> 10, shift + 10
    letter = {0: " ", 10: "k", 20: "m", 30: "g", 40: "t", 50: "p"}.get(shift, "?")
    return f"{number}{letter}{unit}"[:5]


def _node_lines(nodes: str, *, one_line: bool) -> str:
    """exec_host without domains, broken after a `+`. Source: OpenPBS, prt_nodes()."""
    lines: list[str] = []
    line = ""
    for part in nodes.split("+"):
        host, slash, slot = part.partition("/")
        name = (host if _IPV4.fullmatch(host) else host.partition(".")[0]) + slash + slot
        if line and len(line) + len(name) >= _LINE - 1:
            lines.append(line)
            line = ""
        line += f"{name}+"
    lines.append(line[:-1])
    return "".join(lines) + "\n" if one_line else "".join(f"   {text}\n" for text in lines)
