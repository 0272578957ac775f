"""The rows of listings: jobs, nodes and queues.

Named tuples, because every command makes these classes at its start, and a frozen dataclass costs a millisecond there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import lru_cache

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.labels import NAMESPACE_COLUMN
from hpcbatch.model.state import JobState, Reason
from hpcbatch.typed import TYPE_CHECKING, Any, Final, NamedTuple
from hpcbatch.units import MAX_WALLTIME_S, check_time, parse_rfc3339

if TYPE_CHECKING:
    from hpcbatch.model.gres import Amount

CPUS_STAY: Final = "its CPUs stay taken: "
"""With the reason behind it, the message of a suspended job that does not leave its CPUs to others."""


class JobRow(NamedTuple):
    """What a listing shows of a job: the BatchJob's printer columns, a few hundred bytes."""

    job_id: int
    namespace: str
    object_name: str
    dialect: str
    server: str
    name: str
    user: str
    queue: str
    state: JobState
    reason: Reason
    message: str
    nodes: int
    cpus: int
    mem_bytes: int | None
    """Memory of all chunks together; None if no memory was requested."""
    walltime_s: int | None
    cpu_used_s: int | None
    hosts: tuple[str, ...]
    """Node of each pod in order; a node with two pods appears twice."""
    cpus_per_host: tuple[int, ...]
    submit_time: datetime | None
    eligible_time: datetime | None
    start_time: datetime | None
    end_time: datetime | None
    begin_time: datetime | None
    exit_code: int | None
    exit_signal: int | None
    priority: int
    account: str
    work_dir: str
    command: str
    session_id: int | None
    tres_per_node: str = ""
    """Generic resources as Slurm writes them, `gres:gpu:2`; per node, per job, per task."""
    tres_per_job: str = ""
    tres_per_task: str = ""
    features: str = ""
    """Slurm's --constraint as given."""
    qos: str = ""
    """Slurm's --qos as given."""
    licenses: str = ""
    """Slurm's --licenses as given."""
    array_id: int | None = None
    """For a member: the number of its array."""
    array_index: int | None = None
    keeps_number: bool = False
    """A member that Slurm knows by its array's number (model.array.Membership)."""
    array_indices: str = ""
    """For an array, as model.indices writes them: all indices, and below the sets of model.array.ArrayStatus."""
    array_pending: str = ""
    array_active: str = ""
    array_succeeded: str = ""
    array_failed: str = ""
    array_deleted: str = ""
    array_limit: int | None = None
    array_held: str = ""
    """Members that users hold individually; always empty in the row of a whole record."""
    nice: int = 0
    dependency: str = ""
    """The open part of its dependency, as in DependencyProgress.left."""
    run_count: int = 0
    rerunnable: bool = True
    uid: int | None = None
    """The owner's; None until a newer controller has set it."""
    planned_start: datetime | None = None
    """When it is expected to start, while it waits."""
    planned_nodes: tuple[str, ...] = ()
    """The nodes that it is expected to start on."""
    rank: int | None = None
    """Its priority, where the site's has factors."""
    place_of: int = 0
    """In the place of which job it, or its array, waits, once these have been exchanged; 0: in its own."""
    reservation: str = ""
    """That it asks for, or several with commas between; PBS's are queues."""
    used_reservation: str = ""
    """In which of several it runs, once it does."""
    other_queues: tuple[str, ...] = ()
    """In which it may start, too, while it waits."""
    resources: str = ""
    """Further countable ones by the site's names: `fpga=1,gpu=8`."""
    submit_host: str = ""
    components: str = ""
    """How many a heterogeneous job has; in the row of one of them `1/3` (dialects.slurm.component_records)."""
    stood_s: int = 0
    """For how long its run was suspended, but for the time since `suspended_at`."""
    suspended_at: datetime | None = None
    earlier_s: int = 0
    """How long its earlier runs took, without suspensions."""

    def ran_s(self, now: datetime) -> int:
        """Wall-clock time that its run took so far, or altogether, without the time for which it was suspended."""
        if self.start_time is None:
            return 0
        until = self.end_time or now
        until = until if self.suspended_at is None else min(until, self.suspended_at)
        return max(0, int((until - self.start_time).total_seconds()) - self.stood_s)

    @property
    def frees_cpus(self) -> bool:
        """Suspended, it leaves its CPUs to others."""
        return self.state is JobState.SUSPENDED and not self.message.startswith(CPUS_STAY)


def reservation_names(text: str) -> tuple[str, ...]:
    """`a,b`: each name once, in that order."""
    return tuple(dict.fromkeys(filter(None, text.split(","))))


def is_reservations_queue(queue: str) -> bool:
    """PBS's reservations have queues: R12, S13, M14; no Volcano Queue can have such a name."""
    return queue[:1] in {"R", "S", "M"} and queue[1:].isascii() and queue[1:].isdigit()


class Column(NamedTuple):
    """A value of the BatchJob that listings show, and the fields of JobRow that are read from its cells."""

    name: str
    type: str
    """Kubernetes' type: string, integer, boolean or date."""
    path: str
    """Path of the value in the BatchJob: `.status.owner`."""
    reads: Mapping[str, Callable[[Any], Any]]
    """Fields of the JobRow, each with its conversion of a cell; the cell is None if the record has no value."""
    priority: int | None = None
    """Of the definition's printer column: 0: `kubectl get` shows it; 1: `kubectl get -o wide` does. None: it has none
    of its own, and stands in ROW.
    """
    description: str = ""


@lru_cache(maxsize=4096)
def parse_time(text: str | None) -> datetime | None:
    """A time of a job as Kubernetes writes it; None stays None. Raises HpcBatchError."""
    return None if text is None else check_time(parse_rfc3339(text))


def _same(cell: Any) -> Any:
    return cell


def _text(cell: str | None) -> str:
    return cell or ""


def _number(cell: int | None) -> int:
    return cell or 0


AS_IT_IS: Final = (_same, _text, _number)
"""Conversions that change nothing but None."""


def _walltime_s(cell: int | None) -> int | None:
    if cell is not None and cell > MAX_WALLTIME_S:
        raise HpcBatchError(f"a walltime of {cell} s")
    return cell


def _nodes(cell: str | None) -> tuple[str, ...]:
    """Node names of `node-0*4+node-1*4`."""
    return tuple(host.rpartition("*")[0] for host in (cell or "").split("+") if host)


def _names(cell: str | None) -> tuple[str, ...]:
    return tuple(cell.split(",")) if cell else ()


def _cpus_per_host(cell: str | None) -> tuple[int, ...]:
    return tuple(int(host.rpartition("*")[2]) for host in (cell or "").split("+") if host)


def _indices(cell: str | None) -> str:
    """Raises HpcBatchError for text that views could not parse."""
    if not cell:
        return ""
    from hpcbatch.model.indices import Indices, check_size

    check_size(Indices.parse(cell))
    return cell


COLUMNS: Final = (
    Column("Id", "string", ".status.jobId", {"job_id": int}, 0, "Number of the job"),
    Column("Job", "string", ".status.summary.name", {"name": _text}, 0, "Name that the user gave"),
    Column("User", "string", ".status.owner", {"user": _text}, 0),
    Column("Queue", "string", ".status.queue", {"queue": _text}, 0),
    Column("State", "string", ".status.state", {"state": JobState}, 0),
    Column(
        "Reason",
        "string",
        ".status.reason",
        {"reason": lambda cell: Reason(cell or Reason.NONE)},
        0,
        "Why it waits or ended so",
    ),
    Column("Nodes", "integer", ".status.summary.nodes", {"nodes": _number}, 0),
    Column("Age", "date", ".metadata.creationTimestamp", {}, 0),
    Column("Cpus", "integer", ".status.summary.cpus", {"cpus": _number}),
    Column("Mem", "integer", ".status.summary.memBytes", {"mem_bytes": _same}, description="Bytes asked of all chunks"),
    Column("Walltime", "integer", ".status.walltimeSeconds", {"walltime_s": _walltime_s}),
    Column("CpuUsed", "integer", ".status.cpuUsedSeconds", {"cpu_used_s": _same}),
    Column(
        "Hosts",
        "string",
        ".status.summary.hosts",
        {"hosts": _nodes, "cpus_per_host": _cpus_per_host},
        description="Nodes in order of the pods with their CPUs",
    ),
    Column("Submitted", "string", ".metadata.creationTimestamp", {"submit_time": parse_time}, 1),
    Column("Eligible", "string", ".status.eligibleTime", {"eligible_time": parse_time}, 1),
    Column("Started", "string", ".status.startTime", {"start_time": parse_time}),
    Column("Ended", "string", ".status.endTime", {"end_time": parse_time}),
    Column("Begin", "string", ".status.summary.beginTime", {"begin_time": parse_time}),
    Column("ExitCode", "integer", ".status.exitCode", {"exit_code": _same}),
    Column("ExitSignal", "integer", ".status.exitSignal", {"exit_signal": _same}),
    Column("Priority", "integer", ".status.summary.priority", {"priority": _number}),
    Column("Account", "string", ".status.summary.account", {"account": _text}),
    Column("WorkDir", "string", ".status.workDir", {"work_dir": _text}),
    Column("Command", "string", ".spec.scriptPath", {"command": _text}),
    Column("Session", "integer", ".status.sessionId", {"session_id": _same}),
    Column("Message", "string", ".status.message", {"message": _text}, 1),
    Column("TresPerNode", "string", ".spec.attributes.tres_per_node", {"tres_per_node": _text}),
    Column("TresPerJob", "string", ".spec.attributes.tres_per_job", {"tres_per_job": _text}),
    Column("TresPerTask", "string", ".spec.attributes.tres_per_task", {"tres_per_task": _text}),
    Column("Features", "string", ".spec.attributes.constraint", {"features": _text}),
    Column("Qos", "string", ".spec.attributes.qos", {"qos": _text}),
    Column("Licenses", "string", ".spec.attributes.licenses", {"licenses": _text}),
    Column("Nice", "integer", ".status.summary.nice", {"nice": _number}),
    Column(
        "Dependency",
        "string",
        ".status.dependency.left",
        {"dependency": _text},
        description="What it still waits for of other jobs",
    ),
    Column("Runs", "integer", ".status.runCount", {"run_count": _number}, description="How often it has been started"),
    Column("Rerunnable", "boolean", ".spec.rerunnable", {"rerunnable": lambda cell: cell is not False}),
    Column("Uid", "integer", ".status.uid", {"uid": _same}),
    Column("ArrayId", "integer", ".spec.memberOf.arrayId", {"array_id": _same}, description="Of a member of an array"),
    Column("ArrayIndex", "integer", ".spec.memberOf.index", {"array_index": _same}),
    Column(
        "KeepsNumber",
        "boolean",
        ".spec.memberOf.keepsNumber",
        {"keeps_number": bool},
        description="Slurm knows the member by its array's number",
    ),
    Column("ArrayIndices", "string", ".spec.array.indices", {"array_indices": _indices}, 1, "Of an array"),
    Column("ArrayPending", "string", ".status.array.pending", {"array_pending": _indices}, 1),
    Column("ArrayActive", "string", ".status.array.active", {"array_active": _indices}, 1),
    Column("ArraySucceeded", "string", ".status.array.succeeded", {"array_succeeded": _indices}, 1),
    Column("ArrayFailed", "string", ".status.array.failed", {"array_failed": _indices}, 1),
    Column("ArrayDeleted", "string", ".status.array.deleted", {"array_deleted": _indices}, 1),
    Column("ArrayLimit", "integer", ".status.array.limit", {"array_limit": _same}),
    Column("ArrayHeld", "string", ".spec.arrayRequest.held", {"array_held": _text}, 1),
    Column(
        "Planned",
        "string",
        ".status.plannedStart",
        {"planned_start": parse_time},
        1,
        "When it is expected to start",
    ),
    Column("Rank", "integer", ".status.rank", {"rank": _same}, 1),
    Column("PlaceOf", "integer", ".status.order.number", {"place_of": _number}),
    Column("OtherQueues", "string", ".status.summary.otherQueues", {"other_queues": _names}),
    Column("PlannedNodes", "string", ".status.plannedNodes", {"planned_nodes": _names}),
    Column("Reservation", "string", ".status.summary.reservation", {"reservation": _text}),
    Column("UsedReservation", "string", ".status.reservation", {"used_reservation": _text}),
    Column("Resources", "string", ".status.summary.resources", {"resources": _text}),
    Column("Components", "string", ".spec.attributes.het_size", {"components": _text}),
    Column("Stood", "integer", ".status.summary.stoodSeconds", {"stood_s": _number}),
    Column("SuspendedAt", "string", ".status.summary.suspendedTime", {"suspended_at": parse_time}),
    Column("Earlier", "integer", ".status.summary.earlierSeconds", {"earlier_s": _number}),
    Column("SubmitHost", "string", ".spec.submitHost", {"submit_host": _text}),
    Column("Dialect", "string", ".spec.dialect", {"dialect": _text}),
    Column("Server", "string", ".spec.server", {"server": lambda cell: cell or "localhost"}),
)
"""All that listings are made from, in the order of the history's table, which has a column for each."""

IN_ROW: Final = tuple(column for column in COLUMNS if column.priority is None)

ROW: Final = Column("Row", "string", ".status.row", {}, 1, "What else listings show of it, as JSON")
"""The cells of IN_ROW. Each column of a row costs the API server 1 to 2 us of CPU, so that a listing with a column for
each value takes it twice as long. A column of its own has what differs among jobs that wait and were
submitted alike, so that their texts here are one in memory; what other writes than that of a whole status change; and
the sets of an array, which can be large.
"""

NAMESPACE: Final = Column(NAMESPACE_COLUMN, "string", ".metadata.namespace", {}, 1)
"""For listings of all namespaces: with it rows need no metadata beside their cells, whose managedFields are as large as
all else. The history's rows have no managedFields, and do without it.
"""

PRINTED: Final = (*(column for column in COLUMNS if column.priority is not None), ROW, NAMESPACE)
"""The definition's additionalPrinterColumns, in order."""


class NodeRow(NamedTuple):
    """A node as pbsnodes and sinfo show it."""

    name: str
    ready: bool
    schedulable: bool
    cpus: int
    mem_bytes: int
    cpus_used: int
    mem_used_bytes: int
    jobs: tuple[str, ...] = ()
    """Job numbers with pods on it, as text, in order."""
    arch: str = "amd64"
    since: datetime | None = None
    """Last change of its readiness."""
    labels: frozenset[tuple[str, str]] = frozenset()
    comment: str = ""
    """What operators say of it, above all why it takes no jobs."""
    comment_by: str = ""
    comment_time: datetime | None = None
    reserved: str = ""
    """`resv` or `maint` of one that is reserved now."""
    marks: frozenset[str] = frozenset()
    """Of an unschedulable node, what operators marked it as (model.node_marks.Mark); none: it is drained."""
    extended: frozenset[tuple[str, int]] = frozenset()
    """How many it has of Kubernetes' extended resources, such as GPUs."""
    extended_used: frozenset[tuple[str, int]] = frozenset()
    """Likewise what pods hold of them; where this user may see no pods, what jobs hold, by the site's names."""
    gres: tuple[Amount, ...] = ()
    """The same by the names by which jobs ask for them, where that was looked up."""

    @property
    def host(self) -> str:
        """The name by which pods ask for it: mostly its own."""
        return next((value for label, value in self.labels if label == "kubernetes.io/hostname"), self.name)

    @property
    def is_down(self) -> bool:
        """It does not answer, or an operator says that it is down."""
        return not self.ready or "down" in self.marks

    @property
    def is_drained(self) -> bool:
        return not self.schedulable and ("drain" in self.marks or not self.marks)


class QueueRow(NamedTuple):
    """A queue or partition as qstat -Q and sinfo show it. None: no limit, no default."""

    name: str
    is_default: bool
    is_open: bool
    """Takes jobs: PBS's `enabled`."""
    max_walltime_s: int | None = None
    default_walltime_s: int | None = None
    max_nodes: int | None = None
    max_cpus: int | None = None
    """CPUs of all nodes of a job together."""
    max_mem_per_node_bytes: int | None = None
    default_mem_per_node_bytes: int | None = None
    node_selector: tuple[tuple[str, str], ...] = ()
    """Labels of the nodes that it reaches."""
    aliases: tuple[str, ...] = ()
    """Further names of it in scripts, with `*` and `?`."""
    is_started: bool = True
    """Its jobs are started."""
    volcano_queue: str = ""
    is_idle: bool = False
    """No job of any queue is started now."""
    min_nodes: int | None = None
    nodes: tuple[str, ...] | None = None
    """Host names of the nodes that it reaches, of those that have the labels; None: all of them."""
    allow_accounts: tuple[str, ...] | None = None
    deny_accounts: tuple[str, ...] = ()
    allow_groups: tuple[str, ...] | None = None
    is_hidden: bool = False
    root_only: bool = False
    priority_tier: int = 1
    priority_job_factor: int = 1
    min_cpus: int | None = None
    min_walltime_s: int | None = None
    max_mem_bytes: int | None = None
    """Memory of all nodes of a job together."""
    min_mem_bytes: int | None = None
    destinations: tuple[str, ...] | None = None
    """Of a routing queue."""
    routes_held: bool = False
    routes_waiting: bool = False
    from_route_only: bool = False
    allow_qos: tuple[str, ...] | None = None
    deny_qos: tuple[str, ...] = ()
    qos: str = ""
    disables_root: bool = False
    preempt_mode: str = ""
    grace_s: int = 0
    priority: int | None = None
    backfill_depth: int | None = None
    site_preempt_mode: str = ""
    """That of queues that have none of their own."""
    reservation: str = ""
    """It is the queue of a reservation, by this name."""

    def reaches(self, node: NodeRow) -> bool:
        if self.nodes is not None and node.host not in self.nodes:
            return False
        return all(pair in node.labels for pair in self.node_selector)
