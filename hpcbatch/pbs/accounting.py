"""OpenPBS's accounting log, told from the records of jobs: `date;letter;id;key=value …`.

Q: queued, S: run began, R: run ended and the job was queued again, E: ended, D: deleted by request, A: ended by the
server before it ran. Source: OpenPBS 23.06, accounting.c, and PBS's "Accounting Log" of the administrator's guide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from typing import NamedTuple

from hpcbatch.model.record import ExecHost, JobRecord, PastRun
from hpcbatch.model.spec import Chunk
from hpcbatch.model.state import JobState, Reason
from hpcbatch.pbs.depend import format_depend
from hpcbatch.pbs.ids import row_id
from hpcbatch.pbs.qstat_full import resource_list, resources_used
from hpcbatch.pbs.states import exec_host, exec_vnode, exit_status, one_line
from hpcbatch.pbs.values import DEFAULT_PROJECT
from hpcbatch.units import hms

_RERUN = -11  # JOB_EXEC_RERUN of job.h
GroupName = Callable[[int], str]
"""The name of a gid; "" where it has none."""


class Entry(NamedTuple):
    """One line of the log."""

    when: datetime
    letter: str
    job_id: str
    text: str

    def line(self, timezone: tzinfo | None) -> str:
        """With its newline, in `timezone` (None: this machine's). What users name their jobs adds no line."""
        return f"{stamp(self.when, timezone)};{self.letter};{self.job_id};{one_line(self.text)}\n"


def stamp(when: datetime, timezone: tzinfo | None) -> str:
    return when.astimezone(timezone).strftime("%m/%d/%Y %H:%M:%S")


def entries(record: JobRecord, group_name: GroupName = str) -> list[Entry]:
    """All that the log says of one job so far, in order also within a second. A job says the same however often it is
    asked; when it goes on, more is added behind.
    """
    return sorted(_entries(record, group_name), key=lambda entry: entry.when)


def _entries(record: JobRecord, group_name: GroupName) -> Iterator[Entry]:
    spec, status = record.spec, record.status
    name = row_id(record.row())

    def entry(when: datetime, letter: str, text: str) -> Entry:
        return Entry(when, letter, name, text)

    if status.submit_time is not None and spec.member_of is None:  # members are queued with their array
        first_time = record if not status.past_runs else _at(record, status.past_runs[0])
        yield entry(status.submit_time, "Q", _of_job(first_time, group_name))
    first = max(0, status.run_count - len(status.past_runs) - (status.start_time is not None))
    for count, run in enumerate(status.past_runs, start=1):
        was = _at(record, run)
        yield entry(run.start_time, "S", _of_run(was, group_name))
        yield entry(run.end_time, "R", _of_end(was, group_name, run.end_time, _used_by(run), run_count=first + count))
    if status.start_time is not None:
        yield entry(status.start_time, "S", _of_run(record, group_name))
    end = status.end_time
    if not status.state.is_final or end is None:
        return
    if status.state is JobState.DELETED and status.reason is Reason.DELETED_BY_USER:
        who = status.deleted_by or status.owner
        yield entry(end, "D", f"requestor={who if '@' in who else f'{who}@{spec.submit_host}'}")
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
        told = " ".join(filter(None, (f"Exit_status={code}", used)))
        yield entry(end, "E", _of_end(record, group_name, end, told, run_count=status.run_count))


def _at(record: JobRecord, run: PastRun) -> JobRecord:
    """The record as it was during an earlier run."""
    status = record.status
    ready = None if status.eligible_time is None else min(status.eligible_time, run.start_time)
    return replace(
        record, status=replace(status, start_time=run.start_time, hosts=run.hosts, eligible_time=ready, session_id=None)
    )


def _used_by(run: PastRun) -> str:
    """What is known of a run that was given up: nobody reported on it."""
    ncpus = sum(host.cpus for host in run.hosts)
    took = hms(round((run.end_time - run.start_time).total_seconds()))
    return f"Exit_status={_RERUN} resources_used.ncpus={ncpus} resources_used.walltime={took}"


def _of_job(record: JobRecord, group_name: GroupName) -> str:
    """Of Q, as acct_job() writes it: all of it ends in a blank. The dependency is told as it was asked for."""
    asked = replace(record, status=replace(record.status, dependency=None))
    depend = format_depend(asked) if record.spec.dependency is not None else None
    return _words([*_who(record, group_name), *([("depend", depend)] if depend else []), *_what(record)])


def _of_run(record: JobRecord, group_name: GroupName) -> str:
    start = record.status.start_time
    return _words([*_who(record, group_name, start), *_where(record), *_what(record), *_assigned(record)])


def _of_end(record: JobRecord, group_name: GroupName, end: datetime, used: str, *, run_count: int) -> str:
    text = _words([*_who(record, group_name, record.status.start_time), *_where(record), *_what(record)])
    return f"{text}session={record.status.session_id or 0} end={_seconds(end)} {used} run_count={run_count}"


def _words(pairs: Iterable[tuple[str, str]]) -> str:
    return "".join(f"{name}={value} " for name, value in pairs)


def _who(record: JobRecord, group_name: GroupName, start: datetime | None = None) -> Iterator[tuple[str, str]]:
    spec, status = record.spec, record.status
    yield "user", status.owner
    yield "group", group_name(status.gid) or str(status.gid)
    if spec.account:
        yield "account", f'"{spec.account}"'
    project = spec.attributes.get("project", DEFAULT_PROJECT)
    yield "project", f'"{project}"' if " " in project else project
    yield "jobname", spec.name
    yield "queue", record.queue
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
    pods = [chunk for chunk in (record.status.layout or record.spec.chunks) for _ in range(chunk.count)]
    return pods if len(pods) == len(record.status.hosts) else []


def _what(record: JobRecord) -> Iterator[tuple[str, str]]:
    for name, value in resource_list(record).items():
        yield f"Resource_List.{name}", _quoted(value)


def _assigned(record: JobRecord) -> Iterator[tuple[str, str]]:
    """What the job holds of its nodes together."""
    hosts = record.status.hosts
    pods = _pods(record)
    if not hosts:
        return
    mem = sum(pod.mem_bytes or 0 for pod in pods)
    if mem:
        yield "resource_assigned.mem", f"{mem >> 10}kb"
    yield "resource_assigned.ncpus", str(sum(host.cpus for host in hosts))


def _quoted(value: str) -> str:
    if " " not in value:
        return value
    return f"'{value}'" if '"' in value else f'"{value}"'


def _seconds(when: datetime | None) -> str:
    return "0" if when is None else str(int(when.timestamp()))
