"""A chunk: equal pieces of a job, each placed whole on one node, and what each asks of its node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from hpcbatch.dataclass import dataclass, field, replace
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.stored import (
    AMOUNTS,
    BOOLEAN,
    COUNT,
    HOST,
    PRINTABLE,
    SORTED_NAMES,
    Kind,
    integer,
    list_of,
    mapping_of,
    stored,
    string,
)

MAX_CHUNKS = 100_000
"""Chunks of a job, counted one by one."""
MAX_RANKS = 1_000_000
"""Ranks of a job: each has a line in its node file."""

HOSTS = list_of(HOST, most=10000)
WORDS_OF_SITE = Kind(
    mapping_of(string(most=1024, pattern=PRINTABLE), most=64).schema, dict, lambda words: tuple(sorted(words.items()))
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """`count` equal pieces of a job, each placed whole on one node (PBS: chunk; Slurm: a node's share)."""

    count: int = field(default=1, metadata=stored("count", integer(1, MAX_CHUNKS), is_required=True))
    cpus: int = field(default=1, metadata=stored("cpus", integer(0, 2**53 - 1), is_required=True))
    requested_cpus: int | None = field(
        default=None,
        metadata=stored(
            "requestedCpus",
            integer(0, 2**53 - 1),
            description="CPUs that its pod requests, where the job has all of its node and so more than it asked for.",
        ),
    )
    """CPUs that its pod requests of Kubernetes, where the job has all CPUs of the node (Slurm --exclusive): those that
    it asked for, since some of the node's may be requested by the site's own pods. None: `cpus`.
    """
    mem_bytes: int | None = field(default=None, metadata=stored("memBytes", COUNT))
    """Memory of one chunk; None leaves it to the queue's default (no request)."""
    ranks: int = field(
        default=1,
        metadata=stored("ranks", integer(0, MAX_RANKS), is_required=True, description="MPI processes of one chunk."),
    )
    """MPI processes of one chunk: PBS mpiprocs, Slurm tasks on the node. May be 0."""
    threads: int | None = field(
        default=None, metadata=stored("threads", integer(1, 2**31 - 1), description="OpenMP threads of a rank.")
    )
    """OpenMP threads of a rank: PBS ompthreads, Slurm cpus-per-task. None: not requested."""
    resources: tuple[tuple[str, int], ...] = field(default=(), metadata=stored("resources", AMOUNTS))
    """Further countable resources of one chunk by the site's names, sorted: `(("ngpus", 2),)`."""
    properties: tuple[str, ...] = field(
        default=(),
        metadata=stored(
            "properties", SORTED_NAMES, description="Node properties (PBS) or features (Slurm) that its node must have."
        ),
    )
    """Node properties (PBS) or features (Slurm) that its node must have, all of them, sorted."""
    alternatives: tuple[tuple[str, ...], ...] = field(
        default=(),
        metadata=stored(
            "alternatives",
            list_of(SORTED_NAMES, most=64),
            description="Sets of properties: its node must have all of one of them (Slurm --constraint=a|b).",
        ),
    )
    """Sets of properties beside `properties`: its node must have all of one set. Empty: no such choice."""
    same_alternative: bool = field(default=False, metadata=stored("sameAlternative", BOOLEAN))
    """All nodes of the job must have the same set (Slurm --constraint=[a|b])."""
    lacks: tuple[str, ...] = field(
        default=(),
        metadata=stored(
            "lacks", SORTED_NAMES, description="Properties that its node must not have (PBS bigmem=False)."
        ),
    )
    words: tuple[tuple[str, str], ...] = field(
        default=(),
        metadata=stored(
            "words",
            WORDS_OF_SITE,
            description="Resources with a text for a value, such as gpu_model=a100, for the site to translate.",
        ),
    )
    """Resources with a text for a value, sorted: `(("gpu_model", "a100"),)`. The site says what they mean."""
    tmp_bytes: int | None = field(
        default=None, metadata=stored("tmpBytes", COUNT, description="Disk for temporary files (ephemeral-storage).")
    )
    hosts: tuple[str, ...] = field(
        default=(),
        metadata=stored("hosts", HOSTS, description="Nodes of which its node must be one (PBS host=, vnode=)."),
    )
    """Nodes, each of these `count` pieces on one of them. Empty: any node."""
    excluded_hosts: tuple[str, ...] = field(
        default=(), metadata=stored("excludedHosts", HOSTS, description="Nodes that its node must not be.")
    )
    component: int = field(default=0, metadata=stored("component", integer(0, 127)))
    """The component of a heterogeneous job (Slurm) that it belongs to."""

    @property
    def cpus_of_pod(self) -> int:
        """Those that its pod requests of Kubernetes."""
        return self.cpus if self.requested_cpus is None else self.requested_cpus

    def __post_init__(self) -> None:
        if self.count < 1 or self.cpus < 0 or self.ranks < 0:
            raise HpcBatchError(f"not a chunk: count {self.count}, cpus {self.cpus}, ranks {self.ranks}")
        check_resources(self.resources)
        for names in (self.properties, self.lacks, *self.alternatives):
            if list(names) != sorted(set(names)):
                raise HpcBatchError(f"not a chunk: properties {names}")
        if [name for name, _ in self.words] != sorted({name for name, _ in self.words}):
            raise HpcBatchError(f"not a chunk: {self.words}")


def of_each_pod(layout: Iterable[Chunk]) -> Iterator[Chunk]:
    """The chunk of each pod of a layout, in order: each as often as it counts."""
    return (chunk for chunk in layout for _ in range(chunk.count))


def on_hosts(chunks: Iterable[Chunk], hosts: Sequence[str]) -> tuple[Chunk, ...]:
    """The pieces of `chunks` one after the other on these hosts, which are used again from the first one on when there
    are fewer.
    """
    found: list[Chunk] = []
    for at, chunk in enumerate(of_each_pod(chunks)):
        piece = replace(chunk, count=1, hosts=(hosts[at % len(hosts)],))
        if found and replace(found[-1], count=1) == piece:
            found[-1] = replace(found[-1], count=found[-1].count + 1)
        else:
            found.append(piece)
    return tuple(found)


def check_resources(resources: tuple[tuple[str, int], ...]) -> None:
    """Raise HpcBatchError unless each name appears once, in order, with an amount of at least 1."""
    names = [name for name, _ in resources]
    if names != sorted(set(names)) or any(amount < 1 for _, amount in resources):
        raise HpcBatchError(f"not the resources of a chunk: {resources}")
