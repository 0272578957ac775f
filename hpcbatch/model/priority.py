"""Who goes first: a site's weights, and what they make of a job. The words are Slurm's priority/multifactor."""

from __future__ import annotations

from collections.abc import Mapping

from hpcbatch.dataclass import dataclass, field

DAY_S = 86400


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorityConfig:
    """Weights are of factors from 0 to 1."""

    is_multifactor: bool = False
    """False: in the order of submission, by --nice and -p (Slurm's priority/basic)."""
    weight_age: int = 0
    weight_assoc: int = 0
    weight_fair_share: int = 0
    weight_job_size: int = 0
    weight_partition: int = 0
    weight_qos: int = 0
    weight_tres: Mapping[str, float] = field(default_factory=dict)
    """By Slurm's names of resources."""
    max_age_s: int = 7 * DAY_S
    """When the factor of age is 1."""
    favors_small: bool = False
    is_size_relative: bool = False
    """The factor of size is divided by the walltime in minutes (SMALL_RELATIVE_TO_TIME)."""
    half_life_s: int = 7 * DAY_S
    """After which usage counts half; 0: for ever in full."""
    calc_period_s: int = 30
    """How often ages and shares are looked at."""
    is_fair_tree: bool = True
    damping: int = 1
    """FairShareDampeningFactor; not of Fair Tree."""
    partition_factors: Mapping[str, int] = field(default_factory=dict)
    """PriorityJobFactor of partitions; the others have 1."""
    formula: str = ""
    """PBS's job_sort_formula: what it gives is a job's priority instead."""
    counts_eligible: bool | None = None
    """PBS's eligible_time_enable; None: as the formula needs it."""

    @property
    def has_eligible_time(self) -> bool:
        """Whether jobs show their eligible_time, and formulas have it; else it is 0."""
        return bool(self.formula) if self.counts_eligible is None else self.counts_eligible

    @property
    def ranks(self) -> bool:
        """Whether jobs start by rank. False: by their weights, then in the order in which they came."""
        return self.is_multifactor or bool(self.formula)

    @property
    def by_share(self) -> bool:
        return "fairshare" in self.formula if self.formula else self.is_multifactor and bool(self.weight_fair_share)

    @property
    def by_size(self) -> bool:
        """Whether the cluster's size matters."""
        return self.is_multifactor and not self.formula and bool(self.weight_job_size or self.weight_tres)

    @property
    def changes_with_time(self) -> bool:
        """Whether the ranks of two jobs may change places while nothing happens."""
        in_formula = "eligible_time" in self.formula and self.has_eligible_time
        by_age = in_formula if self.formula else self.is_multifactor and bool(self.weight_age)
        return by_age or self.by_share


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortJobs:
    """Go before others, which start no more than `delay_s` later than without that, see policy.short_first."""

    walltime_s: int = 30
    """Jobs of at most that."""
    delay_s: int = 1800
    """More than `walltime_s`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Factors:
    """From 0 to 1 each; `tres` by resource."""

    age: float = 0.0
    assoc: float = 0.0
    fair_share: float = 0.0
    job_size: float = 0.0
    partition: float = 0.0
    qos: float = 0.0
    tres: Mapping[str, float] = field(default_factory=dict)
    site: int = 0
    """Added as it is."""
    nice: int = 0
    """Deducted as it is."""
