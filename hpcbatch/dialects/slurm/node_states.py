"""Node states in Slurm's words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from hpcbatch.dataclass import dataclass
from hpcbatch.dialects.slurm.memory import MIB
from hpcbatch.model.node_features import features_of
from hpcbatch.model.row import NodeRow, QueueRow


@dataclass(frozen=True, slots=True)
class NodeState:
    """`rank` orders the lines of sinfo: the greater the earlier, as its default sort by -t does."""

    compact: str
    long: str
    upper: str
    rank: int

    @property
    def base(self) -> str:
        """Without flags: IDLE, MIXED, ALLOCATED or DOWN."""
        return self.upper.partition("+")[0].rstrip("*")

    @property
    def flags(self) -> frozenset[str]:
        return frozenset(self.upper.split("+")[1:])

    @property
    def is_other(self) -> bool:
        """Neither allocated nor idle, as sinfo -s counts."""
        return self.base == "DOWN" or (self.base == "IDLE" and bool(self.flags))


_BASE = {
    "MIXED": NodeState("mix", "mixed", "MIXED", 4),
    "ALLOCATED": NodeState("alloc", "allocated", "ALLOCATED", 3),
    "IDLE": NodeState("idle", "idle", "IDLE", 2),
    "DOWN": NodeState("down", "down", "DOWN", 1),
}
_FLAGGED = {"DRAIN": (("drng", "draining"), ("drain", "drained")), "FAIL": (("failg", "failing"), ("fail", "fail"))}
"""What a flag makes of a node with jobs, and of one without. Source: node_state_string(), 22.05."""


def node_state(node: NodeRow) -> NodeState:
    """The state of a node: down when it does not answer or is said to be, drained or failing when marked so."""
    shown = _BASE[_base(node)]
    flags = [flag for flag, is_set in (("DRAIN", node.is_drained), ("FAIL", "fail" in node.marks)) if is_set]
    is_idle = shown.upper == "IDLE" and not flags
    of_reservation = [*["MAINTENANCE"] * (node.reserved == "maint"), *["RESERVED"] * bool(node.reserved)]
    star = "" if node.ready else "*"
    upper = "+".join([shown.upper + star, *flags, *of_reservation, *(["NOT_RESPONDING"] if star else [])])
    compact, long, rank = shown.compact, shown.long, shown.rank
    if flags:
        has_jobs = shown.upper in {"MIXED", "ALLOCATED"}
        compact, long = _FLAGGED[flags[0]][not has_jobs]
        rank = 6 if has_jobs else 5
    elif is_idle and node.reserved:
        compact, long = ("maint", "maint") if node.reserved == "maint" else ("resv", "reserved")
    return NodeState(compact + star, long + star, upper, rank)


def _base(node: NodeRow) -> str:
    if node.is_down:
        return "DOWN"
    if node.cpus_used == 0:
        return "IDLE"
    return "ALLOCATED" if node.cpus_used >= node.cpus else "MIXED"


def features(node: NodeRow, *values: str, none: str = "(null)") -> str:
    return ",".join(features_of(node.labels, *values)) or none


def gres(node: NodeRow, *, none: str = "(null)") -> str:
    return ",".join(f"{each.name}:{each.has}" for each in node.gres) or none


def gres_used(node: NodeRow, *, none: str = "(null)") -> str:
    """Which of them, only the device plugin knows."""
    return ",".join(f"{each.name}:{each.used}(IDX:N/A)" for each in node.gres) or none


def configured_tres(node: NodeRow) -> str:
    has = gres_tres((each.name, each.has) for each in node.gres)
    return ",".join([f"cpu={node.cpus}", f"mem={node.mem_bytes // MIB}M", f"billing={node.cpus}", *has])


def gres_tres(amounts: Iterable[tuple[str, int]]) -> list[str]:
    """As parts of TRES, which count GPUs of all types together. What is 0 is left out."""
    from hpcbatch.model.accelerator import without_type

    found: dict[str, int] = {}
    for name, amount in amounts:
        found[without_type(name)] = found.get(without_type(name), 0) + amount
    return [f"gres/{name}={amount}" for name, amount in found.items() if amount]


def availability(queue: QueueRow) -> tuple[str, str]:
    """A partition's state as scontrol shows it, and sinfo: PBS's `enabled` and `started` together."""
    if queue.is_open:
        return ("UP", "up") if queue.is_started else ("DOWN", "down")
    return ("DRAIN", "drain") if queue.is_started else ("INACTIVE", "inact")


_Test = Callable[[NodeState], bool]
_NONE = (
    *("comp", "completing", "future", "unk", "unknown", "reboot", "planned", "perfctrs"),
    *("cloud", "powering_down", "powered_down", "power_down", "powering_up"),
)


def _is_allocated(state: NodeState) -> bool:
    return state.base in {"ALLOCATED", "MIXED"}


def _is_mixed(state: NodeState) -> bool:
    return state.base == "MIXED"


def _is_drained(state: NodeState) -> bool:
    return "DRAIN" in state.flags and not _is_allocated(state)


def _is_draining(state: NodeState) -> bool:
    return "DRAIN" in state.flags and _is_allocated(state)


ASKED: Mapping[str, _Test] = {
    "alloc": _is_allocated,
    "allocated": _is_allocated,
    "mix": _is_mixed,
    "mixed": _is_mixed,
    "idle": lambda state: state.base == "IDLE",
    "down": lambda state: state.base == "DOWN",
    "maint": lambda state: "MAINTENANCE" in state.flags,
    "reserved": lambda state: "RESERVED" in state.flags,
    "resv": lambda state: "RESERVED" in state.flags,
    "no_respond": lambda state: "NOT_RESPONDING" in state.flags,
    "drain": lambda state: "DRAIN" in state.flags,
    "drained": _is_drained,
    "draining": _is_draining,
    "drng": _is_draining,
    "fail": lambda state: "FAIL" in state.flags,
    "failing": lambda state: "FAIL" in state.flags and _is_allocated(state),
    **dict.fromkeys(_NONE, lambda _: False),
}
"""What `sinfo -t NAME` selects, drained nodes as idle ones too; the states that our nodes never have select none.
Source: _filter_out() of sinfo.c, 22.05."""
