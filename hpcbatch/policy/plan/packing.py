"""Places for the pods of one job, whose parts may need unlike nodes.

Part by part, those with the least choice first, finds places nearly always. Where it does not, two parts may have
wanted the same room, and another division of it may do: `_divide` tries them all, so that a job that fits is never
taken for one that does not, and one whose start is planned still fits when more has become free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from hpcbatch.policy.plan.estate import ALL_SHARES, Spot
from hpcbatch.policy.plan.timeline import Amounts, minus, plus
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.policy.plan.compiled import Option

Placing = tuple[int, Spot, int]
"""The part's index, where, how many pods."""
Preference = Callable[[Spot, int], tuple[float, int, str]]
"""Of a spot on which so many pods of a part fit: the smallest first."""
Numbers = tuple[int, ...]
"""Of pods, by part."""
_MOST_STEPS = 200_000
"""So many divisions are tried at most; a job that would need more waits for room that is easier to divide."""


def place(
    option: Option, fits: Sequence[Mapping[Spot, int]], free: Callable[[Spot], Amounts], preference: Preference
) -> list[Placing] | None:
    """Places for all pods, by `fits` of each part alone and by what is free on a spot."""
    if len(option.parts) == 1:
        return place_part(option, 0, fits[0], _preferred(option, 0, fits[0], preference))
    return _part_by_part(option, fits, free, preference) or _divide(option, fits, free, preference)


def taken(option: Option, placed: Sequence[Placing]) -> dict[Spot, Amounts]:
    """What the job takes of each spot, its shares too."""
    found: dict[Spot, Amounts] = {}
    for part, spot, count in placed:
        amounts = tuple([amount * count for amount in option.parts[part][0].amounts])
        before = found.get(spot)
        found[spot] = (
            (ALL_SHARES if option.is_exclusive else 1, *amounts[1:]) if before is None else plus(before, amounts)
        )
    return found


def _part_by_part(
    option: Option, fits: Sequence[Mapping[Spot, int]], free: Callable[[Spot], Amounts], preference: Preference
) -> list[Placing] | None:
    placed: list[Placing] = []
    for part in sorted(range(len(option.parts)), key=lambda index: (len(fits[index]), index)):
        left = fits[part]
        if placed:
            kind, left = option.parts[part][0], dict(left)
            for spot, amounts in taken(option, placed).items():
                if spot in left:
                    count = 0 if option.is_scattered else kind.fits(minus(free(spot), (0, *amounts[1:])))
                    left[spot] = count
                    if not count:
                        del left[spot]
        more = place_part(option, part, left, _preferred(option, part, left, preference))
        if more is None:
            return None
        placed += more
    return placed


def _preferred(option: Option, part: int, fits: Mapping[Spot, int], preference: Preference) -> Iterable[Spot]:
    """As many spots as the part may need."""

    def key(spot: Spot) -> tuple[float, int, str]:
        return preference(spot, fits[spot])

    return [min(fits, key=key)] if option.parts[part][1] == 1 and fits else sorted(fits, key=key)


def place_part(option: Option, part: int, fits: Mapping[Spot, int], spots: Iterable[Spot]) -> list[Placing] | None:
    """Places for all pods of one part on the first of `spots`, which are those of `fits` in some order."""
    left = option.parts[part][1]
    placed: list[Placing] = []
    for spot in spots:
        count = min(left, 1 if option.is_scattered else fits[spot])
        placed.append((part, spot, count))
        left -= count
        if not left:
            return placed
    return None


def _divide(
    option: Option, fits: Sequence[Mapping[Spot, int]], free: Callable[[Spot], Amounts], preference: Preference
) -> list[Placing] | None:
    """Spot by spot, all numbers of pods of each part that can have been placed so far, and of these only the ones that
    no other exceeds in every part.
    """
    wanted = tuple(count for _, count in option.parts)
    spots = {spot: max(part.get(spot, 0) for part in fits) for part in fits for spot in part}
    order = sorted(spots, key=lambda spot: preference(spot, spots[spot]))
    choices = _choices(option, fits, free)
    if not _may_do(option, choices):
        return None
    start = (0,) * len(wanted)
    ways: list[tuple[Spot, dict[Numbers, tuple[Numbers, Numbers]]]] = []
    """By spot, how each sum came about: the sum before it, and what was placed there."""
    sums, steps = [start], 0
    for spot in order:
        came: dict[Numbers, tuple[Numbers, Numbers]] = {}
        for before in sums:
            for choice in choices[spot]:
                after = tuple(map(min, map(sum, zip(before, choice, strict=True)), wanted))
                came.setdefault(after, (before, choice))
        ways.append((spot, came))
        if wanted in came:
            return [*_backwards(wanted, ways)]
        steps += len(sums) * len(choices[spot])
        if steps > _MOST_STEPS:
            return None
        sums = _unexceeded(came)
    return None


def may_fit(option: Option, fits: Sequence[Mapping[Spot, int]], free: Callable[[Spot], Amounts]) -> bool:
    """False if no division of the spots can do: some parts together find too few places for their pods."""
    return _may_do(option, _choices(option, fits, free))


def _choices(
    option: Option, fits: Sequence[Mapping[Spot, int]], free: Callable[[Spot], Amounts]
) -> dict[Spot, list[Numbers]]:
    spots = dict.fromkeys(spot for part in fits for spot in part)
    return {spot: [*_most(option, [part.get(spot, 0) for part in fits], free(spot))] for spot in spots}


def _most(option: Option, most: Sequence[int], free: Amounts) -> Iterator[Numbers]:
    """The numbers of pods of each part that fit on a spot together, the most of them."""
    if option.is_scattered:
        yield from (tuple(int(at == part) for at in range(len(most))) for part, count in enumerate(most) if count)
        return

    def fill(part: int, left: Amounts) -> Iterator[Numbers]:
        kind, wanted = option.parts[part]
        count = min(kind.fits(left), wanted) if most[part] else 0
        if part == len(most) - 1:
            yield (count,)
            return
        for here in range(count, -1, -1):
            used = (0, *(amount * here for amount in kind.amounts[1:]))
            yield from ((here, *rest) for rest in fill(part + 1, minus(left, used)))

    yield from fill(0, free)


def _may_do(option: Option, choices: Mapping[Spot, Sequence[Numbers]]) -> bool:
    for size in range(1, len(option.parts) + 1):
        for some in combinations(range(len(option.parts)), size):
            found = sum(max(sum(numbers[part] for part in some) for numbers in choice) for choice in choices.values())
            if found < sum(option.parts[part][1] for part in some):
                return False
    return True


def _unexceeded(sums: Mapping[Numbers, object]) -> list[Numbers]:
    """Those that no other one equals or exceeds in every part."""
    kept: list[Numbers] = []
    for numbers in sorted(sums, reverse=True):
        others = kept[-1:] if len(numbers) == 2 else kept  # of two parts the second grows from one to the next
        if not any(all(map(int.__ge__, other, numbers)) for other in others):
            kept.append(numbers)
    return kept


def _backwards(
    end: Numbers, ways: Sequence[tuple[Spot, Mapping[Numbers, tuple[Numbers, Numbers]]]]
) -> Iterator[Placing]:
    """Without what there is more of than was wanted."""
    left = end
    for spot, came in reversed(ways):
        before, _ = came[left]
        for part, (less, more) in enumerate(zip(before, left, strict=True)):
            if more > less:
                yield part, spot, more - less
        left = before
