"""What a job waits for of other jobs, neutral between PBS and Slurm."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class DependencyKind(StrEnum):
    """Values are what a BatchJob's spec holds."""

    AFTER = "after"  # it has started (or been cancelled: Slurm)
    AFTER_OK = "afterok"  # ended with 0
    AFTER_NOT_OK = "afternotok"
    AFTER_ANY = "afterany"
    AFTER_CORR = "aftercorr"  # Slurm: the member of the same index has ended with 0
    BEFORE = "before"  # PBS: the named jobs wait for this one
    BEFORE_OK = "beforeok"
    BEFORE_NOT_OK = "beforenotok"
    BEFORE_ANY = "beforeany"
    ON = "on"  # PBS: so many `before…` of others have to be satisfied
    RUN_ONE = "runone"  # PBS: of the jobs bound together only one runs
    SINGLETON = "singleton"  # Slurm: after all earlier jobs of the same name and user


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRef:
    """A job by its number; `index` names one member of an array (`12_7`, `12[7]`), None the whole job or array."""

    job_id: int
    index: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """One `type:id:id…`. All of its jobs must satisfy it."""

    kind: DependencyKind
    jobs: tuple[JobRef, ...] = ()
    delay_s: int = 0
    """Slurm `after:12+5`: so long after the start."""
    count: int = 0
    """Of `on:COUNT`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    """All clauses have to be satisfied, or with `is_any` (Slurm's `?`) one of them."""

    clauses: tuple[Clause, ...]
    is_any: bool = False
    kill_if_never: bool | None = None
    """End the job when it can never be met (PBS does; Slurm `--kill-on-invalid-dep=yes`); None: the dialect's way."""
