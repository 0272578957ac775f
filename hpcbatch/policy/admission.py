"""Whether a site admits a job, and which of its defaults the job gets. Pure: no API, no clock."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

from hpcbatch.dataclass import dataclass, field, replace
from hpcbatch.dialects.registry import door
from hpcbatch.errors import HpcBatchError, RefusedError
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.free_text import check_text
from hpcbatch.model.layout import Nodes, NodeSize, counted, lay_out
from hpcbatch.model.record import JobStatus
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.model.site import QueueConfig, SiteConfig, Word
from hpcbatch.model.spec import Arrangement, JobSpec, Sharing
from hpcbatch.policy.deadlines import is_too_late, least_s, missed
from hpcbatch.site.identity import Identity
from hpcbatch.typed import Any, NamedTuple
from hpcbatch.units import format_bytes, hms
from hpcbatch.volcano import pod_needs

_MOST_NAMES = 20  # of queues in a message


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """The resources of an admitted job, with its queue's defaults."""

    walltime_s: int | None
    layout: tuple[Chunk, ...]
    licenses: tuple[tuple[str, int], ...] = ()
    ignored: tuple[str, ...] = ()
    """What has no effect here, each with the reason."""
    renamed: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the BatchJob's spec that the site has other names for."""


def with_grant(status: JobStatus, granted: Granted, altered: Mapping[str, Any]) -> JobStatus:
    """The status of a job that was admitted before and gets something else now."""
    return replace(
        status,
        altered=altered,
        walltime_s=granted.walltime_s,
        full_walltime_s=None,
        layout=granted.layout,
        licenses=granted.licenses,
        ignored=granted.ignored,
    )


class AskedQueues(NamedTuple):
    """The queues of a request that there are, in order, each once, and what is ignored of the request."""

    queues: tuple[QueueConfig, ...]
    ignored: tuple[str, ...] = ()


def asked_queues(
    spec: JobSpec,
    site: SiteConfig,
    exists: Callable[[QueueConfig], bool] = lambda _: True,
    volcano_queues: Iterable[str] = (),
) -> AskedQueues:
    """The requested queues, or the site's default; for a name that there is not the site's queue for such. Raises
    RefusedError (UNKNOWN_QUEUE) with the first such name if the site has none.

    `exists` is called where the site names no queues, so that each Volcano Queue is one, with these names.
    """
    found: dict[str, QueueConfig] = {}
    ignored = []
    known = [each.name for each in site.queues] or [*volcano_queues, *(each.name for each in site.operator_queues)]
    for name in (spec.queue or site.default_queue, *spec.other_queues):
        queue = _queue(name, site, exists)
        if queue is None and site.unknown_queues:
            queue = _queue(site.unknown_queues, site, exists)
            taken_by = "" if queue is None else f"; {queue.name} takes it"
            ignored.append(f"{door(spec.dialect).rules.queue_option} {name}: this site has no such queue{taken_by}")
        if queue is None:
            raise unknown_queue(name, known)
        found.setdefault(queue.name, queue)
    return AskedQueues(tuple(found.values()), tuple(ignored))


def _queue(name: str, site: SiteConfig, exists: Callable[[QueueConfig], bool]) -> QueueConfig | None:
    queue = site.queue_called(name)
    if queue is None or queue.volcano_queue == "root":  # the parent of all Volcano Queues takes no jobs
        return None
    return queue if site.queues or exists(queue) else None


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
    is_disabled: bool = False,
    nodes: Nodes,
    stays: bool = False,
) -> Granted:
    """What the job gets. `nodes` are all that the queue reaches. `stays`: the job was already admitted to its queue.
    `is_disabled`: an operator lets no jobs into it.
    Raises RefusedError, or another HpcBatchError if the job contradicts itself.
    """
    nodes = counted(nodes)
    if owner.is_disabled:
        raise RefusedError(RefusalCode.USER_DISABLED, f"user {owner.user} may not submit jobs")
    if why := closed_because(queue, volcano_state):
        raise RefusedError(RefusalCode.QUEUE_CLOSED, why)
    if is_disabled:
        raise RefusedError(RefusalCode.QUEUE_CLOSED, f"queue {queue.name} takes no jobs: an operator has disabled it")
    _check_access(spec, queue, owner)
    if spec.image is not None and not site.allows_image(spec.image, queue):
        raise RefusedError(RefusalCode.IMAGE_NOT_ALLOWED, f"image {spec.image} is not allowed in {queue.name}")
    check_text(spec)
    _check_array(spec, site)
    _check_names(spec, site)
    layout = _with_whole_nodes(lay_out(with_one_alternative(spec, nodes), nodes), spec, nodes)
    layout = _with_memory(layout, spec, queue, site, nodes)
    granted = Granted(walltime_s=_walltime_s(spec, queue), layout=layout, licenses=spec.licenses)
    _check_limits(granted, queue)
    if door(spec.dialect).rules.refuses_what_no_node_has and not site.autoscaling and not stays:
        _check_some_node_has(granted.layout, nodes)
        if site.refuses_oversize:
            _check_size(granted.layout, nodes, queue)
    for chunk in granted.layout:
        pod_needs.node_selector(chunk, queue, site)
        pod_needs.node_terms(chunk, site, queue)
    return granted


def _check_access(spec: JobSpec, queue: QueueConfig, owner: Identity) -> None:
    """Jobs without an account have that of Slurm's default association, or PBS's default project."""
    if queue.root_only and owner.uid != 0:
        raise RefusedError(RefusalCode.QUEUE_ACCESS, f"queue {queue.name} is for root alone")
    if queue.disables_root and owner.uid == 0:
        raise RefusedError(RefusalCode.QUEUE_ACCESS, f"queue {queue.name} takes no jobs of root")
    groups = {name for _, name in owner.groups} | {str(gid) for gid, _ in owner.groups} | {str(owner.gid)}
    if queue.allow_groups is not None and owner.uid != 0 and not groups & set(queue.allow_groups):
        text = f"queue {queue.name} is for members of {', '.join(queue.allow_groups)}"
        raise RefusedError(RefusalCode.GROUP_NOT_ALLOWED, text)
    account = spec.account or ""
    if queue.allow_accounts is not None and account not in queue.allow_accounts:
        text = f"queue {queue.name} takes jobs of the accounts {', '.join(queue.allow_accounts)}"
        raise RefusedError(RefusalCode.UNKNOWN_ACCOUNT, text)
    if account in queue.deny_accounts:
        raise RefusedError(RefusalCode.UNKNOWN_ACCOUNT, f"queue {queue.name} takes no jobs of account {account}")


def check_qos(qos: str, queue: QueueConfig) -> None:
    """Raise RefusedError if the queue takes no jobs of this quality of service."""
    if queue.allow_qos is not None and qos not in queue.allow_qos:
        text = f"queue {queue.name} takes jobs of the qualities of service {', '.join(queue.allow_qos)}"
        raise RefusedError(RefusalCode.UNKNOWN_QOS, text)
    if queue.allow_qos is None and qos in queue.deny_qos:
        raise RefusedError(RefusalCode.UNKNOWN_QOS, f"queue {queue.name} takes no jobs of quality of service {qos}")


def grant_walltime(spec: JobSpec, queue: QueueConfig) -> int | None:
    """The walltime of a job that has started. Raises RefusedError if it is more than the queue allows, or less than
    the job can do with.
    """
    asked_s = _walltime_s(replace(spec, min_walltime_s=None), queue)
    if spec.min_walltime_s is not None and asked_s is not None and asked_s < spec.min_walltime_s:
        text = f"walltime: {hms(asked_s)} asked, at least {hms(spec.min_walltime_s)} needed"
        raise RefusedError(RefusalCode.MIN_WALLTIME, text)
    granted = Granted(walltime_s=asked_s, layout=())
    _check_limits(granted, queue)
    return granted.walltime_s


def _walltime_s(spec: JobSpec, queue: QueueConfig) -> int | None:
    """The limit that the job gets. One that can do with less gets what the queue allows of it."""
    asked_s = spec.walltime_s or queue.default_walltime_s or queue.max_walltime_s
    if spec.min_walltime_s is None:
        return asked_s
    most_s = min((limit for limit in (asked_s, queue.max_walltime_s) if limit is not None), default=None)
    if most_s is not None and spec.min_walltime_s > most_s:
        text = f"walltime: at least {hms(spec.min_walltime_s)} needed, at most {hms(most_s)} possible in {queue.name}"
        raise RefusedError(RefusalCode.MIN_WALLTIME, text)
    return most_s


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
        if site.labels_of(Word.FEATURE, name) is None:
            raise RefusedError(RefusalCode.UNKNOWN_PROPERTY, name)


def _check_some_node_has(layout: Sequence[Chunk], nodes: Mapping[NodeSize, int]) -> None:
    """Like slurmctld, which accepts CPUs and nodes that do not exist. In other dialects such jobs always wait."""
    for chunk in layout:
        able = [node for node in nodes if node.suits(chunk)]
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


def _check_size(layout: Sequence[Chunk], nodes: Mapping[NodeSize, int], queue: QueueConfig) -> None:
    """Like slurmctld with EnforcePartLimits. Source: _part_access_check(), 22.05."""
    pods, cpus = sum(chunk.count for chunk in layout), sum(chunk.count * chunk.cpus for chunk in layout)
    for code, what, asked, has in (
        (RefusalCode.CPU_LIMIT, "CPUs", cpus, sum(node.cpus * number for node, number in nodes.items())),
        (RefusalCode.NODE_LIMIT, "nodes", pods, sum(nodes.values())),
    ):
        if asked > has:
            raise RefusedError(code, f"{what}: {asked} asked, {queue.name} has {has}")


def with_one_alternative(spec: JobSpec, nodes: Nodes) -> JobSpec:
    """`spec` with one set of properties for all nodes where it wants the same for all: the first that enough nodes
    have, else the first. A single node may be of any of them, whichever is free first.
    """
    alike = [chunk for chunk in spec.chunks if chunk.same_alternative and chunk.alternatives]
    if sum(chunk.count for chunk in alike) == 1:
        return replace(spec, chunks=tuple(replace(chunk, same_alternative=False) for chunk in spec.chunks))
    choices = next((chunk.alternatives for chunk in spec.chunks if chunk.same_alternative and chunk.alternatives), ())
    specs = [_with_set(spec, choices, names) for names in choices]
    if not specs:
        return spec
    nodes = counted(nodes)
    return next((each for each in specs if is_enough(lay_out(each, nodes), nodes, each)), specs[0])


def _with_set(spec: JobSpec, choices: tuple[tuple[str, ...], ...], names: Sequence[str]) -> JobSpec:
    chunks = tuple(
        replace(
            chunk,
            properties=tuple(sorted({*chunk.properties, *names})),
            alternatives=(),
            same_alternative=False,
        )
        if chunk.same_alternative and chunk.alternatives == choices
        else chunk
        for chunk in spec.chunks
    )
    return replace(spec, chunks=chunks)


def is_enough(layout: Sequence[Chunk], nodes: Mapping[NodeSize, int], spec: JobSpec) -> bool:
    """Whether the nodes, all empty, have room for each of the chunks."""

    def room(chunk: Chunk, node: NodeSize) -> int:
        if not node.suits(chunk) or node.cpus < chunk.cpus or (node.mem_bytes or math.inf) < (chunk.mem_bytes or 0):
            return 0
        if node.resources is not None and any(dict(node.resources).get(name, 0) < n for name, n in chunk.resources):
            return 0
        is_alone = spec.arrangement is Arrangement.SCATTER or not chunk.cpus
        return 1 if is_alone else node.cpus // chunk.cpus

    return all(sum(room(chunk, node) * number for node, number in nodes.items()) >= chunk.count for chunk in layout)


def _with_whole_nodes(layout: Sequence[Chunk], spec: JobSpec, nodes: Iterable[NodeSize]) -> tuple[Chunk, ...]:
    """What a job that shares its nodes with no other gets of them: as much as of each that it may run on."""
    layout = tuple(replace(chunk, requested_cpus=None) for chunk in layout)
    if spec.sharing is not Sharing.EXCLUSIVE:
        return layout
    whole_node = door(spec.dialect).whole_node
    return tuple(whole_node(spec, chunk, _fewest_cpus(chunk, nodes)) for chunk in layout)


def _fewest_cpus(chunk: Chunk, nodes: Iterable[NodeSize]) -> int:
    return min((n.cpus for n in nodes if n.suits(chunk) and n.cpus >= chunk.cpus), default=chunk.cpus)


def _with_memory(
    layout: Sequence[Chunk], spec: JobSpec, queue: QueueConfig, site: SiteConfig, nodes: Iterable[NodeSize]
) -> tuple[Chunk, ...]:
    """A pod that requests no memory gets the default, or else the limit: without it, it could take more. One that
    requests all of a node gets what each node that it may run on has to give.
    """
    mem = queue.default_mem_per_node_bytes or queue.max_mem_per_node_bytes
    if spec.whole_node_mem:
        return tuple(replace(chunk, mem_bytes=_whole_node(chunk, queue, site, nodes) or mem) for chunk in layout)
    return tuple(replace(chunk, mem_bytes=mem) if chunk.mem_bytes is None else chunk for chunk in layout)


def _whole_node(chunk: Chunk, queue: QueueConfig, site: SiteConfig, nodes: Iterable[NodeSize]) -> int | None:
    able = [n.mem_bytes for n in nodes if n.mem_bytes is not None and n.suits(chunk) and n.cpus >= chunk.cpus_of_pod]
    if not able:
        return None
    left = min(able) - site.node_mem_reserve_bytes
    if left <= 0:
        raise HpcBatchError(f"nodeMemoryReserve of the site leaves nothing of {format_bytes(min(able))}")
    return min(left, queue.max_mem_per_node_bytes or left)


def check_deadline(spec: JobSpec, walltime_s: int | None, now: datetime) -> None:
    """Raise RefusedError if the job cannot end by its deadline."""
    if is_too_late(spec, walltime_s, now):
        needs_s = least_s(spec, walltime_s)
        needs = f" with a walltime of {hms(needs_s)}" if needs_s else ""
        code = RefusalCode.DEADLINE if spec.min_walltime_s is None else RefusalCode.MIN_WALLTIME
        raise RefusedError(code, f"{missed(spec)}{needs}")


def _check_limits(granted: Granted, queue: QueueConfig) -> None:
    layout = granted.layout
    nodes, cpus = sum(c.count for c in layout), sum(c.count * c.cpus for c in layout)
    mem = max((c.mem_bytes or 0 for c in layout), default=0)
    walltime_s = granted.walltime_s or 0
    if layout and nodes < (queue.min_nodes or 0):
        text = f"nodes: {nodes} asked, at least {queue.min_nodes} in {queue.name}"
        raise RefusedError(RefusalCode.NODE_LIMIT, text)
    all_mem = sum((c.mem_bytes or 0) * c.count for c in layout)
    for code, what, asked, least, shown in (
        (RefusalCode.WALLTIME_LIMIT, "walltime", walltime_s, queue.min_walltime_s, hms),
        (RefusalCode.CPU_LIMIT, "CPUs", cpus, queue.min_cpus, str),
        (RefusalCode.MEMORY_LIMIT, "memory", all_mem, queue.min_mem_bytes, format_bytes),
    ):
        # as in PBS, what a job does not ask for is not too little
        if least is not None and 0 < asked < least:
            raise RefusedError(code, f"{what}: {shown(asked)} asked, at least {shown(least)} in {queue.name}")
    limits = (
        (RefusalCode.WALLTIME_LIMIT, "walltime", walltime_s, queue.max_walltime_s, hms),
        (RefusalCode.NODE_LIMIT, "nodes", nodes, queue.max_nodes, str),
        (RefusalCode.CPU_LIMIT, "CPUs", cpus, queue.max_cpus, str),
        (RefusalCode.MEMORY_LIMIT, "memory", all_mem, queue.max_mem_bytes, format_bytes),
        (RefusalCode.MEMORY_LIMIT, "memory of a node", mem, queue.max_mem_per_node_bytes, format_bytes),
    )
    for code, what, asked, most, shown in limits:
        if most is not None and asked > most:
            raise RefusedError(code, f"{what}: {shown(asked)} asked, at most {shown(most)} in {queue.name}")
