"""A job's priority: Slurm's multifactor, or PBS's formula. Source: priority_multifactor.c of Slurm 22.05.8."""

from __future__ import annotations

from collections.abc import Mapping

from hpcbatch.dataclass import dataclass, field
from hpcbatch.model.accounts import NORMAL, Accounts
from hpcbatch.model.formula import evaluate
from hpcbatch.model.priority import Factors, PriorityConfig
from hpcbatch.policy.account_limits import Place, Standing, place_of
from hpcbatch.typed import NamedTuple

_MOST = 2**32 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """What a job's size is measured by."""

    cpus: int
    nodes: int
    tres: Mapping[str, int] = field(default_factory=dict)
    """Of the resources that have weights."""


class Highest(NamedTuple):
    """By what the factors of associations and qualities of service are measured."""

    assoc: int
    qos: int

    @classmethod
    def of(cls, accounts: Accounts) -> Highest:
        return cls(
            max((one.limits.count("Priority") or 0 for one in accounts.associations), default=0),
            max((each.limits.count("Priority") or 0 for each in accounts.qos.values()), default=0),
        )


def factors_of(
    config: PriorityConfig,
    accounts: Accounts,
    cluster: Cluster,
    job: Standing,
    *,
    age_s: float,
    nice: int = 0,
    fair_share: float = 0.0,
    place: Place | None = None,
    highest: Highest | None = None,
) -> Factors:
    """`age_s`: how long it has been eligible; `fair_share` is the factor of its association. A factor without a weight
    is 0. Who ranks many jobs gives `place` and `highest`, which else are looked up.
    """
    place = place_of(accounts, job) if place is None else place
    highest = Highest.of(accounts) if highest is None else highest
    own = 0 if place.own is None else place.own.limits.count("Priority") or 0
    qos = accounts.qos.get(job.qos or NORMAL)
    of_qos = 0 if qos is None else qos.limits.count("Priority") or 0
    of_partition = config.partition_factors.get(job.queue, 1)
    most_partition = max((1, *config.partition_factors.values()))
    totals = {"cpu": cluster.cpus, "node": cluster.nodes, **cluster.tres}
    return Factors(
        age=min(1.0, max(0.0, age_s) / config.max_age_s) if config.weight_age else 0.0,
        assoc=own / highest.assoc if config.weight_assoc and highest.assoc else 0.0,
        fair_share=fair_share if config.weight_fair_share or config.formula else 0.0,
        job_size=_size(config, cluster, job) if config.weight_job_size else 0.0,
        partition=of_partition / most_partition if config.weight_partition else 0.0,
        qos=of_qos / highest.qos if config.weight_qos and highest.qos else 0.0,
        tres={
            name: min(1.0, job.uses.get(name, 0) / totals[name]) for name in config.weight_tres if totals.get(name, 0)
        },
        nice=nice,
    )


def _size(config: PriorityConfig, cluster: Cluster, job: Standing) -> float:
    cpus, nodes = job.uses.get("cpu", 0), max(1, job.uses.get("node", 1))
    if not cluster.nodes or not cluster.cpus:
        return 0.0
    if config.is_size_relative:
        minutes = max(1, (job.walltime_s or 60) // 60)
        size = max(nodes * cluster.cpus / cluster.nodes, cpus) / minutes / cluster.cpus
        size = 1 - size if config.favors_small else size
    elif config.favors_small:
        size = (cluster.nodes - nodes) / cluster.nodes
        size = (size + (cluster.cpus - cpus) / cluster.cpus) / 2 if cpus else size
    else:
        size = nodes / cluster.nodes
        size = (size + cpus / cluster.cpus) / 2 if cpus else size
    return min(1.0, max(0.0, size))


def weighted(config: PriorityConfig, factors: Factors) -> Factors:
    """Each factor times its weight."""
    return Factors(
        age=factors.age * config.weight_age,
        assoc=factors.assoc * config.weight_assoc,
        fair_share=factors.fair_share * config.weight_fair_share,
        job_size=factors.job_size * config.weight_job_size,
        partition=factors.partition * config.weight_partition,
        qos=factors.qos * config.weight_qos,
        tres={name: factor * config.weight_tres[name] for name, factor in factors.tres.items()},
        site=factors.site,
        nice=factors.nice,
    )


def priority_of(parts: Factors) -> int:
    """Of weighted factors: their sum, 1 at least, as far as 32 bits reach."""
    total = parts.age + parts.assoc + parts.fair_share + parts.job_size + parts.partition + parts.qos
    total += sum(parts.tres.values()) + parts.site - parts.nice
    return int(min(max(total, 1.0), float(_MOST)))


def formula_priority(
    formula: str,
    job: Standing,
    *,
    eligible_s: float,
    job_priority: int = 0,
    queue_priority: int = 0,
    fair_share: float = 0.0,
) -> float:
    """What PBS's job_sort_formula gives for a job: larger goes first. Raises HpcBatchError for a bad formula."""
    names = {
        "ncpus": float(job.uses.get("cpu", 0)),
        "mem": float(job.uses.get("mem", 0) * 2**10),  # kb, as PBS's scheduler has it
        "walltime": float(job.walltime_s or 0),
        "nodect": float(job.uses.get("node", 0)),
        "ngpus": float(job.uses.get("gres/gpu", 0)),
        "queue_priority": float(queue_priority),
        "job_priority": float(job_priority),
        "eligible_time": float(eligible_s),
        "fairshare_factor": fair_share,
        "fairshare_perc": fair_share,
        "accrue_type": 0.0,
    }
    return evaluate(formula, names)


def rank_of(config: PriorityConfig, factors: Factors, job: Standing, *, eligible_s: float) -> float | None:
    """By what waiting jobs are put in order, larger first: the site's formula, or the sum of weighted factors. None at
    a site that has neither: then `model.spec` has the weight that -p and --nice give.
    """
    if config.formula:
        return formula_priority(
            config.formula,
            job,
            eligible_s=eligible_s if config.has_eligible_time else 0.0,
            job_priority=factors.site - factors.nice,
            queue_priority=config.partition_factors.get(job.queue, 1),
            fair_share=factors.fair_share,
        )
    return float(priority_of(weighted(config, factors))) if config.is_multifactor else None
