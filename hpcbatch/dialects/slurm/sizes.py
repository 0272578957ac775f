"""How large a job is: from the requested nodes, tasks, CPUs, memory and GPUs to chunks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import groupby
from typing import NamedTuple

from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.dialects.slurm.request import Request
from hpcbatch.dialects.slurm.tres import Amounts, gpus_of, same_type
from hpcbatch.errors import NotSupportedError
from hpcbatch.model.chunk import MAX_CHUNKS, Chunk
from hpcbatch.model.spec import Arrangement

MIB = 1024**2


class Size(NamedTuple):
    chunks: tuple[Chunk, ...]
    arrangement: Arrangement
    mem_per_pod_bytes: int | None = None
    """These two where pods are made of several chunks."""
    resources_per_pod: tuple[tuple[str, int], ...] = ()


class _Gres(NamedTuple):
    """Generic resources of each node, of each task, and of the whole job."""

    node: Amounts
    task: Amounts
    job: Amounts


def size_of(request: Request, nodes: tuple[int, int] | None) -> Size:
    """The chunks of a job on `nodes`, min and max, None where --nodes was not given.
    Raises SlurmUsageError where numbers contradict each other.
    """
    gres = _gres(request)
    tasks, per_node = request.ntasks, request.ntasks_per_node
    nodes = _nodes_for(gres, nodes, tasks)
    tasks = _tasks_for(gres, tasks)
    if nodes is None and per_node is None and tasks is not None and tasks > 1:
        return _filled(request, gres, tasks)
    count = 1 if nodes is None else nodes[0]
    if tasks is None:
        tasks = count * (per_node or 1)
    elif per_node is not None:
        count = max(count, math.ceil(tasks / per_node))
        if nodes is not None and count > nodes[1]:
            raise not_available()
    if count > MAX_CHUNKS:
        raise failed("Node count specification invalid")
    return Size(_scattered(request, gres, count, tasks), Arrangement.SCATTER)


def _gres(request: Request) -> _Gres:
    try:
        gres, per_node, task, job = same_type(request.gres, request.gpus_per_node, request.gpus_per_task, request.gpus)
    except ValueError:
        raise failed("Invalid generic resource (gres) specification") from None
    if any(gres.get(name, amount) != amount for name, amount in per_node.items()):
        raise failed("Duplicate generic resource (gres) specification")
    return _Gres(gres | per_node, task, job)


def _nodes_for(gres: _Gres, nodes: tuple[int, int] | None, tasks: int | None) -> tuple[int, int] | None:
    """--gpus beside --gpus-per-node say how many nodes there are."""
    for name in gres.job.keys() & gres.node.keys():
        count, rest = divmod(gres.job[name], gres.node[name])
        low, high = nodes or (1, MAX_CHUNKS)
        if rest or not low <= count <= high or (tasks is not None and tasks < count):
            raise not_available()
        nodes = count, count
    return nodes


def _tasks_for(gres: _Gres, tasks: int | None) -> int | None:
    """--gpus beside --gpus-per-task say how many tasks there are."""
    for name in gres.job.keys() & gres.task.keys():
        count, rest = divmod(gres.job[name], gres.task[name])
        if rest or count != (tasks or count):
            raise not_available()
        tasks = count
    return tasks


def _filled(request: Request, gres: _Gres, tasks: int) -> Size:
    """A chunk for each task; how many go into a pod is for the site's nodes to say."""
    gpus = gpus_of(gres.node.items())
    if gpus and request.cpus_per_gpu is not None:
        raise NotSupportedError("--cpus-per-gpu beside --ntasks without --nodes is not supported yet")
    mem_mb = request.mem_mb
    if gpus and request.mem_per_gpu_mb is not None:
        mem_mb = gpus * request.mem_per_gpu_mb
    shares = _shares({name: total for name, total in gres.job.items() if name not in gres.task}, tasks)
    chunks = tuple(_chunk(request, count, 1, {**gres.task, **share}) for count, share in shares)
    _check_gpus(request, gpus + sum(gpus_of(chunk.resources) for chunk in chunks))
    return Size(chunks, Arrangement.FILL, None if mem_mb is None else mem_mb * MIB, _sorted(gres.node))


def _scattered(request: Request, gres: _Gres, count: int, tasks: int) -> tuple[Chunk, ...]:
    """A chunk for each node, the tasks dealt out evenly, and what the job requests as a whole too."""
    whole = {name: total for name, total in gres.job.items() if name not in gres.node and name not in gres.task}
    if any(total < count for total in whole.values()):
        raise not_available()
    each, more = divmod(tasks, count)
    shares = [share for number, share in _shares(whole, count) for _ in range(number)]
    shapes = [(each + (index < more), share) for index, share in enumerate(shares)]
    chunks = []
    for (ranks, share), same in groupby(shapes):
        of_tasks = {name: amount * ranks for name, amount in gres.task.items()}
        if any(amount > gres.node.get(name, amount) for name, amount in of_tasks.items()):
            raise not_available()
        amounts = {**of_tasks, **gres.node, **share}
        chunks.append(_chunk(request, len(list(same)), ranks, amounts, mem_mb=request.mem_mb))
    _check_gpus(request, sum(gpus_of(chunk.resources) for chunk in chunks))
    return tuple(chunks)


def _chunk(request: Request, count: int, ranks: int, amounts: Mapping[str, int], *, mem_mb: int | None = None) -> Chunk:
    """`mem_mb` is what --mem says of a chunk."""
    gpus = gpus_of(amounts.items())
    cpus = max(ranks * (request.cpus_per_task or 1), gpus * (request.cpus_per_gpu or 0))
    if request.mem_per_cpu_mb is not None:
        mem_mb = request.mem_per_cpu_mb * cpus
    elif request.mem_per_gpu_mb is not None and gpus:
        mem_mb = request.mem_per_gpu_mb * gpus
    return Chunk(
        count=count,
        cpus=cpus,
        mem_bytes=None if mem_mb is None else mem_mb * MIB,
        ranks=ranks,
        threads=request.cpus_per_task,
        resources=_sorted(amounts),
        properties=request.features,
    )


def _check_gpus(request: Request, gpus: int) -> None:
    """Refuse what is requested for each GPU where there is none."""
    if not gpus and (request.cpus_per_gpu is not None or request.mem_per_gpu_mb is not None):
        raise failed("Invalid generic resource (gres) specification")


def _shares(totals: Mapping[str, int], count: int) -> list[tuple[int, Amounts]]:
    """`totals` dealt out to `count` places as evenly as it goes, the first ones get more: runs of equal shares."""
    ends = sorted({count, *(total % count for total in totals.values())} - {0})
    starts = [0, *ends[:-1]]
    return [
        (end - start, {name: total // count + (start < total % count) for name, total in totals.items()})
        for start, end in zip(starts, ends, strict=True)
    ]


def _sorted(amounts: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted((name, amount) for name, amount in amounts.items() if amount))


def failed(text: str) -> SlurmUsageError:
    """What slurmctld refuses, exit 1."""
    return SlurmUsageError(f"sbatch: error: Batch job submission failed: {text}")


def not_available() -> SlurmUsageError:
    return failed("Requested node configuration is not available")
