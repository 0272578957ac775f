"""Node states in Slurm's words."""

from __future__ import annotations

from dataclasses import dataclass

from hpcbatch.model.row import NodeRow, QueueRow


@dataclass(frozen=True, slots=True)
class NodeState:
    """`rank` orders the lines of sinfo: the greater the earlier, as its default sort by -t does."""

    compact: str
    long: str
    upper: str
    rank: int


DRAINING = NodeState("drng", "draining", "MIXED+DRAIN", 6)
DRAINED = NodeState("drain", "drained", "IDLE+DRAIN", 5)
MIXED = NodeState("mix", "mixed", "MIXED", 4)
ALLOCATED = NodeState("alloc", "allocated", "ALLOCATED", 3)
IDLE = NodeState("idle", "idle", "IDLE", 2)
DOWN = NodeState("down*", "down*", "DOWN*+NOT_RESPONDING", 1)


def node_state(node: NodeRow) -> NodeState:
    """The state of a node: down when it does not answer, drained or draining when it takes no new pods."""
    if not node.ready:
        return DOWN
    if not node.schedulable:
        return DRAINING if node.cpus_used else DRAINED
    if node.cpus_used == 0:
        return IDLE
    return ALLOCATED if node.cpus_used >= node.cpus else MIXED


def availability(queue: QueueRow) -> tuple[str, str]:
    """A partition's state as scontrol shows it, and sinfo: PBS's `enabled` and `started` together."""
    if queue.is_open:
        return ("UP", "up") if queue.is_started else ("DOWN", "down")
    return ("DRAIN", "drain") if queue.is_started else ("INACTIVE", "inact")


ASKED: dict[str, frozenset[NodeState]] = {
    "alloc": frozenset({ALLOCATED, MIXED}),
    "allocated": frozenset({ALLOCATED, MIXED}),
    "mix": frozenset({MIXED}),
    "mixed": frozenset({MIXED}),
    "idle": frozenset({IDLE}),
    "down": frozenset({DOWN}),
    "no_respond": frozenset({DOWN}),
    "drain": frozenset({DRAINED, DRAINING}),
    "drained": frozenset({DRAINED}),
    "draining": frozenset({DRAINING}),
    "drng": frozenset({DRAINING}),
    **dict.fromkeys(
        (
            "comp",
            "completing",
            "fail",
            "future",
            "maint",
            "reserved",
            "resv",
            "unk",
            "unknown",
            "reboot",
            "planned",
            "perfctrs",
            "cloud",
            "powering_down",
            "powered_down",
            "power_down",
            "powering_up",
        ),
        frozenset(),
    ),
}
"""What `sinfo -t NAME` selects; the states that our nodes never have select none."""
