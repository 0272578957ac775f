"""bjobs -l, and the events of bhist -l: what is known of a job, in LSF's long lines."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from datetime import datetime, tzinfo

from hpcbatch.dialects.lsf import states
from hpcbatch.dialects.lsf.fields import Job, command_of, memory, run_s
from hpcbatch.dialects.lsf.output import shown_paths
from hpcbatch.dialects.lsf.rows import exec_hosts, name_of, number
from hpcbatch.model.spec import Sharing
from hpcbatch.model.state import JobState
from hpcbatch.typed import Final, NamedTuple

_WIDTH: Final = 80
_INDENT: Final = " " * 21
_KEPT: Final = (
    ("app", "Application"),
    ("sla", "Service Class"),
    ("group", "Job Group"),
    ("license_project", "License Project"),
    ("user_priority", "Job Priority"),
)


class Event(NamedTuple):
    when: datetime
    text: str


def clock(when: datetime, zone: tzinfo) -> str:
    """`Thu Nov 26 06:12:13`"""
    return when.astimezone(zone).strftime("%a %b %e %H:%M:%S")


def job_text(job: Job, *, unformatted: bool) -> Iterator[str]:
    """The paragraphs of one job, without the line between jobs."""
    row = job.row
    yield _folded(_head(job), unformatted=unformatted)
    for event in events(job, short=True):
        yield _folded(f"{clock(event.when, job.zone)}: {event.text};", unformatted=unformatted)
    if row.walltime_s is not None:
        yield from ("", " RUNLIMIT                ", f" {row.walltime_s / 60:.1f} min")
    if (limit := job.record.spec.mem_per_pod_bytes or row.mem_bytes) is not None:
        yield from ("", " MEMLIMIT", f"    {memory(limit)}")
    if row.start_time is not None and not row.state.is_final:
        used = f"Resource usage collected. The CPU time used is {row.cpu_used_s or 0} seconds"
        most = memory(job.record.status.max_rss_bytes)
        yield _folded(f"{clock(job.now, job.zone)}: {used}{f'; MEM: {most}' if most else ''}.", unformatted=unformatted)
    if row.start_time is None and not row.state.is_final:
        yield f" PENDING REASONS:\n {states.pending_reason(row)};"
        if row.planned_start is not None:
            yield f" ESTIMATION:\n {clock(row.planned_start, job.zone)}: Started simulated estimation."
    yield from ("", " RESOURCE REQUIREMENT DETAILS:")
    yield f" Combined: {job.attribute('res_req') or '-'}"
    yield f" Effective: {job.attribute('res_req') or '-'}"


def _head(job: Job) -> str:
    row, record = job.row, job.record
    parts = [f"Job <{number(row)}{f'[{row.array_index}]' if row.array_index is not None else ''}>"]
    parts.append(f"Job Name <{name_of(row)}>")
    if text := job.attribute("description"):
        parts.append(f"Job Description <{text}>")
    parts += [f"User <{row.user}>", f"Project <{row.account or 'default'}>"]
    parts += [f"{title} <{job.attribute(name)}>" for name, title in _KEPT if job.attribute(name)]
    if text := job.attribute("user_group"):
        parts.append(f"User Group <{text}>")
    if record.spec.mail_users:
        parts.append(f"Mail <{' '.join(record.spec.mail_users)}>")
    parts += [f"Status <{states.stat(row)}>", f"Queue <{row.queue}>"]
    if record.spec.interactive is not None:
        parts.append("Interactive mode")
    parts.append(f"Command <{command_of(record) or '-'}>")
    if row.reservation:
        parts.append(f"Reservation <{row.reservation}>")
    return ", ".join(parts)


def _submitted(job: Job) -> str:
    spec, home = job.record.spec, job.record.status.home
    parts = [f"Submitted from host <{spec.submit_host}>", f"CWD <{spec.work_dir or home}>"]
    if spec.interactive is None:
        stdout, stderr = shown_paths(job.record.job_id, spec, home)
        if spec.stdin:
            parts.append(f"Input File <{spec.stdin}>")
        parts.append(f"Output File <{stdout}>" if spec.stdout.append else f"Output File (overwrite) <{stdout}>")
        if stderr is not None:
            is_appended = spec.stderr is not None and spec.stderr.append
            parts.append(f"Error File <{stderr}>" if is_appended else f"Error File (overwrite) <{stderr}>")
    if spec.mail_points:
        names = {"B": "Notify when job begins", "N": "Notify when job ends", "E": "Notify when job exits"}
        parts += [names[letter] for letter in spec.mail_points if letter in names]
    if spec.sharing is Sharing.EXCLUSIVE:
        parts.append("Exclusive Execution")
    if "rerunnable" in spec.attributes:
        parts.append("Re-runnable")
    if text := job.attribute("depend"):
        parts.append(f"Dependency Condition <{text}>")
    tasks = sum(chunk.count * chunk.ranks for chunk in spec.chunks)
    parts.append(f"{tasks} Task(s)")
    if text := job.attribute("res_req"):
        parts.append(f"Requested Resources <{text}>")
    if text := job.attribute("gpu"):
        parts.append(f"Requested GPU <{text}>")
    if spec.begin_time is not None:
        parts.append(f"Specified Start Time <{clock(spec.begin_time, job.zone)}>")
    if spec.deadline is not None:
        parts.append(f"Specified Termination Time <{clock(spec.deadline, job.zone)}>")
    return ", ".join(parts)


def events(job: Job, *, short: bool) -> list[Event]:
    """What has happened to the job, in order. `short`: as bjobs has it, without earlier runs."""
    row, status = job.row, job.record.status
    found: list[Event] = []
    if row.submit_time is not None:
        found.append(Event(row.submit_time, _submitted(job)))
    if row.array_id == row.job_id:  # a member that has no record yet
        return found
    for past in () if short else status.past_runs:
        hosts = " ".join(f"<{host.cpus}*{host.node}>" for host in past.hosts)
        found.append(Event(past.start_time, f"Dispatched to {hosts or 'hosts'}"))
        found.append(Event(past.end_time, f"Job has been requeued{f': {past.lost}' if past.lost else ''}"))
    if not short:
        found += [
            Event(one.time, f"Parameters of Job are changed: {changes_text(one.changes)}") for one in status.alterations
        ]
        for one in status.suspensions:
            found.append(Event(one.start_time, "Suspended by the user or administrator"))
            if one.end_time is not None and one.is_resumed:
                found.append(Event(one.end_time, "Running"))
    if row.start_time is not None:
        hosts = " ".join(f"<{host}>" for host in exec_hosts(row))
        tasks = sum(row.cpus_per_host)
        cwd = f"Execution Home <{status.home}>, Execution CWD <{row.work_dir}>"
        found.append(Event(row.start_time, f"Started {tasks} Task(s) on Host(s) {hosts}, {cwd}"))
    if row.state.is_final and row.end_time is not None:
        found.append(Event(row.end_time, ended_text(job)))
    return sorted(found, key=lambda event: event.when)


_CHANGED: Final = {
    "Account_Name": "Project",
    "depend": "Dependency condition",
    "Error_Path": "Error file",
    "Execution_Time": "Begin time",
    "Job_Name": "Job name",
    "Mail_Users": "Mail user",
    "max_run_subjobs": "Job array limit",
    "Output_Path": "Output file",
    "Priority": "Job priority",
    "queue": "Queue",
    "Rerunable": "Re-runnable",
    "Resource_List.mem": "Memory",
    "Resource_List.ncpus": "Slots",
    "Resource_List.walltime": "Run limit",
}
_CHANGE: Final = r"(\S+?)=(\"[^\"]*\"|'[^']*'|\S*)"


def changes_text(changes: str) -> str:
    """The changes of an alteration, which its record has in PBS's names; one that LSF has no name for keeps its own."""
    parts = (f"{_CHANGED.get(name, name)} changes to : {_plain(value)}" for name, value in re.findall(_CHANGE, changes))
    return ", ".join(parts)


def _plain(value: str) -> str:
    """Without quotes, and with the characters that stand there by their octal codes."""
    text = value[1:-1] if value[:1] in {'"', "'"} else value
    return "none" if text == "UNSET" else re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


def ended_text(job: Job) -> str:
    row = job.row
    used = f"The CPU time used is {row.cpu_used_s or 0} seconds"
    if row.state is JobState.FINISHED:
        return f"Done successfully. {used}"
    reason = states.termination(row.state, row.reason)
    code = states.exit_code(row)
    if row.start_time is None:
        return f"Exited; job has been deleted while pending{f'. {reason}' if reason else ''}"
    signal = f"by signal {row.exit_signal}" if row.exit_signal and not reason else f"with exit code {code}"
    why = f". {reason}" if reason else ""
    more = f". {row.message}" if row.message and not reason else ""
    return f"Exited {signal}{why}{more}. {used}. Run time {run_s(job)} seconds"


def _folded(text: str, *, unformatted: bool) -> str:
    if unformatted:
        return text
    return "\n".join(
        textwrap.wrap(text, _WIDTH, subsequent_indent=_INDENT, break_long_words=False, break_on_hyphens=False)
    )


def separated(blocks: Iterable[Iterable[str]], line: str) -> Iterator[str]:
    """Blocks of lines with `line` between them."""
    for place, block in enumerate(blocks):
        if place:
            yield line
        yield ""
        yield from block
