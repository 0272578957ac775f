"""`qstat -f`: all attributes of a job, as text, JSON or delimiter-separated values."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, tzinfo
from functools import lru_cache

from hpcbatch.dialects.pbs.array_attributes import array_attributes, shown_name
from hpcbatch.dialects.pbs.cjson import Json, dump, parsed
from hpcbatch.dialects.pbs.depend import format_depend, waits_for_others
from hpcbatch.dialects.pbs.environment import private_path
from hpcbatch.dialects.pbs.errors import PBS_VERSION
from hpcbatch.dialects.pbs.output import INDEX_TAG
from hpcbatch.dialects.pbs.states import (
    comment,
    elapsed_s,
    exec_host,
    exec_vnode,
    exit_status,
    letter,
    moment,
    substate,
)
from hpcbatch.dialects.pbs.values import DEFAULT_PROJECT, Size, size_of_bytes, sum_sizes
from hpcbatch.dialects.pbs.variables import format_variable_list, ordered
from hpcbatch.model.chunk import Chunk, of_each_pod
from hpcbatch.model.record import JobRecord
from hpcbatch.model.row import JobRow
from hpcbatch.model.state import JobState, Reason
from hpcbatch.model.text import printable
from hpcbatch.record.rows import row_of
from hpcbatch.typed import TypeAlias
from hpcbatch.units import hms

Attributes: TypeAlias = list[tuple[str, "str | dict[str, str]"]]
"""Attribute names in PBS's order; `Resource_List`, `resources_used` and `Variable_List` hold a dict."""

VARIABLE_LIST = "Variable_List"
_STRINGS = frozenset({"Job_Name", "project", "Account_Name"})  # in JSON never a number
_LINE = 78
_NO_OUTPUT = frozenset({Reason.LAUNCH_FAILED, Reason.OUTPUT_FAILED, Reason.NODE_LOST, Reason.PREEMPTED})


def full_attributes(
    record: JobRecord,
    environment: Mapping[str, str] | None,
    now: datetime,
    timezone: tzinfo | None = None,
    *,
    row: JobRow | None = None,
    own: Mapping[int, JobRow] | None = None,
    living: Collection[int] = (),
    has_eligible_time: bool = False,
) -> Attributes:
    """All attributes of a job, in the order of OpenPBS. `row` is its row, if that was made already;
    `has_eligible_time`: the server's eligible_time_enable.

    Of an array, `own` are the rows of its members' own records by index; `living` are the numbers of the arrays that
    have not ended.

    `environment` are the variables that travel with it, None where the reader may not see them: then those that the
    record itself tells are shown. `timezone` is the reader's (None: this machine's).
    """
    spec, status = record.spec, record.status
    asked = spec.attributes
    row = row or row_of(record)
    pods = list(of_each_pod(record.layout))
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
    if spec.array is not None and exit_number is not None:
        exit_number = int(status.state is not JobState.FINISHED)
    has_output = spec.array is None and status.start_time is not None and status.reason not in _NO_OUTPUT
    is_delivered = status.state.is_final and has_output
    mask = asked.get("umask")
    numbered = numbered_attributes(record)

    def at(when: datetime | None) -> str | None:
        return None if when is None else moment(when, timezone)

    found: list[tuple[str, str | dict[str, str] | None]] = [
        ("Job_Name", spec.name),
        ("Job_Owner", f"{status.owner}@{spec.submit_host}"),
        ("resources_used", resources_used(record, now)),
        ("job_state", letter(row, living)),
        ("queue", record.queue),
        ("server", spec.server),
        ("Account_Name", spec.account),
        ("Checkpoint", "u"),
        ("ctime", at(status.submit_time)),
        ("depend", format_depend(record)),
        ("Error_Path", numbered["Error_Path"]),
        ("exec_host", exec_host(hosts, cpus)),
        ("exec_vnode", vnodes),
        ("Execution_Time", at(spec.begin_time)),
        ("Hold_Types", hold_types(record)),
        ("interactive", "True" if spec.interactive is not None else None),
        ("Join_Path", asked.get("Join_Path") or ("oe" if spec.stderr is None else "n")),
        ("Keep_Files", asked.get("Keep_Files", "n")),
        ("Mail_Points", asked.get("Mail_Points", "a")),
        ("Mail_Users", ",".join(spec.mail_users)),
        ("mtime", at(changed)),
        ("Output_Path", numbered["Output_Path"]),
        ("Priority", str(spec.priority)),
        ("qtime", at(status.submit_time)),
        ("Remove_Files", spec.remove_output),
        ("Rerunable", str(spec.rerunnable)),
        ("Resource_List", resource_list(record)),
        ("stime", at(status.start_time)),
        ("obittime", at(status.end_time) if status.start_time is not None else None),
        ("session_id", None if status.session_id is None else str(status.session_id)),
        ("Shell_Path_List", asked.get("Shell_Path_List")),
        ("sandbox", asked.get("sandbox")),
        ("jobdir", numbered["jobdir"] if status.start_time is not None and spec.array is None else None),
        ("substate", str(substate(status.state, status.reason, is_array=spec.array is not None))),
        (VARIABLE_LIST, _variables(record, environment)),
        ("comment", comment(row, vnodes=vnodes, ended_by=ended_by, timezone=timezone)),
        ("etime", at(status.eligible_time)),
        ("umask", mask),
        ("run_count", str(status.run_count) if status.run_count else None),
        ("Stageout_status", "1" if is_delivered else None),
        ("eligible_time", hms(_eligible_s(record, now)) if has_eligible_time else None),
        ("Exit_status", None if exit_number is None else str(exit_number)),
        ("Submit_arguments", asked.get("Submit_arguments")),
        ("executable", _tagged("Executable", spec.command[:1])),
        ("argument_list", _tagged("Argument", spec.command[1:])),
        *array_attributes(record, own or {}),
        ("history_timestamp", None if status.end_time is None else str(int(status.end_time.timestamp()))),
        ("estimated", _estimated(record, timezone)),
        ("project", asked.get("project", DEFAULT_PROJECT)),
        ("Submit_Host", spec.submit_host),
    ]
    return [(name, value) for name, value in found if value]


def numbered_attributes(record: JobRecord) -> dict[str, str]:
    """Those that may have the job's number in them: of jobs that differ in it alone, all others are equal. An array has
    more of them, and a member has its array's number.
    """
    home = record.status.home
    return {
        "Error_Path": _path(record, "Error_Path", "e"),
        "Output_Path": _path(record, "Output_Path", "o"),
        "jobdir": private_path(record.spec, record.job_id, home or "") or home,
    }


def _eligible_s(record: JobRecord, now: datetime) -> int:
    """For how long it has waited, or did wait, for nothing but its turn, in seconds."""
    status = record.status
    if status.eligible_time is None:
        return 0
    until = status.start_time or status.end_time or now
    return max(0, int((until - status.eligible_time).total_seconds()))


def _estimated(record: JobRecord, timezone: tzinfo | None) -> dict[str, str] | None:
    """When and where it is expected to start; None where that is not planned."""
    status = record.status
    if status.planned_start is None:
        return None
    nodes = [f"({node})" for node in status.planned_nodes.split(",") if node]
    where = {"exec_vnode": "+".join(nodes)} if nodes else {}
    return where | {"start_time": moment(status.planned_start, timezone)}


def hold_types(record: JobRecord) -> str:
    """Letters of `s` (also while a job waits for others), `o` and `u` in PBS's order, `n` for none."""
    if record.status.state.is_final:
        return "n"
    spec = record.spec
    held = {"s": "s" in spec.admin_holds or waits_for_others(record), "o": "o" in spec.admin_holds, "u": spec.hold}
    return "".join(letter for letter, is_set in held.items() if is_set) or "n"


def resources_used(record: JobRecord, now: datetime) -> dict[str, str] | None:
    """resources_used, or None before the job's first start."""
    status = record.status
    if status.start_time is None:
        return None
    measured = status.walltime_used_s if status.walltime_used_s is not None else elapsed_s(row_of(record), now)
    if measured is None:
        return None
    cpu_s = status.cpu_used_s or 0
    mem = f"{(status.max_rss_bytes or 0) >> 10}kb"
    return {
        "cpupercent": str(cpu_s * 100 // measured if measured else 0),
        "cput": hms(cpu_s),
        "mem": mem,
        "ncpus": str(record.cpus),
        "vmem": mem,  # the least it can be; only the resident memory is measured
        "walltime": hms(measured),
    }


def _path(record: JobRecord, name: str, stream: str) -> str:
    """`host:/path` of an output file, as requested, or by its default name."""
    spec = record.spec
    output = spec.stdout if stream == "o" else spec.stderr
    path = spec.attributes.get(name) or (output.path if output is not None else None)
    if path is None:
        path = f"{spec.submit_dir.rstrip('/')}/{shown_name(record, stream)}"
    elif spec.member_of is not None:
        path = path.replace(INDEX_TAG, str(spec.member_of.index), 1)
    return f"{spec.submit_host}:{path}"


def resource_list(record: JobRecord) -> dict[str, str]:
    """Resource_List as the job requested; made from its chunks for a job of another dialect."""
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
            **{name: value for name, value in record.spec.words if value},
        } | ({"mem": str(size_of_bytes(sum_sizes(sizes).bytes))} if sizes else {})
    if record.walltime_s is not None:
        shown["walltime"] = hms(record.walltime_s)
    if record.mem_bytes is not None:
        shown.setdefault("mem", str(size_of_bytes(record.mem_bytes)))  # the queue's default
    return dict(sorted(shown.items()))


def _select(chunk: Chunk) -> str:
    mem = f":mem={size_of_bytes(chunk.mem_bytes)}" if chunk.mem_bytes is not None else ""
    more = [f":{name}={amount}" for name, amount in (*chunk.resources, *chunk.words)]
    more += [f":{name}=True" for name in chunk.properties] + [f":{name}=False" for name in chunk.lacks]
    more += [f":host={host}" for host in chunk.hosts[:1]]
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
    if not words:
        return ""
    table = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
    return "".join(f"<jsdl-hpcpa:{name}>{word.translate(table)}</jsdl-hpcpa:{name}>" for word in words)


def format_full(heading: str, attributes: Attributes, *, wide: bool = False) -> str:
    """One object of `qstat -f`: `heading` (`Job Id: 12.server`), a line or more for each attribute, a blank line."""
    return "".join([heading, "\n", full_lines(attributes, wide=wide), "\n"])


def full_lines(attributes: Attributes, *, wide: bool = False) -> str:
    """What stands below the heading."""
    return "".join(
        [
            f"    {name} = {text}\n" if wide or len(name) + 7 + len(text) < _LINE else f"{_broken(name, text)}\n"
            for name, text in _flat(attributes)
        ]
    )


def format_dsv(heading: str, attributes: Attributes, *, delimiter: str = "|") -> str:
    """One object of `qstat -f -F dsv`, on one line. A delimiter or backslash in a value gets a backslash."""
    values = [heading]
    for name, text in _flat(attributes):
        escaped = text.replace("\\", "\\\\").replace(delimiter, f"\\{delimiter}")
        values.append(f"{name}={escaped}")
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
    """Attributes as text has them: `Resource_List.ncpus`, and Variable_List in one. Each keeps to its own line."""
    flat: list[tuple[str, str]] = []
    for name, value in attributes:
        if isinstance(value, str):
            flat.append((name, value))
        elif name == VARIABLE_LIST:
            flat.append((name, format_variable_list(value)))
        else:
            flat += [(f"{name}.{inner}", text) for inner, text in value.items()]
    if "".join([text for _, text in flat]).isprintable():
        return flat
    return [(name, text if text.isprintable() else printable(_one_line(text))) for name, text in flat]


def _one_line(text: str) -> str:
    return text.replace("\n", "\\n").replace("\f", "\\f")


@lru_cache(maxsize=1000)
def _broken(name: str, value: str) -> str:
    """A long attribute, broken at commas so that lines stay within 78 columns, and within a part where even that is
    too long. Many jobs have the same variables. Source: OpenPBS, prt_attr(), whose way of counting this follows.
    """
    out = [f"    {name} = "]
    column = len(name) + 7
    for index, part in enumerate(value.split(",")):
        if index:
            out.append(",")
        if column + len(part) < _LINE:
            out.append(part)
            column += len(part)
            continue
        if index:
            out.append("\n\t")
            column = 9
        at = 0
        while at < len(part):
            # as many as fit, and at least one
            some = part[at : at + max(1, _LINE + 1 - column)]
            out.append(some)
            column += len(some)
            at += len(some)
            if column > _LINE:
                out.append("\n\t")
                column = 8
    return "".join(out)
