"""tracejob: its command line, and the events of a job as PBS's logs show them. Source: OpenPBS 23.06, tracejob.c.

There are no log files: the events are read from the job's record, so that only those are known that it keeps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta, tzinfo

from hpcbatch.dialects.pbs.accounting import GroupName, entries, stamp
from hpcbatch.dialects.pbs.qstat_full import resources_used
from hpcbatch.dialects.pbs.states import WAITING_TEXT, exec_vnode, exit_status
from hpcbatch.model.chunk import of_each_pod
from hpcbatch.model.record import JobRecord, Suspension
from hpcbatch.model.state import JobState, Reason
from hpcbatch.model.text import printable
from hpcbatch.model.warning import warning_in
from hpcbatch.typed import NamedTuple
from hpcbatch.units import hms

USAGE = """\
USAGE: tracejob [-a|s|l|m|v] [-w size] [-n days] [-f filter_type] job_identifier...
   -w : number of columns of your terminal
   -n : number of days in the past to look for job(s) [default 1]
   -f : filter out types of log entries, multiple -f's can be specified
        error, system, admin, job, job_usage, security, sched, debug, 
        debug2, resv, debug3, debug4, force or absolute numberic equiv
   -a : don't use accounting log files
   -s : don't use server log files
   -l : don't use scheduler log files
   -m : don't use mom log files
   -v : verbose mode - show more error messages

       tracejob --version
   --version : display version only
"""  # noqa: W291  as the real one prints it

_FILTERS = {
    "error": 0x1,
    "system": 0x2,
    "admin": 0x4,
    "job": 0x8,
    "job_usage": 0x10,
    "security": 0x20,
    "sched": 0x40,
    "debug": 0x80,
    "debug2": 0x100,
    "resv": 0x200,
    "debug3": 0x400,
    "debug4": 0x800,
    "force": 0x8000,
}
_JOB, _USAGE, _SCHED, _DEBUG = _FILTERS["job"], _FILTERS["job_usage"], _FILTERS["sched"], _FILTERS["debug"]
_ADMIN = _FILTERS["admin"]
WITH_VALUE = "wpnfc"
FLAGS = "zvamsl"


class TracejobOptions(NamedTuple):
    operands: tuple[str, ...]
    days: int = 1
    width: int | None = None
    """Of the terminal; None: find it out, 0: do not wrap."""
    hidden: frozenset[str] = frozenset()
    """Of A, S, L, M: the logs that are left out."""
    filtered: int = 0
    """Types of entries that are left out, as bits."""


class Event(NamedTuple):
    when: datetime
    log: str
    """A (accounting), S (server), L (scheduler), M (mom)."""
    kind: int
    text: str


def read_options(argv: Sequence[str]) -> TracejobOptions | None:
    """Read tracejob's command line (without the program name); None: it is to print its usage."""
    days, width, filtered = 1, None, 0
    hidden: set[str] = set()
    rest, operands = list(argv), list[str]()
    while rest:
        word = rest.pop(0)
        if word == "--":
            operands += rest
            break
        if not word.startswith("-") or word == "-":
            operands.append(word)
            continue
        for at, letter in enumerate(word[1:], start=1):
            if letter in FLAGS:
                hidden |= {letter.upper()} & {"A", "S", "M", "L"}
                continue
            value = word[at + 1 :] or (rest.pop(0) if letter in WITH_VALUE and rest else None)
            if letter not in WITH_VALUE or letter == "p" or value is None:
                return None  # -p: there is no PBS_HOME that could lie elsewhere
            number = _number(value, 16 if letter == "f" else 10)
            if letter == "f" and value in _FILTERS:
                filtered |= _FILTERS[value]
            elif number is None:
                return None
            elif letter == "f":
                filtered = number
            elif letter == "w":
                width = number
            elif letter == "n":
                days = number
            break
    return TracejobOptions(tuple(operands), days, width, frozenset(hidden), filtered) if operands else None


def _number(text: str, base: int) -> int | None:
    try:
        return int(text, base)
    except ValueError:
        return None


def events(record: JobRecord, now: datetime, group_name: GroupName = str) -> list[Event]:
    """All that is known to have happened to a job, in order."""
    found = [Event(entry.when, "A", 0, entry.text) for entry in entries(record, group_name)]
    found += _events(record, now)
    return sorted(found, key=lambda event: event.when)


def _events(record: JobRecord, now: datetime) -> Iterator[Event]:
    spec, status = record.spec, record.status
    owner, server = f"{status.owner}@{spec.submit_host}", spec.server.partition(".")[0]
    if status.submit_time is not None and spec.member_of is None:
        text = f"Job Queued at request of {owner}, owner = {owner}, job name = {spec.name}, queue = {record.queue}"
        letter = "H" if spec.hold and status.state is JobState.HELD else "Q"
        yield Event(status.submit_time, "S", _DEBUG, f"enqueuing into {record.queue}, state {letter} hop 1")
        yield Event(status.submit_time, "S", _JOB, text)
    for run in status.past_runs:
        hosts, cpus = [host.node for host in run.hosts], [host.cpus for host in run.hosts]
        yield from _start(run.start_time, server, exec_vnode(hosts, cpus), None)
        yield Event(run.end_time, "S", _JOB, f"Job requeued, {run.lost}" if run.lost else "Job Rerun")
    if status.start_time is not None and spec.array is None:
        hosts, cpus = [host.node for host in status.hosts], [host.cpus for host in status.hosts]
        pods = list(of_each_pod(record.layout))
        vnodes = exec_vnode(hosts, cpus, pods if len(pods) == len(hosts) else ())
        yield from _start(status.start_time, server, vnodes, status.session_id)
    elif status.start_time is None and not status.state.is_final:
        yield from _waiting(record, now)
    for one in status.suspensions:
        yield from _suspension(one, server)
    if status.state.is_final and status.end_time is not None:
        yield from _end(record, status.end_time, server)


def _suspension(one: Suspension, server: str) -> Iterator[Event]:
    """Who suspends a job by request is not kept."""
    who = f" by Scheduler@{server}" if one.by else ""
    yield Event(one.start_time, "S", _ADMIN, f"suspend job{who}")
    if one.by:
        yield Event(one.start_time, "L", _SCHED, f"Job preempted by suspension, for job {one.by}")
    if one.is_resumed and one.end_time is not None:
        yield Event(one.end_time, "S", _ADMIN, f"resume job by Scheduler@{server}")


def _start(when: datetime, server: str, vnodes: str, pid: int | None) -> Iterator[Event]:
    yield Event(when, "S", _JOB, f"Job Run at request of Scheduler@{server} on exec_vnode {vnodes}")
    yield Event(when, "L", _SCHED, "Job run")
    if pid is not None:
        yield Event(when, "M", _JOB, f"Started, pid = {pid}")


def _waiting(record: JobRecord, now: datetime) -> Iterator[Event]:
    """Why it waits at this moment; why it waited before is not kept."""
    status = record.status
    text = status.message or WAITING_TEXT.get(status.reason, "")
    if status.state is JobState.QUEUED and text and status.eligible_time is not None:
        yield Event(max(status.eligible_time, now), "L", _SCHED, text)


def _end(record: JobRecord, end: datetime, server: str) -> Iterator[Event]:
    spec, status = record.spec, record.status
    has_run = status.start_time is not None and spec.array is None
    if status.state is JobState.DELETED and status.reason is Reason.DELETED_BY_USER:
        who = status.deleted_by or status.owner
        who = who if "@" in who else f"{who}@{spec.submit_host}"
        yield Event(end, "S", _JOB, f"Job to be deleted at request of {who}")
        if has_run:
            yield Event(end, "S", _JOB, "Job sent signal SIGTERM on delete")
    elif not has_run and spec.array is None:
        yield Event(end, "S", _JOB, " ".join(f"Aborted by PBS Server {status.message}".split()))
    if not has_run:
        return
    used = resources_used(record, end) or {}
    first = status.hosts[0].node if status.hosts else server
    yield Event(end, "M", _JOB, "task 00000001 terminated")
    yield Event(end, "M", _JOB, "Terminated")
    yield Event(end, "M", _USAGE, f"task 00000001 cput={used.get('cput', hms(0))}")
    hosts = status.hosts
    for usage in status.usage:
        node = next((host.node for host in hosts if host.pod == usage.pod), first)
        mem = f"{(usage.max_rss_bytes or 0) >> 10}kb"
        yield Event(end, "M", _USAGE, f"{node} cput={hms(usage.cpu_s or 0)} mem={mem}")
    if not status.usage:
        yield Event(end, "M", _USAGE, f"{first} cput={used.get('cput', hms(0))} mem={used.get('mem', '0kb')}")
    code = exit_status(
        status.state, status.reason, has_started=True, exit_code=status.exit_code, exit_signal=status.exit_signal
    )
    needs_no_words = status.reason in {Reason.NONE, Reason.NON_ZERO_EXIT, Reason.DELETED_BY_USER}
    words = warning_in(status.message) if needs_no_words else status.message
    if words:
        yield Event(end, "M", _JOB, " ".join(words.split()))
    yield Event(end, "M", _JOB, "Obit sent")
    told = [f"Exit_status={code}", *(f"resources_used.{name}={value}" for name, value in used.items())]
    yield Event(end, "S", _USAGE, " ".join(told))


def format_trace(
    job_id: str, found: Sequence[Event], options: TracejobOptions, *, now: datetime, timezone: tzinfo | None, width: int
) -> str:
    """The heading and the events of the days requested; "" if there are none. `width` 0: lines are not wrapped."""
    midnight = now.astimezone(timezone).replace(hour=0, minute=0, second=0, microsecond=0)
    first = midnight - timedelta(days=options.days - 1)
    in_time = [event for event in found if event.when >= first and event.log not in options.hidden]
    if not in_time or options.days < 1:
        return ""
    lines = [f"\nJob: {job_id}\n\n"]
    for event in in_time:
        if not event.kind & options.filtered:
            lines.append(f"{stamp(event.when, timezone):<20} {event.log:<5}{_wrapped(event.text, 26, width)}")
    return "".join(lines)


def not_found(operand: str, server: str, days: int) -> str:
    name = operand if "." in operand else f"{operand}.{server}"
    return f"\ntracejob: Couldn't find Job Id {name} in logs of past {days} day{'' if days == 1 else 's'}\n"


def _wrapped(text: str, start: int, end: int) -> str:
    """`text` broken at blanks so that it ends before column `end`; further lines begin at `start`.
    Source: line_wrap() of tracejob.c.
    """
    text = printable(text)
    if end == 0:
        return f"{text}\n"
    room, at = max(end - start, 0), 0
    lines: list[str] = []
    while at < len(text):
        cut = len(text)
        if at + room < len(text):
            cut = text.rfind(" ", at + 1, at + room + 1)
            if cut < 0:
                cut = text.find(" ", at + room)
                cut = len(text) if cut < 0 else cut
        lines.append(text[at:cut] if not lines else f"{' ' * start}{text[at:cut]}")
        at = cut + 1
    return "\n".join(lines) + "\n"
