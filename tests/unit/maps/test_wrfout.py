"""What is read from a wrfout, held against the atmosphere that was written into it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

np = pytest.importorskip("numpy", reason="numpy is not installed (pip install 'hpcbatch[wrf]')")
pytest.importorskip("netCDF4", reason="netCDF4 is not installed (pip install 'hpcbatch[wrf]')")

from hpcbatch.maps.errors import MapsError  # noqa: E402
from hpcbatch.maps.meteogram import course, values_at  # noqa: E402
from hpcbatch.maps.section import cut  # noqa: E402
from hpcbatch.maps.wrfout import load, read  # noqa: E402
from tests.unit.maps import synthetic  # noqa: E402
from tests.unit.maps.synthetic import PROJECTIONS, height_m, sea_level_hpa, write  # noqa: E402

ROWS, COLUMNS = np.mgrid[0 : synthetic.ROWS, 0 : synthetic.COLUMNS].astype(float)


@pytest.mark.parametrize("name", PROJECTIONS)
@pytest.mark.parametrize("form", ["NETCDF3_64BIT_OFFSET", "NETCDF4"])
def test_fields_of_a_known_atmosphere(tmp_path: Path, name: str, form: str) -> None:
    (frame,) = map(load, read(write(tmp_path / "wrfout_d01", PROJECTIONS[name], form=form)))
    pressure = sea_level_hpa(ROWS, COLUMNS)
    assert abs(frame.fields["slp"] - pressure).max() < 0.3
    for level in (850, 500):
        height = height_m(level, pressure)
        assert np.nanmax(abs(frame.fields[f"z{level}"] * 10 - height)) < 5  # between levels 400 m apart
        assert np.nanmax(abs(frame.fields[f"t{level}"] + 273.15 - 288 + 0.0065 * height)) < 0.05
        assert np.nanmax(abs(frame.fields[f"u{level}"] - 9)) < 1e-4
        assert np.nanmax(abs(frame.fields[f"v{level}"] - 12)) < 1e-4
    assert frame.fields["wind10"] == pytest.approx(np.hypot(frame.fields["u10"], frame.fields["v10"]))
    assert (frame.note, frame.domain, frame.hours) == ("WRF V4.7.1", 1, 0)
    assert frame.grid.project is not None


def test_below_the_ground_there_is_nothing(tmp_path: Path) -> None:
    (frame,) = map(load, read(write(tmp_path / "wrfout_d01")))
    ground = frame.fields["terrain"] > height_m(850, sea_level_hpa(ROWS, COLUMNS)) + 1
    assert 0 < ground.sum() < 20
    for name in ("z850", "t850", "u850", "v850", "rh850"):
        assert np.isnan(frame.fields[name][ground]).all()
    assert np.isfinite(frame.fields["z500"]).all()


def test_rain_is_of_all_clouds_and_buckets(tmp_path: Path) -> None:
    import netCDF4

    path = write(tmp_path / "wrfout_d01", hours=(0, 6), BUCKET_MM=np.float32(100))
    rain = synthetic.rain_mm(ROWS, COLUMNS, 6)
    with netCDF4.Dataset(path, "a") as file:
        for name, count in (("I_RAINNC", 2), ("I_RAINC", 1)):
            file.createVariable(name, "i4", ("Time", "south_north", "west_east"))[1] = count
        file.createVariable("RAINSH", "f4", ("Time", "south_north", "west_east"))[1] = 0.5
    frame = load(read(path)[1])
    assert frame.fields["rain"] == pytest.approx(rain["RAINC"] + rain["RAINNC"] + 300.5, abs=1e-3)


@pytest.mark.parametrize("name", ["RAINC", "RAINNC"])
def test_files_without_rain(tmp_path: Path, name: str) -> None:
    (frame,) = map(load, read(write(tmp_path / "wrfout_d01", without=(name,))))
    assert "rain" not in frame.fields
    assert frame.absent == {"rain": name, "rain1h": name}


def test_a_place_over_time(tmp_path: Path) -> None:
    frames = list(map(load, read(write(tmp_path / "wrfout_d01", hours=(0, 1, 3)))))
    found = course(frames, [values_at(frame, 12.5, 30.25) for frame in frames])
    assert list(found.hours) == [0, 1, 3]
    assert found.pressure_hpa == pytest.approx([float(sea_level_hpa(np.array(12.5), np.array(30.25)))] * 3, abs=0.3)
    at = (np.array(12.5), np.array(30.25))
    rain = [sum(synthetic.rain_mm(*at, hour).values()) for hour in (0, 1, 3)]
    assert found.rain_mm == pytest.approx(rain, abs=0.05)
    speed = np.hypot(found.east_ms, found.north_ms)
    frame = frames[0]
    assert speed[0] == pytest.approx(np.hypot(frame.fields["u10"], frame.fields["v10"])[12:14, 30:32].mean(), rel=0.1)


@pytest.mark.parametrize(
    ("last", "along", "across"),
    [((5, 40), 9, 12), ((35, 10), 12, -9), ((35, 40), 15 * np.cos(0), None)],
    ids=["along-a-row", "along-a-column", "slanting"],
)
def test_a_section(tmp_path: Path, last: tuple[float, float], along: float, across: float | None) -> None:
    (frame,) = map(load, read(write(tmp_path / "wrfout_d01")))
    found = cut(frame, (5, 10), last)
    assert found.distance_km[-1] == pytest.approx(12 * np.hypot(last[0] - 5, last[1] - 10))
    assert (found.lat[0], found.lon[0]) == pytest.approx((frame.grid.lat[5, 10], frame.grid.lon[5, 10]), abs=1e-4)
    assert found.theta_k == pytest.approx(
        (found.temperature_c + 273.15) * (1000 / found.pressure_hpa) ** (287 / 1004.5)
    )
    assert (np.diff(found.pressure_hpa, axis=0) < 0).all()
    assert (found.surface_hpa > found.pressure_hpa[0]).all()
    if across is None:
        assert np.hypot(found.along_ms, found.across_ms) == pytest.approx(np.full_like(found.along_ms, along), abs=1e-3)
    else:
        assert abs(found.along_ms - along).max() < 1e-3
        assert abs(found.across_ms - across).max() < 1e-3


def test_a_standin_is_called_one(tmp_path: Path) -> None:
    given: dict[str, Any] = {"COMMENT": "made by a stand-in for WRF"}
    (frame,) = map(load, read(write(tmp_path / "wrfout_d01", **given)))
    assert frame.note == "STAND-IN for WRF, no forecast"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"WEST-EAST_GRID_DIMENSION": 90}, "48 of 89 columns"),
        ({"SOUTH-NORTH_GRID_DIMENSION": 90}, "40 of 89 rows"),
        (
            {
                "WEST-EAST_GRID_DIMENSION": 90,
                "WEST-EAST_PATCH_START_UNSTAG": 42,
                "WEST-EAST_PATCH_END_UNSTAG": 89,
            },
            "48 of 89 columns",
        ),
    ],
)
def test_a_part_of_a_domain_is_refused(tmp_path: Path, given: dict[str, int], said: str) -> None:
    numbers: dict[str, Any] = {name: np.int32(number) for name, number in given.items()}
    with pytest.raises(MapsError, match=rf"wrfout_d01: {said}: a part of a domain \(io_form 102\)"):
        read(write(tmp_path / "wrfout_d01", **numbers))


def test_a_cut_out_is_drawn(tmp_path: Path) -> None:
    """As `ncks -d west_east,…` makes it: the attributes are those of the whole."""
    ends = {"GRID_DIMENSION": 90, "PATCH_START_UNSTAG": 1, "PATCH_END_UNSTAG": 89}
    given: dict[str, Any] = {
        f"{direction}_{name}": np.int32(end) for direction in ("WEST-EAST", "SOUTH-NORTH") for name, end in ends.items()
    }
    (frame,) = read(write(tmp_path / "wrfout_d01", **given))
    assert frame.grid.project is not None


def test_attributes_of_any_form(tmp_path: Path) -> None:
    given: dict[str, Any] = {"WEST-EAST_GRID_DIMENSION": np.int32(49), "A": np.arange(3.0), "B": "text"}
    (frame,) = read(write(tmp_path / "wrfout_d01", **given))
    assert frame.grid.project is not None
    assert frame.fields == {}


def test_a_nest_that_moves_has_a_grid_for_each_time(tmp_path: Path) -> None:
    import netCDF4

    path = write(tmp_path / "wrfout_d02", hours=(0, 1, 2), domain=2)
    with netCDF4.Dataset(path, "a") as file:
        for name, aside in (("XLAT", (1, 0)), ("XLONG", (1, 0))):
            file[name][2] = np.roll(file[name][0], aside, axis=(0, 1))
    first, second, third = read(path)
    assert first.grid is second.grid
    assert third.grid is not first.grid
