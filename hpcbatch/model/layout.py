"""From chunks to pods: which pods a job gets, decided once at admission from the sizes of the nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from hpcbatch.model.spec import Arrangement, Chunk, JobSpec


def lay_out(spec: JobSpec, node_cpus: Sequence[int]) -> tuple[Chunk, ...]:
    """The chunks of `spec` as they become pods, `count` pods for each. `node_cpus` holds the CPUs of each node.

    PACK gives one pod with the sum of all. FILL merges equal chunks, in order, into as few pods as the largest
    node allows; a chunk that fits no node stays alone and will wait. FREE and SCATTER are left as they are.
    Where the job says what each pod has of memory, that is what each pod asks for.
    """
    pods = _pods(spec, node_cpus)
    if spec.mem_per_pod_bytes is None:
        return pods
    return tuple(replace(pod, mem_bytes=spec.mem_per_pod_bytes) for pod in pods)


def _pods(spec: JobSpec, node_cpus: Sequence[int]) -> tuple[Chunk, ...]:
    if spec.arrangement is Arrangement.PACK:
        return (_merge([c for c in spec.chunks for _ in range(c.count)]),)
    if spec.arrangement is not Arrangement.FILL:
        return spec.chunks
    largest = max(node_cpus, default=0)
    pods: list[Chunk] = []
    for chunk in spec.chunks:
        per_pod = max(1, largest // chunk.cpus) if chunk.cpus else chunk.count
        full, rest = divmod(chunk.count, per_pod)
        pods += [_merge([chunk] * per_pod)] * full + ([_merge([chunk] * rest)] if rest else [])
    return tuple(replace(pod, count=len(list(same))) for pod, same in groupby(pods))


def _merge(chunks: Sequence[Chunk]) -> Chunk:
    mems = [c.mem_bytes for c in chunks]
    return Chunk(
        count=1,
        cpus=sum(c.cpus for c in chunks),
        mem_bytes=None if all(m is None for m in mems) else sum(m or 0 for m in mems),
        ranks=sum(c.ranks for c in chunks),
        threads=chunks[0].threads,
    )
