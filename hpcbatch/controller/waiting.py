"""Why a job waits: what it asks for beside what the nodes have, in one line that names the resource."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hpcbatch.controller.decide import Waiting
from hpcbatch.model.spec import Chunk
from hpcbatch.model.state import Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRoom:
    """A node's allocatable CPUs and memory, and what pods on it have asked for."""

    cpus: int
    mem_bytes: int
    cpus_used: float
    mem_used_bytes: int


def explain(layout: Sequence[Chunk], nodes: Sequence[NodeRoom], *, is_scattered: bool) -> Waiting:
    """Say which resource keeps `layout` from starting. The form is PBS's: R required, A available, T total."""
    for chunk in layout:
        if all(chunk.cpus > node.cpus for node in nodes):
            largest = max((node.cpus for node in nodes), default=0)
            free = max((int(node.cpus - node.cpus_used) for node in nodes), default=0)
            return _never("ncpus", str(chunk.cpus), str(max(0, free)), str(largest))
        mem = chunk.mem_bytes or 0
        if mem and all(mem > node.mem_bytes for node in nodes):
            largest = max((node.mem_bytes for node in nodes), default=0)
            free = max((node.mem_bytes - node.mem_used_bytes for node in nodes), default=0)
            return _never("mem", _kb(mem), _kb(max(0, free)), _kb(largest))
    count = sum(chunk.count for chunk in layout)
    if is_scattered and count > len(nodes):
        return _never("nodect", str(count), str(len(nodes)), str(len(nodes)))
    cpus, total = sum(c.count * c.cpus for c in layout), sum(node.cpus for node in nodes)
    free_cpus = max(0, int(total - sum(node.cpus_used for node in nodes)))
    if cpus > total or not _packs(layout, nodes):
        return _never("ncpus", str(cpus), str(free_cpus), str(total))
    mem, free_mem = (
        sum(c.count * (c.mem_bytes or 0) for c in layout),
        sum(node.mem_bytes - node.mem_used_bytes for node in nodes),
    )
    if cpus <= free_cpus and mem > free_mem:
        text = _amount("mem", _kb(mem), _kb(max(0, free_mem)), _kb(sum(node.mem_bytes for node in nodes)))
        return Waiting(reason=Reason.RESOURCES, message=text)
    if cpus > free_cpus:
        return Waiting(reason=Reason.RESOURCES, message=_amount("ncpus", str(cpus), str(free_cpus), str(total)))
    return Waiting(reason=Reason.RESOURCES, message="Not enough free nodes available")


def _packs(layout: Sequence[Chunk], nodes: Sequence[NodeRoom]) -> bool:
    """Whether the pods would fit the empty nodes, largest first."""
    free = [node.cpus for node in nodes]
    for cpus in sorted((c.cpus for c in layout for _ in range(c.count)), reverse=True):
        place = max(range(len(free)), key=free.__getitem__, default=None)
        if place is None or free[place] < cpus:
            return False
        free[place] -= cpus
    return True


def _never(resource: str, required: str, available: str, total: str) -> Waiting:
    return Waiting(reason=Reason.NEVER_FITS, message=_amount(resource, required, available, total))


def _amount(resource: str, required: str, available: str, total: str) -> str:
    return f"Insufficient amount of resource: {resource} (R: {required} A: {available} T: {total})"


def _kb(count: int) -> str:
    return f"{count // 1024}kb"
