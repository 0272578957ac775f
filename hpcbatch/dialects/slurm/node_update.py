"""`scontrol update NodeName=…`: its command line, and what is refused of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.dialects.slurm.hostlist import expand
from hpcbatch.dialects.slurm.update import is_tag, pairs_of
from hpcbatch.errors import NotSupportedError

ALL = "ALL"
_STATES = {"DRAIN": True, "RESUME": False, "UNDRAIN": False}
"""Each may be cut short; whether the node takes no jobs from then on."""
_NOT_HERE = ("CANCEL_REBOOT", "DOWN", "FAIL", "FUTURE", "IDLE", "NORESP", "POWER_DOWN", "POWER_UP")
_TAGS = {"NodeName": 5, "State": 1, "Reason": 1}
"""With the length down to which they may be cut short. Source: scontrol_update_node(), 22.05."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeUpdate:
    names: tuple[str, ...]
    """ALL alone: every node."""
    offline: bool | None = None
    reason: str | None = None


def is_of_nodes(words: Sequence[str]) -> bool:
    return any(is_tag(word.partition("=")[0], "NodeName", 3) for word in words)


def read_node_update(words: Sequence[str]) -> NodeUpdate:
    """Raises SlurmUsageError with the real texts, exit 1."""
    names: tuple[str, ...] = ()
    offline: bool | None = None
    reason: str | None = None
    for tag, value, _ in pairs_of(words):
        name = next((name for name, least in _TAGS.items() if is_tag(tag, name, least)), None)
        if name == "NodeName":
            names = tuple(expand(value))
        elif name == "State":
            offline = _read_state(value)
        elif name == "Reason":
            reason = value
        else:
            raise NotSupportedError(f"scontrol update of a node's {tag} is not supported yet")
    if not names:
        raise SlurmUsageError("No node names given")
    if offline and not reason:
        raise SlurmUsageError("You must specify a reason when DOWNING or DRAINING a node. Request denied")
    if offline is False and reason is None:
        reason = ""  # as in Slurm: a node that is back in use has no reason
    return NodeUpdate(names=names, offline=offline, reason=reason)


def _read_state(value: str) -> bool:
    upper = value.upper()
    for name, offline in _STATES.items():
        if upper and name.startswith(upper):
            return offline
    if upper and any(name.startswith(upper) for name in _NOT_HERE):
        raise NotSupportedError(f"scontrol update State={value} is not supported: a node is drained and resumed here")
    raise SlurmUsageError(
        f"Invalid input: State={value}\nRequest aborted\nscontrol: hpcbatch: states that can be set are DRAIN, RESUME"
    )
