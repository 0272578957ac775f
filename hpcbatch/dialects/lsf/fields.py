"""The fields of `bjobs -o`: `'jobid stat:5 job_name:-20 delimiter="^"'`, as columns or as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta, tzinfo

from hpcbatch.dialects.lsf import states
from hpcbatch.dialects.lsf.errors import LsfUsageError
from hpcbatch.dialects.lsf.rows import exec_hosts, name_of, number, slots_of
from hpcbatch.model.row import JobRow
from hpcbatch.typed import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from hpcbatch.model.record import JobRecord

NONE: Final = "-"
_ITEM = re.compile(r"([A-Za-z_0-9]+)(?::(-)?([0-9]{1,4})?)?", re.ASCII)
_DELIMITER = re.compile(r"""delimiter\s*=\s*(?:"([^"]*)"|'([^']*)'|(\S))""")


class Job(NamedTuple):
    """What the fields are read from. The record of a member that has none yet is its array's."""

    row: JobRow
    record: JobRecord
    now: datetime
    zone: tzinfo

    def attribute(self, name: str) -> str:
        return self.record.spec.attributes.get(name, "")


class Field(NamedTuple):
    width: int
    of: Callable[[Job], str]


class Column(NamedTuple):
    name: str
    field: Field
    width: int
    """0: as wide as the text."""
    is_right: bool


class Format(NamedTuple):
    columns: tuple[Column, ...]
    delimiter: str | None = None


def _time(when: datetime | None, job: Job) -> str:
    return "" if when is None else when.astimezone(job.zone).strftime("%b %e %H:%M")


def _finish(job: Job) -> str:
    row = job.row
    if row.end_time is not None:
        return _time(row.end_time, job)
    if row.start_time is None or row.walltime_s is None:
        return ""
    return f"{_time(row.start_time + timedelta(seconds=row.walltime_s), job)} L"


def run_s(job: Job) -> int:
    """How long it has run; suspended time does not count."""
    start = job.row.start_time
    if start is None:
        return 0
    end = job.row.end_time or job.now
    if job.row.array_id == job.row.job_id:
        return 0
    return max(0, round((end - start).total_seconds()) - job.record.status.suspended_s(start, end))


def _pend_s(job: Job) -> str:
    submitted = job.row.submit_time
    if submitted is None:
        return ""
    until = job.row.start_time or job.row.end_time or job.now
    return str(max(0, round((until - submitted).total_seconds())))


def _left(job: Job) -> str:
    row = job.row
    if row.start_time is None or row.walltime_s is None or row.end_time is not None:
        return ""
    left_s = max(0, row.walltime_s - run_s(job))
    return f"{left_s // 3600}:{left_s // 60 % 60} L"


def _limit(job: Job) -> str:
    return "" if job.row.walltime_s is None else f"{job.row.walltime_s / 60:.1f}"


def memory(size: int | None) -> str:
    """`12 Mbytes`, `1.5 Gbytes`"""
    if size is None:
        return ""
    mib = size / 1024**2
    return f"{mib / 1024:.1f} Gbytes" if mib >= 1024 else f"{mib:.0f} Mbytes"


def command_of(record: JobRecord) -> str:
    """The command line, or the path of the script; the script's text is nobody else's."""
    spec = record.spec
    words = " ".join(spec.command)
    return spec.attributes.get("command", "") or words or " ".join(filter(None, (spec.script_path, *spec.script_args)))


def _path(job: Job, which: int) -> str:
    if job.record.spec.dialect != "lsf":
        path = (job.record.spec.stdout if which == 0 else job.record.spec.stderr or job.record.spec.stdout).path
        return path or ""
    from hpcbatch.dialects.lsf.output import shown_paths

    return shown_paths(job.record.job_id, job.record.spec, job.record.status.home)[which] or ""


def _depend(job: Job) -> str:
    if given := job.attribute("depend"):
        return given
    from hpcbatch.dialects.lsf.depend import format_dependency

    dependency = job.record.spec.dependency
    return "" if dependency is None else format_dependency(dependency)


def _slots_asked(job: Job) -> str:
    ranks = sum(chunk.count * chunk.ranks for chunk in job.record.spec.chunks)
    return job.attribute("slots").partition(",")[0] or str(ranks)


def _code(job: Job) -> str:
    code = states.exit_code(job.row)
    return "" if not code else str(code)


def _first(row: JobRow) -> str:
    return row.hosts[0] if row.hosts else ""


def _pid(job: Job) -> str:
    return "" if job.row.session_id is None or job.row.state.is_final else str(job.row.session_id)


def _pending(job: Job) -> str:
    row = job.row
    return "" if row.state.is_final or row.start_time is not None else states.pending_reason(row)


_JOB_NAME = Field(10, lambda job: name_of(job.row))
FIELDS: Final[Mapping[str, Field]] = {
    "jobid": Field(7, lambda job: str(number(job.row))),
    "jobindex": Field(8, lambda job: str(job.row.array_index or 0)),
    "stat": Field(5, lambda job: states.stat(job.row)),
    "user": Field(7, lambda job: job.row.user),
    "user_group": Field(15, lambda job: job.attribute("user_group")),
    "queue": Field(10, lambda job: job.row.queue),
    "job_name": _JOB_NAME,
    "job_description": Field(17, lambda job: job.attribute("description")),
    "proj_name": Field(11, lambda job: job.row.account or "default"),
    "app": Field(11, lambda job: job.attribute("app")),
    "job_group": Field(10, lambda job: job.attribute("group")),
    "sla": Field(11, lambda job: job.attribute("sla")),
    "lic_proj": Field(11, lambda job: job.attribute("license_project")),
    "from_host": Field(11, lambda job: job.row.submit_host),
    "first_host": Field(11, lambda job: _first(job.row)),
    "exec_host": Field(11, lambda job: ":".join(exec_hosts(job.row))),
    "nexec_host": Field(10, lambda job: str(len(slots_of(job.row))) if job.row.hosts else ""),
    "alloc_slot": Field(20, lambda job: ":".join(exec_hosts(job.row))),
    "nalloc_slot": Field(10, lambda job: str(sum(job.row.cpus_per_host)) if job.row.hosts else ""),
    "host_file": Field(10, lambda _: ""),
    "slots": Field(5, _slots_asked),
    "min_req_proc": Field(12, _slots_asked),
    "max_req_proc": Field(12, lambda job: job.attribute("slots").rpartition(",")[2] or _slots_asked(job)),
    "command": Field(15, lambda job: command_of(job.record)),
    "submit_time": Field(15, lambda job: _time(job.row.submit_time, job)),
    "start_time": Field(15, lambda job: _time(job.row.start_time, job)),
    "finish_time": Field(16, _finish),
    "estimated_start_time": Field(20, lambda job: _time(job.row.planned_start, job)),
    "specified_start_time": Field(20, lambda job: _time(job.row.begin_time, job)),
    "specified_terminate_time": Field(24, lambda job: _time(job.record.spec.deadline, job)),
    "time_left": Field(11, _left),
    "run_time": Field(15, lambda job: f"{run_s(job)} second(s)"),
    "pend_time": Field(12, _pend_s),
    "runtimelimit": Field(12, _limit),
    "runlimit": Field(12, _limit),
    "cpu_used": Field(13, lambda job: f"{float(job.row.cpu_used_s or 0):.1f} second(s)"),
    "mem": Field(15, lambda job: memory(job.record.status.max_rss_bytes)),
    "max_mem": Field(15, lambda job: memory(job.record.status.max_rss_bytes)),
    "avg_mem": Field(15, lambda _: ""),
    "memlimit": Field(10, lambda job: memory(job.row.mem_bytes)),
    "swap": Field(15, lambda _: ""),
    "nthreads": Field(10, lambda _: ""),
    "pids": Field(20, _pid),
    "exit_code": Field(10, _code),
    "exit_reason": Field(50, lambda job: states.termination(job.row.state, job.row.reason)),
    "pend_reason": Field(50, _pending),
    "suspend_reason": Field(50, lambda _: ""),
    "exec_cwd": Field(15, lambda job: job.row.work_dir if job.row.start_time else ""),
    "sub_cwd": Field(10, lambda job: job.record.spec.submit_dir),
    "exec_home": Field(10, lambda job: job.record.status.home if job.row.start_time else ""),
    "output_file": Field(11, lambda job: _path(job, 0)),
    "output_dir": Field(15, lambda job: _path(job, 0).rpartition("/")[0]),
    "error_file": Field(10, lambda job: _path(job, 1)),
    "input_file": Field(10, lambda job: job.record.spec.stdin or ""),
    "dependency": Field(15, _depend),
    "priority": Field(10, lambda job: str(job.row.priority)),
    "user_priority": Field(13, lambda job: job.attribute("user_priority")),
    "combined_resreq": Field(20, lambda job: job.attribute("res_req")),
    "effective_resreq": Field(20, lambda job: job.attribute("res_req")),
    "resreq": Field(20, lambda job: job.attribute("res_req")),
    "gpu_num": Field(10, lambda job: job.attribute("gpu")),
    "pre_exec_command": Field(16, lambda job: job.attribute("pre_exec")),
    "post_exec_command": Field(17, lambda job: job.attribute("post_exec")),
    "resize_notification_command": Field(27, lambda _: ""),
    "forward_cluster": Field(15, lambda _: ""),
    "forward_time": Field(15, lambda _: ""),
    "source_cluster": Field(15, lambda job: job.record.spec.server),
    "rsvid": Field(10, lambda job: job.row.reservation),
    "esub": Field(20, lambda job: job.attribute("esub")),
    "kill_reason": Field(50, lambda _: ""),
    "interactive": Field(11, lambda job: "Y" if job.record.spec.interactive else "N"),
}
_ALIASES: Final = {
    "id": "jobid",
    "name": "job_name",
    "description": "job_description",
    "proj": "proj_name",
    "project": "proj_name",
    "apsf": "app",
    "ugroup": "user_group",
    "group": "job_group",
    "fh": "from_host",
    "eh": "exec_host",
    "ehost": "exec_host",
    "nreq_slot": "slots",
    "nslots": "nalloc_slot",
    "cmd": "command",
    "submit": "submit_time",
    "start": "start_time",
    "finish": "finish_time",
    "ecwd": "exec_cwd",
    "scwd": "sub_cwd",
    "ofile": "output_file",
    "efile": "error_file",
    "ifile": "input_file",
    "dep": "dependency",
    "prio": "priority",
    "ec": "exit_code",
    "er": "exit_reason",
    "pendreason": "pend_reason",
    "rrfield": "combined_resreq",
    "cur": "cpu_used",
    "rl": "runtimelimit",
    "rtl": "runtimelimit",
    "est": "estimated_start_time",
    "sst": "specified_start_time",
    "tleft": "time_left",
}


def read_format(text: str, usage: str) -> Format:
    """Raises LsfUsageError for a field that is none."""
    match = _DELIMITER.search(text)
    delimiter = None
    if match is not None:
        delimiter = next(group for group in match.groups() if group is not None)
        text = text[: match.start()] + text[match.end() :]
    columns = []
    for item in text.replace(",", " ").split():
        found = _ITEM.fullmatch(item)
        name = found[1].lower() if found else item
        name = _ALIASES.get(name, name)
        if found is None or name not in FIELDS:
            raise LsfUsageError(f"{item}: Invalid field name", usage)
        field = FIELDS[name]
        width = field.width if found[3] is None else int(found[3])
        columns.append(Column(name, field, width, found[2] is not None))
    if not columns:
        raise LsfUsageError("-o: no field", usage)
    return Format(tuple(columns), delimiter)


def lines(jobs: Iterable[Job], wanted: Format, *, noheader: bool) -> Iterator[str]:
    if not noheader:
        yield _line([(column.name.upper(), column) for column in wanted.columns], wanted)
    for job in jobs:
        yield _line([(column.field.of(job) or NONE, column) for column in wanted.columns], wanted)


def _line(cells: Sequence[tuple[str, Column]], wanted: Format) -> str:
    if wanted.delimiter is not None:
        return wanted.delimiter.join(text for text, _ in cells)
    return " ".join(_cell(text, column) for text, column in cells)


def _cell(text: str, column: Column) -> str:
    if not column.width:
        return text
    if len(text) > column.width:
        is_name = column.name == "job_name" and column.width > 1
        text = f"*{text[len(text) - column.width + 1 :]}" if is_name else text[: column.width]
    return text.rjust(column.width) if column.is_right else text.ljust(column.width)


def as_json(jobs: Iterable[Job], wanted: Format, unknown: Sequence[str] = ()) -> str:
    """`unknown` are the ids of jobs that nobody knows."""
    records = [{column.name.upper(): column.field.of(job) for column in wanted.columns} for job in jobs]
    records += [{"JOBID": text, "ERROR": f"Job <{text}> is not found"} for text in unknown]
    return json.dumps({"COMMAND": "bjobs", "JOBS": len(records), "RECORDS": records}, indent=2, ensure_ascii=False)
