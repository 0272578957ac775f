"""The request to sbatch: the options in force, of script, environment and command line together."""

from __future__ import annotations

from datetime import datetime

from hpcbatch.dataclass import dataclass, field
from hpcbatch.dialects.slurm import tres
from hpcbatch.dialects.slurm.tres import Amounts
from hpcbatch.model.array import Array
from hpcbatch.model.grouping import Grouping
from hpcbatch.model.warn_signal import WarnSignal
from hpcbatch.typed import NamedTuple


class Features(NamedTuple):
    """What nodes must have."""

    properties: tuple[str, ...] = ()
    """Every node, all of them; sorted."""
    alternatives: tuple[tuple[str, ...], ...] = ()
    """Beside these all of one of these sets; none: no choice."""
    is_same: bool = False
    """All nodes the same one of the alternatives."""
    counted: tuple[tuple[tuple[str, ...], int], ...] = ()
    """So many of the nodes must also have these."""


_ANY_NODE = Features()
GPU_OPTIONS = ("gpus", "gpus-per-node", "gpus-per-socket", "gpus-per-task")


_TRES_OPTIONS = (
    ("job", "gpus"),
    ("task", "gpus-per-task"),
    ("socket", "gpus-per-socket"),
    ("node", "gpus-per-node"),
)


class Place(NamedTuple):
    """Where an option stands: in a script, in a variable of the environment, or on the command line."""

    source: str = "command line"
    line: int | None = None
    column: int | None = None


@dataclass(slots=True, kw_only=True)
class Request:
    """The options in force, each the last of its kind. None: not given."""

    account: str | None = None
    array: Array | None = None
    begin: datetime | None = None
    bound: dict[str, str] = field(default_factory=dict)
    """Options of `options.BOUND` as given, which the runner needs, by name."""
    chdir: str | None = None
    constraint: str | None = None
    """As given; `features` is what it says."""
    container_workdir: str | None = None
    cores_per_socket: int | None = None
    cpus_per_gpu: int | None = None
    cpus_per_task: int | None = None
    deadline: datetime | None = None
    min_walltime_s: int | None = None
    """--time-min"""
    dependency: str | None = None
    """As given, and found to be right."""
    dry_run: bool = False
    error: str | None = None
    excluded: tuple[str, ...] = ()
    exclusive: bool = False
    explain: bool = False
    export: str | None = None
    export_file: str | None = None
    features: Features = _ANY_NODE
    login: bool | None = None
    """--get-user-env: whether the login environment is loaded (L), or none (S); None: not given."""
    gpus: Amounts = field(default_factory=dict)
    gpus_per_node: Amounts = field(default_factory=dict)
    gpus_per_socket: Amounts = field(default_factory=dict)
    gpus_per_task: Amounts = field(default_factory=dict)
    gres: Amounts = field(default_factory=dict)
    hold: bool = False
    host_files: dict[str, str] = field(default_factory=dict)
    """The files of --nodefile, and of --nodelist and --exclude where these name files, by option."""
    hosts: tuple[str, ...] = ()
    """--nodelist; one may stand there more than once."""
    ignore_pbs: bool = False
    image: str | None = None
    job_name: str | None = None
    kill_if_never: bool | None = None
    licenses: dict[str, int] = field(default_factory=dict)
    limits: tuple[str, ...] | None = None
    """--propagate, by the names of setrlimit(2) in lower case."""
    mail_types: tuple[str, ...] = ()
    mail_users: tuple[str, ...] = ()
    mem_mb: int | None = None
    """0: all memory of the nodes."""
    mem_per_cpu_mb: int | None = None
    mem_per_gpu_mb: int | None = None
    mincpus: int | None = None
    nice: int = 0
    nodes: tuple[int, int] | None = None
    ntasks: int | None = None
    ntasks_per_core: int | None = None
    ntasks_per_gpu: int | None = None
    ntasks_per_gpu_by: str = ""
    """The option that gave it."""
    ntasks_per_node: int | None = None
    ntasks_per_socket: int | None = None
    other_partitions: tuple[str, ...] = ()
    overcommit: bool = False
    append: bool | None = None
    output: str | None = None
    parsable: bool = False
    partition: str | None = None
    priority: int | None = None
    """Given outright; 0 holds the job."""
    quiet: bool = False
    strict: bool = False
    requeue: bool = True
    sockets_per_node: int | None = None
    stdin: str | None = None
    test_only: bool = False
    threads_per_core: int | None = None
    tmp_mb: int | None = None
    umask: int | None = None
    """From a #PBS line."""
    wait: bool = False
    walltime_s: int | None = None
    warn_signal: WarnSignal | None = None
    grouping: Grouping | None = None
    verbose: int = 0
    wrap: str | None = None
    kept: dict[str, str] = field(default_factory=dict)
    """Options that change nothing here, by name."""
    ignored: dict[str, str] = field(default_factory=dict)
    """Options without effect here, each with the reason, by name."""
    given: dict[str, str] = field(default_factory=dict)
    """The text of --gres, --gpus and its kin, and of --licenses, by option, where it requests something."""
    notes: list[str] = field(default_factory=list)
    texts: dict[str, str | None] = field(default_factory=dict)
    """Every option in force as it was given, by name; None: it has no value."""
    from_environment: set[str] = field(default_factory=set)
    """Options whose value in force comes from the environment."""

    places: dict[str, Place] = field(default_factory=dict)
    """Where each option in force stands."""

    @property
    def tres(self) -> dict[str, str]:
        """What `squeue`, `scontrol show job` and SLURM_GPUS… show of generic resources, by the job's attribute."""
        of_node = [tres.shown(self.given["gres"])] if "gres" in self.given else []
        found = {name.replace("-", "_"): self.given[name] for name in GPU_OPTIONS if name in self.given}
        for attribute, name in (
            ("job", "gpus"),
            ("task", "gpus-per-task"),
            ("socket", "gpus-per-socket"),
            ("node", "gpus-per-node"),
        ):
            parts = of_node if attribute == "node" else []
            if name in self.given:
                parts.append(tres.shown(self.given[name], "gres:gpu:"))
            if parts:
                found[f"tres_per_{attribute}"] = ",".join(parts)
        return found
