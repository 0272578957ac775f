"""Whether a node has what a pod is to get: at its start, and when it is resized in place. Source: kubelet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from hpcbatch.api.port import Object
from hpcbatch.engine.agent.node import NodeSpec
from hpcbatch.engine.agent.status import ContainerRun, PodStatusParts
from hpcbatch.units import cpu_milli, memory_bytes

DEFERRED: Final = "Deferred"
INFEASIBLE: Final = "Infeasible"


def grant(parts: PodStatusParts, pod: Object, refused: Callable[[], tuple[str, str] | None]) -> bool:
    """Give the containers what the pod is to have now, unless `refused` says why the node has it not. True if the
    pod's status has changed by that.
    """
    wanted = {one["name"]: one.get("resources") or {} for one in pod["spec"]["containers"]}
    changed = [
        one
        for one in parts.containers
        if not one.init and one.name in wanted and (one.spec.get("resources") or {}) != wanted[one.name]
    ]
    before, parts.resize_pending = parts.resize_pending, None
    if changed:
        parts.resize_pending = _never(changed, wanted) or refused()
    is_granted = bool(changed) and parts.resize_pending is None
    for one in changed if is_granted else ():
        one.spec = {**one.spec, "resources": wanted[one.name]}
    return is_granted or parts.resize_pending != before


def is_deferred(parts: PodStatusParts) -> bool:
    return parts.resize_pending is not None and parts.resize_pending[0] == DEFERRED


def too_much(pod: Object, others: Iterable[Object] | None, node: NodeSpec) -> tuple[str, str] | None:
    """The first of CPU and memory of which the node has not enough beside the others, and how much that is; None for
    `others`: if it were empty.
    """
    milli, memory = _requests(pod)
    used = [_requests(other) for other in others or ()]
    for word, wanted, taken, capacity in (
        ("cpu", milli, sum(cpu for cpu, _ in used), node.cpus * 1000),
        ("memory", memory, sum(amount for _, amount in used), node.memory_bytes),
    ):
        if wanted and wanted + taken > capacity:
            beside = "" if others is None else f" used: {taken},"
            return word, f"{word}, requested: {wanted},{beside} capacity: {capacity}"
    return None


def _never(containers: Iterable[ContainerRun], wanted: Mapping[str, Mapping[str, Any]]) -> tuple[str, str] | None:
    """Why it cannot be done at all: the limit of memory of a container that runs stays. CPU has no limits here."""
    for one in containers:
        before = ((one.spec.get("resources") or {}).get("limits") or {}).get("memory")
        after = (wanted[one.name].get("limits") or {}).get("memory")
        if before != after and memory_bytes(before or 0) != memory_bytes(after or 0):
            return INFEASIBLE, f"the embedded engine does not change the memory limit of container {one.name}"
    return None


def _requests(pod: Object) -> tuple[int, int]:
    """The pod's requests in millicores and bytes: all containers together, or its largest init container."""
    totals = []
    for containers in (pod["spec"]["containers"], pod["spec"].get("initContainers") or ()):
        requests = [(one.get("resources") or {}).get("requests") or {} for one in containers]
        totals.append([(cpu_milli(one.get("cpu", 0)), memory_bytes(one.get("memory", 0))) for one in requests])
    main, init = totals
    return (
        max([sum(cpu for cpu, _ in main), *(cpu for cpu, _ in init)]),
        max([sum(memory for _, memory in main), *(memory for _, memory in init)]),
    )
