"""Places on grids of WRF's projections, held against the projections' inverses."""

from __future__ import annotations

import pytest

np = pytest.importorskip("numpy", reason="numpy is not installed (pip install 'hpcbatch[wrf]')")

from hpcbatch.maps.diagnostics import towards_east  # noqa: E402
from hpcbatch.maps.grid import Grid, grid  # noqa: E402
from tests.unit.maps.synthetic import PROJECTIONS, coordinates  # noqa: E402

DX = 12e3


def made(name: str, **changes: float) -> Grid:
    projection = PROJECTIONS[name]
    lat, lon = coordinates(projection, DX)
    attributes = {"DX": DX, "DY": DX, "MAP_PROJ": projection.number, **projection.attributes, **changes}
    return grid(lat.astype("f4").astype(float), lon.astype("f4").astype(float), attributes)


@pytest.mark.parametrize("name", PROJECTIONS)
def test_every_point_is_where_it_is(name: str) -> None:
    found = made(name)
    assert found.project is not None
    x, y = found.place(found.lat, found.lon)
    assert abs(x - found.x).max() < 0.01 * found.dx_km
    assert abs(y - found.y[:, None]).max() < 0.01 * found.dy_km
    assert found.indices(found.lat[7, 9], found.lon[7, 9]) == pytest.approx((7, 9), abs=0.01)
    assert found.indices(found.lat[7, 9], found.lon[7, 9] + 360) == pytest.approx((7, 9), abs=0.01)
    assert found.indices(-found.lat[7, 9], found.lon[7, 9]) is None


@pytest.mark.parametrize(
    ("name", "changes"),
    [("lambert", {"MAP_PROJ": 0}), ("lambert", {"TRUELAT1": 50.0}), ("mercator", {"DX": 9e3})],
    ids=["none", "other-cone", "other-spacing"],
)
def test_a_projection_that_does_not_fit_is_none(name: str, changes: dict[str, float]) -> None:
    found = made(name, **changes)
    assert found.project is None
    assert found.indices(found.lat[7, 9], found.lon[7, 9]) == (7, 9)
    assert found.indices(found.lat[7, 9] + 30, found.lon[7, 9]) is None


def test_winds_are_turned_from_the_grid_to_the_north() -> None:
    """A wind along a column of the grid blows to where the next point of that column is."""
    found = made("lambert")
    row, column = 20, 44
    cone = 0.7156  # of 30 and 60 degrees
    angle = np.radians((10 - found.lon[row, column]) * cone)
    east, north = towards_east(np.array(0.0), np.array(1.0), np.cos(angle), np.sin(angle))
    step_east = (found.lon[row + 1, column] - found.lon[row, column]) * np.cos(np.radians(found.lat[row, column]))
    step_north = found.lat[row + 1, column] - found.lat[row, column]
    assert east / north == pytest.approx(step_east / step_north, abs=0.002)
