"""How large a job is: from the requested nodes, tasks, CPUs, memory and GPUs to chunks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import groupby

from hpcbatch.dataclass import replace
from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.dialects.slurm.request import Request
from hpcbatch.dialects.slurm.tres import GPU, Amounts, gpus_of, same_type
from hpcbatch.model.chunk import MAX_CHUNKS, Chunk
from hpcbatch.model.spec import Arrangement
from hpcbatch.typed import NamedTuple

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


def settle_tasks(request: Request) -> None:
    """Set --ntasks where it follows from other options, as sbatch and slurmctld do.
    Source: _opt_verify() of sbatch's opt.c, gres_job_state_validate().
    """
    low, high = request.nodes or (1, 1)
    inside = (request.sockets_per_node, request.cores_per_socket, request.threads_per_core)
    is_open = request.ntasks is None and request.ntasks_per_node is None
    if is_open and any(inside) and low == high and (request.nodes is not None or "extra-node-info" in request.bound):
        request.ntasks = low * math.prod(count for count in inside if count)
    if (each := request.ntasks_per_gpu) is None:
        return
    gpus = gpus_of(request.gpus.items())
    per_node = gpus_of(request.gpus_per_node.items()) or gpus_of(request.gres.items())
    if gpus or per_node:
        request.ntasks = (gpus or low * per_node) * each
    elif request.ntasks is None:
        if request.nodes is None or low != high:
            raise _wrong_gres(
                "gres_job_state_validate: --ntasks-per-tres needs either a GRES GPU specification"
                " or a node/ntask specification"
            )
        request.ntasks = low * each


def size_of(request: Request, nodes: tuple[int, int] | None, *, in_component: bool = False) -> Size:
    """The chunks of a job on `nodes`, min and max, None where --nodes was not given. A component of a heterogeneous job
    that leaves the number of nodes open is one node's.
    Raises SlurmUsageError where numbers contradict each other.
    """
    gres = _gres(request)
    tasks, per_node = request.ntasks, request.ntasks_per_node
    nodes = _nodes_for(gres, nodes, tasks)
    tasks = _tasks_for(gres, tasks)
    counted = sum(number for _, number in request.features.counted)
    # CPUs follow from the GPUs of a node: the tasks go to one
    has_cpus_of_gpus = request.cpus_per_gpu is not None and gpus_of(gres.node.items()) > 0
    is_on_few = in_component or request.overcommit or bool(request.mincpus) or counted > 0 or has_cpus_of_gpus
    if nodes is None and per_node is None and tasks is not None and tasks > 1 and not is_on_few:
        return _filled(request, gres, tasks)
    count = 1 if nodes is None else nodes[0]
    if nodes is None and per_node is None and tasks and request.mincpus and not request.overcommit:
        count = max(1, min(tasks, tasks * (request.cpus_per_task or 1) // request.mincpus))
    if counted > count:
        if nodes is not None and counted > nodes[1]:
            raise not_available()
        count = counted
        if tasks is not None and tasks < count:
            raise not_available()
    if tasks is None:
        tasks = count * (per_node or 1)
    elif per_node is not None:
        count = max(count, math.ceil(tasks / per_node))
        if nodes is not None and count > nodes[1]:
            raise not_available()
    if count > MAX_CHUNKS:
        raise failed("More processors requested than permitted")  # as slurmctld has it, who counts CPUs first
    return Size(_scattered(request, gres, count, tasks), Arrangement.SCATTER)


def _gres(request: Request) -> _Gres:
    try:
        gres, per_node, task, job = same_type(request.gres, _per_node(request), request.gpus_per_task, request.gpus)
    except ValueError:
        raise _wrong_gres("Invalid GRES specification (with and without type identification)") from None
    gpus = gpus_of([*job.items(), *gres.items(), *per_node.items(), *task.items()])
    if request.ntasks_per_gpu is not None and not gpus and request.ntasks is not None:
        job = job | {GPU: request.ntasks // request.ntasks_per_gpu}
        if not job[GPU]:
            raise failed("Invalid generic resource (gres) specification")
    has_tasks = request.ntasks is not None or request.ntasks_per_node is not None
    has_nodes = request.nodes is not None and request.nodes[0] == request.nodes[1]
    if task.keys() - job.keys() and not has_tasks and not has_nodes:
        raise _wrong_gres(
            "Failed to validate job spec. --gpus-per-task used without either --gpus or -n/--ntasks is not allowed."
        )
    if request.mem_per_gpu_mb and not gpus:
        raise _wrong_gres(f"Requested mem_per_tres=gres:gpu:{request.mem_per_gpu_mb} but did not request any GPU.")
    return _Gres(per_node | gres, task, job)


def _per_node(request: Request) -> Amounts:
    """--gpus-per-node, or --gpus-per-socket for all sockets of a node."""
    if not request.gpus_per_socket:
        return request.gpus_per_node
    if not request.sockets_per_node:
        raise _wrong_gres("--gpus-per-socket option requires --sockets-per-node specification")
    found = {name: amount * request.sockets_per_node for name, amount in request.gpus_per_socket.items()}
    if request.gpus_per_node and request.gpus_per_node != found:
        raise failed("Invalid generic resource (gres) specification")
    return found


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
    mem_mb = request.mem_mb
    if gpus and request.mem_per_gpu_mb is not None:
        mem_mb = gpus * request.mem_per_gpu_mb
    shares = _shares({name: total for name, total in gres.job.items() if name not in gres.task}, tasks)
    chunks = tuple(_chunk(request, count, 1, {**gres.task, **share}) for count, share in shares)
    return Size(chunks, Arrangement.FILL, mem_mb * MIB if mem_mb else None, _sorted(gres.node))


def _scattered(request: Request, gres: _Gres, count: int, tasks: int) -> tuple[Chunk, ...]:
    """A chunk for each node, the tasks dealt out evenly, and what the job requests as a whole too."""
    whole = {name: total for name, total in gres.job.items() if name not in gres.node and name not in gres.task}
    if any(total < count for total in whole.values()):
        raise not_available()
    each, more = divmod(tasks, count)
    shares = [share for number, share in _shares(whole, count) for _ in range(number)]
    counted = [names for names, number in request.features.counted for _ in range(number)]
    counted += [()] * (count - len(counted))
    shapes = [(each + (index < more), share, counted[index]) for index, share in enumerate(shares)]
    chunks = []
    for (ranks, share, also), same in groupby(shapes):
        of_tasks = {name: amount * ranks for name, amount in gres.task.items()}
        if any(amount > gres.node.get(name, amount) for name, amount in of_tasks.items()):
            raise not_available()
        amounts = {**of_tasks, **gres.node, **share}
        chunk = _chunk(request, len(list(same)), ranks, amounts, mem_mb=request.mem_mb)
        chunk = replace(chunk, cpus=max(chunk.cpus, request.mincpus or 0)) if request.mincpus else chunk
        properties = tuple(sorted({*chunk.properties, *also}))
        chunks.append(replace(chunk, properties=properties) if also else chunk)
    return tuple(chunks)


def _chunk(request: Request, count: int, ranks: int, amounts: Mapping[str, int], *, mem_mb: int | None = None) -> Chunk:
    """`mem_mb` is what --mem says of a chunk."""
    gpus = gpus_of(amounts.items())
    cpus = max((1 if request.overcommit else ranks) * (request.cpus_per_task or 1), gpus * (request.cpus_per_gpu or 0))
    if request.mem_per_cpu_mb is not None:
        mem_mb = request.mem_per_cpu_mb * cpus
    elif request.mem_per_gpu_mb is not None and gpus:
        mem_mb = request.mem_per_gpu_mb * gpus
    return Chunk(
        count=count,
        cpus=cpus,
        mem_bytes=mem_mb * MIB if mem_mb else None,
        ranks=ranks,
        threads=request.cpus_per_task,
        resources=_sorted(amounts),
        properties=request.features.properties,
        alternatives=request.features.alternatives,
        same_alternative=request.features.is_same,
        tmp_bytes=request.tmp_mb * MIB if request.tmp_mb else None,
    )


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


SIZE_ATTRIBUTES = frozenset(
    {
        "ntasks",
        "ntasks_per_node",
        "cpus_per_task",
        "nodes",
        "mem_per_node_mb",
        "mem_per_cpu_mb",
        "cpus_per_gpu",
        "mem_per_gpu_mb",
        "gpus",
        "gpus_per_node",
        "gpus_per_socket",
        "gpus_per_task",
        "tres_per_node",
        "tres_per_job",
        "tres_per_socket",
        "tres_per_task",
        "constraint",
        "mincpus",
        "ntasks_per_gpu",
        "overcommit",
        "sockets_per_node",
        "tmp_mb",
    }
)
"""All that `size_attributes` may give."""


def size_attributes(request: Request, nodes: tuple[int, int] | None) -> dict[str, str]:
    """What was requested that says how large the job is; `read_request.request_of` reads it again."""
    found = {
        "ntasks": request.ntasks,
        "ntasks_per_node": request.ntasks_per_node,
        "cpus_per_task": request.cpus_per_task,
        "nodes": None if nodes is None else f"{nodes[0]}-{nodes[1]}",
        "mem_per_node_mb": request.mem_mb,
        "mem_per_cpu_mb": request.mem_per_cpu_mb,
        "cpus_per_gpu": request.cpus_per_gpu,
        "mem_per_gpu_mb": request.mem_per_gpu_mb,
        **request.tres,
        "constraint": request.constraint,
        "mincpus": request.mincpus,
        "ntasks_per_gpu": request.ntasks_per_gpu,
        "overcommit": 1 if request.overcommit else None,
        "sockets_per_node": request.sockets_per_node,
        "tmp_mb": request.tmp_mb or None,
    }
    return {name: str(value) for name, value in found.items() if value is not None}


def failed(text: str) -> SlurmUsageError:
    """What slurmctld refuses, exit 1."""
    return SlurmUsageError(f"sbatch: error: Batch job submission failed: {text}")


def _wrong_gres(why: str) -> SlurmUsageError:
    """What sbatch finds wrong with generic resources before it submits, exit 1."""
    return SlurmUsageError(f"sbatch: error: {why}\nsbatch: error: Invalid generic resource (gres) specification")


def not_available() -> SlurmUsageError:
    return failed("Requested node configuration is not available")
