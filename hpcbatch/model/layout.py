"""Turns chunks into pods: decided once, at admission, from the sizes of the nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

from hpcbatch.model.chunk import Chunk
from hpcbatch.model.spec import Arrangement, JobSpec

_MAX_PARTS = 100  # a job in more parts is left unchanged: each part is compared with each size of node


class NodeSize(NamedTuple):
    """A node's capacity for one pod. None: unlimited."""

    cpus: int
    mem_bytes: int | None = None
    resources: tuple[tuple[str, int], ...] | None = None
    """By the site's names; the node lacks missing ones."""
    properties: frozenset[str] | None = None


def lay_out(spec: JobSpec, nodes: Sequence[NodeSize]) -> tuple[Chunk, ...]:
    """The chunks of `spec` as pods, `count` pods for each. `nodes` are all that the job may use.

    PACK gives one pod with the sum of all. FILL merges chunks, in order, into as few pods as the nodes allow; one that
    fits no node stays alone and will wait. SCATTER is left unchanged. So is FREE, unless there are more equal chunks
    than nodes for them, so that some share a node anyway: these share pods, as evenly as possible.
    Each pod also requests what the job requests per pod.
    """
    pods = _pods(spec, Counter(nodes))
    return tuple(replace(_with_extra(pod, spec), count=len(list(same))) for pod, same in groupby(pods))


def _pods(spec: JobSpec, nodes: Mapping[NodeSize, int]) -> list[Chunk]:
    is_merged = len(spec.chunks) <= _MAX_PARTS
    match spec.arrangement:
        case Arrangement.PACK:
            return [_merge([(chunk, chunk.count) for chunk in spec.chunks])]
        case Arrangement.FILL if is_merged:
            return _filled(spec, nodes)
        case Arrangement.FREE if is_merged:
            return [pod for chunk in spec.chunks for pod in _shared(spec, chunk, nodes)]
        case _:
            return [replace(chunk, count=1) for chunk in spec.chunks for _ in range(chunk.count)]


def _shared(spec: JobSpec, chunk: Chunk, nodes: Mapping[NodeSize, int]) -> list[Chunk]:
    room_on = _room_on(spec, [], chunk)
    rooms = {node: room_on(node) for node in nodes}
    count, number = chunk.count, sum(nodes[node] for node, room in rooms.items() if room)
    each = min(-(-count // number), max(rooms.values())) if number else 1
    full, rest = divmod(count, each)
    return [_merge([(chunk, each)])] * full + ([_merge([(chunk, rest)])] if rest else [])


def _filled(spec: JobSpec, nodes: Mapping[NodeSize, int]) -> list[Chunk]:
    pods: list[Chunk] = []
    held: list[tuple[Chunk, int]] = []  # in the current pod
    for chunk in spec.chunks:
        left = chunk.count
        added = min(left, _room(spec, held, chunk, nodes)) if held else 0
        if added:
            held.append((chunk, added))
            left -= added
        if left and held:
            pods.append(_merge(held))
            held = []
        if left:
            each = max(1, _room(spec, [], chunk, nodes))
            full, rest = divmod(left, each)
            full, rest = (full, rest) if rest else (full - 1, each)  # the last pod may take following chunks
            pods += [_merge([(chunk, each)])] * full
            held = [(chunk, rest)]
    return [*pods, _merge(held)]


def _room(spec: JobSpec, held: Sequence[tuple[Chunk, int]], chunk: Chunk, nodes: Iterable[NodeSize]) -> int:
    """How many of `chunk` fit into a pod that already has `held`, on the node that holds most."""
    return max(map(_room_on(spec, held, chunk), nodes), default=0)


def _room_on(spec: JobSpec, held: Sequence[tuple[Chunk, int]], chunk: Chunk) -> Callable[[NodeSize], int]:
    """The same for one node."""
    used = _with_extra(_merge([*held, (chunk, 0)]), spec)
    total = _with_extra(_merge([*held, (chunk, 1)]), spec)
    wanted = frozenset(total.properties)
    before, after = dict(used.resources), dict(total.resources)
    # for each resource: the amount that one more chunk adds, and the pod's amount before
    cpus = total.cpus - used.cpus, used.cpus
    mem = (total.mem_bytes or 0) - (used.mem_bytes or 0), used.mem_bytes or 0
    more = [(name, amount - before.get(name, 0), before.get(name, 0)) for name, amount in after.items()]

    def on(node: NodeSize) -> int:
        if node.properties is not None and not wanted <= node.properties:
            return 0
        needs = [(*cpus, node.cpus)]
        if node.mem_bytes is not None:
            needs.append((*mem, node.mem_bytes))
        if node.resources is not None:
            has = dict(node.resources)
            needs += [(each, taken, has.get(name, 0)) for name, each, taken in more]
        if any(there < taken for _, taken, there in needs):
            return 0
        return min(((there - taken) // each for each, taken, there in needs if each), default=chunk.count)

    return on


def _merge(parts: Sequence[tuple[Chunk, int]]) -> Chunk:
    """One pod with the given number of each chunk, which may be 0."""
    mems = [(chunk.mem_bytes, count) for chunk, count in parts]
    resources: Counter[str] = Counter()
    for chunk, count in parts:
        resources.update({name: count * amount for name, amount in chunk.resources})
    return Chunk(
        count=1,
        cpus=sum(count * chunk.cpus for chunk, count in parts),
        mem_bytes=None if all(mem is None for mem, _ in mems) else sum(count * (mem or 0) for mem, count in mems),
        ranks=sum(count * chunk.ranks for chunk, count in parts),
        threads=parts[0][0].threads,
        resources=tuple(sorted((+resources).items())),
        properties=tuple(sorted({name for chunk, _ in parts for name in chunk.properties})),
    )


def _with_extra(pod: Chunk, spec: JobSpec) -> Chunk:
    """The pod with the job's requests per pod."""
    more = tuple(sorted((Counter(dict(pod.resources)) + Counter(dict(spec.resources_per_pod))).items()))
    mem = pod.mem_bytes if spec.mem_per_pod_bytes is None else spec.mem_per_pod_bytes
    return replace(pod, mem_bytes=mem, resources=more)
