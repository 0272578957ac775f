from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.wrf.decomposition import fits, largest_fit, process_grid


@pytest.mark.parametrize(
    ("ranks", "grid"), [(1, (1, 1)), (2, (1, 2)), (4, (2, 2)), (6, (2, 3)), (7, (1, 7)), (24, (4, 6)), (37, (1, 37))]
)
def test_recorded_grids(ranks: int, grid: tuple[int, int]) -> None:
    assert process_grid(ranks) == grid


@given(st.integers(1, 3000))
def test_the_grid_is_the_most_square(ranks: int) -> None:
    """As WRF searches it: the first x of the smallest difference."""
    best = min((x for x in range(1, ranks + 1) if ranks % x == 0), key=lambda x: abs(x - ranks // x))
    assert process_grid(ranks) == (best, ranks // best)


@given(st.integers(1, 300), st.lists(st.tuples(st.integers(5, 200), st.integers(5, 200)), min_size=1, max_size=3))
def test_the_largest_fit(ranks: int, sizes: list[tuple[int, int]]) -> None:
    best = largest_fit(ranks, sizes)
    assert best == next((n for n in range(ranks, 0, -1) if fits(process_grid(n), sizes)), None)
