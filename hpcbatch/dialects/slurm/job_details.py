"""What `scontrol -d show job` has more than without -d: a job's derived exit code, and what it has on its nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hpcbatch.dialects.slurm.hostlist import compress
from hpcbatch.model.chunk import Chunk, of_each_pod
from hpcbatch.model.record import JobRecord, JobStatus

_MIB = 1024**2
_Held = tuple[int, tuple[tuple[str, int], ...]]
"""Bytes of memory and other resources of a job on one node."""


def derived_exit_code(status: JobStatus) -> str:
    """`3:0`, the highest of the steps of srun, as far as the record has them."""
    ended = ((step.exit_code or 0, step.exit_signal or 0) for step in status.steps if step.end_time is not None)
    code, signal = max(ended, default=(0, 0))
    return f"{code}:{signal}"


def allocation(record: JobRecord) -> list[str]:
    """Lines for nodes that follow each other and have the same of it. Which CPUs the job has there the kubelet alone
    knows, if it sets any aside: CPU_IDs is empty.
    """
    if not record.status.hosts:
        return []
    total: dict[str, int] = {}
    by_node: dict[str, _Held] = {}
    for node, chunk in _placed(record):
        mem, amounts = by_node.get(node, (0, ()))
        by_node[node] = (mem + (chunk.mem_bytes or 0), tuple(sorted(_added(dict(amounts), chunk).items())))
        total = _added(total, chunk)
    lines = [f"JOB_GRES={_gres(total) or '(null)'}"]
    groups: list[tuple[list[str], _Held]] = []
    for node, held in by_node.items():
        if groups and groups[-1][1] == held:
            groups[-1][0].append(node)
        else:
            groups.append(([node], held))
    lines += [
        f"  Nodes={compress(nodes)} CPU_IDs= Mem={-(-mem // _MIB)} GRES={_gres(dict(amounts))}"
        for nodes, (mem, amounts) in groups
    ]
    return lines


def _placed(record: JobRecord) -> Iterator[tuple[str, Chunk]]:
    for host, chunk in zip(record.status.hosts, of_each_pod(record.layout), strict=False):
        yield host.node, chunk


def _added(amounts: Mapping[str, int], chunk: Chunk) -> dict[str, int]:
    return dict(amounts) | {name: amounts.get(name, 0) + amount for name, amount in chunk.resources}


def _gres(amounts: Mapping[str, int]) -> str:
    return ",".join(f"{name}:{amount}" for name, amount in sorted(amounts.items()))
