"""What was asked: the neutral job specification that every dialect reads its scripts into."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.array import Array, Membership
from hpcbatch.model.dependency import Dependency
from hpcbatch.model.dialect import Dialect
from hpcbatch.units import MAX_WALLTIME_S, check_time

MAX_CHUNKS = 100_000
"""Of a job, counted one by one."""
MAX_WEIGHT = 1024
MAX_RANKS = 1_000_000
"""Of a job: each has a line in its node file."""
MAX_TOTAL = 2**63 - 1
"""Of CPUs, bytes and the like, of all chunks together: what the API and the history's database can hold."""
MAX_ATTRIBUTES = 512 * 1024
"""Characters of all that a dialect keeps of one job."""


class Arrangement(StrEnum):
    """How chunks become pods and pods are spread over nodes."""

    FREE = "free"  # a pod for each chunk, on any nodes
    PACK = "pack"  # all chunks in one pod
    SCATTER = "scatter"  # a pod for each chunk, no two on one node
    FILL = "fill"  # chunks merged into as few pods as the largest node allows (Slurm's -n without -N)


class Sharing(StrEnum):
    """Whether other jobs may use the same nodes."""

    SHARED = "shared"
    EXCLUSIVE = "excl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """`count` equal pieces of a job, each placed whole on one node (PBS: chunk; Slurm: a node's share)."""

    count: int = 1
    cpus: int = 1
    mem_bytes: int | None = None
    """Memory of one chunk; None leaves it to the queue's default (no request)."""
    ranks: int = 1
    """MPI processes of one chunk: PBS mpiprocs, Slurm tasks on the node. May be 0."""
    threads: int | None = None
    """OpenMP threads of a rank: PBS ompthreads, Slurm cpus-per-task. None: not asked."""
    resources: tuple[tuple[str, int], ...] = ()
    """Further countable resources of one chunk under the site's names for them, sorted: `(("ngpus", 2),)`."""
    properties: tuple[str, ...] = ()
    """Node properties (PBS) or features (Slurm) that its node must have, all of them, sorted."""

    def __post_init__(self) -> None:
        if self.count < 1 or self.cpus < 0 or self.ranks < 0:
            raise HpcBatchError(f"not a chunk: count {self.count}, cpus {self.cpus}, ranks {self.ranks}")
        check_resources(self.resources)
        if list(self.properties) != sorted(set(self.properties)):
            raise HpcBatchError(f"not a chunk: properties {self.properties}")


def check_resources(resources: tuple[tuple[str, int], ...]) -> None:
    """Raise HpcBatchError unless each name stands once, in order, with an amount of at least 1."""
    names = [name for name, _ in resources]
    if names != sorted(set(names)) or any(amount < 1 for _, amount in resources):
        raise HpcBatchError(f"not the resources of a chunk: {resources}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Where a stream goes, as the user wrote it, made absolute against the submit directory.

    `path` may still hold the dialect's patterns (`%j`, `^array_index^`); None is the dialect's default name.
    """

    path: str | None = None
    append: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WarnSignal:
    """A signal before the walltime is up (Slurm --signal)."""

    signal: int
    before_s: int = 60
    """So long before the limit."""
    is_batch_only: bool = False
    """To the script's shell alone (`B:`), else to all that the job runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpec:
    """One job as asked, complete: defaults of the dialect are filled in, defaults of the site are not."""

    dialect: Dialect
    name: str
    queue: str | None = None
    """PBS queue or Slurm partition; None is the site's default."""
    chunks: tuple[Chunk, ...] = (Chunk(),)
    mem_per_pod_bytes: int | None = None
    """Memory of each pod, whatever chunks it was filled with (Slurm --mem without -N); the chunks then ask for none."""
    resources_per_pod: tuple[tuple[str, int], ...] = ()
    """Further resources of each pod, whatever chunks it was filled with (Slurm --gres without -N); sorted."""
    arrangement: Arrangement = Arrangement.FREE
    sharing: Sharing = Sharing.SHARED
    walltime_s: int | None = None
    """Wall-clock limit; None is the queue's default."""
    interpreter: str | None = None
    """PBS -S; None lets the script's `#!` line, else /bin/sh, decide."""
    command: tuple[str, ...] = ()
    """`qsub -- command args`: run without script or shell. Empty: a script is given."""
    script_args: tuple[str, ...] = ()
    script_path: str | None = None
    """The script's path when it was submitted, for display; None for standard input, `--wrap` and `--`."""
    work_dir: str | None = None
    """Absolute directory in which the script starts; None is the user's home (PBS)."""
    submit_dir: str = "/"
    submit_host: str = "localhost"
    stdout: Output = Output()
    stderr: Output | None = None
    """None: joined with stdout in its file."""
    stdout_to_stderr: bool = False
    """PBS `-j eo`: both streams go to the stderr file."""
    hold: bool = False
    """Held by its user (PBS u)."""
    admin_holds: frozenset[str] = frozenset()
    """Of `o` (operator) and `s` (system); only who may change all jobs sets and takes them."""
    array: Array | None = None
    """This is a whole array; its members are jobs of their own, made when they may run."""
    member_of: Membership | None = None
    """This is one member of an array; the controller made it."""
    dependency: Dependency | None = None
    warn_signal: WarnSignal | None = None
    keep_output: str = ""
    """PBS -k: letters of `o`, `e`, `d`, `n`; kept and shown, see the dialect."""
    remove_output: str = ""
    """PBS -R: the files, of `o` and `e`, that are removed when the job has ended with 0."""
    nice: int = 0
    """Slurm --nice; lowers the priority."""
    begin_time: datetime | None = None
    """Not to be started before; aware."""
    priority: int = 0
    """PBS -p, -1024..1023. An alteration may set a larger one (Slurm), which counts as the nearest of these."""
    rerunnable: bool = True
    account: str | None = None
    mail_points: str = ""
    """When mail was asked for, in the dialect's own letters or words."""
    mail_users: tuple[str, ...] = ()
    umask: int | None = None
    image: str | None = None
    """The container image that the user names; None is the queue's."""
    server: str = "localhost"
    """What stands behind the dot of a PBS id."""
    attributes: Mapping[str, str] = field(default_factory=dict)
    """What the dialect needs again to show the job or to set its environment, under names of its own:
    PBS `Submit_arguments`, `Resource_List.select`, `Join_Path`; Slurm `ntasks`, `mem_per_node_mb`."""

    def __post_init__(self) -> None:
        if not self.chunks:
            raise HpcBatchError("a job needs at least one chunk")
        if sum(chunk.count for chunk in self.chunks) > MAX_CHUNKS:
            raise HpcBatchError(f"a job has at most {MAX_CHUNKS} chunks")
        if sum(chunk.count * chunk.ranks for chunk in self.chunks) > MAX_RANKS:
            raise HpcBatchError(f"a job has at most {MAX_RANKS} MPI processes")
        check_resources(self.resources_per_pod)
        self._check_sizes()
        if self.begin_time is not None:
            check_time(self.begin_time)
        if self.walltime_s is not None and not 0 < self.walltime_s <= MAX_WALLTIME_S:
            raise HpcBatchError(f"a walltime of {self.walltime_s} s: expected 1 to {MAX_WALLTIME_S}")
        if sum(len(name) + len(text) for name, text in self.attributes.items()) > MAX_ATTRIBUTES:
            raise HpcBatchError(f"the attributes of a job have at most {MAX_ATTRIBUTES} characters")

    def _check_sizes(self) -> None:
        """Of the chunks, and of as many pods as these can become."""
        count = sum(chunk.count for chunk in self.chunks)
        totals = [
            sum(chunk.count * chunk.cpus for chunk in self.chunks),
            sum(chunk.count * (chunk.mem_bytes or 0) for chunk in self.chunks),
            count * (self.mem_per_pod_bytes or 0),
            *(count * amount for chunk in self.chunks for _, amount in chunk.resources),
            *(count * amount for _, amount in self.resources_per_pod),
        ]
        if max(totals) > MAX_TOTAL:
            raise HpcBatchError(f"all chunks of a job together ask for at most {MAX_TOTAL} of anything")

    @property
    def weight(self) -> int:
        """By which the scheduler orders jobs: the priority less nice, -1024..1023."""
        return max(-MAX_WEIGHT, min(MAX_WEIGHT - 1, self.priority - self.nice))

    @property
    def resource_names(self) -> tuple[str, ...]:
        """Of all further resources that it asks for, each once, sorted."""
        chunks = (pair for chunk in self.chunks for pair in chunk.resources)
        return tuple(sorted({name for name, _ in (*self.resources_per_pod, *chunks)}))

    @property
    def property_names(self) -> tuple[str, ...]:
        """Of all node properties that its chunks need, each once, sorted."""
        return tuple(sorted({name for chunk in self.chunks for name in chunk.properties}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """All that a submit command sends: the record, and beside it what others must not read."""

    spec: JobSpec
    script: bytes
    """Byte for byte as submitted; empty with `spec.command`."""
    environment: Mapping[str, str]
    """The variables that travel with the job (PBS Variable_List, Slurm --export)."""
    notes: tuple[str, ...] = ()
    """Lines to tell the submitter once, on stderr, e.g. that fewer nodes are taken."""
    mail_note: str = ""
    """A further one, for a site that sends no mail; "" where none was asked for."""
    export_none: bool = False
    """Slurm --export=NONE: the job gets a login environment instead of the submitter's."""
