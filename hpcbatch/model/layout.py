"""Turns chunks into pods: decided once, at admission, from the sizes of the nodes."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby

from hpcbatch.dataclass import replace
from hpcbatch.errors import HpcBatchError, RefusedError
from hpcbatch.model.chunk import Chunk, of_each_pod
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.model.spec import Arrangement, JobSpec
from hpcbatch.typed import NamedTuple, TypeAlias

_MAX_PARTS = 100  # a job in more parts is left unchanged: each part is compared with each size of node


class NodeSize(NamedTuple):
    """A node's capacity for one pod. None: unlimited."""

    cpus: int
    mem_bytes: int | None = None
    resources: tuple[tuple[str, int], ...] | None = None
    """By the site's names; the node lacks missing ones."""
    properties: frozenset[str] | None = None
    """Those of its properties, and of texts for resources as `gpu_model=a100`, that jobs ask for."""
    name: str = ""
    """Only where jobs ask for nodes by name: equal nodes are looked at once."""

    def suits(self, chunk: Chunk) -> bool:
        """Whether it has what `chunk` asks for beside amounts."""
        if self.name and ((chunk.hosts and self.name not in chunk.hosts) or self.name in chunk.excluded_hosts):
            return False
        has = self.properties
        if has is None:
            return True
        alternatives = chunk.alternatives or ((),)
        wanted = {*chunk.properties, *(word_of(*word) for word in chunk.words)}
        return wanted <= has and has.isdisjoint(chunk.lacks) and any(has.issuperset(names) for names in alternatives)


def word_of(name: str, value: str) -> str:
    """How a text for a resource stands among the properties of a NodeSize."""
    return f"{name}={value}"


Nodes: TypeAlias = Mapping[NodeSize, int] | Sequence[NodeSize]
"""One by one, or how many there are of each size."""


def counted(nodes: Nodes) -> Mapping[NodeSize, int]:
    """How many there are of each size: thousands of nodes are of a few."""
    return nodes if isinstance(nodes, Mapping) else Counter(nodes)


def lay_out(spec: JobSpec, nodes: Nodes) -> tuple[Chunk, ...]:
    """The chunks of `spec` as pods, `count` pods for each. `nodes` are all that the job may use.

    PACK gives one pod with the sum of all. FILL merges chunks, in order, into as few pods as the nodes allow; one that
    fits no node stays alone and will wait. SCATTER is left unchanged. So is FREE, unless there are more equal chunks
    than nodes for them, so that some share a node anyway: these share pods, as evenly as possible.
    No pod has chunks of two components. Each pod also requests what the job requests per pod.
    Of the nodes that the job must have, each gets one of the first pods, and no other. Raises RefusedError if there are
    more of them than pods.
    """
    pods = _on_hosts(_pods(spec, counted(nodes)), spec)
    return tuple(replace(_with_extra(pod, spec), count=len(list(same))) for pod, same in groupby(pods))


def _pods(spec: JobSpec, nodes: Mapping[NodeSize, int]) -> list[Chunk]:
    is_merged = len(spec.chunks) <= _MAX_PARTS
    match spec.arrangement:
        case Arrangement.PACK:
            return [_merge([(chunk, chunk.count) for chunk in chunks]) for chunks in _components(spec.chunks)]
        case Arrangement.FILL if is_merged:
            return _filled(spec, nodes)
        case Arrangement.FREE if is_merged:
            return [pod for chunk in spec.chunks for pod in _shared(spec, chunk, nodes)]
        case _:
            return [replace(chunk, count=1) for chunk in of_each_pod(spec.chunks)]


def _on_hosts(pods: list[Chunk], spec: JobSpec) -> list[Chunk]:
    hosts = spec.required_hosts
    if len(pods) < len(hosts) and spec.arrangement is not Arrangement.PACK:
        pods = _spread(spec, len(hosts))
    if len(pods) < len(hosts):
        raise RefusedError(RefusalCode.NODE_LIMIT, f"nodes: {len(hosts)} named, but the job has {len(pods)}")
    if not hosts:
        return pods
    others = [replace(pod, excluded_hosts=_all_of(pod.excluded_hosts, hosts)) for pod in pods[len(hosts) :]]
    return [replace(pod, hosts=hosts) for pod in pods[: len(hosts)]] + others


def _spread(spec: JobSpec, count: int) -> list[Chunk]:
    """The chunks, in order, in `count` pods, as evenly as possible; in fewer if there are not so many chunks. Each
    component has pods of its own, at least one.
    """
    parts = [[(chunk, 1) for chunk in of_each_pod(chunks)] for chunks in _components(spec.chunks)]
    numbers = [1] * len(parts)
    for _ in range(min(count, sum(map(len, parts))) - len(parts)):
        fullest = max(range(len(parts)), key=lambda at: len(parts[at]) / numbers[at])
        numbers[fullest] += 1
    return [pod for single, number in zip(parts, numbers, strict=True) for pod in _evenly(single, number)]


def _evenly(single: Sequence[tuple[Chunk, int]], count: int) -> list[Chunk]:
    each, more = divmod(len(single), count)
    ends = [number * each + min(number, more) for number in range(count + 1)]
    return [_merge(single[start:end]) for start, end in itertools.pairwise(ends)]


def _components(chunks: Iterable[Chunk]) -> list[list[Chunk]]:
    """The chunks of each component, which no pod mixes."""
    found: dict[int, list[Chunk]] = {}
    for chunk in chunks:
        found.setdefault(chunk.component, []).append(chunk)
    return list(found.values())


def _all_of(*names: Iterable[str]) -> tuple[str, ...]:
    """Each once, in order."""
    return tuple(dict.fromkeys(name for several in names for name in several))


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
        if held and not _go_together(held[-1][0], chunk):
            pods.append(_merge(held))
            held = []
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
    before, after = dict(used.resources), dict(total.resources)
    # for each resource: the amount that one more chunk adds, and the pod's amount before
    cpus = total.cpus - used.cpus, used.cpus
    mem = (total.mem_bytes or 0) - (used.mem_bytes or 0), used.mem_bytes or 0
    more = [(name, amount - before.get(name, 0), before.get(name, 0)) for name, amount in after.items()]

    def on(node: NodeSize) -> int:
        if not node.suits(total):
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


def _go_together(one: Chunk, other: Chunk) -> bool:
    """Whether chunks may share a pod that is filled: they are of one component, and ask for the same kind of node."""

    def kind(chunk: Chunk) -> tuple[object, ...]:
        return chunk.component, chunk.alternatives, chunk.lacks, chunk.words, chunk.hosts, chunk.excluded_hosts

    return kind(one) == kind(other)


def _merge(parts: Sequence[tuple[Chunk, int]]) -> Chunk:
    """One pod with the given number of each chunk, which may be 0.
    Raises HpcBatchError if no node could hold two of them together.
    """
    chunks = [chunk for chunk, _ in parts]
    first = chunks[0]
    mems = [(chunk.mem_bytes, count) for chunk, count in parts]
    resources: Counter[str] = Counter()
    for chunk, count in parts:
        resources.update({name: count * amount for name, amount in chunk.resources})
    return Chunk(
        count=1,
        cpus=sum(count * chunk.cpus for chunk, count in parts),
        mem_bytes=None if all(mem is None for mem, _ in mems) else sum(count * (mem or 0) for mem, count in mems),
        ranks=sum(count * chunk.ranks for chunk, count in parts),
        threads=first.threads,
        resources=tuple(sorted((+resources).items())),
        properties=_sorted(chunk.properties for chunk in chunks),
        alternatives=_alternatives(chunks),
        same_alternative=any(chunk.same_alternative for chunk in chunks),
        lacks=_sorted(chunk.lacks for chunk in chunks),
        words=_words(chunks),
        tmp_bytes=max((chunk.tmp_bytes for chunk in chunks if chunk.tmp_bytes is not None), default=None),
        hosts=_hosts(chunks),
        excluded_hosts=_all_of(*(chunk.excluded_hosts for chunk in chunks)),
        component=first.component,
    )


def _sorted(names: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(sorted({name for several in names for name in several}))


def _alternatives(chunks: Sequence[Chunk]) -> tuple[tuple[str, ...], ...]:
    """Those of each chunk: the pod's node must have one set of every chunk."""
    choices = dict.fromkeys(chunk.alternatives for chunk in chunks if chunk.alternatives)
    return tuple(dict.fromkeys(_sorted(sets) for sets in itertools.product(*choices))) if choices else ()


def _words(chunks: Sequence[Chunk]) -> tuple[tuple[str, str], ...]:
    words = sorted({word for chunk in chunks for word in chunk.words})
    for (name, value), (other, another) in itertools.pairwise(words):
        if name == other:
            raise HpcBatchError(f"no node can have both {name}={value} and {name}={another}")
    return tuple(words)


def _hosts(chunks: Sequence[Chunk]) -> tuple[str, ...]:
    named = [chunk.hosts for chunk in chunks if chunk.hosts]
    common = tuple(host for host in (named[0] if named else ()) if all(host in hosts for hosts in named))
    if named and not common:
        raise HpcBatchError(f"one pod cannot be on several nodes: {', '.join(_all_of(*named))}")
    return common


def _with_extra(pod: Chunk, spec: JobSpec) -> Chunk:
    """The pod with the job's requests per pod."""
    more = tuple(sorted((Counter(dict(pod.resources)) + Counter(dict(spec.resources_per_pod))).items()))
    mem = pod.mem_bytes if spec.mem_per_pod_bytes is None else spec.mem_per_pod_bytes
    return replace(pod, mem_bytes=mem, resources=more)
