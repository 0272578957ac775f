"""OpenPBS's accounting log, made from the records of jobs: `date;letter;id;key=value …`.

Q: queued, S: run began, R: run ended and the job was queued again, E: ended, D: deleted by request, A: ended by the
server before it ran, a: altered, z: suspended, r: resumed. Source: OpenPBS 23.06, accounting.c, and PBS's "Accounting
Log" of the administrator's guide.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, tzinfo
from operator import attrgetter

from hpcbatch.dataclass import replace
from hpcbatch.dialects.pbs.depend import format_depend
from hpcbatch.dialects.pbs.ids import row_id
from hpcbatch.dialects.pbs.qstat_full import resource_list, resources_used
from hpcbatch.dialects.pbs.states import exec_host, exec_vnode, exit_status
from hpcbatch.dialects.pbs.values import DEFAULT_PROJECT, quoted
from hpcbatch.model.chunk import Chunk, of_each_pod
from hpcbatch.model.record import ExecHost, JobRecord, JobStatus, PastRun
from hpcbatch.model.state import JobState, Reason
from hpcbatch.model.text import printable
from hpcbatch.record.rows import row_of
from hpcbatch.typed import NamedTuple
from hpcbatch.units import hms

_NO_NAME = re.compile(r"[^\w.:+-]")
_RERUN = -11  # JOB_EXEC_RERUN of job.h
GroupName = Callable[[int], str]
"""The name of a gid; "" where it has none."""


class Entry(NamedTuple):
    """One line of the log."""

    when: datetime
    letter: str
    job_id: str
    text: str
    number: int
    """Of the job; of an array's member its own."""

    def line(self, timezone: tzinfo | None) -> str:
        """With its newline, in `timezone` (None: this machine's). What users name their jobs adds no line."""
        job_id = quoted(self.job_id)  # of a record from before servers' names were looked at
        return f"{stamp(self.when, timezone)};{self.letter};{job_id};{printable(self.text)}\n"


def stamp(when: datetime, timezone: tzinfo | None) -> str:
    at = when.astimezone(timezone)  # four times as fast as strftime, which looks up summer time as well
    return f"{at.month:02}/{at.day:02}/{at.year:04} {at.hour:02}:{at.minute:02}:{at.second:02}"


def entries(record: JobRecord, group_name: GroupName = str) -> list[Entry]:
    """All that the log says of one job so far, in order also within a second. A job says the same however often it is
    asked; when it goes on, more is added behind.
    """
    return sorted(_entries(record, group_name), key=attrgetter("when"))


def _entries(record: JobRecord, group_name: GroupName) -> Iterator[Entry]:
    spec, status = record.spec, record.status
    name = row_id(row_of(record))
    asked = _words(_what(record))

    def entry(when: datetime, letter: str, text: str) -> Entry:
        return Entry(when, letter, name, text, record.job_id)

    if status.submit_time is not None and spec.member_of is None:  # members are queued with their array
        first_time = record if not status.past_runs else _at(record, status.past_runs[0])
        yield entry(status.submit_time, "Q", _of_job(first_time, group_name, asked))
    first = max(0, status.run_count - len(status.past_runs) - (status.start_time is not None))
    for count, run in enumerate(status.past_runs, start=1):
        was = _at(record, run)
        where = _of_start(was, group_name)
        yield entry(run.start_time, "S", f"{where}{asked}{_assigned(was)}")
        yield entry(
            run.end_time, "R", _of_end(was, f"{where}{asked}", run.end_time, _used_by(run, status), first + count)
        )
    told = ""
    if status.start_time is not None:
        told = f"{_of_start(record, group_name)}{asked}"
        yield entry(status.start_time, "S", f"{told}{_assigned(record)}")
    for when, letter, text in (*_alterations(record), *_suspensions(record)):
        yield entry(when, letter, text)
    end = status.end_time
    if not status.state.is_final or end is None:
        return
    if status.state is JobState.DELETED and status.reason is Reason.DELETED_BY_USER:
        who = status.deleted_by or status.owner
        yield entry(end, "D", f"requestor={quoted(who if '@' in who else f'{who}@{spec.submit_host}')}")
    elif status.start_time is None:
        yield entry(end, "A", " ".join((status.message or "Aborted by PBS Server").split()))
    if status.start_time is not None:
        used = " ".join(f"resources_used.{key}={value}" for key, value in (resources_used(record, end) or {}).items())
        code = exit_status(
            status.state,
            status.reason,
            has_started=True,
            exit_code=status.exit_code,
            exit_signal=status.exit_signal,
        )
        if spec.array is not None:
            code = int(status.state is not JobState.FINISHED)
        result = " ".join(filter(None, (f"Exit_status={code}", used)))
        yield entry(end, "E", _of_end(record, told, end, result, status.run_count))


def _alterations(record: JobRecord) -> Iterator[tuple[datetime, str, str]]:
    """Those of one second together, since they would be one entry in the files."""
    together: dict[datetime, list[str]] = {}
    for alteration in record.status.alterations:
        together.setdefault(alteration.time.replace(microsecond=0), []).append(alteration.changes)
    for when, texts in together.items():
        yield when, "a", " ".join(texts)


def _suspensions(record: JobRecord) -> Iterator[tuple[datetime, str, str]]:
    """One of each letter a second: what makes an entry this one is its time, letter and job."""
    status = record.status
    starts = [run.start_time for run in status.past_runs] + ([status.start_time] if status.start_time else [])
    cpus = {run.start_time: sum(host.cpus for host in run.hosts) for run in status.past_runs}
    known = set()
    for suspension in status.suspensions:
        began, ended = suspension.start_time, suspension.end_time
        start = max((start for start in starts if start <= began), default=began)
        ran_s = round((began - start).total_seconds()) - status.suspended_s(start, began)
        ncpus = cpus.get(start, sum(host.cpus for host in status.hosts))
        used = f"resources_used.ncpus={ncpus} resources_used.walltime={hms(max(0, ran_s))}"
        found = [(began, "z", used)]
        if ended is not None and suspension.is_resumed:
            found.append((ended, "r", ""))
        for when, letter, text in found:
            if (key := (when.replace(microsecond=0), letter)) not in known:
                known.add(key)
                yield when, letter, text


def _at(record: JobRecord, run: PastRun) -> JobRecord:
    """The record as it was during an earlier run."""
    status = record.status
    ready = None if status.eligible_time is None else min(status.eligible_time, run.start_time)
    return replace(
        record, status=replace(status, start_time=run.start_time, hosts=run.hosts, eligible_time=ready, session_id=None)
    )


def _used_by(run: PastRun, status: JobStatus) -> str:
    """What is known of a run that was given up: nobody reported on it."""
    ncpus = sum(host.cpus for host in run.hosts)
    took_s = round((run.end_time - run.start_time).total_seconds()) - status.suspended_s(run.start_time, run.end_time)
    return f"Exit_status={_RERUN} resources_used.ncpus={ncpus} resources_used.walltime={hms(max(0, took_s))}"


def _of_job(record: JobRecord, group_name: GroupName, asked: str) -> str:
    """Of Q, as acct_job() writes it: all of it ends in a blank. The dependency is written as it was requested."""
    depend = ""
    if record.spec.dependency is not None:
        depend = format_depend(replace(record, status=replace(record.status, dependency=None))) or ""
    return f"{_words(_who(record, group_name))}{f'depend={depend} ' if depend else ''}{asked}"


def _of_start(record: JobRecord, group_name: GroupName) -> str:
    return _words([*_who(record, group_name, record.status.start_time), *_where(record)])


def _of_end(record: JobRecord, told: str, end: datetime, result: str, run_count: int) -> str:
    """`told`: what S said of the run."""
    return f"{told}session={record.status.session_id or 0} end={_seconds(end)} {result} run_count={run_count}"


def _words(pairs: Iterable[tuple[str, str]]) -> str:
    return "".join(f"{name}={value} " for name, value in pairs)


def _who(record: JobRecord, group_name: GroupName, start: datetime | None = None) -> Iterator[tuple[str, str]]:
    spec, status = record.spec, record.status
    yield "user", status.owner
    yield "group", group_name(status.gid) or str(status.gid)
    if spec.account:
        yield "account", quoted(spec.account, always=True)
    yield "project", quoted(spec.attributes.get("project", DEFAULT_PROJECT))
    yield "jobname", quoted(spec.name)
    yield "queue", quoted(record.queue)
    yield "ctime", _seconds(status.submit_time)
    yield "qtime", _seconds(status.submit_time)
    yield "etime", _seconds(status.eligible_time)
    if start is not None:
        yield "start", _seconds(start)
    if spec.array is not None:
        yield "array_indices", str(spec.array.indices)


def _where(record: JobRecord) -> Iterator[tuple[str, str]]:
    hosts, cpus = _nodes(record.status.hosts)
    if hosts:
        yield "exec_host", exec_host(hosts, cpus)
        yield "exec_vnode", exec_vnode(hosts, cpus, _pods(record))


def _nodes(hosts: Sequence[ExecHost]) -> tuple[list[str], list[int]]:
    return [host.node for host in hosts], [host.cpus for host in hosts]


def _pods(record: JobRecord) -> list[Chunk]:
    pods = list(of_each_pod(record.layout))
    return pods if len(pods) == len(record.status.hosts) else []


def _what(record: JobRecord) -> Iterator[tuple[str, str]]:
    for name, value in resource_list(record).items():
        yield f"Resource_List.{_NO_NAME.sub('_', name)}", quoted(value)


def _assigned(record: JobRecord) -> str:
    """What the job holds of its nodes together."""
    hosts = record.status.hosts
    if not hosts:
        return ""
    mem = sum(pod.mem_bytes or 0 for pod in _pods(record))
    ncpus = sum(host.cpus for host in hosts)
    return f"{f'resource_assigned.mem={mem >> 10}kb ' if mem else ''}resource_assigned.ncpus={ncpus} "


def _seconds(when: datetime | None) -> str:
    return "0" if when is None else str(int(when.timestamp()))
