"""`scontrol create|update|delete PartitionName=…`: its command line, and what is refused of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from hpcbatch.dataclass import dataclass, field
from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.dialects.slurm.hostlist import expand
from hpcbatch.dialects.slurm.memory import MIB
from hpcbatch.dialects.slurm.update import is_tag, pairs_of
from hpcbatch.dialects.slurm.values import parse_time_s
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.queue_fields import DEFAULT
from hpcbatch.typed import Any, NamedTuple

_STATES = {"UP": (True, True), "DOWN": (True, False), "DRAIN": (False, True), "INACTIVE": (False, False)}
"""Whether the partition takes jobs, and whether it starts them."""
_NO_LIMIT = frozenset({"infinite", "unlimited"})
_ALL = frozenset({"", "all"})
_MAX_COUNT = 65533
_NOT_HERE: Mapping[str, tuple[int, str]] = {
    "ExclusiveUser": (1, "no"),
    "LLN": (1, "no"),
    "ReqResv": (3, "no"),
    "OverSubscribe": (5, "no"),
    "Shared": (2, "no"),
    "OverTimeLimit": (5, "0"),
    "AllocNodes": (6, "all"),
    "MaxCPUsPerNode": (4, "unlimited"),
}
"""Tags with the length down to which they may be cut short, and the one value that they have here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionUpdate:
    name: str
    enabled: bool | None = None
    started: bool | None = None
    change: Mapping[str, Any] = field(default_factory=dict)
    """By the keys of model.queue_fields; null takes a limit off."""
    nodes: tuple[str, ...] | None = None
    """Names of nodes. None: nothing is said of them, or all."""


class _Tag(NamedTuple):
    least: int
    key: str
    read: Callable[[str], Any]
    """Raises ValueError."""


def _switch(value: str) -> bool:
    for word, is_on in (("no", False), ("yes", True)):
        if value and word.startswith(value.lower()):
            return is_on
    raise ValueError(value)


def _seconds(value: str) -> int | None:
    if value.lower() in _NO_LIMIT | {"-1", "none"}:
        return None
    try:
        return parse_time_s(value)
    except HpcBatchError:
        raise ValueError(value) from None


def _count(value: str) -> int:
    if not value.isascii() or not value.isdigit() or int(value) > _MAX_COUNT:
        raise ValueError(value)
    return int(value)


def _limit(value: str) -> int | None:
    return None if value.lower() in _NO_LIMIT else _count(value)


def _megabytes(value: str) -> int | None:
    return None if value.lower() in _NO_LIMIT | {"0"} else int(value) * MIB


def _names(value: str) -> list[str] | None:
    return None if value.lower() in _ALL else [name for name in value.split(",") if name]


_MODES = frozenset({"off", "cancel", "requeue", "suspend"})


def _preempt_mode(value: str) -> str:
    """GANG alone is OFF; WITHIN is one of QOS."""
    modes = [mode for mode in value.lower().split(",") if mode not in {"gang", "within"}]
    if not value or len(modes) > 1 or any(mode not in _MODES for mode in modes):
        raise ValueError(value)
    return modes[0] if modes else "off"


def _grace(value: str) -> int:
    """Whole seconds."""
    if not value.isascii() or not value.isdigit() or len(value) > 9:
        raise ValueError(value)
    return int(value)


_TAGS: Mapping[str, _Tag] = {
    "MaxTime": _Tag(4, "maxWalltimeSeconds", _seconds),
    "DefaultTime": _Tag(8, "defaultWalltimeSeconds", _seconds),
    "MaxNodes": _Tag(4, "maxNodes", _limit),
    "MinNodes": _Tag(2, "minNodes", lambda value: _limit(value) or None),
    "Default": _Tag(7, DEFAULT, _switch),
    "Hidden": _Tag(1, "hidden", _switch),
    "RootOnly": _Tag(3, "rootOnly", _switch),
    "PriorityJobFactor": _Tag(9, "priorityJobFactor", _count),
    "PriorityTier": _Tag(9, "priorityTier", _count),
    "AllowGroups": _Tag(6, "allowGroups", _names),
    "AllowAccounts": _Tag(6, "allowAccounts", _names),
    "DenyAccounts": _Tag(5, "denyAccounts", lambda value: _names(value) or []),
    "AllowQos": _Tag(6, "allowQos", _names),
    "DenyQos": _Tag(5, "denyQos", lambda value: _names(value) or []),
    "QoS": _Tag(3, "qos", lambda value: value if value.lower() not in {"n/a", "none"} else ""),
    "DisableRootJobs": _Tag(1, "disableRoot", _switch),
    "PreemptMode": _Tag(3, "preemptMode", _preempt_mode),
    "GraceTime": _Tag(5, "graceSeconds", _grace),
    "DefMemPerNode": _Tag(10, "defaultMemoryPerNodeBytes", _megabytes),
    "MaxMemPerNode": _Tag(10, "maxMemoryPerNodeBytes", _megabytes),
}
"""Source of the lengths: scontrol_parse_part_options(), 22.05."""
_PREEMPTION = {"preemptMode": "Invalid input: {tag}={value}", "graceSeconds": "Invalid GraceTime value: {value}"}
_ACCEPTABLE = dict.fromkeys(("Default", "Hidden", "RootOnly", "DisableRootJobs"), "YES and NO")


def is_of_partitions(words: Sequence[str]) -> bool:
    """A job may have a `Partition`, too."""
    tags = [word.partition("=")[0] for word in words]
    is_of_job = any(is_tag(tag, name, least) for tag in tags for name, least in (("JobId", 3), ("JobName", 3)))
    return not is_of_job and any(is_tag(tag, "PartitionName", 3) for tag in tags)


def read_partition_update(words: Sequence[str]) -> PartitionUpdate:
    """Raises SlurmUsageError with the real texts, exit 1."""
    name = ""
    enabled = started = None
    change: dict[str, Any] = {}
    nodes: tuple[str, ...] | None = None
    for tag, value, _ in pairs_of(words):
        if is_tag(tag, "PartitionName", 2):
            name = value
        elif is_tag(tag, "State", 2):
            enabled, started = _read_state(tag, value)
        elif is_tag(tag, "Nodes", 1):
            nodes = None if value.upper() == "ALL" else tuple(expand(value))
            change["nodes"] = None if nodes is None else []
        elif is_tag(tag, "Priority", 3) and len(tag) <= len("Priority"):
            tier = _read(tag, value, _TAGS["PriorityTier"])
            change |= {"priorityTier": tier, "priorityJobFactor": tier}
        elif (found := next((one for one in _TAGS if is_tag(tag, one, _TAGS[one].least)), None)) is not None:
            change[_TAGS[found].key] = _read(tag, value, _TAGS[found], _ACCEPTABLE.get(found, ""))
        else:
            _check_not_here(tag, value)
    return PartitionUpdate(name=name, enabled=enabled, started=started, change=change, nodes=nodes)


def read_partition_delete(words: Sequence[str]) -> str:
    """The name of `PartitionName=x` or `PartitionName x`."""
    _, equals, name = words[0].partition("=")
    return name if equals else words[1] if len(words) > 1 else ""


def _read_state(tag: str, value: str) -> tuple[bool, bool]:
    for state, switches in (("INACTIVE", _STATES["INACTIVE"]), *_STATES.items()):
        if value and state.startswith(value.upper()):
            return switches
    raise SlurmUsageError(f"Invalid input: {tag}={value}\nAcceptable State values are UP, DOWN, DRAIN and INACTIVE")


def _read(tag: str, value: str, known: _Tag, acceptable: str = "") -> Any:
    try:
        return known.read(value)
    except ValueError:
        pass
    if acceptable:
        text = (
            f"scontrol: error: Invalid input: {tag}={value}\nscontrol: error: Acceptable {tag} values are {acceptable}"
        )
    elif "Priority" in tag:
        text = f"scontrol: error: Invalid {tag} value: {value}"
    elif known.key in _PREEMPTION:
        text = f"scontrol: error: {_PREEMPTION[known.key].format(tag=tag, value=value)}\nslurm_update error: No error"
    else:
        text = f"scontrol: error: Invalid input {tag}={value}"
    raise SlurmUsageError(text)


def _check_not_here(tag: str, value: str) -> None:
    """Raises SlurmUsageError, unless it says what is so already."""
    name = next((name for name, (least, _) in _NOT_HERE.items() if is_tag(tag, name, least)), None)
    if name is None:
        raise SlurmUsageError(f"Update of this parameter is not supported: {tag}={value}\nRequest aborted")
    if value.lower() != _NOT_HERE[name][1]:
        raise SlurmUsageError(
            "slurm_update error: Requested operation not supported on this system\n"
            f"scontrol: hpcbatch: {name} of a partition is always {_NOT_HERE[name][1].upper()} here"
        )
