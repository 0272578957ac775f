"""The request to sbatch: the options in force, of script, environment and command line together."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from hpcbatch.dialects.slurm import tres
from hpcbatch.dialects.slurm.tres import Amounts
from hpcbatch.model.array import Array
from hpcbatch.model.spec import WarnSignal

GPU_OPTIONS = ("gpus", "gpus-per-node", "gpus-per-task")


@dataclass(slots=True, kw_only=True)
class Request:
    """The options in force, each the last of its kind. None: not given."""

    account: str | None = None
    array: Array | None = None
    begin: datetime | None = None
    chdir: str | None = None
    constraint: str | None = None
    """As given; `features` is what it says."""
    cpus_per_gpu: int | None = None
    cpus_per_task: int | None = None
    dependency: str | None = None
    """As given, and found to be right."""
    dry_run: bool = False
    error: str | None = None
    exclusive: bool = False
    explain: bool = False
    export: str | None = None
    features: tuple[str, ...] = ()
    login: bool | None = None
    """--get-user-env: whether the login environment is loaded (L), or none (S); None: not given."""
    gpus: Amounts = field(default_factory=dict)
    gpus_per_node: Amounts = field(default_factory=dict)
    gpus_per_task: Amounts = field(default_factory=dict)
    gres: Amounts = field(default_factory=dict)
    hold: bool = False
    ignore_pbs: bool = False
    image: str | None = None
    job_name: str | None = None
    kill_if_never: bool | None = None
    mail_types: tuple[str, ...] = ()
    mail_users: tuple[str, ...] = ()
    mem_mb: int | None = None
    mem_per_cpu_mb: int | None = None
    mem_per_gpu_mb: int | None = None
    nice: int = 0
    nodes: tuple[int, int] | None = None
    ntasks: int | None = None
    ntasks_per_node: int | None = None
    append: bool | None = None
    output: str | None = None
    parsable: bool = False
    partition: str | None = None
    priority: int | None = None
    """Given outright; 0 holds the job."""
    quiet: bool = False
    strict: bool = False
    wait: bool = False
    requeue: bool = True
    walltime_s: int | None = None
    warn_signal: WarnSignal | None = None
    verbose: int = 0
    wrap: str | None = None
    kept: dict[str, str] = field(default_factory=dict)
    """Options that change nothing here, by name."""
    given: dict[str, str] = field(default_factory=dict)
    """The text of --gres, --gpus and its kin, by option, where it requests something."""
    notes: list[str] = field(default_factory=list)
    from_environment: set[str] = field(default_factory=set)
    """Options whose value in force comes from the environment."""

    @property
    def tres(self) -> dict[str, str]:
        """What `squeue`, `scontrol show job` and SLURM_GPUS… show of generic resources, by the job's attribute."""
        of_node = [tres.shown(self.given["gres"])] if "gres" in self.given else []
        found = {name.replace("-", "_"): self.given[name] for name in GPU_OPTIONS if name in self.given}
        for attribute, name in (("job", "gpus"), ("task", "gpus-per-task"), ("node", "gpus-per-node")):
            parts = of_node if attribute == "node" else []
            if name in self.given:
                parts.append(tres.shown(self.given[name], "gres:gpu:"))
            if parts:
                found[f"tres_per_{attribute}"] = ",".join(parts)
        return found
