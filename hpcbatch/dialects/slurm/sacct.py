"""sacct: which jobs it lists, their lines and steps, and the table.

A job that has started has the step `batch`: its script and what that starts on the first host. A job of several hosts
has the step `extern` too, in which Slurm counts what arrives by ssh: the ranks on all other hosts. What srun starts are
steps of their own (srun_steps.py), whose CPU time the two have not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime

from hpcbatch.dataclass import replace
from hpcbatch.dialects.slurm import states
from hpcbatch.dialects.slurm.component_records import components, offset_in
from hpcbatch.dialects.slurm.field_table import Heading, Style, table
from hpcbatch.dialects.slurm.hostlist import compress
from hpcbatch.dialects.slurm.ids import row_id
from hpcbatch.dialects.slurm.sacct_fields import FIELDS
from hpcbatch.dialects.slurm.sacct_line import Line, View
from hpcbatch.dialects.slurm.sacct_options import STARTED_FLAG, SacctOptions, WantedJob
from hpcbatch.dialects.slurm.srun_steps import lines_of, used_by_place
from hpcbatch.dialects.slurm.steps import TERMINAL_STEP, first_of
from hpcbatch.model.indices import Indices
from hpcbatch.model.record import HostUsage, JobRecord
from hpcbatch.model.row import JobRow
from hpcbatch.model.state import JobState, Reason
from hpcbatch.record.rows import row_of
from hpcbatch.typed import NamedTuple

_SIGTERM = 15
_EVER = datetime(1970, 1, 1, tzinfo=UTC)
_NOT_ASSIGNED = "None assigned"
_REQUEUED, _LOST, _PREEMPTED = "RQ", "NF", "PR"
_WAITING = frozenset({"PD", "SE"})


class Facts(NamedTuple):
    """What is not in the records."""

    now: datetime
    uid_of: Callable[[str], int | None] = lambda _: None
    """Of a user's name."""
    group_name: Callable[[int], str] = str


def select_lines(records: Iterable[JobRecord], options: SacctOptions, facts: Facts) -> list[Line]:
    """The lines for `records`, of which it takes what `options` ask for, in sacct's order: by submission; jobs of one
    second with arrays behind the others.
    """
    everything = [one for record in records for one in components(record)]
    arrays = {record.job_id: record for record in everything if record.spec.array is not None}
    apart: dict[int, set[int]] = {number: set() for number in arrays}
    for record in everything:
        member = record.spec.member_of
        if member is not None and member.array_id in apart:
            apart[member.array_id].add(member.index)
    entries: list[_Entry] = []
    for record in everything:
        if options.duplicates:
            entries += _past_entries(record, arrays)
        entries += _entries(record, arrays, apart.get(record.job_id, set()))
    chosen = [entry for entry in entries if _is_selected(entry, options, facts)]
    chosen.sort(key=_Entry.order)
    return [line for entry in chosen for line in _lines(entry, options, facts)]


def format_lines(lines: Sequence[Line], options: SacctOptions, view: View) -> Iterator[str]:
    """The table, line by line, each with its newline."""
    fields = [FIELDS[name] for name in options.fields]
    headings = [
        Heading(name, options.widths.get(name, field.width), field.kind)
        for name, field in zip(options.fields, fields, strict=True)
    ]
    rows = ([field.value(line, view) for field in fields] for line in lines)
    return table(headings, rows, Style(options.header, options.delimiter, options.trailing))


NO_TEXT = b"NONE\n"


def text_heading(line: Line, options: SacctOptions) -> str:
    """What stands above a job's script or environment."""
    is_script = options.text == "script"
    what = f"Batch Script for {line.job_id}" if is_script else f"Environment used for {line.job_id}"
    return f"{what}{'' if is_script else ' (must be batch to display)'}\n{'-' * 80}\n"


# What is listed: a job, a member of an array, or the members of an array that have no job of their own


class _Entry(NamedTuple):
    record: JobRecord
    row: JobRow
    job_id: str
    state: str
    """Compact."""
    submit: datetime | None
    """Of a member: when its array was submitted."""
    members: Indices | None = None
    """Of an array: those that this line stands for."""

    def order(self) -> tuple[datetime, int, int, int]:
        index = self.row.array_index if self.members is None else self.members.first
        array = self.row.array_id or (self.record.job_id if self.members is not None else 0)
        return self.submit or _EVER, array, -1 if index is None else index, self.record.job_id


def _past_entries(record: JobRecord, arrays: dict[int, JobRecord]) -> Iterator[_Entry]:
    """The runs after which the job was queued again, as slurmdbd keeps them."""
    for run in record.status.past_runs:
        status = replace(
            record.status,
            state=JobState.FAILED,
            reason=Reason.NONE,
            start_time=run.start_time,
            end_time=run.end_time,
            hosts=run.hosts,
            usage=(),
            steps=(),
            cpu_used_s=None,
            max_rss_bytes=None,
        )
        for entry in _entries(replace(record, status=status), arrays, set()):
            yield entry._replace(state=_PREEMPTED if run.was_preempted else _LOST if run.lost else _REQUEUED)


def _entries(record: JobRecord, arrays: dict[int, JobRecord], apart: set[int]) -> Iterator[_Entry]:
    row, spec, status = row_of(record), record.spec, record.status
    if spec.array is None:
        array = None if row.array_id is None else arrays.get(row.array_id)
        name = row_id(row)
        submit = status.submit_time if array is None else array.status.submit_time
        yield _Entry(record, row, name, states.compact(status.state, status.reason), submit)
        return
    # until the controller has looked at it for the first time, all of an array is waiting
    whole = status.array is None and not status.state.is_final
    pending = spec.array.indices if whole else Indices() if status.array is None else status.array.pending
    deleted = Indices() if status.array is None else status.array.deleted - Indices.of(apart)
    limit = spec.array.limit if status.array is None else status.array.limit
    for members, state in ((pending, "PD"), (deleted, "CA")):
        if members:
            one = str(members.first) if len(members) == 1 else f"[{members}{f'%{limit}' if limit else ''}]"
            name = f"{record.job_id}_{one}"
            yield _Entry(record, row, name, state, status.submit_time, members)


def _is_selected(entry: _Entry, options: SacctOptions, facts: Facts) -> bool:
    record, row, status = entry.record, entry.row, entry.record.status
    if options.nothing or (options.jobs and not any(_names(job, entry) for job in options.jobs)):
        return False
    restrictions = (
        (options.accounts, row.account),
        (options.clusters, record.spec.server),
        (options.names, row.name),
        (options.partitions, row.queue),
        (options.qos, row.qos or "normal"),
        (options.constraints, row.features),
    )
    if any(asked is not None and value not in asked for asked, value in restrictions):
        return False
    if options.users is not None and not options.users & {row.user, str(status.uid)}:
        return False
    if options.groups is not None and not options.groups & {str(status.gid), facts.group_name(status.gid)}:
        return False
    if options.hosts is not None and not options.hosts & set(row.hosts):
        return False
    if options.flags is not None and not (STARTED_FLAG in options.flags if _has_started(entry) else not options.flags):
        return False
    if options.reasons is not None and _reason(entry) not in options.reasons:
        return False
    ranges = ((options.nodes, row.nodes), (options.cpus, row.cpus), (options.timelimit_s, row.walltime_s or 2**62))
    if any(asked is not None and not asked[0] <= value <= asked[1] for asked, value in ranges):
        return False
    return _is_in_window(entry, options)


def _names(job: WantedJob, entry: _Entry) -> bool:
    row = entry.row
    if job.component is not None:
        return job.number == entry.record.job_id and job.component == (offset_in(entry.record) or 0)
    if job.member is None:
        return job.number in {entry.record.job_id, row.array_id}
    if entry.members is not None:
        return job.number == entry.record.job_id and job.member in entry.members
    return (job.number, job.member) == (row.array_id, row.array_index)


def _is_in_window(entry: _Entry, options: SacctOptions) -> bool:
    """Source: _state_time_string() and setup_job_cond_limits() of as_mysql_jobacct_process.c."""
    start, end = options.start or _EVER, options.end
    if end is None:
        return True
    status, is_waiting = entry.record.status, entry.state in _WAITING
    began = None if is_waiting else status.start_time
    ended = None if is_waiting or not status.state.is_final else status.end_time
    eligible = _eligible(entry)
    if options.states is None:
        since = (entry.submit or _EVER) if options.jobs else eligible  # what is not eligible is shown by its id only
        return since is not None and since < end and (ended is None or ended >= start)
    for state in options.states:
        if state == "PD":
            waited = began or ended
            is_in = is_waiting if waited is None else start < waited
            if is_in and eligible is not None and eligible < end:
                return True
        elif state == "R":
            if began is not None and began < end and (entry.state in {"R", "CG"} if ended is None else start < ended):
                return True
        elif state == entry.state and (ended is None or start <= ended <= end):
            return True
    return False


def _eligible(entry: _Entry) -> datetime | None:
    """Since when it waited for nothing but room, or from when on it will; None if that was never so."""
    status = entry.record.status
    if status.eligible_time is not None:
        return status.eligible_time
    if status.state is JobState.WAITING:
        return entry.record.spec.begin_time
    if status.start_time is not None or not (status.state is JobState.HELD or status.state.is_final):
        return entry.submit
    return None


# Lines


def _lines(entry: _Entry, options: SacctOptions, facts: Facts) -> Iterator[Line]:
    job = _job_line(entry, options, facts)
    named = [wanted for wanted in options.jobs if _names(wanted, entry)]
    is_whole = not named or any(not wanted.step for wanted in named)
    if is_whole:
        yield job
    if options.steps or not is_whole:
        for step in (*_steps(job, entry), *(lines_of(job, facts.now) if job.allocated_nodes else ())):
            if is_whole or any(wanted.step == step.step for wanted in named):
                yield step


def _has_started(entry: _Entry) -> bool:
    return entry.state not in _WAITING and entry.record.status.start_time is not None and entry.members is None


def _job_line(entry: _Entry, options: SacctOptions, facts: Facts) -> Line:
    record, row, status = entry.record, entry.row, entry.record.status
    is_waiting = entry.state in _WAITING
    end = None if is_waiting or not status.state.is_final else status.end_time
    start = None if is_waiting else status.start_time or end  # one that never ran starts and ends in one moment
    if entry.members is not None:
        start = end = None if is_waiting else end
    started = _has_started(entry)
    code, signal = _exit(entry)
    if options.truncate:
        start = max(start, options.start) if start and options.start else start
        end = min(end, options.end) if end and options.end else end
    until = end or facts.now
    suspended_s = 0 if start is None else status.suspended_s(start, until)
    return Line(
        record=record,
        row=row,
        step="",
        job_id=entry.job_id,
        job_id_raw=str(states.alone_number(row)),
        name=row.name,
        state=entry.state,
        state_text=_state_text(entry, facts),
        exit_code=code,
        exit_signal=signal,
        submit=entry.submit,
        eligible=_eligible(entry),
        start=start,
        end=end,
        elapsed_s=0 if start is None else max(0, int((until - start).total_seconds()) - suspended_s),
        suspended_s=suspended_s,
        cpus=row.cpus,
        nodes=row.nodes,
        allocated_nodes=row.nodes if started else 0,
        node_list=compress(tuple(dict.fromkeys(row.hosts))) if started and row.hosts else _NOT_ASSIGNED,
        reason=_reason(entry),
        priority=states.priority_of(row),
        cpu_s=(status.cpu_used_s if status.state.is_final else status.cpu_used_s or 0) if started else 0,
    )


def _state_text(entry: _Entry, facts: Facts) -> str:
    text = states.LONG[entry.state]
    if entry.state == "CG":
        return states.LONG["R"]  # a flag of the state, which the database does not keep
    if entry.state != "CA":
        return text
    status = entry.record.status
    if entry.members is None and status.reason is not Reason.DELETED_BY_USER:
        return text  # by the system, for a dependency that can never be met
    name = status.deleted_by.partition("@")[0]
    uid = status.uid if name in {status.owner, ""} else facts.uid_of(name)
    return text if uid is None else f"{text} by {uid}"


def _exit(entry: _Entry) -> tuple[int, int]:
    status = entry.record.status
    is_past = entry.state == _REQUEUED or (entry.state in {_LOST, _PREEMPTED} and status.reason is Reason.NONE)
    if not status.state.is_final or is_past or entry.state in {"CA", "PD"}:
        return 0, 0
    return states.exit_status(
        status.state, status.reason, status.exit_code, status.exit_signal, status.start_time is not None
    )


def _reason(entry: _Entry) -> str:
    """Why it waits, or why it waited before it ran, as far as that is still known."""
    status, spec = entry.record.status, entry.record.spec
    if not status.state.is_final and status.start_time is None:
        return states.shown_reason(status.state, status.reason, status.message)
    if status.state is JobState.DELETED and status.start_time is None and spec.hold:
        return states.REASON[Reason.HELD_BY_USER]
    if spec.dependency is not None:
        return states.REASON[Reason.DEPENDENCY]
    return states.REASON[Reason.NONE if spec.begin_time is None else Reason.BEGIN_TIME]


def _steps(job: Line, entry: _Entry) -> Iterator[Line]:
    if not job.allocated_nodes:
        return
    status = entry.record.status
    in_steps = used_by_place(status)
    used = {usage.pod: usage for usage in status.usage}
    pods = [
        (host.node, host.cpus, _without(used.get(host.pod), in_steps.get(place, 0)))
        for place, host in enumerate(status.hosts)
    ]
    rss = [(node, use.max_rss_bytes) for node, _, use in pods if use is not None and use.max_rss_bytes is not None]
    cpu = [(node, use.cpu_s) for node, _, use in pods if use is not None and use.cpu_s is not None]
    first = status.hosts[0].node if status.hosts else _NOT_ASSIGNED
    if offset_in(entry.record):  # the script runs in the first component
        yield _extern(job, cpu, rss, len(pods), is_over=status.state.is_final)
        return
    alone = len(pods) < 2  # a job of one pod: the sums are the pod's
    batch_rss = rss[:1] if used and pods and pods[0][2] is not None else []
    batch_cpu = cpu[:1] if used and pods and pods[0][2] is not None else []
    if alone and not batch_rss and status.max_rss_bytes is not None:
        batch_rss = [(first, status.max_rss_bytes)]
    if not batch_cpu and status.cpu_used_s is not None and not (used and not alone):
        batch_cpu = [(first, max(0, status.cpu_used_s - sum(in_steps.values())))]
    rest = (cpu[len(batch_cpu) :], rss[len(batch_rss) :]) if used else ([], [])
    if not alone:
        extern = _extern(job, *rest, len(pods), is_over=status.state.is_final)
    step = first_of(entry.record)
    if step == TERMINAL_STEP and not alone:
        yield extern
    state, code, signal = _batch_end(job)
    if step:
        yield job._replace(
            step=step,
            name=entry.record.spec.name if step == TERMINAL_STEP else step,
            state=state,
            state_text=states.LONG[state],
            exit_code=code,
            exit_signal=signal,
            cpus=pods[0][1] if pods else job.cpus,
            nodes=1,
            node_list=first,
            tasks=1,
            allocated_nodes=1,
            cpu_s=_sum(batch_cpu, is_over=status.state.is_final),
            rss_bytes=tuple(batch_rss),
            cpu_by_host=tuple(batch_cpu),
            layout="Block" if step == TERMINAL_STEP else job.layout,
        )
    if step != TERMINAL_STEP and not alone:
        yield extern


def _extern(
    job: Line, cpu: Sequence[tuple[str, int]], rss: Sequence[tuple[str, int]], pods: int, *, is_over: bool
) -> Line:
    """What runs beside the script."""
    state = "CD" if is_over else "R"
    return job._replace(
        step="extern",
        name="extern",
        state=state,
        state_text=states.LONG[state],
        exit_code=0,
        exit_signal=0,
        tasks=pods,
        cpu_s=_sum(cpu, is_over=is_over),
        cpu_by_host=tuple(cpu),
        rss_bytes=tuple(rss),
    )


def _without(usage: HostUsage | None, cpu_s: int) -> HostUsage | None:
    """The usage of a host without that of steps of srun."""
    if usage is None or usage.cpu_s is None or not cpu_s:
        return usage
    return replace(usage, cpu_s=max(0, usage.cpu_s - cpu_s))


def _sum(pairs: Sequence[tuple[str, int]], *, is_over: bool) -> int | None:
    """CPU time of some hosts; 0 while they run and have not reported any yet."""
    return sum(seconds for _, seconds in pairs) if pairs or not is_over else None


def _batch_end(job: Line) -> tuple[str, int, int]:
    """State, code and signal of the batch step. Source: as_mysql_step_complete(), and what was recorded."""
    match job.state:
        case "R" | "CG" | "S" | "PD":
            return "R", 0, 0
        case "CA" | "TO" | "RQ" | "PR":
            return "CA", 0, _SIGTERM
        case "OOM":
            return "OOM", 0, job.exit_signal
        case "NF":
            return "CA", 0, 0
    if job.exit_signal:
        return "CA", 0, job.exit_signal
    return ("F", job.exit_code, 0) if job.exit_code else (job.state, 0, 0)
