"""Whether a site admits a job, and which of its defaults the job gets. Pure: no API, no clock."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from hpcbatch.dialects.registry import door
from hpcbatch.errors import RefusedError
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.free_text import check_text
from hpcbatch.model.layout import NodeSize, lay_out
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.model.site import QueueConfig, SiteConfig
from hpcbatch.model.spec import JobSpec
from hpcbatch.site.identity import Identity
from hpcbatch.units import format_bytes, hms
from hpcbatch.volcano import pod_needs

_MOST_NAMES = 20  # of queues in a message


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """The resources of an admitted job, with its queue's defaults."""

    walltime_s: int | None
    layout: tuple[Chunk, ...]


def choose_queue(spec: JobSpec, site: SiteConfig) -> QueueConfig:
    """The requested queue, or the site's default. Raises RefusedError (UNKNOWN_QUEUE)."""
    name = spec.queue or site.default_queue
    queue = site.queue(name)
    if queue is None or queue.volcano_queue == "root":  # the parent of all Volcano Queues takes no jobs
        raise unknown_queue(name, [each.name for each in site.queues])
    return queue


def unknown_queue(name: str, known: Iterable[str]) -> RefusedError:
    names = sorted(set(known) - {"root"})
    more = ", …" if len(names) > _MOST_NAMES else ""
    there = f"there are: {', '.join(names[:_MOST_NAMES])}{more}" if names else "there is none"
    return RefusedError(RefusalCode.UNKNOWN_QUEUE, f"{name}; {there}")


def closed_because(queue: QueueConfig, volcano_state: str | None) -> str:
    """Why `queue` takes no jobs now; "" if it does. `volcano_state` is its Volcano Queue's; None: there is none."""
    if volcano_state is None:
        return f"queue {queue.name} is closed: there is no Volcano Queue {queue.volcano_queue}"
    return "" if volcano_state in {"Open", ""} else f"queue {queue.name} is closed"


def admit(
    spec: JobSpec,
    queue: QueueConfig,
    site: SiteConfig,
    owner: Identity,
    *,
    volcano_state: str | None,
    nodes: Sequence[NodeSize],
    stays: bool = False,
) -> Granted:
    """What the job gets. `nodes` are all that the queue reaches. `stays`: the job was already admitted to its queue.
    Raises RefusedError, or another HpcBatchError if the job contradicts itself.
    """
    if owner.is_disabled:
        raise RefusedError(RefusalCode.USER_DISABLED, f"user {owner.user} may not submit jobs")
    if why := closed_because(queue, volcano_state):
        raise RefusedError(RefusalCode.QUEUE_CLOSED, why)
    if spec.image is not None and not site.allows_image(spec.image, queue):
        raise RefusedError(RefusalCode.IMAGE_NOT_ALLOWED, f"image {spec.image} is not allowed in {queue.name}")
    check_text(spec)
    _check_array(spec, site)
    _check_names(spec, site)
    granted = Granted(walltime_s=_walltime_s(spec, queue), layout=_with_memory(lay_out(spec, nodes), queue))
    _check_limits(granted, queue)
    if door(spec.dialect).rules.refuses_what_no_node_has and not site.autoscaling and not stays:
        _check_some_node_has(granted.layout, nodes)
    for chunk in granted.layout:
        pod_needs.node_selector(chunk, queue, site)
    return granted


def grant_walltime(spec: JobSpec, queue: QueueConfig) -> int | None:
    """The walltime of a job that has started. Raises RefusedError if it is more than the queue allows."""
    granted = Granted(walltime_s=_walltime_s(spec, queue), layout=())
    _check_limits(granted, queue)
    return granted.walltime_s


def _walltime_s(spec: JobSpec, queue: QueueConfig) -> int | None:
    return spec.walltime_s or queue.default_walltime_s or queue.max_walltime_s


def _check_array(spec: JobSpec, site: SiteConfig) -> None:
    if spec.array is None:
        return
    most = site.max_array_size
    if not spec.array.indices:
        raise RefusedError(RefusalCode.BAD_SPEC, "an array has members")
    if len(spec.array.indices) > most:
        raise RefusedError(RefusalCode.ARRAY_SIZE, f"array: {len(spec.array.indices)} members, at most {most}")
    if door(spec.dialect).rules.limits_array_indices and spec.array.indices.last > most:
        raise RefusedError(RefusalCode.ARRAY_SIZE, f"array: index {spec.array.indices.last}, at most {most}")


def _check_names(spec: JobSpec, site: SiteConfig) -> None:
    for name in spec.resource_names:
        if name not in site.resources:
            raise RefusedError(RefusalCode.UNKNOWN_RESOURCE, name)
    for name in spec.property_names:
        if name not in site.node_properties:
            raise RefusedError(RefusalCode.UNKNOWN_PROPERTY, name)


def _check_some_node_has(layout: Sequence[Chunk], nodes: Sequence[NodeSize]) -> None:
    """Like slurmctld, which accepts CPUs and nodes that do not exist. In other dialects such jobs always wait."""
    for chunk in layout:
        able = [node for node in nodes if node.properties is None or set(chunk.properties) <= node.properties]
        if not able:
            continue  # later nodes may be larger
        for name, amount in chunk.resources:
            most = max(amount if node.resources is None else dict(node.resources).get(name, 0) for node in able)
            if most == 0:
                raise RefusedError(RefusalCode.UNKNOWN_RESOURCE, name)
            if amount > most:
                raise RefusedError(RefusalCode.BAD_SPEC, f"{name}: {amount} asked of a node, none has more than {most}")
        if all(node.mem_bytes is not None and (chunk.mem_bytes or 0) > node.mem_bytes for node in able):
            raise RefusedError(RefusalCode.BAD_SPEC, "Memory specification can not be satisfied")


def _with_memory(layout: Sequence[Chunk], queue: QueueConfig) -> tuple[Chunk, ...]:
    """A pod that requests no memory gets the default, or else the limit: without it, it could take more."""
    mem = queue.default_mem_per_node_bytes or queue.max_mem_per_node_bytes
    return tuple(replace(chunk, mem_bytes=mem) if chunk.mem_bytes is None else chunk for chunk in layout)


def _check_limits(granted: Granted, queue: QueueConfig) -> None:
    layout = granted.layout
    nodes, cpus = sum(c.count for c in layout), sum(c.count * c.cpus for c in layout)
    mem = max((c.mem_bytes or 0 for c in layout), default=0)
    walltime_s = granted.walltime_s or 0
    limits = (
        (RefusalCode.WALLTIME_LIMIT, "walltime", walltime_s, queue.max_walltime_s, hms),
        (RefusalCode.NODE_LIMIT, "nodes", nodes, queue.max_nodes, str),
        (RefusalCode.CPU_LIMIT, "CPUs", cpus, queue.max_cpus, str),
        (RefusalCode.MEMORY_LIMIT, "memory of a node", mem, queue.max_mem_per_node_bytes, format_bytes),
    )
    for code, what, asked, most, shown in limits:
        if most is not None and asked > most:
            raise RefusedError(code, f"{what}: {shown(asked)} asked, at most {shown(most)} in {queue.name}")
