"""What is free over future time, as a step function: `frees[i]` from `times[i]` on, until the next."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from operator import gt

Amounts = tuple[int, ...]
"""A vector, compiled: its names have indices; see estate.py."""
Occupant = tuple[float, float, Amounts]
"""From when, until when (exclusive), how much."""


def minus(one: Amounts, other: Amounts) -> Amounts:
    return tuple([a - b for a, b in zip(one, other, strict=True)])


def plus(one: Amounts, other: Amounts) -> Amounts:
    return tuple([a + b for a, b in zip(one, other, strict=True)])


def lower(one: Amounts, other: Amounts) -> Amounts:
    return tuple([a if a < b else b for a, b in zip(one, other, strict=True)])


class Timeline:
    """Of one node. Never changed: `with_occupant` makes another."""

    __slots__ = ("_grows", "frees", "times")

    def __init__(self, times: Sequence[float], frees: Sequence[Amounts]) -> None:
        self.times = times
        self.frees = frees
        self._grows: tuple[float, ...] | None = None

    @classmethod
    def of(cls, has: Amounts, occupants: Iterable[Occupant]) -> Timeline:
        free, changes = has, []
        for start, end, amounts in occupants:
            if start == -math.inf:
                free = minus(free, amounts)
            else:
                changes.append((start, False, amounts))
            if end < math.inf:
                changes.append((end, True, amounts))
        changes.sort()
        times, frees = [-math.inf], [free]
        for time, is_end, amounts in changes:
            free = plus(free, amounts) if is_end else minus(free, amounts)
            if time == times[-1]:
                frees[-1] = free
            else:
                times.append(time)
                frees.append(free)
        return cls(times, frees)

    @property
    def grows(self) -> tuple[float, ...]:
        """The times at which more of something becomes free."""
        if self._grows is None:
            frees = self.frees
            self._grows = tuple(
                [self.times[index] for index in range(1, len(frees)) if any(map(gt, frees[index], frees[index - 1]))]
            )
        return self._grows

    def at(self, time: float) -> Amounts:
        return self.frees[bisect_right(self.times, time) - 1]

    def lowest(self, start: float, end: float) -> Amounts:
        """The least free amount of each, from `start` until `end`."""
        first, last = bisect_right(self.times, start) - 1, bisect_left(self.times, end)
        free = self.frees[first]
        for index in range(first + 1, last):
            free = lower(free, self.frees[index])
        return free

    def fewest(self, fits: Callable[[Amounts], int], start: float, end: float) -> int:
        """`fits` of what is free all the time from `start` until `end`: less free never fits more."""
        first, last = bisect_right(self.times, start) - 1, bisect_left(self.times, end)
        count = fits(self.frees[first])
        for index in range(first + 1, last):
            if not count:
                return 0
            count = min(count, fits(self.frees[index]))
        return count

    def with_occupant(self, start: float, end: float, amounts: Amounts) -> Timeline:
        times, frees = list(self.times), list(self.frees)
        for time in (start, end):
            if time == math.inf:
                continue
            index = bisect_left(times, time)
            if index == len(times) or times[index] != time:
                times.insert(index, time)
                frees.insert(index, frees[index - 1])
        for index in range(bisect_left(times, start), bisect_left(times, end)):
            frees[index] = minus(frees[index], amounts)
        return Timeline(times, frees)
