"""Ranks against the grid: I/O ranks, the process grid, the smallest patch."""

from __future__ import annotations

from collections.abc import Iterator

from hpcbatch.wrf.decomposition import SMALLEST_PATCH, fits, largest_fit, process_grid
from hpcbatch.wrf.finding import Finding, Severity
from hpcbatch.wrf.run import Program, Run

_MOST_RANKS = 1_000_000


def check(run: Run) -> Iterator[Finding]:
    if run.ranks is None:
        yield from _given_grid(run, None)
        return
    io_ranks, per_group = _io_ranks(run)
    compute = run.ranks - io_ranks
    if io_ranks and compute < max(1, per_group):
        yield run.error(
            "namelist_quilt",
            "nio_tasks_per_group",
            f"of {run.ranks} ranks {io_ranks} are for I/O (nio_tasks_per_group × nio_groups), which leaves "
            f"{max(0, compute)} to compute, and {max(1, per_group)} are needed: start {io_ranks + max(1, per_group)}",
        )
        return
    grids = list(_given_grid(run, compute))
    yield from grids
    if grids or not 0 < compute <= _MOST_RANKS:
        return
    yield from _patches(run, compute)


def _io_ranks(run: Run) -> tuple[int, int]:
    """All, and those of one group. real.exe has none."""
    if run.program is Program.REAL:
        return 0, 0
    per_group = max(0, run.settings.integer("namelist_quilt", "nio_tasks_per_group"))
    return per_group * max(1, run.settings.integer("namelist_quilt", "nio_groups", default=1)), per_group


def _given_grid(run: Run, compute: int | None) -> Iterator[Finding]:
    x, y = (run.settings.integer("domains", key, default=-1) for key in ("nproc_x", "nproc_y"))
    if x <= 0 and y <= 0:
        return
    if compute is None:
        if x > 0 and y > 0:
            rule = f"nproc_x × nproc_y: start {x * y} compute ranks, no other number (--ranks N looks closer)"
            yield run.warning("domains", "nproc_x", rule, value=f"{x} × {y}")
        return
    given = x if x > 0 else y
    grid = _grid(run, compute)
    if grid[0] * grid[1] != compute:
        key = "nproc_x" if x > 0 else "nproc_y"
        shown = f"{x} × {y}" if x > 0 and y > 0 else str(given)
        rule = f"nproc_x × nproc_y must be the number of compute ranks, {compute}; else WRF may stop without a word"
        yield run.error("domains", key, rule, value=shown)


def _grid(run: Run, compute: int) -> tuple[int, int]:
    x, y = (run.settings.integer("domains", key, default=-1) for key in ("nproc_x", "nproc_y"))
    if x <= 0 and y <= 0:
        return process_grid(compute)
    return (x if x > 0 else compute // y), (y if y > 0 else compute // x)


def _patches(run: Run, compute: int) -> Iterator[Finding]:
    settings, grid = run.settings, _grid(run, compute)
    all_sizes = []
    for domain in range(1, settings.domains + 1):
        size = settings.integer("domains", "e_we", domain), settings.integer("domains", "e_sn", domain)
        if min(size) < 2:
            return  # said by the rules of domains
        all_sizes.append(size)
    for domain, size in enumerate(all_sizes, 1):
        if fits(grid, [size]):
            continue
        width = [cells // ranks for cells, ranks in zip(size, grid, strict=True)]
        key = "e_we" if width[0] < SMALLEST_PATCH else "e_sn"
        best = largest_fit(compute, all_sizes)
        advice = f"{best} fit, as {'×'.join(map(str, process_grid(best)))}" if best else "no number fits"
        yield run.error(
            "domains",
            key,
            f"domain {domain} on {compute} compute ranks, {grid[0]}×{grid[1]}: patches of {width[0]}×{width[1]} cells, "
            f"and WRF takes none below {SMALLEST_PATCH} in either direction; of fewer ranks {advice}",
            domain,
        )
    is_given = any(settings.integer("domains", key) > 0 for key in ("nproc_x", "nproc_y"))
    if 1 in grid and compute > 3 and fits(grid, all_sizes) and not is_given:
        yield Finding(
            severity=Severity.WARNING,
            key="--ranks",
            value=str(run.ranks),
            file="",
            rule=f"{compute} compute ranks, a prime number: WRF cuts the grid into strips ({grid[0]}×{grid[1]}), slow",
        )
