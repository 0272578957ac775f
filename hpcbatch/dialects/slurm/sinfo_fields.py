"""The fields of sinfo: what a line shows of some nodes of a partition that are alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import tzinfo

from hpcbatch.dataclass import dataclass
from hpcbatch.dialects.slurm.clock import short, stamp
from hpcbatch.dialects.slurm.errors import SLURM_VERSION
from hpcbatch.dialects.slurm.hostlist import compress_sorted
from hpcbatch.dialects.slurm.memory import MIB
from hpcbatch.dialects.slurm.node_states import NodeState, availability, features, node_state
from hpcbatch.dialects.slurm.preemption import preempt_mode
from hpcbatch.model.node_features import ACTIVE, AVAILABLE
from hpcbatch.model.row import NodeRow, QueueRow


@dataclass(frozen=True, slots=True)
class Group:
    """One line: some nodes of a partition that are alike."""

    queue: QueueRow
    nodes: tuple[NodeRow, ...]
    tz: tzinfo
    time_format: str

    @property
    def state(self) -> NodeState | None:
        return node_state(self.nodes[0]) if self.nodes else None

    def common(self, value: Callable[[NodeRow], int]) -> str:
        """The least value, with a `+` where nodes have more."""
        found = {value(node) for node in self.nodes}
        return f"{min(found, default=0)}{'+' if len(found) > 1 else ''}"

    def count(self) -> tuple[int, int, int, int]:
        """Nodes that are allocated, idle, other, and all of them."""
        states = [node_state(node) for node in self.nodes]
        other = sum(state.is_other for state in states)
        idle = sum(state.compact == "idle" for state in states)
        return len(states) - other - idle, idle, other, len(states)

    def cpus(self) -> tuple[int, int, int, int]:
        """CPUs that are allocated, idle, other, and all of them."""
        used = sum(node.cpus_used for node in self.nodes)
        total = sum(node.cpus for node in self.nodes)
        idle = sum(node.cpus - node.cpus_used for node in self.nodes if node.ready and node.schedulable)
        return used, max(0, idle), max(0, total - used - idle), total


def _slashed(counts: Sequence[int]) -> str:
    return "/".join(str(count) for count in counts)


def _sct(group: Group) -> str:
    return f"1:{group.common(lambda node: node.cpus)}:1"


def _since(group: Group) -> str:
    shown = group.nodes[0].comment_time if group.nodes else None
    if shown is None and group.nodes and group.state is not None and group.state.is_other:
        shown = group.nodes[0].since
    return stamp(shown, group.tz, group.time_format, none="Unknown")


Value = Callable[[Group], str]


def _fixed(text: str) -> Value:
    return lambda _group: text


def _node_list(group: Group) -> str:
    return compress_sorted([node.name for node in group.nodes])


def _host_names(group: Group) -> str:
    return ",".join(node.name for node in group.nodes)


def _limit(group: Group) -> str:
    return "infinite" if group.queue.max_walltime_s is None else short(group.queue.max_walltime_s)


def _default_time(group: Group) -> str:
    return "n/a" if group.queue.default_walltime_s is None else short(group.queue.default_walltime_s)


def _job_size(group: Group) -> str:
    least, most = group.queue.min_nodes or 1, group.queue.max_nodes
    return str(least) if most == least else f"{least}-{'infinite' if most is None else most}"


LETTERS: dict[str, tuple[str, Value]] = {
    "a": ("AVAIL", lambda g: availability(g.queue)[1]),
    "A": ("NODES(A/I)", lambda g: _slashed(g.count()[:2])),
    "b": ("ACTIVE_FEATURES", lambda g: features(g.nodes[0], ACTIVE) if g.nodes else "(null)"),
    "B": ("MAX_CPUS_PER_NODE", _fixed("UNLIMITED")),
    "c": ("CPUS", lambda g: g.common(lambda node: node.cpus)),
    "C": ("CPUS(A/I/O/T)", lambda g: _slashed(g.cpus())),
    "d": ("TMP_DISK", _fixed("0")),
    "D": ("NODES", lambda g: str(len(g.nodes))),
    "e": ("FREE_MEM", lambda g: g.common(lambda node: max(0, node.mem_bytes - node.mem_used_bytes) // MIB)),
    "E": ("REASON", lambda g: (g.nodes[0].comment if g.nodes else "") or "none"),
    "f": ("AVAIL_FEATURES", lambda g: features(g.nodes[0], ACTIVE, AVAILABLE) if g.nodes else "(null)"),
    "F": ("NODES(A/I/O/T)", lambda g: _slashed(g.count())),
    "g": ("GROUPS", lambda g: "all" if g.queue.allow_groups is None else ",".join(g.queue.allow_groups)),
    "G": ("GRES", _fixed("(null)")),
    "h": ("OVERSUBSCRIBE", _fixed("NO")),
    "H": ("TIMESTAMP", _since),
    "I": ("PRIO_JOB_FACTOR", lambda g: str(g.queue.priority_job_factor)),
    "l": ("TIMELIMIT", _limit),
    "L": ("DEFAULTTIME", _default_time),
    "m": ("MEMORY", lambda g: g.common(lambda node: node.mem_bytes // MIB)),
    "M": ("PREEMPT_MODE", lambda g: preempt_mode(g.queue)),
    "n": ("HOSTNAMES", _host_names),
    "N": ("NODELIST", _node_list),
    "o": ("NODE_ADDR", _host_names),
    "O": ("CPU_LOAD", _fixed("N/A")),
    "p": ("PRIO_TIER", lambda g: str(g.queue.priority_tier)),
    "P": ("PARTITION", lambda g: g.queue.name + "*" * g.queue.is_default),
    "r": ("ROOT", lambda g: "yes" if g.queue.root_only else "no"),
    "R": ("PARTITION", lambda g: g.queue.name),
    "s": ("JOB_SIZE", _job_size),
    "S": ("ALLOCNODES", _fixed("all")),
    "t": ("STATE", lambda g: g.state.compact if g.state else "n/a"),
    "T": ("STATE", lambda g: g.state.long if g.state else "n/a"),
    "u": ("USER", lambda g: (g.nodes[0].comment_by if g.nodes else "") or "Unknown"),
    "U": ("USER", lambda g: (g.nodes[0].comment_by if g.nodes else "") or "Unknown"),
    "v": ("VERSION", _fixed(SLURM_VERSION)),
    "V": ("CLUSTER", _fixed("N/A")),
    "w": ("WEIGHT", _fixed("1")),
    "X": ("SOCKETS", _fixed("1")),
    "Y": ("CORES", lambda g: g.common(lambda node: node.cpus)),
    "z": ("S:C:T", _sct),
    "Z": ("THREADS", _fixed("1")),
    # Fields that only -O has.
    "allocmem": ("ALLOCMEM", lambda g: g.common(lambda node: node.mem_used_bytes // MIB)),
    "comment": ("COMMENT", _fixed("(null)")),
    "extra": ("EXTRA", _fixed("(null)")),
    "gresused": ("GRES_USED", _fixed("(null)")),
    "statecomplete": ("STATECOMPLETE", lambda g: g.state.long if g.state else "n/a"),
}

NAMES = {
    "allocmem": "allocmem",
    "allocnodes": "S",
    "available": "a",
    "cpus": "c",
    "cpusload": "O",
    "cpusstate": "C",
    "cores": "Y",
    "defaulttime": "L",
    "disk": "d",
    "features": "f",
    "features_act": "b",
    "freemem": "e",
    "gres": "G",
    "groups": "g",
    "gresused": "gresused",
    "maxcpuspernode": "B",
    "memory": "m",
    "nodeai": "A",
    "nodeaiot": "F",
    "nodeaddr": "o",
    "nodehost": "n",
    "nodelist": "N",
    "nodes": "D",
    "oversubscribe": "h",
    "partition": "P",
    "partitionname": "R",
    "preemptmode": "M",
    "priorityjobfactor": "I",
    "prioritytier": "p",
    "reason": "E",
    "root": "r",
    "size": "s",
    "sockets": "X",
    "socketcorethread": "z",
    "statecompact": "t",
    "statelong": "T",
    "threads": "Z",
    "time": "l",
    "timestamp": "H",
    "user": "u",
    "userlong": "U",
    "version": "v",
    "weight": "w",
    "cluster": "V",
    "comment": "comment",
    "extra": "extra",
    "statecomplete": "statecomplete",
}
"""-O names of sinfo, and the key of the field in LETTERS."""
