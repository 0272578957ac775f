"""How WRF lays its compute ranks out over the grid. Source: MPASPECT and compute_mesh() of module_dm.F."""

from __future__ import annotations

from collections.abc import Sequence

SMALLEST_PATCH = 10  # cells, in either direction


def process_grid(ranks: int) -> tuple[int, int]:
    """The most square grid, x by y, that x ≤ y gives; a prime number of ranks becomes 1 by that number."""
    x = next(x for x in range(int(ranks**0.5) + 1, 0, -1) if ranks % x == 0 and x <= ranks // x)
    return x, ranks // x


def fits(grid: tuple[int, int], sizes: Sequence[tuple[int, int]]) -> bool:
    """Whether no patch of any domain (e_we, e_sn) is too small. Source: module_check_a_mundo.F, integer division."""
    return all(e_we // grid[0] >= SMALLEST_PATCH and e_sn // grid[1] >= SMALLEST_PATCH for e_we, e_sn in sizes)


def largest_fit(ranks: int, sizes: Sequence[tuple[int, int]]) -> int | None:
    """The largest number of compute ranks up to `ranks` that WRF's own choice of grid can use."""
    most = min([ranks, *((e_we // SMALLEST_PATCH) * (e_sn // SMALLEST_PATCH) for e_we, e_sn in sizes)])
    return next((count for count in range(most, 0, -1) if fits(process_grid(count), sizes)), None)
