"""`qstat -f`: all attributes of a job, as text, JSON or delimiter-separated values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, tzinfo
from typing import TypeAlias

from hpcbatch.model.record import JobRecord
from hpcbatch.model.spec import Chunk
from hpcbatch.model.state import JobState, Reason
from hpcbatch.pbs.cjson import Json, dump, parsed
from hpcbatch.pbs.errors import PBS_VERSION
from hpcbatch.pbs.ids import format_id
from hpcbatch.pbs.output import default_name
from hpcbatch.pbs.states import (
    LETTER,
    comment,
    ctime,
    elapsed_s,
    exec_host,
    exec_vnode,
    exit_status,
    printable,
    substate,
)
from hpcbatch.pbs.values import DEFAULT_PROJECT, Size, size_of_bytes, sum_sizes
from hpcbatch.pbs.variables import format_variable_list, ordered
from hpcbatch.units import hms

Attributes: TypeAlias = list[tuple[str, "str | dict[str, str]"]]
"""Attribute names in PBS's order; `Resource_List`, `resources_used` and `Variable_List` hold a dict."""

VARIABLE_LIST = "Variable_List"
_STRINGS = frozenset({"Job_Name", "project", "Account_Name"})  # in JSON never a number
_LINE = 78
_NO_OUTPUT = frozenset({Reason.LAUNCH_FAILED, Reason.OUTPUT_FAILED, Reason.NODE_LOST})


def full_attributes(
    record: JobRecord, environment: Mapping[str, str] | None, now: datetime, timezone: tzinfo | None = None
) -> Attributes:
    """All attributes of a job, in the order of OpenPBS.

    `environment` are the variables that travel with it, None where the reader may not see them: then those that the
    record itself tells are shown. `timezone` is the reader's (None: this machine's).
    """
    spec, status = record.spec, record.status
    asked = spec.attributes
    row = record.row()
    pods = [chunk for chunk in (status.layout or spec.chunks) for _ in range(chunk.count)]
    hosts, cpus = row.hosts, row.cpus_per_host
    vnodes = exec_vnode(hosts, cpus, pods if len(pods) == len(hosts) else ())
    ended_by = status.deleted_by
    if ended_by and "@" not in ended_by:
        ended_by = f"{ended_by}@{spec.submit_host}"
    changed = status.end_time or status.start_time or status.submit_time
    exit_number = exit_status(
        status.state,
        status.reason,
        has_started=status.start_time is not None,
        exit_code=status.exit_code,
        exit_signal=status.exit_signal,
    )
    is_delivered = status.state.is_final and status.start_time is not None and status.reason not in _NO_OUTPUT
    mask = asked.get("umask")

    def at(when: datetime | None) -> str | None:
        return None if when is None else ctime(when, timezone)

    found: list[tuple[str, str | dict[str, str] | None]] = [
        ("Job_Name", spec.name),
        ("Job_Owner", f"{status.owner}@{spec.submit_host}"),
        ("resources_used", _used(record, now)),
        ("job_state", LETTER[status.state]),
        ("queue", record.queue),
        ("server", spec.server),
        ("Account_Name", spec.account),
        ("Checkpoint", "u"),
        ("ctime", at(status.submit_time)),
        ("Error_Path", _path(record, "Error_Path", "e")),
        ("exec_host", exec_host(hosts, cpus)),
        ("exec_vnode", vnodes),
        ("Execution_Time", at(spec.begin_time)),
        ("Hold_Types", "u" if status.state is JobState.HELD else "n"),
        ("Join_Path", asked.get("Join_Path") or ("oe" if spec.stderr is None else "n")),
        ("Keep_Files", asked.get("Keep_Files", "n")),
        ("Mail_Points", asked.get("Mail_Points", "a")),
        ("Mail_Users", ",".join(spec.mail_users)),
        ("mtime", at(changed)),
        ("Output_Path", _path(record, "Output_Path", "o")),
        ("Priority", str(spec.priority)),
        ("qtime", at(status.submit_time)),
        ("Rerunable", str(spec.rerunnable)),
        ("Resource_List", _resource_list(record)),
        ("stime", at(status.start_time)),
        ("obittime", at(status.end_time) if status.start_time is not None else None),
        ("session_id", None if status.session_id is None else str(status.session_id)),
        ("Shell_Path_List", asked.get("Shell_Path_List")),
        ("jobdir", status.home if status.start_time is not None else None),
        ("substate", str(substate(status.state, status.reason))),
        (VARIABLE_LIST, _variables(record, environment)),
        ("comment", comment(row, vnodes=vnodes, ended_by=ended_by, timezone=timezone)),
        ("etime", at(status.eligible_time)),
        ("umask", mask),
        ("run_count", str(status.run_count) if status.run_count else None),
        ("Stageout_status", "1" if is_delivered else None),
        ("Exit_status", None if exit_number is None else str(exit_number)),
        ("Submit_arguments", asked.get("Submit_arguments")),
        ("executable", _tagged("Executable", spec.command[:1])),
        ("argument_list", _tagged("Argument", spec.command[1:])),
        ("history_timestamp", None if status.end_time is None else str(int(status.end_time.timestamp()))),
        ("project", asked.get("project", DEFAULT_PROJECT)),
        ("Submit_Host", spec.submit_host),
    ]
    return [(name, value) for name, value in found if value]


def _used(record: JobRecord, now: datetime) -> dict[str, str] | None:
    """resources_used, or None before the job's first start."""
    status = record.status
    row = record.row()
    measured = status.walltime_used_s if status.walltime_used_s is not None else elapsed_s(row, now)
    if status.start_time is None or measured is None:
        return None
    cpu_s = status.cpu_used_s or 0
    mem = f"{(status.max_rss_bytes or 0) >> 10}kb"
    return {
        "cpupercent": str(cpu_s * 100 // measured if measured else 0),
        "cput": hms(cpu_s),
        "mem": mem,
        "ncpus": str(row.cpus),
        "vmem": mem,  # the least it can be; only the resident memory is measured
        "walltime": hms(measured),
    }


def _path(record: JobRecord, name: str, letter: str) -> str:
    """`host:/path` of an output file, as asked, or by its default name."""
    spec = record.spec
    output = spec.stdout if letter == "o" else spec.stderr
    path = spec.attributes.get(name) or (output.path if output is not None else None)
    if path is None:
        path = f"{spec.submit_dir.rstrip('/')}/{default_name(spec.name, letter, record.job_id)}"
    return f"{spec.submit_host}:{path}"


def _resource_list(record: JobRecord) -> dict[str, str]:
    """Resource_List as the job asked; made from its chunks for a job of another dialect."""
    prefix = "Resource_List."
    asked = record.spec.attributes
    shown = {name.removeprefix(prefix): value for name, value in asked.items() if name.startswith(prefix)}
    if not shown:
        chunks = record.spec.chunks
        sizes = [Size(c.mem_bytes * c.count) for c in chunks if c.mem_bytes is not None]
        shown = {
            "mpiprocs": str(sum(c.count * c.ranks for c in chunks)),
            "ncpus": str(sum(c.count * c.cpus for c in chunks)),
            "nodect": str(sum(c.count for c in chunks)),
            "place": record.spec.arrangement.value,
            "select": "+".join(_select(c) for c in chunks),
        } | ({"mem": str(size_of_bytes(sum_sizes(sizes).bytes))} if sizes else {})
    row = record.row()
    if row.walltime_s is not None:
        shown["walltime"] = hms(row.walltime_s)
    if row.mem_bytes is not None:
        shown.setdefault("mem", str(size_of_bytes(row.mem_bytes)))  # the queue's default
    return dict(sorted(shown.items()))


def _select(chunk: Chunk) -> str:
    mem = f":mem={size_of_bytes(chunk.mem_bytes)}" if chunk.mem_bytes is not None else ""
    more = [f":{name}={amount}" for name, amount in chunk.resources] + [f":{name}=True" for name in chunk.properties]
    return f"{chunk.count}:ncpus={chunk.cpus}:mpiprocs={chunk.ranks}{mem}{''.join(more)}"


def _variables(record: JobRecord, environment: Mapping[str, str] | None) -> dict[str, str]:
    spec, status = record.spec, record.status
    variables = (
        dict(environment)
        if environment is not None
        else {
            "PBS_O_HOME": status.home,
            "PBS_O_LOGNAME": status.owner,
            "PBS_O_WORKDIR": spec.submit_dir,
            "PBS_O_SYSTEM": "Linux",
        }
    )
    variables.setdefault("PBS_O_QUEUE", record.queue)
    variables.setdefault("PBS_O_HOST", spec.submit_host)
    return ordered(variables)


def _tagged(name: str, words: Sequence[str]) -> str:
    """Words of a command in the tags that PBS keeps them in."""
    table = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
    return "".join(f"<jsdl-hpcpa:{name}>{word.translate(table)}</jsdl-hpcpa:{name}>" for word in words)


def job_id(record: JobRecord) -> str:
    """The key under which the other functions want a job: `12.server`."""
    return format_id(record.job_id, record.spec.server)


def format_full(heading: str, attributes: Attributes, *, wide: bool = False) -> str:
    """One object of `qstat -f`: `heading` (`Job Id: 12.server`), a line or more for each attribute, a blank line."""
    return f"{heading}\n" + "".join(f"{_attribute(name, text, wide)}\n" for name, text in _flat(attributes)) + "\n"


def format_dsv(heading: str, attributes: Attributes, *, delimiter: str = "|") -> str:
    """One object of `qstat -f -F dsv`, on one line. A delimiter or backslash in a value gets a backslash."""
    values = [heading]
    for name, text in _flat(attributes):
        escaped = text.replace("\\", "\\\\").replace(delimiter, f"\\{delimiter}")
        values.append(f"{name}={printable(_one_line(escaped))}")
    return delimiter.join(values) + "\n"


def format_json(
    objects: Mapping[str, Attributes],
    *,
    now: datetime,
    server: str,
    key: str = "Jobs",
    pbs_version: str = PBS_VERSION,
) -> str:
    """`qstat -f -F json` of all `objects` by their names. Without any, `key` is left out, as PBS does for jobs that
    it does not find. Real qstat of this version prints only the first of several ids; this prints all.
    """
    root: dict[str, Json] = {"timestamp": int(now.timestamp()), "pbs_version": pbs_version, "pbs_server": server}
    if objects:
        root[key] = {name: _json(attributes) for name, attributes in objects.items()}
    return dump(root) + "\n"


def _json(attributes: Attributes) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for name, value in attributes:
        if isinstance(value, dict):
            found[name] = {inner: parsed(text) for inner, text in value.items()}
        else:
            found[name] = value if name in _STRINGS else parsed(value)
    return found


def _flat(attributes: Attributes) -> list[tuple[str, str]]:
    """Attributes as text has them: `Resource_List.ncpus`, and Variable_List in one."""
    flat: list[tuple[str, str]] = []
    for name, value in attributes:
        if isinstance(value, str):
            flat.append((name, value))
        elif name == VARIABLE_LIST:
            flat.append((name, format_variable_list(value)))
        else:
            flat += [(f"{name}.{inner}", text) for inner, text in value.items()]
    return flat


def _one_line(text: str) -> str:
    return text.replace("\n", "\\n").replace("\f", "\\f")


def _attribute(name: str, value: str, wide: bool) -> str:
    """One attribute, broken at commas so that lines stay within 78 columns, and within a part where even that is
    too long. Source: OpenPBS, prt_attr(), whose way of counting this follows.
    """
    if wide:
        return f"    {name} = {printable(_one_line(value))}"
    out = [f"    {name} = "]
    column = len(name) + 7
    for index, part in enumerate(value.split(",")):
        if index:
            out.append(",")
        if column + len(part) < _LINE:
            out.append(printable(part))
            column += len(part)
            continue
        if index:
            out.append("\n\t")
            column = 9
        for char in part:
            out.append(printable(char))
            column += 1
            if column > _LINE:
                out.append("\n\t")
                column = 8
    return "".join(out)
