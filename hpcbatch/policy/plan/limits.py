"""Limits of what runs at a time, as counters that jobs share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product

from hpcbatch.dataclass import dataclass
from hpcbatch.policy.plan.snapshot import JOBS, NODES, Limit, Owner, RunningJob, Scope, Shape, Vector

_NARROW_FIRST = (Scope.USER, Scope.ACCOUNT, Scope.QOS, Scope.PROJECT, Scope.GROUP, Scope.QUEUE)
CounterKey = tuple[int, tuple[str, ...]]
"""The limit's index, and the values of the names that it counts apart."""


@dataclass(frozen=True, slots=True)
class Count:
    """That a job adds `amount` to a counter. Not compared by its limit, whose index the key has."""

    key: CounterKey
    amount: int
    limit: Limit
    binds: bool = True
    """Whether the limit holds the job back."""

    def of(self, walltime_s: float) -> int:
        """What a job of this walltime adds."""
        return round(self.amount * max(0.0, walltime_s)) if self.limit.is_time else self.amount

    def __hash__(self) -> int:
        return hash((self.key, self.amount, self.binds))


class Limits:
    """The counters, with what runs now."""

    def __init__(self, limits: Iterable[Limit]) -> None:
        self.limits = tuple(limits)
        self.used: dict[CounterKey, int] = {}
        self._indices: dict[tuple[Scope, str] | None, list[int]] = {}
        for index, limit in enumerate(self.limits):
            scope = next((each for each in _NARROW_FIRST if each in limit.of), None)
            self._indices.setdefault(None if scope is None else (scope, limit.of[scope]), []).append(index)
        self._of_owner: dict[tuple[Owner, str], tuple[CounterKey, ...]] = {}
        self._of_running: dict[str, list[Count]] = {}
        self._has_times = any(limit.is_time for limit in self.limits)
        self.has_soft = any(limit.is_soft for limit in self.limits)
        self._ends: dict[str, float] = {}
        """Of running jobs that count for limits of times."""
        self.beside_s = 0.0
        """What a job's time from release to its last moment has beside its walltime."""
        self.spent: Mapping[str, int] = {}

    def begin(self, now_s: float) -> None:
        """Count what running jobs have left of their walltimes."""
        if not self._has_times:
            return
        for key in [key for key in self.used if self.limits[key[0]].is_time]:
            del self.used[key]
        for job_id, end_s in self._ends.items():
            for count in self._of_running.get(job_id, ()):
                if count.limit.is_time:
                    self.used[count.key] = self.used.get(count.key, 0) + count.of(end_s - self.beside_s - now_s)

    def used_by(self, key: CounterKey) -> int:
        """What running jobs use, and what has been spent before."""
        spent = self.limits[key[0]].spent
        return self.used.get(key, 0) + (self.spent.get(spent, 0) if spent else 0)

    def counts(self, owner: Owner, shape: Shape, uses: Vector | None) -> tuple[Count, ...]:
        """Of a waiting job in one of its shapes."""
        if not self.limits:
            return ()
        return tuple(
            Count(key, amount, limit, not limit.is_soft and not _has_name(limit.spares, owner))
            for key in self._keys(owner, shape.queue or owner.queue)
            if (amount := _used((limit := self.limits[key[0]]).what, uses, shape))
            and not (limit.is_soft and _has_name(limit.spares, owner))
        )

    def put_running(self, job: RunningJob) -> None:
        self.drop_running(job.job_id)
        found = []
        for key in self._keys(job.owner, job.owner.queue):
            limit = self.limits[key[0]]
            if not (amount := _used_running(limit.what, job)):
                continue
            found.append(Count(key, amount, limit))
            if not limit.is_time:
                self.used[key] = self.used.get(key, 0) + amount
        if found:
            self._of_running[job.job_id] = found
            if self._has_times:
                self._ends[job.job_id] = job.ends_s

    def drop_running(self, job_id: str) -> None:
        self._ends.pop(job_id, None)
        for count in self._of_running.pop(job_id, ()):
            if count.limit.is_time:
                continue
            self.used[count.key] -= count.amount
            if not self.used[count.key]:
                del self.used[count.key]

    def _keys(self, owner: Owner, queue: str) -> tuple[CounterKey, ...]:
        found = self._of_owner.get((owner, queue))
        if found is None:
            if len(self._of_owner) > 100_000:
                self._of_owner = {}
            # PBS counts a job for its user's first group, Slurm's limits per account for the job's own
            names = {scope: owner.names(scope) for scope in Scope}
            names |= {Scope.QUEUE: (queue,), Scope.GROUP: owner.groups[:1]}
            keys = [None, *((scope, name) for scope in Scope for name in names[scope])]
            found = tuple(
                (index, values)
                for index in sorted(index for key in keys for index in self._indices.get(key, ()))
                if _concerns(self.limits[index], names)
                for values in product(*(names[scope][:1] for scope in self.limits[index].per))
            )
            self._of_owner[owner, queue] = found
        return found


def _concerns(limit: Limit, names: Mapping[Scope, tuple[str, ...]]) -> bool:
    return all(name in names[scope] for scope, name in limit.of.items()) and not any(
        name in apart for scope, apart in limit.apart_from.items() for name in names[scope]
    )


def _has_name(names: Mapping[Scope, frozenset[str]], owner: Owner) -> bool:
    return any(name in some for scope, some in names.items() for name in owner.names(scope))


def _used(what: str, uses: Vector | None, shape: Shape) -> int:
    return shape.total(what) if uses is None else uses.get(what, 1 if what == JOBS else 0)


def _used_running(what: str, job: RunningJob) -> int:
    if what == JOBS:
        return (job.uses or {}).get(JOBS, 1)
    if job.uses is not None:
        return job.uses.get(what, 0)
    if what == NODES:
        return len(job.placed)
    return sum(vector.get(what, 0) for vector in job.placed.values())
