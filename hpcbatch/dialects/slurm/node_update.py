"""`scontrol update NodeName=…`: its command line, and what is refused of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.dialects.slurm.hostlist import expand
from hpcbatch.dialects.slurm.update import is_tag, pairs_of
from hpcbatch.errors import NotSupportedError
from hpcbatch.model.node_marks import Mark

ALL = "ALL"
_EVERY = frozenset(Mark)


@dataclass(frozen=True, slots=True)
class _State:
    """Which marks a state sets, and which it takes off."""

    add: frozenset[Mark] = frozenset()
    remove: frozenset[Mark] = frozenset()


_STATES = {
    "DRAIN": _State(add=frozenset({Mark.DRAIN}), remove=frozenset({Mark.FAIL})),
    "DOWN": _State(add=frozenset({Mark.DOWN})),
    "FAIL": _State(add=frozenset({Mark.FAIL}), remove=frozenset({Mark.DRAIN})),
    "RESUME": _State(remove=_EVERY),
    "UNDRAIN": _State(remove=frozenset({Mark.DRAIN})),
    "IDLE": _State(remove=_EVERY),
}
"""Each may be cut short. Source: update_node() of node_mgr.c, 22.05."""
_NOT_HERE = ("CANCEL_REBOOT", "FUTURE", "NORESP", "POWER_DOWN", "POWER_UP")
_TAGS = {"NodeName": 5, "State": 1, "Reason": 1}
"""With the length down to which they may be cut short. Source: scontrol_update_node(), 22.05."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeUpdate:
    names: tuple[str, ...]
    """ALL alone: every node."""
    add: frozenset[Mark] = frozenset()
    remove: frozenset[Mark] = frozenset()
    reason: str | None = None


def is_of_nodes(words: Sequence[str]) -> bool:
    return any(is_tag(word.partition("=")[0], "NodeName", 3) for word in words)


def read_node_update(words: Sequence[str]) -> NodeUpdate:
    """Raises SlurmUsageError with the real texts, exit 1."""
    names: tuple[str, ...] = ()
    state: _State | None = None
    reason: str | None = None
    for tag, value, _ in pairs_of(words):
        name = next((name for name, least in _TAGS.items() if is_tag(tag, name, least)), None)
        if name == "NodeName":
            names = tuple(expand(value))
        elif name == "State":
            state = _read_state(value)
        elif name == "Reason":
            reason = value
        else:
            raise NotSupportedError(f"scontrol update of a node's {tag} is not supported yet")
    if not names:
        raise SlurmUsageError("No node names given")
    if state is None:
        return NodeUpdate(names=names, reason=reason)
    if state.add and not reason:
        raise SlurmUsageError("You must specify a reason when DOWNING or DRAINING a node. Request denied")
    if not state.add and reason is None:
        reason = ""  # as in Slurm: a node that is back in use has no reason
    return NodeUpdate(names=names, add=state.add, remove=state.remove, reason=reason)


def _read_state(value: str) -> _State:
    upper = value.upper()
    for name, state in _STATES.items():
        if upper and name.startswith(upper):
            return state
    if upper and any(name.startswith(upper) for name in _NOT_HERE):
        raise NotSupportedError(f"scontrol update State={value} is not supported: nodes neither boot nor sleep here")
    names = ", ".join(_STATES)
    raise SlurmUsageError(
        f"Invalid input: State={value}\nRequest aborted\nscontrol: hpcbatch: states that can be set are {names}"
    )
