"""`qstat -Q`, `-q` and `-B`: queues and the server, with how many jobs they have in each state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hpcbatch.dataclass import dataclass
from hpcbatch.dialects.pbs.errors import PBS_VERSION
from hpcbatch.dialects.pbs.qstat import memory
from hpcbatch.dialects.pbs.qstat_full import Attributes
from hpcbatch.dialects.pbs.states import BEGUN
from hpcbatch.model.row import JobRow, QueueRow
from hpcbatch.model.state import JobState
from hpcbatch.units import hms

_QUEUE_HEADER = """\
Queue              Max   Tot Ena Str   Que   Run   Hld   Wat   Trn   Ext Type
---------------- ----- ----- --- --- ----- ----- ----- ----- ----- ----- ----
"""
_SERVER_HEADER = """\
Server             Max   Tot   Que   Run   Hld   Wat   Trn   Ext Status
---------------- ----- ----- ----- ----- ----- ----- ----- ----- -----------
"""
_LIMITS_HEADER = """\
Queue            Memory CPU Time Walltime Node   Run   Que   Lm  State
---------------- ------ -------- -------- ---- ----- ----- ----  -----
"""
_HAS_NODES = frozenset({JobState.RUNNING, JobState.SUSPENDED, JobState.EXITING})


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCounts:
    """Jobs by state, and what those that run have been given."""

    queued: int = 0
    held: int = 0
    waiting: int = 0
    running: int = 0
    exiting: int = 0
    begun: int = 0
    """Arrays whose members have begun; these count by themselves."""
    finished: int = 0
    """In the history; a queue's total leaves them out, the server's does not."""
    cpus: int = 0
    mem_bytes: int = 0
    nodes: int = 0

    @property
    def active(self) -> int:
        return self.queued + self.held + self.waiting + self.running + self.exiting + self.begun

    @property
    def state_count(self) -> str:
        return (
            f"Transit:0 Queued:{self.queued} Held:{self.held} Waiting:{self.waiting} "
            f"Running:{self.running} Exiting:{self.exiting} Begun:{self.begun} "
        )


def count_jobs(rows: Iterable[JobRow]) -> JobCounts:
    """Count `rows`; refused submissions are no jobs. An array is one job, and each member that has nodes one more."""
    jobs = [
        row for row in rows if row.state is not JobState.REFUSED and (row.array_id is None or row.state in _HAS_NODES)
    ]
    begun = [row for row in jobs if row.array_indices and row.state in BEGUN]
    states = [row.state for row in jobs if not (row.array_indices and row.state in BEGUN)]
    running = [row for row in jobs if row.state in _HAS_NODES and not row.array_indices]
    return JobCounts(
        queued=states.count(JobState.QUEUED),
        held=states.count(JobState.HELD),
        waiting=states.count(JobState.WAITING),
        running=states.count(JobState.RUNNING) + states.count(JobState.SUSPENDED),
        exiting=states.count(JobState.EXITING),
        begun=len(begun),
        finished=sum(state.is_final for state in states),
        cpus=sum(row.cpus for row in running),
        mem_bytes=sum(row.mem_bytes or 0 for row in running),
        nodes=sum(row.nodes for row in running),
    )


def count_by_queue(jobs: Iterable[JobRow], queues: Iterable[str]) -> dict[str, JobCounts]:
    """Also of queues that the site has no more, as long as jobs are in them."""
    by_queue: dict[str, list[JobRow]] = {queue: [] for queue in queues}
    for row in jobs:
        by_queue.setdefault(row.queue, []).append(row)
    return {queue: count_jobs(found) for queue, found in by_queue.items()}


def format_queues(queues: Sequence[QueueRow], counts: Mapping[str, JobCounts], *, header: bool = True) -> str:
    """The table of `qstat -Q`; `counts` by queue name, a queue without jobs may be missing."""
    lines = [_QUEUE_HEADER] if header and queues else []
    for queue in queues:
        count = counts.get(queue.name, JobCounts())
        switches = " ".join(f"{'yes' if on else 'no':>3}" for on in (queue.is_open, queue.is_started))
        numbers = " ".join(f"{_number(n):>5}" for n in _states(count))
        kind = "Exe*" if queue.destinations is None else "Rou*"
        lines.append(f"{_cut(queue.name, 16):<16} {0:>5} {_number(count.active):>5} {switches} {numbers} {kind}\n")
    return "".join(lines)


def format_server(server: str, count: JobCounts, *, header: bool = True, is_idle: bool = False) -> str:
    """The table of `qstat -B`."""
    numbers = " ".join(f"{_number(n):>5}" for n in _states(count))
    total = _number(count.active + count.finished)
    row = f"{_cut(server, 16):<16} {0:>5} {total:>5} {numbers} {_state(is_idle):<10}\n"
    return (_SERVER_HEADER if header else "") + row


def format_limits(
    queues: Sequence[QueueRow],
    counts: Mapping[str, JobCounts],
    *,
    server: str,
    gigabytes: bool = False,
    megawords: bool = False,
) -> str:
    """The table of `qstat -q`; memory is that of all chunks of a job together, as far as it follows from limits."""
    lines = [f"\nserver: {server}\n\n{_LIMITS_HEADER}"]
    running = waiting = 0
    for queue in queues:
        count = counts.get(queue.name, JobCounts())
        ahead = count.queued + count.held + count.waiting
        running, waiting = running + count.running, waiting + ahead
        walltime = "  --   " if queue.max_walltime_s is None else hms(queue.max_walltime_s)
        nodes = "-- " if queue.max_nodes is None else str(queue.max_nodes)
        most = _most_memory(queue)
        mem = "--  " if most is None else memory(most, gigabytes=gigabytes, megawords=megawords)
        limits = f"{mem:>6.6} {'  --   ':>8} {walltime:>8.8} {nodes:>4.4}"
        state = f"{'E' if queue.is_open else 'D'} {'R' if queue.is_started else 'S'}"
        lines.append(f"{queue.name:<16.16} {limits} {count.running:>5} {ahead:>5}   --   {state}\n")
    indent = " " * 47
    return "".join(lines) + f"{indent}----- -----\n{indent}{running:>5d} {waiting:>5d}\n"


def queue_attributes(queue: QueueRow, count: JobCounts) -> Attributes:
    """What `qstat -Q -f` shows, for `format_full("Queue: name", …)` and `format_json(…, key="Queue")`."""
    is_route = queue.destinations is not None
    assigned: Attributes = [] if is_route else [("resources_assigned", _assigned(count))]
    return [
        ("queue_type", "Route" if is_route else "Execution"),
        *([] if queue.priority is None else [("Priority", str(queue.priority))]),
        ("total_jobs", str(count.active)),
        ("state_count", count.state_count),
        *([("from_route_only", "True")] if queue.from_route_only else ()),
        *_limits(queue),
        *assigned,
        *([("route_destinations", ",".join(queue.destinations))] if queue.destinations else ()),
        *([("route_held_jobs", "True")] if queue.routes_held else ()),
        *([("route_waiting_jobs", "True")] if queue.routes_waiting else ()),
        *([] if queue.backfill_depth is None else [("backfill_depth", str(queue.backfill_depth))]),
        ("enabled", str(queue.is_open)),
        ("started", str(queue.is_started)),
    ]


def _limits(queue: QueueRow) -> Attributes:
    """Limits and defaults as PBS names them. It has none for the memory of one chunk, only for that of all together."""
    mem = _most_memory(queue)
    most = {
        "mem": None if mem is None else _kb(mem),
        "ncpus": None if queue.max_cpus is None else str(queue.max_cpus),
        "nodect": None if queue.max_nodes is None else str(queue.max_nodes),
        "walltime": None if queue.max_walltime_s is None else hms(queue.max_walltime_s),
    }
    default_s = queue.default_walltime_s
    by_default = {"walltime": None if default_s is None else hms(default_s)}
    default_mem = queue.default_mem_per_node_bytes
    of_a_chunk = {"mem": None if default_mem is None else _kb(default_mem)}
    least = {
        "mem": None if queue.min_mem_bytes is None else _kb(queue.min_mem_bytes),
        "ncpus": None if queue.min_cpus is None else str(queue.min_cpus),
        "nodect": None if queue.min_nodes is None else str(queue.min_nodes),
        "walltime": None if queue.min_walltime_s is None else hms(queue.min_walltime_s),
    }
    tables = (
        ("resources_max", most),
        ("resources_min", least),
        ("resources_default", by_default),
        ("default_chunk", of_a_chunk),
    )
    found = [(name, {key: text for key, text in table.items() if text is not None}) for name, table in tables]
    return [(name, table) for name, table in found if table]


def _most_memory(queue: QueueRow) -> int | None:
    if queue.max_mem_bytes is not None:
        return queue.max_mem_bytes
    mem = queue.max_mem_per_node_bytes
    return None if mem is None or queue.max_nodes is None else mem * queue.max_nodes


def _kb(count: int) -> str:
    return f"{count >> 10}kb"


def _state(is_idle: bool) -> str:
    return "Idle" if is_idle else "Active"


def server_attributes(
    host: str,
    default_queue: str,
    count: JobCounts,
    *,
    is_idle: bool = False,
    formula: str = "",
    backfill_depth: int | None = None,
    has_eligible_time: bool = False,
) -> Attributes:
    """What `qstat -B -f` shows, for `format_full("Server: name", …)` and `format_json(…, key="Server")`.
    `backfill_depth`: None where qmgr has set none.
    """
    found: Attributes = [
        ("server_state", _state(is_idle)),
        ("server_host", host),
        ("scheduling", str(not is_idle)),
        ("total_jobs", str(count.active + count.finished)),
        ("state_count", count.state_count),
        ("default_queue", default_queue),
        ("query_other_jobs", "True"),
        ("resources_default", {"ncpus": "1"}),
        ("default_chunk", {"ncpus": "1"}),
        ("resources_assigned", _assigned(count)),
        ("flatuid", "True"),
        ("pbs_version", PBS_VERSION),
        ("job_sort_formula", formula),
        ("eligible_time_enable", str(has_eligible_time)),
        ("job_history_enable", "True"),
        ("backfill_depth", "" if backfill_depth is None else str(backfill_depth)),
    ]
    return [(name, value) for name, value in found if value]


def _assigned(count: JobCounts) -> dict[str, str]:
    mem = f"{count.mem_bytes >> 10}kb" if count.mem_bytes else "0mb"
    return {"mem": mem, "ncpus": str(count.cpus), "nodect": str(count.nodes)}


def _states(count: JobCounts) -> tuple[int, ...]:
    """In the order of the columns Que Run Hld Wat Trn Ext; nothing is ever in transit."""
    return (count.queued, count.running, count.held, count.waiting, 0, count.exiting)


def _number(value: int) -> str:
    return _cut(str(value), 5)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}*"
