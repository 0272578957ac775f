"""Formulas against what is known."""

from __future__ import annotations

import pytest

np = pytest.importorskip("numpy", reason="numpy is not installed (pip install 'hpcbatch[wrf]')")

from hpcbatch.maps import diagnostics  # noqa: E402
from tests.unit.maps.synthetic import HIGH, LOW, sea_level_hpa  # noqa: E402

ROWS, COLUMNS = np.mgrid[0:40, 0:48].astype(float)


def test_humidity_and_dew_point() -> None:
    saturated = 0.622 * 611.2 / (1e5 - 611.2)
    vapour, freezing, pressure = np.array([saturated, saturated / 4]), np.full(2, 273.15), np.full(2, 1e5)
    assert diagnostics.relative_humidity(vapour, freezing, pressure) == pytest.approx([100, 25])
    assert diagnostics.dew_point(np.array(saturated), np.array(1e5)) == pytest.approx(0, abs=1e-9)


def test_a_level_is_found_in_the_logarithm_of_pressure() -> None:
    pressure = np.array([9e4, 6e4, 4e4])[:, None, None]
    field = -np.log(pressure)
    assert diagnostics.at_pressure(field, pressure, 5e4)[0, 0] == pytest.approx(-np.log(5e4))
    assert np.isnan(diagnostics.at_pressure(field, pressure, 9.5e4)).all()
    assert np.isnan(diagnostics.at_pressure(field, pressure, 3e4)).all()


def test_between_points_a_plane_is_a_plane() -> None:
    plane = 3 * ROWS - 2 * COLUMNS
    rows, columns = np.array([0.0, 7.25, 39.0]), np.array([0.0, 3.5, 47.0])
    assert diagnostics.bilinear(plane, rows, columns) == pytest.approx(3 * rows - 2 * columns)
    assert diagnostics.bilinear(np.stack([plane, plane * 2]), rows, columns).shape == (2, 3)


@pytest.mark.parametrize(
    ("hours", "spans"),
    [
        ([0, 1, 2, 3], [None, 1, 1, 1]),
        ([0, 3, 6], [None, 3, 3]),
        ([0, 0.25, 0.5, 0.75, 1, 1.25], [None, 0.25, 0.5, 0.75, 1, 1]),
        ([5, 6, 9], [None, 1, 3]),
    ],
    ids=["hourly", "three-hourly", "quarters", "gap"],
)
def test_rain_of_the_past_hour(hours: list[float], spans: list[float | None]) -> None:
    totals = [np.full((2, 2), 2.0 * hour) for hour in hours]
    found = diagnostics.past_hour(totals, hours)
    assert [None if each is None else each[1] for each in found] == spans
    assert all(each is None or each[0] == pytest.approx(2 * each[1]) for each in found)


def test_hourly_rain_adds_up_to_the_total() -> None:
    rng = np.random.default_rng(17)
    totals = list(np.cumsum(rng.random((25, 4, 5)), axis=0))
    found = diagnostics.past_hour(totals, list(range(25)))
    assert sum(each[0] for each in found if each is not None) == pytest.approx(totals[-1] - totals[0])


def test_only_closed_highs_and_lows_are_found() -> None:
    pressure = sea_level_hpa(ROWS, COLUMNS)
    assert diagnostics.extrema(pressure, 2, sign=1) == [HIGH]
    assert diagnostics.extrema(pressure, 2, sign=-1) == [LOW]
    assert diagnostics.extrema(-pressure, 2, sign=1) == [LOW]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    "field",
    [
        COLUMNS * 0.5,
        1000 + 0 * ROWS,
        np.sin(ROWS) * np.sin(COLUMNS),
        1000 + 30 * np.exp(-(ROWS**2 + (COLUMNS - 20) ** 2) / 50) * 1.0,
        (ROWS - 20) ** 2 - (COLUMNS - 20) ** 2,
    ],
    ids=["slope", "flat", "ripples", "at-the-edge", "saddle"],
)
def test_what_is_no_extremum(field: object, sign: int) -> None:
    assert diagnostics.extrema(field, 2.1, sign=sign) == []  # type: ignore[arg-type]


def test_of_a_large_field_the_very_point_is_found() -> None:
    rows, columns = np.mgrid[0:700, 0:900].astype(float)
    field = 1000 + 20 * np.exp(-((rows - 321) ** 2 + (columns - 654) ** 2) / 8000)
    assert diagnostics.extrema(field, 2, sign=1) == [(321, 654)]
    assert diagnostics.extrema(-field, 2, sign=-1) == [(321, 654)]


def test_of_two_peaks_in_one_closed_line_the_higher_counts() -> None:
    first, second = (np.exp(-((ROWS - 20) ** 2 + (COLUMNS - column) ** 2) / 18) for column in (20, 30))
    field = 1000 + 10 * first + 9.5 * second
    assert len(diagnostics.extrema(field, 0.2, sign=1)) == 2
    ((row, column),) = diagnostics.extrema(field, 8, sign=1)
    assert (row, abs(column - 20) <= 1) == (20, True)
    plateau = np.minimum(field, 1008)
    assert len(diagnostics.extrema(plateau, 5, sign=1)) == 1
