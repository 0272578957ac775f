"""Sets of array indices, kept as ranges: a hundred thousand of them are a few bytes. `1-9:2,20,30-40`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from hpcbatch.errors import HpcBatchError


@dataclass(frozen=True, slots=True)
class Indices:
    """A set of numbers from 0, in order. `ranges` are disjoint, sorted by their first, none longer than it must be.

    Equal sets built by this class's operations are equal objects.
    """

    ranges: tuple[range, ...] = ()

    @classmethod
    def of(cls, numbers: Iterable[int]) -> Indices:
        """Any numbers, in any order, also twice."""
        return cls(tuple(_packed(sorted(set(numbers)))))

    @classmethod
    def parse(cls, text: str) -> Indices:
        """The inverse of `str`; "" is the empty set. Raises HpcBatchError for anything else than ranges with steps."""
        parts: list[range] = []
        for part in filter(None, text.split(",")):
            span, _, step = part.partition(":")
            first, dash, last = span.partition("-")
            words = [first, *([last] if dash else []), *([step] if step else [])]
            if not all(word.isascii() and word.isdigit() for word in words) or part.endswith(":"):
                raise HpcBatchError(f"{text!r} are no array indices: expected ranges such as 1-9:2,20")
            by = int(step or 1)
            if by < 1 or int(last or first) < int(first):
                raise HpcBatchError(f"{part!r} is no range of array indices: expected FIRST-LAST:STEP")
            parts.append(range(int(first), int(last or first) + 1, by))
        if _are_normal(parts):
            return cls(tuple(_shortened(part) for part in parts))
        return cls.of(number for part in parts for number in part)

    def __str__(self) -> str:
        return ",".join(map(_text, self.ranges))

    def __len__(self) -> int:
        return sum(map(len, self.ranges))

    def __bool__(self) -> bool:
        return bool(self.ranges)

    def __iter__(self) -> Iterator[int]:
        """In order, since the ranges of `of` do not interleave."""
        for part in self.ranges:
            yield from part

    def __contains__(self, number: int) -> bool:
        return any(number in part for part in self.ranges)

    def __or__(self, other: Indices) -> Indices:
        if not (self and other):
            return self or other
        return Indices.of((*self, *other))

    def __sub__(self, other: Indices) -> Indices:
        if not (self and other):
            return self
        gone = set(other)
        return Indices.of(number for number in self if number not in gone)

    def __and__(self, other: Indices) -> Indices:
        if not (self and other):
            return Indices()
        kept = set(other)
        return Indices.of(number for number in self if number in kept)

    @property
    def first(self) -> int:
        """The lowest. Raises IndexError where there is none."""
        return self.ranges[0][0]

    @property
    def last(self) -> int:
        """The highest. Raises IndexError where there is none."""
        return self.ranges[-1][-1]

    @property
    def step(self) -> int:
        """Of an evenly spaced set its distance; 1 for any other."""
        return self.ranges[0].step if len(self.ranges) == 1 else 1

    def take(self, count: int) -> Indices:
        """The lowest `count` of them."""
        found: list[int] = []
        for number in self:
            if len(found) >= count:
                break
            found.append(number)
        return Indices.of(found)


def _are_normal(parts: list[range]) -> bool:
    """What `str` writes: then parsing costs as much as the text is long, not as the set is large."""
    return all(before[-1] < after[0] for before, after in pairwise(parts)) and not any(
        before[-1] + before.step == after[0] and before.step == after.step for before, after in pairwise(parts)
    )


def _shortened(part: range) -> range:
    return range(part[0], part[-1] + 1, part.step if len(part) > 1 else 1)


def _packed(numbers: list[int]) -> Iterator[range]:
    """Greedily: as long as the distance stays; two numbers make a range only where they are neighbours."""
    begin = 0
    while begin < len(numbers):
        end = begin + 1
        if end < len(numbers):
            step = numbers[end] - numbers[begin]
            while end < len(numbers) and numbers[end] - numbers[end - 1] == step:
                end += 1
            if end - begin == 2 and step != 1:
                end = begin + 1
        step = numbers[begin + 1] - numbers[begin] if end - begin > 1 else 1
        yield range(numbers[begin], numbers[end - 1] + 1, step)
        begin = end


def _text(part: range) -> str:
    if len(part) == 1:
        return str(part[0])
    return f"{part[0]}-{part[-1]}" + (f":{part.step}" if part.step != 1 else "")
