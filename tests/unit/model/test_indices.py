"""Sets of indices against Python's own sets."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.indices import MAX_INDEX, Indices

_RANGES = st.builds(range, st.integers(0, 60), st.integers(0, 60), st.integers(1, 7))
_SETS = st.lists(_RANGES, max_size=5).map(lambda parts: {number for part in parts for number in part})


@given(_SETS, _SETS)
def test_operations_are_those_of_sets(left: set[int], right: set[int]) -> None:
    one, two = Indices.of(left), Indices.of(right)
    assert one | two == Indices.of(left | right)
    assert one - two == Indices.of(left - right)
    assert one & two == Indices.of(left & right)


@given(_SETS, st.integers(0, 70))
def test_a_set_tells_what_it_holds(numbers: set[int], count: int) -> None:
    indices = Indices.of(numbers)
    assert list(indices) == sorted(numbers)
    assert len(indices) == len(numbers)
    assert bool(indices) == bool(numbers)
    assert [number for number in range(-1, 70) if number in indices] == sorted(numbers)
    assert list(indices.take(count)) == sorted(numbers)[:count]
    assert indices.take(count) == Indices.of(sorted(numbers)[:count])
    if numbers:
        assert (indices.first, indices.last) == (min(numbers), max(numbers))


@given(_SETS)
def test_text_and_back(numbers: set[int]) -> None:
    indices = Indices.of(numbers)
    assert Indices.parse(str(indices)) == indices


@given(st.lists(_RANGES.filter(len), min_size=1, max_size=6))
def test_parts_may_overlap_and_stand_in_any_order(parts: list[range]) -> None:
    text = ",".join(f"{part[0]}-{part[-1]}:{part.step}" for part in parts)
    assert Indices.parse(text) == Indices.of(number for part in parts for number in part)


@given(_SETS)
def test_no_range_is_longer_than_it_must_be(numbers: set[int]) -> None:
    ranges = Indices.of(numbers).ranges
    assert all(part[-1] < after[0] for part, after in pairwise(ranges))
    assert all(part.stop == part[-1] + 1 for part in ranges)


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((), ""),
        ((7,), "7"),
        ((1, 2), "1-2"),
        ((1, 3), "1,3"),
        ((1, 3, 5), "1-5:2"),
        ((0, 1, 2, 20, 25, 30), "0-2,20-30:5"),
        ((1, 3, 5, 6, 7), "1-5:2,6-7"),
        ((3, 5, 6, 7), "3,5-7"),
    ],
)
def test_text(numbers: tuple[int, ...], text: str) -> None:
    assert str(Indices.of(numbers)) == text


@pytest.mark.parametrize("text", ["a", "1-", "-1", "1-2-3", "1:2:", "1-5:0", "5-1", "1-5:x", "٣", "1-9:", "9" * 19])
def test_what_is_no_set(text: str) -> None:
    with pytest.raises(HpcBatchError):
        Indices.parse(text)


@pytest.mark.parametrize(
    "text", ["0-30000000:3,1-30000000", "1-100000,1-100001", ",".join(f"{n}-{10**15}:{n + 2}" for n in range(3000))]
)
def test_overlapping_ranges_are_bounded_before_they_are_expanded(text: str) -> None:
    begun = time.process_time()
    with pytest.raises(HpcBatchError, match="that overlap, at most 200000"):
        Indices.parse(text)
    assert time.process_time() - begun < 1
    assert len(Indices.parse("50001-100000,1-100000")) == 100_000


def test_a_step_is_that_of_an_even_set() -> None:
    assert Indices.parse("0-90:10").step == 10
    assert Indices.parse("0-90:10,91").step == 1


def test_the_cost_does_not_grow_with_the_numbers() -> None:
    large = Indices.parse(f"0-{MAX_INDEX}")  # no memory or time would hold them
    begun = time.process_time()
    holes = Indices.parse(f"5,77,1000-{MAX_INDEX - 10}:3")
    rest = large - Indices.parse("5,77,1000-1999")
    assert str(rest) == f"0-4,6-76,78-999,2000-{MAX_INDEX}"
    assert rest | Indices.parse("5,77,1000-1999") == large
    assert large & holes == holes
    assert len(large.take(10**14)) == 10**14
    assert MAX_INDEX in rest
    assert time.process_time() - begun < 1
