"""What a job with --exclusive gets of its nodes: all of their CPUs, however few it asked for, and with --mem-per-cpu
memory for each of them. Source: job_test.c of cons_common, 22.05.
"""

from __future__ import annotations

from hpcbatch.dataclass import replace
from hpcbatch.dialects.slurm.attributes import number
from hpcbatch.dialects.slurm.memory import MIB
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.spec import JobSpec


def whole_node(spec: JobSpec, chunk: Chunk, cpus: int) -> Chunk:
    per_cpu = (number(spec.attributes, "mem_per_cpu_mb") or 0) * MIB
    is_per_cpu = per_cpu > 0 and chunk.mem_bytes == per_cpu * chunk.cpus  # not so in each component
    mem_bytes = per_cpu * cpus if is_per_cpu else chunk.mem_bytes
    return replace(chunk, cpus=cpus, requested_cpus=chunk.cpus, mem_bytes=mem_bytes)
