"""Amounts of resources as integers: CPU in millicores, everything else in its base unit (bytes, devices)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hpcbatch.units import cpu_milli, format_bytes, memory_bytes

Object = dict[str, Any]
Amounts = dict[str, int]
RESIZE_PENDING = "PodResizePending"
"""The condition of a pod whose resize its node has not granted."""


def read_amounts(quantities: Mapping[str, Any] | None) -> Amounts:
    """Read a Kubernetes resource list. Raises HpcBatchError for what is not a quantity."""
    return {
        name: cpu_milli(text) if name.rpartition(".")[2] == "cpu" else memory_bytes(text)
        for name, text in (quantities or {}).items()
    }


def write_amounts(amounts: Mapping[str, int]) -> dict[str, str]:
    """The inverse, in Kubernetes' canonical form: `1500m`, `2`, `50Mi`."""
    return {name: _quantity(name, amount) for name, amount in sorted(amounts.items())}


def _quantity(name: str, amount: int) -> str:
    kind = name.rpartition(".")[2]
    if kind == "cpu":
        return f"{amount // 1000}" if amount % 1000 == 0 else f"{amount}m"
    return format_bytes(amount) if kind in {"memory", "ephemeral-storage"} or "hugepages-" in name else str(amount)


def add(total: Amounts, more: Mapping[str, int], times: int = 1) -> None:
    """Add `more`, `times` times, into `total`."""
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount * times


def lacking(wanted: Mapping[str, int], free: Mapping[str, int]) -> list[str]:
    """The names of resources of which `free` has less than `wanted`; an amount of 0 is never lacking."""
    return sorted(name for name, amount in wanted.items() if amount > max(0, free.get(name, 0)))


def pod_requests(spec: Object) -> Amounts:
    """The requests of a pod. An absent request is its limit.
    Source: Kubernetes, "Resource sharing within containers" of init and sidecar containers.
    """
    sidecars: Amounts = {}
    largest_start: Amounts = {}
    for container in spec.get("initContainers") or ():
        wanted = container_amounts(container, "requests")
        if container.get("restartPolicy") == "Always":
            add(sidecars, wanted)
            wanted = {}
        for name in sidecars.keys() | wanted.keys():
            at_start = sidecars.get(name, 0) + wanted.get(name, 0)
            largest_start[name] = max(largest_start.get(name, 0), at_start)
    total = _sum(container_amounts(container, "requests") for container in spec.get("containers") or ())
    add(total, sidecars)
    for name, amount in largest_start.items():
        total[name] = max(total.get(name, 0), amount)
    add(total, read_amounts(spec.get("overhead")))
    return total


def held_requests(pod: Object) -> Amounts:
    """What a pod takes of its node. Of one that is being resized in place, the most of what it is to have and what its
    node has granted; only the latter where the node can never grant it.
    Source: Kubernetes, "Resize CPU and Memory Resources assigned to Containers".
    """
    granted = granted_requests(pod)
    if not granted:
        return pod_requests(pod["spec"])
    is_never = bool(why_infeasible(pod))
    containers = []
    for one in pod["spec"]["containers"]:
        wanted, has = container_amounts(one, "requests"), granted.get(one.get("name", ""))
        if has is not None:
            low = has if is_never else wanted
            wanted = wanted | {name: max(has[name], low.get(name, 0)) for name in has}
        containers.append({"resources": {"requests": write_amounts(wanted)}})
    return pod_requests({**pod["spec"], "containers": containers})


def why_infeasible(pod: Object) -> str:
    """Why its node can never grant what a pod is to have; "": it has not said so."""
    for one in (pod.get("status") or {}).get("conditions") or ():
        if one.get("type") == RESIZE_PENDING and one.get("reason") == "Infeasible":
            return str(one.get("message") or "its node does not resize pods")
    return ""


def granted_requests(pod: Object) -> dict[str, Amounts]:
    """Of a pod that is being resized, what its node has granted the containers; {}: it has all that it is to have."""
    statuses = {one["name"]: one for one in (pod.get("status") or {}).get("containerStatuses") or ()}
    found: dict[str, Amounts] = {}
    for one in pod["spec"].get("containers") or () if statuses else ():
        granted = (statuses.get(one.get("name", "")) or {}).get("allocatedResources")
        wanted = (one.get("resources") or {}).get("requests") or {}
        if granted is None or granted == wanted:
            continue
        has, asked = read_amounts(granted), read_amounts(wanted)
        changed = {name: has.get(name, 0) for name in ("cpu", "memory") if has.get(name, 0) != asked.get(name, 0)}
        if changed:
            found[one["name"]] = changed
    return found


def pod_limits(spec: Object) -> Amounts:
    """The sum of the containers' limits."""
    return _sum(container_amounts(container, "limits") for container in spec.get("containers") or ())


def container_amounts(container: Object, side: str) -> Amounts:
    """`side` is `requests` or `limits`."""
    resources = container.get("resources") or {}
    limits = read_amounts(resources.get("limits"))
    return limits if side == "limits" else limits | read_amounts(resources.get("requests"))


def _sum(parts: Iterable[Amounts]) -> Amounts:
    total: Amounts = {}
    for part in parts:
        add(total, part)
    return total
