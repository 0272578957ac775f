"""bqueues, bhosts, lshosts, lsload, busers, bparams: what there is, and how busy it is."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from hpcbatch.dialects.lsf.commands import Line, usage
from hpcbatch.dialects.lsf.errors import LsfUsageError
from hpcbatch.dialects.lsf.rows import slots_of
from hpcbatch.dialects.lsf.states import stat as stat_of
from hpcbatch.model.row import JobRow, NodeRow, QueueRow
from hpcbatch.typed import Final, NamedTuple

_SUSPENDED: Final = frozenset({"PSUSP", "USUSP", "SSUSP"})


class Load(NamedTuple):
    """Slots of jobs, by LSF's states."""

    pend: int = 0
    run: int = 0
    ssusp: int = 0
    ususp: int = 0

    @property
    def total(self) -> int:
        return sum(self)

    @property
    def susp(self) -> int:
        return self.ssusp + self.ususp


def load_of(rows: Iterable[JobRow]) -> Load:
    count: Counter[str] = Counter()
    for row in rows:
        stat = stat_of(row)
        count["PEND" if stat == "PSUSP" else stat] += row.cpus
    return Load(count["PEND"], count["RUN"], count["SSUSP"], count["USUSP"])


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], line: Line) -> Iterator[str]:
    """Columns by their headings; the first ones are of texts, and wider."""
    widths = [len(head) for head in heads]
    cells = [list(row) for row in rows]
    if "w" in line:
        widths = [max([len(head), *(len(row[at]) for row in cells)]) for at, head in enumerate(heads)]
    if "noheader" not in line:
        yield " ".join(head.ljust(width) for head, width in zip(heads, widths, strict=True)).rstrip()
    for row in cells:
        yield " ".join(_fit(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _fit(cell: str, width: int) -> str:
    return cell.ljust(width)


def chosen(
    fields: Mapping[str, Callable[[int], str]], count: int, text: str, command: str, line: Line
) -> Iterator[str]:
    """-o of bqueues and bhosts: each field is a function of the row's place."""
    names, delimiter = [], " "
    for word in text.split():
        if word.startswith("delimiter="):
            delimiter = word.partition("=")[2].strip("\"'") or " "
        else:
            names.append(word.partition(":")[0].lower())
    for name in names:
        if name not in fields:
            raise LsfUsageError(f"{name}: Invalid field name", usage(command))
    if "json" in line:
        key = {"bqueues": "QUEUES", "bhosts": "HOSTS"}[command]
        records = [{name.upper(): fields[name](at) for name in names} for at in range(count)]
        yield json.dumps({"COMMAND": command, key: count, "RECORDS": records}, indent=2, ensure_ascii=False)
        return
    if "noheader" not in line:
        yield delimiter.join(name.upper() for name in names)
    for at in range(count):
        yield delimiter.join(fields[name](at) or "-" for name in names)


# Queues


def queue_status(queue: QueueRow) -> str:
    return f"{'Open' if queue.is_open else 'Closed'}:{'Active' if queue.is_started else 'Inact'}"


def _priority(queue: QueueRow) -> str:
    return str(queue.priority if queue.priority is not None else queue.priority_tier)


QUEUE_HEADS: Final = (
    "QUEUE_NAME     ",
    "PRIO",
    "STATUS         ",
    "MAX",
    "JL/U",
    "JL/P",
    "JL/H",
    "NJOBS",
    " PEND",
    "  RUN",
    " SUSP",
)


def queue_rows(queues: Sequence[QueueRow], rows: Sequence[JobRow]) -> Iterator[list[str]]:
    for queue in queues:
        load = load_of(row for row in rows if row.queue == queue.name)
        most = "-" if queue.max_cpus is None else str(queue.max_cpus)
        counts = [f"{load.total:>5}", f"{load.pend:>5}", f"{load.run:>5}", f"{load.susp:>5}"]
        yield [queue.name, f"{_priority(queue):>4}", queue_status(queue), f"{most:>3}", "   -", "   -", "   -", *counts]


def queue_fields(queues: Sequence[QueueRow], rows: Sequence[JobRow]) -> dict[str, Callable[[int], str]]:
    loads = [load_of(row for row in rows if row.queue == queue.name) for queue in queues]
    return {
        "queue_name": lambda at: queues[at].name,
        "description": lambda _: "",
        "priority": lambda at: _priority(queues[at]),
        "status": lambda at: queue_status(queues[at]),
        "max": lambda at: str(queues[at].max_cpus or ""),
        "jl_u": lambda _: "",
        "jl_p": lambda _: "",
        "jl_h": lambda _: "",
        "njobs": lambda at: str(loads[at].total),
        "pend": lambda at: str(loads[at].pend),
        "run": lambda at: str(loads[at].run),
        "susp": lambda at: str(loads[at].susp),
        "rsv": lambda _: "0",
        "ususp": lambda at: str(loads[at].ususp),
        "ssusp": lambda at: str(loads[at].ssusp),
        "nice": lambda _: "0",
        "max_corelimit": lambda _: "",
    }


def queue_text(queue: QueueRow, rows: Sequence[JobRow], nodes: Sequence[NodeRow]) -> Iterator[str]:
    """bqueues -l"""
    yield from ("", f"QUEUE: {queue.name}")
    yield f"  -- {'The default queue.' if queue.is_default else 'A queue of jobs.'}"
    yield from ("", "PARAMETERS/STATISTICS")
    yield "PRIO NICE STATUS          MAX JL/U JL/P JL/H NJOBS  PEND   RUN SSUSP USUSP  RSV "
    load = load_of(row for row in rows if row.queue == queue.name)
    most = "-" if queue.max_cpus is None else str(queue.max_cpus)
    yield (
        f"{_priority(queue):>4} {0:>4}  {queue_status(queue):<14} {most:>3}    -    -    - "
        f"{load.total:>5} {load.pend:>5} {load.run:>5} {load.ssusp:>5} {load.ususp:>5} {0:>4}"
    )
    if queue.default_walltime_s is not None:
        yield from ("", "DEFAULT LIMITS:", " RUNLIMIT", f" {queue.default_walltime_s / 60:.1f} min")
    limits = []
    if queue.max_walltime_s is not None:
        limits += [" RUNLIMIT", f" {queue.max_walltime_s / 60:.1f} min"]
    if queue.max_cpus is not None:
        limits += [" TASKLIMIT", f" {queue.min_cpus or 1} {queue.max_cpus}"]
    if queue.max_mem_per_node_bytes is not None:
        limits += [" MEMLIMIT", f" {queue.max_mem_per_node_bytes / 1024**3:.1f} G"]
    if limits:
        yield from ("", "MAXIMUM LIMITS:", *limits)
    groups = "all" if queue.allow_groups is None else " ".join(f"{group}/" for group in queue.allow_groups)
    yield from ("", f"USERS: {groups}")
    reached = [node.name for node in nodes if queue.reaches(node)]
    yield f"HOSTS:  {'all' if len(reached) == len(nodes) else ' '.join(reached) or 'none'}"


# Hosts


def host_status(node: NodeRow, used: int) -> str:
    if node.is_down:
        return "unavail"
    if not node.schedulable:
        return "closed_Adm"
    if node.reserved:
        return "closed_Rsv"
    return "closed_Full" if node.cpus and used >= node.cpus else "ok"


def host_loads(rows: Sequence[JobRow]) -> dict[str, Load]:
    counts: dict[str, Counter[str]] = {}
    for row in rows:
        for host, slots in slots_of(row):
            counts.setdefault(host, Counter())[stat_of(row)] += slots
    return {host: Load(0, count["RUN"], count["SSUSP"], count["USUSP"]) for host, count in counts.items()}


HOST_HEADS: Final = (
    "HOST_NAME         ",
    "STATUS         ",
    "JL/U",
    "  MAX",
    "NJOBS",
    "  RUN",
    "SSUSP",
    "USUSP",
    "  RSV",
)


def host_rows(nodes: Sequence[NodeRow], rows: Sequence[JobRow]) -> Iterator[list[str]]:
    loads = host_loads(rows)
    for node in nodes:
        load = loads.get(node.name, Load())
        counts = [f"{load.total:>5}", f"{load.run:>5}", f"{load.ssusp:>5}", f"{load.ususp:>5}", f"{0:>5}"]
        yield [node.name, host_status(node, load.total), "   -", f"{node.cpus:>5}", *counts]


def host_fields(nodes: Sequence[NodeRow], rows: Sequence[JobRow]) -> dict[str, Callable[[int], str]]:
    loads = host_loads(rows)

    def load(at: int) -> Load:
        return loads.get(nodes[at].name, Load())

    return {
        "host_name": lambda at: nodes[at].name,
        "status": lambda at: host_status(nodes[at], load(at).total),
        "cpuf": lambda _: "1.0",
        "jl_u": lambda _: "",
        "max": lambda at: str(nodes[at].cpus),
        "njobs": lambda at: str(load(at).total),
        "run": lambda at: str(load(at).run),
        "ssusp": lambda at: str(load(at).ssusp),
        "ususp": lambda at: str(load(at).ususp),
        "rsv": lambda _: "0",
        "comments": lambda at: nodes[at].comment,
        "available_mem": lambda at: _mib(nodes[at].mem_bytes - nodes[at].mem_used_bytes),
        "total_mem": lambda at: _mib(nodes[at].mem_bytes),
        "reserved_mem": lambda at: _mib(nodes[at].mem_used_bytes),
    }


def host_text(node: NodeRow, rows: Sequence[JobRow]) -> Iterator[str]:
    """bhosts -l"""
    load = host_loads(rows).get(node.name, Load())
    yield f"HOST  {node.name}"
    yield "STATUS           CPUF  JL/U    MAX  NJOBS    RUN  SSUSP  USUSP    RSV DISPATCH_WINDOW"
    yield (
        f"{host_status(node, load.total):<15}  1.00     -  {node.cpus:>5}  {load.total:>5}  {load.run:>5}  "
        f"{load.ssusp:>5}  {load.ususp:>5}      0      -"
    )
    yield from ("", " CURRENT LOAD USED FOR SCHEDULING:", "                  slots       mem")
    yield f" Total            {node.cpus - node.cpus_used:>5} {_mib(node.mem_bytes - node.mem_used_bytes):>9}"
    yield f" Reserved         {node.cpus_used:>5} {_mib(node.mem_used_bytes):>9}"
    if node.comment:
        yield from ("", f" ADMIN ACTION COMMENT: {node.comment}")
    yield ""


def _mib(size: int) -> str:
    return f"{size / 1024**3:.1f}G" if size >= 10 * 1024**3 else f"{size // 1024**2}M"


LSHOSTS_HEADS: Final = (
    "HOST_NAME      ",
    "type   ",
    "   model",
    "cpuf",
    "ncpus",
    "maxmem",
    "maxswp",
    "server",
    "RESOURCES",
)
_TYPES: Final = {"amd64": "X86_64", "arm64": "LINUXARM64", "ppc64le": "LINUXPPC64LE", "s390x": "LINUXS390X64"}


def lshosts_rows(nodes: Sequence[NodeRow]) -> Iterator[list[str]]:
    for node in nodes:
        kind = _TYPES.get(node.arch, node.arch.upper())
        yield [
            node.name,
            f"{kind:<7}",
            f"{'-':>8}",
            f"{1.0:>4}",
            f"{node.cpus:>5}",
            f"{_mib(node.mem_bytes):>6}",
            *_REST,
        ]


_REST: Final = (f"{'-':>6}", f"{'Yes':>6}", "()")
LSLOAD_HEADS: Final = (
    "HOST_NAME      ",
    "status ",
    " r15s",
    "  r1m",
    " r15m",
    "  ut",
    "   pg",
    " ls",
    "   it",
    "  tmp",
    "  swp",
    "  mem",
)


def lsload_rows(nodes: Sequence[NodeRow]) -> Iterator[list[str]]:
    """Of load indices only what pods request of CPUs and memory is known."""
    for node in nodes:
        status = "unavail" if node.is_down else "ok" if node.schedulable else "lockU"
        part = f"{100 * node.cpus_used // node.cpus}%" if node.cpus else "-"
        free = _mib(node.mem_bytes - node.mem_used_bytes)
        unknown = [f"{'-':>5}"] * 3
        yield [node.name, status, *unknown, f"{part:>4}", "    -", "  -", "    -", "    -", "    -", f"{free:>5}"]


# Users and settings

BUSERS_HEADS: Final = (
    "USER/GROUP         ",
    "JL/P",
    "   MAX",
    " NJOBS",
    "  PEND",
    "   RUN",
    " SSUSP",
    " USUSP",
    "   RSV",
)


def user_rows(users: Sequence[str], rows: Sequence[JobRow]) -> Iterator[list[str]]:
    for user in users:
        load = load_of(row for row in rows if row.user == user)
        counts = (load.total, load.pend, load.run, load.ssusp, load.ususp, 0)
        yield [user, "   -", f"{'-':>6}", *(f"{count:>6}" for count in counts)]


def parameters(default_queue: str, settings: Mapping[str, int], *, every: bool) -> Iterator[str]:
    """bparams"""
    yield f"Default Queues:  {default_queue or '-'}"
    yield f"Job Clean Period:  {3600} seconds"
    if (most := settings.get("maxArraySize")) is not None:
        yield f"Maximum size of a job array: MAX_JOB_ARRAY_SIZE = {most}"
    if (delay_s := settings.get("killDelaySeconds")) is not None:
        yield f"Job termination interval: JOB_TERMINATE_INTERVAL = {delay_s} seconds"
    if every:
        yield f"    DEFAULT_QUEUE = {default_queue or '-'}"
        yield "    CLEAN_PERIOD = 3600"
        yield "    LSB_STDOUT_DIRECT = Y"
        yield "    LSF_UNIT_FOR_LIMITS = KB"
        yield "    JOB_DEP_LAST_SUB = 0"
