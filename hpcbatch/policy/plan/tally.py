"""What limits count while one plan is made: running jobs, those that it releases, and those that it plans."""

from __future__ import annotations

from hpcbatch.policy.plan.compiled import Counts
from hpcbatch.policy.plan.limits import Count, CounterKey, Limits
from hpcbatch.policy.plan.snapshot import Limit

Uses = tuple[Count, ...]


class Tally:
    def __init__(self, limits: Limits, now_s: float) -> None:
        limits.begin(now_s)
        self._limits, self._now_s = limits, now_s
        self._released: dict[CounterKey, int] = {}
        self._planned: dict[CounterKey, list[tuple[float, int]]] = {}
        """With the times from which on they count."""
        self._limited: set[Counts] = set()
        self._over: set[Counts] = set()

    @property
    def has_soft(self) -> bool:
        return self._limits.has_soft

    def limit(self, uses: Uses, walltime_s: float) -> Limit | None:
        """The limit that forbids a job to start now. Planned jobs count for jobs that still run when they start."""
        for count in uses:
            if not count.binds:
                continue
            used = self._limits.used_by(count.key) + self._released.get(count.key, 0)
            if count.key in self._planned:
                used += self._planned_use(count.key, walltime_s)
            if used + self._amount(count, walltime_s) > count.limit.amount:
                return count.limit
        return None

    def is_limited(self, counts: Counts) -> bool:
        """Whether limits hold the job back in all its shapes, whatever its walltime. Uses only grow."""
        if counts in self._limited:
            return True
        if not all(self.limit(uses, 0.0) for uses in counts):
            return False
        self._limited.add(counts)
        return True

    def is_over(self, counts: Counts) -> bool:
        """Whether more is used than a soft limit says; the job itself does not count. Uses only grow."""
        if counts in self._over:
            return True
        for count in counts[0]:
            if count.limit.is_soft:
                used = self._limits.used_by(count.key) + self._released.get(count.key, 0)
                if used > count.limit.amount:
                    self._over.add(counts)
                    return True
        return False

    def release(self, counted: Uses, holds_s: float) -> None:
        for count in counted:
            self._released[count.key] = self._released.get(count.key, 0) + self._amount(count, holds_s)

    def plan(self, counted: Uses, start_s: float, holds_s: float) -> None:
        for count in counted:
            self._planned.setdefault(count.key, []).append((start_s, self._amount(count, holds_s)))

    def forget(self, counted: Uses, start_s: float, holds_s: float) -> None:
        """Take back what `plan` has counted."""
        for count in counted:
            self._planned[count.key].remove((start_s, self._amount(count, holds_s)))

    def _amount(self, count: Count, holds_s: float) -> int:
        """What a job that holds its nodes so long adds."""
        return count.of(holds_s - self._limits.beside_s)

    def _planned_use(self, key: CounterKey, walltime_s: float) -> int:
        end_s = self._now_s + walltime_s
        return sum(amount for start_s, amount in self._planned.get(key, ()) if start_s < end_s)
