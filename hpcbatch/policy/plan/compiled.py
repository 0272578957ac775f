"""Jobs and the parts of their shapes in the form in which they are planned: equal ones are one object."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping

from hpcbatch.dataclass import dataclass
from hpcbatch.policy.plan.estate import Estate, Spot, fits
from hpcbatch.policy.plan.limits import Count, Limits
from hpcbatch.policy.plan.outcome import Why
from hpcbatch.policy.plan.packing import may_fit
from hpcbatch.policy.plan.snapshot import JobId, Owner, Part, Shape, WaitingJob
from hpcbatch.policy.plan.timeline import Amounts

Key = tuple[tuple[float, ...], JobId]
"""A job's place in the order of priority."""
Counts = tuple[tuple[Count, ...], ...]


class Filter:
    """The spots that may hold pods of some parts."""

    __slots__ = ("_all", "able", "closed", "part", "pool", "version")

    def __init__(self, pool: str, part: Part) -> None:
        self.pool = pool
        self.part = part
        self.able: dict[Spot, None] = {}
        self.closed: dict[Spot, None] = {}
        self._all: dict[bool, Counter[Amounts]] = {}
        self.version = 0
        """Grows with each change of a node."""

    def put(self, spot: Spot) -> None:
        self.drop(spot)
        if spot.pool == self.pool and self._suits(spot):
            (self.able if spot.is_open else self.closed)[spot] = None

    def drop(self, spot: Spot) -> None:
        self.able.pop(spot, None)
        self.closed.pop(spot, None)
        self._all = {}
        self.version += 1

    def sizes(self, *, with_closed: bool) -> Counter[Amounts]:
        """How many nodes have how much in all."""
        if with_closed not in self._all:
            spots = [*self.able, *self.closed] if with_closed else [*self.able]
            self._all[with_closed] = Counter(spot.has for spot in spots)
        return self._all[with_closed]

    def _suits(self, spot: Spot) -> bool:
        part = self.part
        if spot.name in part.excluded_hosts or (part.hosts is not None and spot.name not in part.hosts):
            return False
        if not part.labels.items() <= spot.labels.items():
            return False
        return not part.terms or any(
            all((spot.labels.get(test.key) in test.values) is test.is_in for test in term) for term in part.terms
        )


class Kind:
    """Equal pods that may run on the same spots."""

    __slots__ = ("amounts", "filter", "is_exclusive", "is_known", "needs")

    def __init__(self, part: Part, only: Filter, estate: Estate, *, is_exclusive: bool) -> None:
        self.filter = only
        self.is_exclusive = is_exclusive
        self.is_known = all(name in estate.index for name, amount in part.needs.items() if amount)
        """Whether nodes have all that it needs; if not, it fits nowhere."""
        self.amounts = estate.amounts(part.needs, shares=0)
        self.needs = tuple((index, amount) for index, amount in enumerate(self.amounts) if amount) or ((0, 1),)

    def fits(self, free: Amounts) -> int:
        return fits(self.needs, free, is_exclusive=self.is_exclusive) if self.is_known else 0

    def most(self, *, is_scattered: bool, with_closed: bool) -> int:
        """How many would fit if nothing ran."""
        total = 0
        for has, number in self.filter.sizes(with_closed=with_closed).items():
            count = self.fits(has)
            total += number * (min(count, 1) if is_scattered else count)
        return total

    def most_by_spot(self, *, with_closed: bool) -> dict[Spot, int]:
        able = (*self.filter.able, *self.filter.closed) if with_closed else self.filter.able
        return {spot: count for spot in able if (count := self.fits(spot.has))}


@dataclass(frozen=True, slots=True, eq=False)
class Option:
    """A shape, compiled."""

    index: int
    parts: tuple[tuple[Kind, int], ...]
    is_scattered: bool
    is_exclusive: bool

    @property
    def pool(self) -> str:
        return self.parts[0][0].filter.pool

    def ever_fits(self, *, with_closed: bool) -> bool:
        if any(kind.most(is_scattered=self.is_scattered, with_closed=with_closed) < n for kind, n in self.parts):
            return False
        return len(self.parts) == 1 or may_fit(
            self, [kind.most_by_spot(with_closed=with_closed) for kind, _ in self.parts], lambda spot: spot.has
        )


class JobClass:
    """The waiting jobs of equal shapes in one pool, in the order of priority."""

    __slots__ = ("_never", "counts", "keys", "options", "owner", "pool", "shortest")

    def __init__(self, pool: str, owner: Owner, options: tuple[Option, ...]) -> None:
        self.pool = pool
        self.owner = owner
        """Of one of the jobs; in a reservation of all."""
        self.options = options
        self._never: tuple[int, Why | None] = (-1, None)
        self.keys: list[Key] = []
        self.shortest: list[float] = []
        """By the index in `keys`: the least time for which the job would start."""
        self.counts: list[Counts] = []
        """Likewise: what the job adds to counters of limits, for each option."""

    def put(self, key: Key, shortest_s: float, counts: Counts) -> None:
        index = bisect_left(self.keys, key)
        self.keys.insert(index, key)
        self.shortest.insert(index, shortest_s)
        self.counts.insert(index, counts)

    def drop(self, key: Key) -> None:
        index = bisect_left(self.keys, key)
        del self.keys[index], self.shortest[index], self.counts[index]

    def reorder(self, waiting: Mapping[JobId, WaitingJob]) -> None:
        """By the orders that these jobs have now."""
        jobs = zip(self.keys, self.shortest, self.counts, strict=True)
        found = sorted(
            ((waiting[job_id].order, job_id), index, least_s, counts)
            for index, ((_, job_id), least_s, counts) in enumerate(jobs)
        )
        self.keys = [key for key, _, _, _ in found]
        self.shortest = [least_s for _, _, least_s, _ in found]
        self.counts = [counts for _, _, _, counts in found]

    def never_fits(self) -> Why | None:
        """The reason, if the jobs could not run even if nothing else did."""
        version = sum(kind.filter.version for option in self.options for kind, _ in option.parts)
        if self._never[0] != version:
            why = None
            if not any(option.ever_fits(with_closed=False) for option in self.options):
                is_down = any(option.ever_fits(with_closed=True) for option in self.options)
                why = Why.NODE_DOWN if is_down else Why.NEVER_FITS
            self._never = version, why
        return self._never[1]

    def after(self, index: int, below_s: float) -> int | None:
        """The first after `index` that would start for less than `below_s`."""
        shortest = self.shortest
        return next((at for at in range(index + 1, len(shortest)) if shortest[at] < below_s), None)


class Compiler:
    """Makes each kind, filter and class once."""

    def __init__(self, estate: Estate, limits: Limits) -> None:
        self._estate = estate
        self._limits = limits
        self.filters: dict[object, Filter] = {}
        self._kinds: dict[object, Kind] = {}
        self._shapes: dict[int, tuple[Shape, object]] = {}
        self._counts: dict[Counts, Counts] = {}
        self.classes: dict[object, JobClass] = {}
        """By what they have in common; one whose last job goes is dropped by the caller."""

    def class_key(self, job: WaitingJob) -> object:
        shapes = tuple(self._shape_key(shape) for shape in job.shapes)
        return job.reservation, job.owner if job.reservation else None, shapes

    def counts(self, job: WaitingJob) -> Counts:
        """The same object for equal ones."""
        found = tuple(self._limits.counts(job.owner, shape, job.uses) for shape in job.shapes)
        return self._counts.setdefault(found, found)

    def class_of(self, key: object, job: WaitingJob) -> JobClass:
        found = self.classes.get(key)
        if found is None:
            options = tuple(self._option(index, job, shape) for index, shape in enumerate(job.shapes))
            found = self.classes[key] = JobClass(job.reservation, job.owner, options)
        return found

    def forget_unused(self) -> None:
        """Kinds and filters of classes that are gone, once they are many."""
        used = {kind for found in self.classes.values() for option in found.options for kind, _ in option.parts}
        self._kinds = {key: kind for key, kind in self._kinds.items() if kind in used}
        filters = {kind.filter for kind in used}
        self.filters = {key: found for key, found in self.filters.items() if found in filters}
        self._shapes = {}
        self._counts = {counts: counts for found in self.classes.values() for counts in found.counts}

    def _shape_key(self, shape: Shape) -> object:
        known = self._shapes.get(id(shape))
        if known is None or known[0] is not shape:
            parts = tuple((part.count, *_part_key(part)) for part in shape.parts)
            if len(self._shapes) > 100_000:
                self._shapes = {}
            known = self._shapes[id(shape)] = (shape, (parts, shape.is_scattered, shape.is_exclusive))
        return known[1]

    def _option(self, index: int, job: WaitingJob, shape: Shape) -> Option:
        return Option(
            index=index,
            parts=tuple((self._kind(job.reservation, part, shape), part.count) for part in shape.parts),
            is_scattered=shape.is_scattered,
            is_exclusive=shape.is_exclusive,
        )

    def _kind(self, pool: str, part: Part, shape: Shape) -> Kind:
        needs, only = _part_key(part)
        key = (pool, needs, only, shape.is_exclusive)
        if key not in self._kinds:
            self._kinds[key] = Kind(part, self._filter(pool, part, only), self._estate, is_exclusive=shape.is_exclusive)
        return self._kinds[key]

    def _filter(self, pool: str, part: Part, key: object) -> Filter:
        found = self.filters.get((pool, key))
        if found is None:
            found = self.filters[pool, key] = Filter(pool, part)
            for spot in self._estate.pools.get(pool, {}).values():
                found.put(spot)
        return found


def _part_key(part: Part) -> tuple[object, object]:
    needs = tuple(sorted((name, amount) for name, amount in part.needs.items() if amount))
    return needs, (tuple(sorted(part.labels.items())), part.terms, part.hosts, part.excluded_hosts)
