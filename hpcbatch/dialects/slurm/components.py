"""The components of a heterogeneous job: what one takes over from the one before, and what they are together.

Source: the options that slurm_opt.c, 22.05, resets for each component.
"""

from __future__ import annotations

from collections.abc import Sequence

from hpcbatch.dataclass import replace
from hpcbatch.dialects.slurm.placement_values import format_amounts
from hpcbatch.dialects.slurm.request import Request
from hpcbatch.model.chunk import Chunk

MAX_COMPONENTS = 128
_RESET = frozenset(
    {
        "bound",
        "constraint",
        "cores_per_socket",
        "cpus_per_gpu",
        "cpus_per_task",
        "exclusive",
        "features",
        "given",
        "gpus",
        "gpus_per_node",
        "gpus_per_socket",
        "gpus_per_task",
        "gres",
        "hosts",
        "licenses",
        "mem_per_cpu_mb",
        "mem_per_gpu_mb",
        "mincpus",
        "nodes",
        "ntasks",
        "ntasks_per_core",
        "ntasks_per_gpu",
        "ntasks_per_gpu_by",
        "ntasks_per_node",
        "ntasks_per_socket",
        "other_partitions",
        "overcommit",
        "partition",
        "sockets_per_node",
        "threads_per_core",
        "tmp_mb",
    }
)
_HOST_FILES = ("exclude",)


def next_component(before: Request) -> Request:
    """The Request with which the next component begins."""
    new = Request()
    return replace(
        before,
        **{name: getattr(new, name) for name in _RESET},
        host_files={name: file for name, file in before.host_files.items() if name in _HOST_FILES},
        kept=dict(before.kept),
        ignored=dict(before.ignored),
        notes=[],
        texts={name: text for name, text in before.texts.items() if name.replace("-", "_") not in _RESET},
        from_environment=set(before.from_environment),
        places=dict(before.places),
    )


def in_component(chunks: Sequence[Chunk], component: int, partition: str | None, hosts: tuple[str, ...]) -> list[Chunk]:
    """The chunks of a component, of which the first are on `hosts`, as many as there are.
    A partition other than the first one's is the site's to translate.
    """
    words = () if partition is None else (("partition", partition),)
    found = []
    left = len(hosts)
    for chunk in chunks:
        placed = replace(chunk, component=component, words=words)
        on_hosts = min(left, chunk.count)
        if on_hosts:
            found.append(replace(placed, count=on_hosts, hosts=hosts))
        if chunk.count > on_hosts:
            found.append(replace(placed, count=chunk.count - on_hosts))
        left -= on_hosts
    return found


def together(requests: Sequence[Request]) -> Request:
    """The first component, with what the others have and only holds for the job as a whole."""
    first = requests[0]
    licenses: dict[str, int] = {}
    for request in requests:
        for name, count in request.licenses.items():
            licenses[name] = licenses.get(name, 0) + count
    return replace(
        first,
        licenses=licenses,
        given={**first.given, "licenses": format_amounts(licenses.items())} if licenses else first.given,
        hosts=(),  # each chunk names its own
        excluded=tuple(dict.fromkeys(host for request in requests for host in request.excluded)),
        exclusive=any(request.exclusive for request in requests),
        mem_mb=0 if any(request.mem_mb == 0 for request in requests) else first.mem_mb,
        ignored={name: text for request in reversed(requests) for name, text in request.ignored.items()},
        notes=[note for request in requests for note in request.notes],
        verbose=first.verbose,
    )
