"""Sets of array indices, kept as ranges: a hundred thousand of them are a few bytes. `1-9:2,20,30-40`."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import gcd

from hpcbatch.dataclass import dataclass
from hpcbatch.errors import HpcBatchError

MAX_INDEX = 10**15
"""Larger than any useful index, and small enough to compute with."""
MAX_OVERLAPPING = 200_000
"""Limit for numbers in overlapping or unordered parts of a text: only these have to be counted one by one."""
_MAX_SHOWN = 10**6  # the most that a site can allow; a view may have a row for each
_RANGE = r"([0-9]{1,16})(?:-([0-9]{1,16})(?::([0-9]{1,16}))?)?"
_PART = re.compile(_RANGE)
_TEXT = re.compile(rf",*(?:{_RANGE}(?:,+|\Z))*")


@dataclass(frozen=True, slots=True)
class Indices:
    """A set of numbers from 0, in order. `ranges` are disjoint, sorted, none begins before the one before it has ended.

    Equal sets built by this class's operations are equal objects. Operations cost as much as there are ranges, in the
    operands and in the result, however many numbers these hold; but `of` and iteration count numbers, and so does the
    union of two sets whose numbers alternate.
    """

    ranges: tuple[range, ...] = ()

    @classmethod
    def of(cls, numbers: Iterable[int]) -> Indices:
        """From any numbers, in any order, duplicates allowed."""
        return cls._from(range(number, number + 1) for number in sorted(set(numbers)))

    @classmethod
    def parse(cls, text: str) -> Indices:
        """The inverse of `str`; "" is the empty set. Raises HpcBatchError for anything else than ranges with steps, and
        for parts that overlap and hold more than MAX_OVERLAPPING numbers. Costs no more than the text is long.
        """
        if not _TEXT.fullmatch(text):
            raise HpcBatchError(f"{text!r} are no array indices: expected ranges such as 1-9:2,20")
        found = [(int(first), int(last or first), int(step or 1)) for first, last, step in _PART.findall(text)]
        for first, last, step in found:
            if step < 1 or last < first or last > MAX_INDEX:
                raise HpcBatchError(f"{first}-{last}:{step} is no range of array indices: expected FIRST-LAST:STEP")
        parts = [range(first, last + 1, step) for first, last, step in found]
        parts.sort(key=lambda part: part[0])
        if all(before[-1] < after[0] for before, after in pairwise(parts)):
            return cls._from(parts)
        if (count := sum(map(len, parts))) > MAX_OVERLAPPING:  # `0-30000000:3,1-30000000` would be millions of ranges
            raise HpcBatchError(f"array indices: {count} in ranges that overlap, at most {MAX_OVERLAPPING}")
        return cls.of(number for part in parts for number in part)

    @classmethod
    def _from(cls, parts: Iterable[range]) -> Indices:
        """`parts` are sorted, and none begins before the one before it has ended."""
        return cls(tuple(_packed(parts)))

    def __str__(self) -> str:
        return ",".join(map(_text, self.ranges))

    def __len__(self) -> int:
        return sum(map(len, self.ranges))

    def __bool__(self) -> bool:
        return bool(self.ranges)

    def __iter__(self) -> Iterator[int]:
        """In order."""
        for part in self.ranges:
            yield from part

    def __contains__(self, number: int) -> bool:
        place = bisect_right(self.ranges, number, key=lambda part: part[0])
        return place > 0 and number in self.ranges[place - 1]

    def __or__(self, other: Indices) -> Indices:
        if not (self and other):
            return self or other
        return Indices._from(_merged(self.ranges, tuple(filter(None, _without(other.ranges, self.ranges)))))

    def __sub__(self, other: Indices) -> Indices:
        if not (self and other):
            return self
        return Indices._from(_without(self.ranges, other.ranges))

    def __and__(self, other: Indices) -> Indices:
        return Indices._from(_common(self.ranges, other.ranges))

    @property
    def first(self) -> int:
        """The lowest. Raises IndexError if there is none."""
        return self.ranges[0][0]

    @property
    def last(self) -> int:
        """The highest. Raises IndexError if there is none."""
        return self.ranges[-1][-1]

    @property
    def step(self) -> int:
        """The distance in an evenly spaced set; 1 for any other."""
        return self.ranges[0].step if len(self.ranges) == 1 else 1

    def take(self, count: int) -> Indices:
        """The lowest `count` of them."""
        found: list[range] = []
        for part in self.ranges:
            if count <= 0:
                break
            found.append(part[:count])
            count -= len(part)
        return Indices._from(found)


def _merged(left: Sequence[range], right: Sequence[range]) -> Iterator[range]:
    """Merges two disjoint sequences of ranges into one, in order."""
    first, second = list(reversed(left)), list(reversed(right))
    while first and second:
        if first[-1][0] > second[-1][0]:
            first, second = second, first
        part = first.pop()
        count = _below(part, second[-1][0])
        yield part[:count]
        if count < len(part):
            first.append(part[count:])
    yield from reversed(first or second)


def _without(parts: Sequence[range], gone: Sequence[range]) -> Iterator[range]:
    place = 0
    for part in parts:
        rest = part
        while place < len(gone) and gone[place][-1] < part[0]:
            place += 1
        other = place
        while rest and other < len(gone) and gone[other][0] <= rest[-1]:
            both = _intersection(rest, gone[other])
            if both:
                yield rest[: _below(rest, both[0])]
                if both.step > rest.step:
                    for before, after in pairwise(both):
                        yield range(before + rest.step, after, rest.step)
                rest = rest[_below(rest, both[-1] + 1) :]
            other += 1
        yield rest


def _common(left: Sequence[range], right: Sequence[range]) -> Iterator[range]:
    first = second = 0
    while first < len(left) and second < len(right):
        yield _intersection(left[first], right[second])
        if left[first][-1] < right[second][-1]:
            first += 1
        else:
            second += 1


def _intersection(left: range, right: range) -> range:
    """The intersection of two non-empty rising ranges, by the extended Euclidean algorithm, so at no cost."""
    shared = gcd(left.step, right.step)
    if (right[0] - left[0]) % shared:
        return range(0)
    period = left.step // shared * right.step
    # the step of `left` that brings it to a number of `right`
    times = (right[0] - left[0]) // shared * pow(left.step // shared, -1, right.step // shared)
    meet = left[0] + times * left.step
    low = max(left[0], right[0])
    return range(low + (meet - low) % period, min(left[-1], right[-1]) + 1, period)


def _below(part: range, number: int) -> int:
    """The number of elements of `part` below `number`."""
    return max(0, min(len(part), -((part[0] - number) // part.step)))


def _packed(parts: Iterable[range]) -> Iterator[range]:
    """The canonical form of a set: greedily from the lowest, while the distance stays equal; two numbers form a range
    only if they are neighbours.
    """
    first = last = count = step = 0  # of the current range
    for part in parts:
        rest = part
        while rest:
            if count == 0:
                first = last = rest[0]
                count, rest = 1, rest[1:]
            elif count == 1 or rest[0] - last == step:
                step = rest[0] - last
                taken = rest if len(rest) == 1 or rest.step == step else rest[:1]
                last, count, rest = taken[-1], count + len(taken), rest[len(taken) :]
            elif count == 2 and step != 1:
                yield range(first, first + 1)
                first, count = last, 1
            else:
                yield range(first, last + 1, step)
                count = 0
    if count == 2 and step != 1:
        yield range(first, first + 1)
        first, count = last, 1
    if count:
        yield range(first, last + 1, step if count > 1 else 1)


def _text(part: range) -> str:
    if len(part) == 1:
        return str(part[0])
    return f"{part[0]}-{part[-1]}" + (f":{part.step}" if part.step != 1 else "")


def check_size(indices: Indices) -> Indices:
    """`indices`. Raises HpcBatchError for more members than an admitted array can have."""
    if len(indices) > _MAX_SHOWN:
        raise HpcBatchError(f"an array of {len(indices)} members")
    return indices
