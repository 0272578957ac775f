"""The fields of squeue: the value and the heading of every -o letter and every -O name.

What a job row does not hold is shown as the real squeue shows it for a job that never requested it; of the fields in
DETAILED that stands in where there is no whole record. Headings and values were read from squeue 22.05.8, letter by
letter.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, tzinfo

from hpcbatch.dialects.slurm.clock import short, stamp
from hpcbatch.dialects.slurm.hostlist import compress
from hpcbatch.dialects.slurm.ids import SHOWN, row_id
from hpcbatch.dialects.slurm.memory import MIB, size
from hpcbatch.dialects.slurm.states import (
    alone_number,
    compact,
    described_reason,
    exit_status,
    expected_end,
    expected_start,
    long,
    own_number,
    priority_of,
    restarts,
    system_comment,
    used_s,
)
from hpcbatch.model.row import JobRow
from hpcbatch.typed import NamedTuple


class View(NamedTuple):
    """What the values depend on beside the job."""

    now: datetime
    tz: tzinfo
    time_format: str = ""
    convert: bool = True
    tasks_shown: int = SHOWN
    wrf: Callable[[JobRow, str], str] = lambda _row, _name: "N/A"
    """The value of one of WRF_NAMES; it takes reading a log."""
    detail: Callable[[JobRow, str], str | None] = lambda _row, _name: None
    """The value of one of DETAILED; None where the record is not known."""

    def stamp(self, when: datetime | None, none: str = "N/A") -> str:
        return stamp(when, self.tz, self.time_format, self.now, none)


Value = Callable[[JobRow, View], str]


class Field(NamedTuple):
    heading: str
    value: Value


def _fixed(text: str) -> Value:
    return lambda _row, _view: text


NULL, NA = _fixed("(null)"), _fixed("N/A")


def nodelist(row: JobRow) -> str:
    """The nodes of the job, each once, in order; empty until it has some."""
    return compress(tuple(dict.fromkeys(row.hosts)))


def nodelist_or_reason(row: JobRow) -> str:
    """NODELIST(REASON): the nodes of a job that runs or ended well, else the reason."""
    if compact(row.state, row.reason) in {"PD", "F", "TO", "OOM", "DL"}:
        return f"({described_reason(row.state, row.reason, row.message)})"
    return nodelist(row)


def _tasks(row: JobRow, view: View) -> str:
    """The index of a member, or those of the members that share this line: `2-3`, `1-4%2`."""
    if row.array_indices:
        from hpcbatch.dialects.slurm.ids import task_text
        from hpcbatch.model.indices import Indices

        return task_text(Indices.parse(row.array_indices), row.array_limit, view.tasks_shown)
    return "N/A" if row.array_index is None else str(row.array_index)


def _shown_id(row: JobRow, view: View) -> str:
    if row.array_indices:
        return f"{row.job_id}_[{_tasks(row, view)}]"
    return row_id(row)


def _left(row: JobRow, view: View) -> str:
    if row.walltime_s is None:
        return "UNLIMITED"
    left = row.walltime_s - used_s(row, view.now)
    return "INVALID" if left < 0 else short(left)


def _end(row: JobRow, view: View) -> str:
    if row.start_time is not None and row.end_time is None and row.walltime_s is None:
        return "NONE"
    return view.stamp(expected_end(row))


def _memory(row: JobRow, view: View) -> str:
    per_node = 0 if row.mem_bytes is None else -(-row.mem_bytes // max(row.nodes, 1))
    return size(-(-per_node // MIB), view.convert)


def _dependency(row: JobRow) -> str:
    if not row.dependency:
        return "(null)"
    from hpcbatch.dialects.slurm.dependency import format_dependency

    return format_dependency(row.dependency, row.state)


def _priority(row: JobRow) -> int:
    return priority_of(row)


def _of_wrf(name: str) -> Value:
    return lambda row, view: view.wrf(row, name)


def _raw_exit(row: JobRow) -> str:
    code, signal = exit_status(row.state, row.reason, row.exit_code, row.exit_signal, row.start_time is not None)
    return str(code << 8 | signal)


def _pending_s(row: JobRow, view: View) -> str:
    if row.submit_time is None:
        return "0"
    return str(max(0, int(((row.start_time or row.end_time or view.now) - row.submit_time).total_seconds())))


def _tres(row: JobRow) -> str:
    memory = f"mem={size(-(-row.mem_bytes // MIB))}," if row.mem_bytes else ""
    return f"cpu={row.cpus},{memory}node={row.nodes},billing={row.cpus}"


LETTERS: dict[str, Field] = {
    "a": Field("ACCOUNT", lambda row, _: row.account or "(null)"),
    "A": Field("JOBID", lambda row, _: str(alone_number(row))),
    "b": Field("TRES_PER_NODE", lambda row, _: row.tres_per_node or "N/A"),
    "B": Field("EXEC_HOST", lambda row, _: row.hosts[0] if row.hosts else "n/a"),
    "c": Field("MIN_CPUS", lambda row, _: str(max(1, row.cpus // max(row.nodes, 1)))),
    "C": Field("CPUS", lambda row, _: str(row.cpus)),
    "d": Field("MIN_TMP_DISK", _fixed("0")),
    "D": Field("NODES", lambda row, _: str(row.nodes)),
    "e": Field("END_TIME", _end),
    "E": Field("DEPENDENCY", lambda row, _: _dependency(row)),
    "f": Field("FEATURES", lambda row, _: row.features or "(null)"),
    "F": Field("ARRAY_JOB_ID", lambda row, _: str(own_number(row))),
    "g": Field("GROUP", NULL),
    "G": Field("GROUP", NA),
    "h": Field("OVER_SUBSCRIBE", _fixed("OK")),
    "H": Field("SOCKETS_PER_NODE", _fixed("*")),
    "i": Field("JOBID", _shown_id),
    "I": Field("CORES_PER_SOCKET", _fixed("*")),
    "j": Field("NAME", lambda row, _: row.name),
    "J": Field("THREADS_PER_CORE", _fixed("*")),
    "k": Field("COMMENT", NULL),
    "K": Field("ARRAY_TASK_ID", _tasks),
    "l": Field("TIME_LIMIT", lambda row, _: "UNLIMITED" if row.walltime_s is None else short(row.walltime_s)),
    "L": Field("TIME_LEFT", _left),
    "m": Field("MIN_MEMORY", _memory),
    "M": Field("TIME", lambda row, view: short(used_s(row, view.now))),
    "n": Field("REQ_NODES", _fixed("")),
    "N": Field("NODELIST", lambda row, _: nodelist(row)),
    "o": Field("COMMAND", lambda row, _: row.command or "(null)"),
    "O": Field("CONTIGUOUS", _fixed("0")),
    "p": Field("PRIORITY", lambda row, _: f"{_priority(row) / (2**32 - 1):.14f}"),
    "P": Field("PARTITION", lambda row, _: ",".join((row.queue, *row.other_queues))),
    "q": Field("QOS", lambda row, _: row.qos or "normal"),
    "Q": Field("PRIORITY", lambda row, _: str(_priority(row))),
    "r": Field("REASON", lambda row, _: described_reason(row.state, row.reason, row.message)),
    "R": Field("NODELIST(REASON)", lambda row, _: nodelist_or_reason(row)),
    "s": Field("", _fixed("")),
    "S": Field("START_TIME", lambda row, view: view.stamp(expected_start(row))),
    "t": Field("ST", lambda row, _: compact(row.state, row.reason)),
    "T": Field("STATE", lambda row, _: long(row.state, row.reason)),
    "u": Field("USER", lambda row, _: row.user),
    "U": Field("UID", lambda row, _: "N/A" if row.uid is None else str(row.uid)),
    "v": Field("RESERVATION", lambda row, _: row.reservation or "(null)"),
    "V": Field("SUBMIT_TIME", lambda row, view: view.stamp(row.submit_time)),
    "w": Field("WCKEY", NULL),
    "W": Field("LICENSES", lambda row, _: row.licenses or "(null)"),
    "x": Field("EXC_NODES", _fixed("")),
    "X": Field("CORE_SPEC", NA),
    "y": Field("NICE", lambda row, _: str(row.nice)),
    "Y": Field("SCHEDNODES", lambda row, _: compress(row.planned_nodes) or "(null)"),
    "z": Field("S:C:T", _fixed("*:*:*")),
    "Z": Field("WORK_DIR", lambda row, _: row.work_dir),
}

_BY_LETTER = {
    "account": "a",
    "arrayjobid": "F",
    "arraytaskid": "K",
    "batchhost": "B",
    "command": "o",
    "comment": "k",
    "contiguous": "O",
    "cores": "I",
    "corespec": "X",
    "dependency": "E",
    "endtime": "e",
    "feature": "f",
    "groupid": "G",
    "groupname": "g",
    "jobarrayid": "i",
    "jobid": "A",
    "licenses": "W",
    "mincpus": "c",
    "minmemory": "m",
    "mintmpdisk": "d",
    "name": "j",
    "nice": "y",
    "nodelist": "N",
    "numcpus": "C",
    "numnodes": "D",
    "oversubscribe": "h",
    "partition": "P",
    "priority": "p",
    "prioritylong": "Q",
    "qos": "q",
    "reason": "r",
    "reasonlist": "R",
    "reqnodes": "n",
    "reservation": "v",
    "schednodes": "Y",
    "sct": "z",
    "sockets": "H",
    "starttime": "S",
    "state": "T",
    "statecompact": "t",
    "submittime": "V",
    "threads": "J",
    "timeleft": "L",
    "timelimit": "l",
    "timeused": "M",
    "tres-per-node": "b",
    "userid": "U",
    "username": "u",
    "wckey": "w",
    "workdir": "Z",
}

_ALWAYS = {
    "admin_comment": ("ADMIN_COMMENT", "(null)"),
    "associd": ("ASSOC_ID", "0"),
    "batchflag": ("BATCH_FLAG", "1"),
    "boardspernode": ("BOARDS_PER_NODE", "0"),
    "burstbuffer": ("BURST_BUFFER", "(null)"),
    "burstbufferstate": ("BURST_BUFFER_STATE", "(null)"),
    "clusterfeature": ("CLUSTER_FEATURES", "(null)"),
    "container": ("CONTAINER", "(null)"),
    "cpus-per-tres": ("CPUS_PER_TRES", "N/A"),
    "deadline": ("DEADLINE", "N/A"),
    "delayboot": ("DELAY_BOOT", "0:00"),
    "derivedec": ("DERIVED_EC", "0"),
    "mcslabel": ("MCSLABEL", "(null)"),
    "mem-per-tres": ("MEM_PER_TRES", "N/A"),
    "mintime": ("TIME_MIN", "0:00"),
    "network": ("NETWORK", "(null)"),
    "ntperboard": ("NTASKS_PER_BOARD", "0"),
    "ntpercore": ("NTASKS_PER_CORE", "N/A"),
    "ntpernode": ("NTASKS_PER_NODE", "0"),
    "ntpersocket": ("NTASKS_PER_SOCKET", "N/A"),
    "origin": ("ORIGIN", "NA"),
    "originraw": ("ORIGIN_RAW", "NA"),
    "preempttime": ("PREEMPT_TIME", "N/A"),
    "prefer": ("PREFER", "(null)"),
    "profile": ("PROFILE", "NotSet"),
    "reboot": ("REBOOT", "0"),
    "reqswitch": ("REQ_SWITCH", "0"),
    "resizetime": ("RESIZE_TIME", "N/A"),
    "siblingsactive": ("ACTIVE_SIBLINGS", "NA"),
    "siblingsactiveraw": ("ACTIVE_SIBLINGS_RAW", "NA"),
    "siblingsviable": ("VIABLE_SIBLINGS", "NA"),
    "siblingsviableraw": ("VIALBLE_SIBLINGS_RAW", "NA"),
    "sperboard": ("SOCKETS_PER_BOARD", "0"),
    "stderr": ("STDERR", "N/A"),
    "stdin": ("STDIN", "/dev/null"),
    "stdout": ("STDOUT", "N/A"),
    "tres-bind": ("TRES_BIND", "N/A"),
    "tres-freq": ("TRES_FREQ", "N/A"),
    "tres-per-socket": ("TRES_PER_SOCKET", "N/A"),
    "wait4switch": ("WAIT4SWITCH", "0:00"),
}

WRF_NAMES = {"wrfprogress": "WRF_PROGRESS", "wrftime": "WRF_TIME", "wrfstep": "WRF_STEP_S", "wrfleft": "WRF_LEFT"}
"""Ours: how far a run of WRF in the job is."""

NAMES: dict[str, Field] = {
    **{name: Field(heading, _of_wrf(name)) for name, heading in WRF_NAMES.items()},
    **{name: LETTERS[letter] for name, letter in _BY_LETTER.items()},
    **{name: Field(heading, _fixed(text)) for name, (heading, text) in _ALWAYS.items()},
    "accruetime": Field("ACCRUE_TIME", lambda row, view: view.stamp(row.eligible_time)),
    "allocnodes": Field("ALLOC_NODES", lambda row, _: row.server),
    "allocsid": Field("ALLOC_SID", lambda row, _: str(row.session_id or 0)),
    "cluster": Field("CLUSTER", NA),
    "cpus-per-task": Field("CPUS_PER_TASK", NA),
    "eligibletime": Field("ELIGIBLE_TIME", lambda row, view: view.stamp(row.eligible_time)),
    "exit_code": Field("EXIT_CODE", lambda row, _: _raw_exit(row)),
    "hetjobid": Field("HET_JOB_ID", lambda row, _: str(row.job_id) if "/" in row.components else "N/A"),
    "hetjobidset": Field("HET_JOB_ID_SET", lambda row, _: str(row.job_id) if "/" in row.components else "N/A"),
    "hetjoboffset": Field(
        "HET_JOB_OFFSET", lambda row, _: row.components.partition("/")[0] if "/" in row.components else "N/A"
    ),
    "lastschedeval": Field("LAST_SCHED_EVAL", lambda row, view: view.stamp(row.start_time or row.eligible_time)),
    "maxcpus": Field("MAX_CPUS", lambda row, _: str(row.cpus)),
    "maxnodes": Field("MAX_NODES", lambda row, _: str(row.nodes)),
    "numtasks": Field("TASKS", NA),
    "pendingtime": Field("PENDING_TIME", _pending_s),
    "requeue": Field("REQUEUE", lambda row, _: str(int(row.rerunnable))),
    "restartcnt": Field("RESTART_COUNT", lambda row, _: str(restarts(row.state, row.run_count))),
    "system_comment": Field(
        "SYSTEM_COMMENT", lambda row, _: system_comment(row.state, row.reason, row.message) or "(null)"
    ),
    "tres-per-job": Field("TRES_PER_JOB", lambda row, _: row.tres_per_job or "N/A"),
    "tres-per-task": Field("TRES_PER_TASK", lambda row, _: row.tres_per_task or "N/A"),
    "tres-alloc": Field("TRES_ALLOC", lambda row, _: _tres(row)),
}

DETAILED = frozenset("dgGhHIJknoxz") | {
    *("batchflag", "cpus-per-task", "cpus-per-tres", "deadline", "mintime", "ntpercore", "ntpernode", "ntpersocket"),
    *("preempttime", "numtasks", "stderr", "stdin", "stdout", "tres-per-socket"),
}
"""Letters, and names of what has none, whose values take the whole record (squeue_details)."""


def detail_of(key: str) -> str | None:
    """The member of DETAILED that a letter of -o or a name of -O stands for."""
    name = _BY_LETTER.get(key, key)
    return name if name in DETAILED else None
