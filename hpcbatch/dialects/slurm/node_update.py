"""`scontrol update NodeName=…`: its command line, and what is refused of it."""

from __future__ import annotations

from collections.abc import Sequence

from hpcbatch.dataclass import dataclass
from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.dialects.slurm.hostlist import expand
from hpcbatch.dialects.slurm.update import is_tag, pairs_of
from hpcbatch.errors import NotSupportedError
from hpcbatch.model.node_features import is_feature_name
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
_TAGS = {"NodeName": 1, "State": 1, "Reason": 1, "ActiveFeatures": 3, "Features": 1, "AvailableFeatures": 3}
"""With the length down to which they may be cut short. Source: scontrol_update_node(), 22.05."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeUpdate:
    names: tuple[str, ...]
    """ALL alone: every node."""
    add: frozenset[Mark] = frozenset()
    remove: frozenset[Mark] = frozenset()
    reason: str | None = None
    available: tuple[str, ...] | None = None
    """Features that the nodes could have; None: as before."""
    active: tuple[str, ...] | None = None
    """Those of them that they have; None: all."""


def is_of_nodes(words: Sequence[str]) -> bool:
    return any(is_tag(word.partition("=")[0], "NodeName", 3) for word in words)


def read_node_update(words: Sequence[str]) -> NodeUpdate:
    """Raises SlurmUsageError with the real texts, exit 1."""
    names: tuple[str, ...] = ()
    state: _State | None = None
    reason: str | None = None
    available: tuple[str, ...] | None = None
    active: tuple[str, ...] | None = None
    for tag, value, _ in pairs_of(words):
        name = next((name for name, least in _TAGS.items() if is_tag(tag, name, least)), None)
        if name == "NodeName":
            names = tuple(expand(value))
        elif name == "State":
            state = _read_state(value)
        elif name == "Reason":
            reason = value
        elif name == "ActiveFeatures":
            active = _read_features(value)
        elif name is not None:
            available = _read_features(value)
        else:
            raise NotSupportedError(f"scontrol update of a node's {tag} is not supported yet")
    if not names:
        raise SlurmUsageError("No node names given")
    if state is None:
        return NodeUpdate(names=names, reason=reason, available=available, active=active)
    if state.add and not reason:
        raise SlurmUsageError("You must specify a reason when DOWNING or DRAINING a node. Request denied")
    if not state.add and reason is None:
        reason = ""  # as in Slurm: a node that is back in use has no reason
    return NodeUpdate(
        names=names, add=state.add, remove=state.remove, reason=reason, available=available, active=active
    )


def _read_features(value: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name for name in value.split(",") if name))
    if wrong := [name for name in names if not is_feature_name(name)]:
        raise SlurmUsageError(
            "slurm_update error: Invalid feature specification\n"
            f"scontrol: hpcbatch: {wrong[0]} cannot be a part of a label of Kubernetes"
        )
    return names


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
