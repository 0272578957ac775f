"""The limits, defaults and rights of a queue as JSON: what users may know of it, and what operators change of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from hpcbatch.dataclass import replace
from hpcbatch.errors import HpcBatchError
from hpcbatch.typed import TYPE_CHECKING, Any, NamedTuple
from hpcbatch.units import MAX_WALLTIME_S

if TYPE_CHECKING:
    from hpcbatch.model.site import QueueConfig

_MOST = 2**31 - 1
MOST_DEPTH = 10**4
"""Jobs with planned starts."""


class _Field(NamedTuple):
    attribute: str
    """Of QueueConfig and QueueRow."""
    read: Callable[[Any], Any]
    """The attribute's value. Raises ValueError or TypeError for JSON of another kind."""
    none: Any = None
    """The value that is left out of the JSON, and that null stands for."""


def _count(most: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
            raise ValueError(f"{value!r} is no number from 0 to {most}")
        return value

    return read


def _switch(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{value!r} is neither true nor false")
    return value


def _names(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) and one.isprintable() for one in value):
        raise TypeError(f"{value!r} is no list of names")
    return tuple(value)


def _name(value: Any) -> str:
    if not isinstance(value, str) or not value.isprintable():
        raise TypeError(f"{value!r} is no name")
    return value


def _preempt_mode(value: Any) -> str:
    from hpcbatch.model.preemption import PreemptMode  # listings do without it

    return str(PreemptMode(value)) if value else ""


def _queue_priority(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not -1024 <= value <= 1023:
        raise ValueError(f"{value!r} is no number from -1024 to 1023")
    return value


FIELDS: Mapping[str, _Field] = {
    "maxWalltimeSeconds": _Field("max_walltime_s", _count(MAX_WALLTIME_S)),
    "defaultWalltimeSeconds": _Field("default_walltime_s", _count(MAX_WALLTIME_S)),
    "minNodes": _Field("min_nodes", _count(_MOST)),
    "maxNodes": _Field("max_nodes", _count(_MOST)),
    "minCPUs": _Field("min_cpus", _count(_MOST)),
    "minWalltimeSeconds": _Field("min_walltime_s", _count(MAX_WALLTIME_S)),
    "maxMemoryBytes": _Field("max_mem_bytes", _count(2**62)),
    "minMemoryBytes": _Field("min_mem_bytes", _count(2**62)),
    "destinations": _Field("destinations", _names),
    "routesHeld": _Field("routes_held", _switch, False),
    "routesWaiting": _Field("routes_waiting", _switch, False),
    "fromRouteOnly": _Field("from_route_only", _switch, False),
    "maxCPUs": _Field("max_cpus", _count(_MOST)),
    "maxMemoryPerNodeBytes": _Field("max_mem_per_node_bytes", _count(2**62)),
    "defaultMemoryPerNodeBytes": _Field("default_mem_per_node_bytes", _count(2**62)),
    "nodes": _Field("nodes", _names),
    "allowAccounts": _Field("allow_accounts", _names),
    "denyAccounts": _Field("deny_accounts", _names, ()),
    "allowQos": _Field("allow_qos", _names),
    "denyQos": _Field("deny_qos", _names, ()),
    "qos": _Field("qos", _name, ""),
    "disableRoot": _Field("disables_root", _switch, False),
    "allowGroups": _Field("allow_groups", _names),
    "hidden": _Field("is_hidden", _switch, False),
    "rootOnly": _Field("root_only", _switch, False),
    "priorityTier": _Field("priority_tier", _count(65533), 1),
    "priorityJobFactor": _Field("priority_job_factor", _count(65533), 1),
    "preemptMode": _Field("preempt_mode", _preempt_mode, ""),
    "graceSeconds": _Field("grace_s", _count(MAX_WALLTIME_S), 0),
    "priority": _Field("priority", _queue_priority),
    "backfillDepth": _Field("backfill_depth", _count(MOST_DEPTH)),
}
VOLCANO_QUEUE, DEFAULT = "volcanoQueue", "default"
"""Of what operators write, beside FIELDS: the Volcano Queue of a queue that they have made, which the site does not
name; and whether it is the default queue."""


def shown_fields(queue: QueueConfig) -> dict[str, Any]:
    """As JSON has them; without those that have no value."""
    found = {key: getattr(queue, field.attribute) for key, field in FIELDS.items()}
    return {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in found.items()
        if value != FIELDS[key].none
    }


def read_fields(body: Mapping[str, Any]) -> dict[str, Any]:
    """By attributes; null takes a limit off. Other keys are left alone. Raises HpcBatchError for other JSON."""
    found = {}
    for key, value in body.items():
        if (field := FIELDS.get(key)) is None:
            continue
        try:
            found[field.attribute] = field.none if value is None else field.read(value)
        except (TypeError, ValueError) as error:
            raise HpcBatchError(f"{key}: {error}") from None
    return found


def read_change(text: str) -> dict[str, Any]:
    """What operators have written of one queue. Raises HpcBatchError."""
    try:
        body = json.loads(text)
    except ValueError as error:
        raise HpcBatchError(f"no JSON: {error}") from None
    if not isinstance(body, dict):
        raise HpcBatchError("no JSON object")
    if unknown := sorted(body.keys() - FIELDS.keys() - {VOLCANO_QUEUE, DEFAULT}):
        raise HpcBatchError(f"unknown: {', '.join(unknown)}")
    if not isinstance(body.get(VOLCANO_QUEUE, ""), str) or not isinstance(body.get(DEFAULT, False), bool):
        raise HpcBatchError(f"{VOLCANO_QUEUE} is a name, {DEFAULT} true or false")
    read_fields(body)
    return body


def changed(queue: QueueConfig, body: Mapping[str, Any]) -> QueueConfig:
    """`queue` with what operators have changed. Raises HpcBatchError."""
    return replace(queue, **read_fields(body))
