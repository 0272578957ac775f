"""Reads wrfout files of WRF 4 (em_real), and of the stand-in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np

from hpcbatch.maps import diagnostics
from hpcbatch.maps.diagnostics import DRY_GAS, GRAVITY, HEAT_CAPACITY, P0, Array
from hpcbatch.maps.errors import MapsError
from hpcbatch.maps.grid import Grid, grid

LEVELS_HPA = (850, 500)


@dataclass(frozen=True)
class Frame:
    """One time of one domain."""

    path: Path
    record: int
    domain: int
    valid: datetime
    start: datetime
    note: str
    """Of the model: its version, and whether it is one."""
    grid: Grid
    fields: dict[str, Array] = field(default_factory=dict)
    """(south_north, west_east), by the names of `products.py`; NaN where a level lies below the ground. None before
    `load`: those of all times would not fit into memory."""
    absent: dict[str, str] = field(default_factory=dict)
    """Field → the variable that the file lacks for it."""
    rain_hours: float = 0.0
    """In which `rain1h` fell; 0 at the first time."""

    @property
    def hours(self) -> float:
        """Lead time."""
        return (self.valid - self.start).total_seconds() / 3600


def read(path: Path) -> list[Frame]:
    """All times of a file, without their fields. Raises MapsError."""
    with _opened(path) as file:
        if not len(file.dimensions.get("Time", ())):
            raise MapsError(f"{path}: no time in it: not written yet, or no wrfout")
        given = {name: file.getncattr(name) for name in file.ncattrs()}
        numbers = {name: float(value) for name, value in given.items() if isinstance(value, int | float | np.number)}
        _refuse_a_part(path, file, numbers)
        frames: list[Frame] = []
        for record in range(len(file.dimensions["Time"])):
            lat, lon = (np.asarray(file[name][record], float) for name in ("XLAT", "XLONG"))
            last = frames[-1].grid if frames else None  # a nest may move
            is_same = last is not None and np.array_equal(last.lat, lat) and np.array_equal(last.lon, lon)
            frames.append(_head(path, file, record, last if last is not None and is_same else grid(lat, lon, numbers)))
        return frames


def _refuse_a_part(path: Path, file: Any, numbers: dict[str, float]) -> None:
    """What one rank wrote. A cut-out by other programs has the whole domain's patch still, and its own coordinates."""
    for direction, dimension, of in (("WEST-EAST", "west_east", "columns"), ("SOUTH-NORTH", "south_north", "rows")):
        whole, here = numbers.get(f"{direction}_GRID_DIMENSION", 0) - 1, len(file.dimensions[dimension])
        end = numbers.get(f"{direction}_PATCH_END_UNSTAG", here)
        patch = end - numbers.get(f"{direction}_PATCH_START_UNSTAG", 1) + 1
        if 0 < whole != here and patch < whole:
            raise MapsError(f"{path}: {here} of {whole:.0f} {of}: a part of a domain (io_form 102), to be joined first")


def load(frame: Frame) -> Frame:
    """With its fields. Raises MapsError."""
    with _opened(frame.path) as file:
        return _with_fields(frame, file)


def _head(path: Path, file: Any, record: int, place: Grid) -> Frame:
    lacking = [name for name in ("RAINC", "RAINNC") if name not in file.variables]
    is_standin = "stand-in" in str(getattr(file, "COMMENT", "")).lower()
    title = str(file.TITLE).replace("OUTPUT FROM", "").replace("MODEL", "").strip()
    return Frame(
        path=path,
        record=record,
        domain=int(file.GRID_ID),
        valid=_date(bytes(file["Times"][record]).decode()),
        start=_date(str(file.SIMULATION_START_DATE)),
        note="STAND-IN for WRF, no forecast" if is_standin else title,
        grid=place,
        absent=dict.fromkeys(("rain", "rain1h"), lacking[0]) if lacking else {},
    )


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    try:
        with netCDF4.Dataset(path) as file:
            file.set_auto_mask(False)
            yield file
    except (KeyError, IndexError, AttributeError) as error:
        raise MapsError(f"{path}: no wrfout of em_real: {str(error).strip(chr(39) + chr(34))}") from error
    except (OSError, RuntimeError, ValueError) as error:
        raise MapsError(f"{path}: {getattr(error, 'strerror', None) or error}") from error


@dataclass(frozen=True)
class Column:
    """The atmosphere at mass points, (levels, y, x), bottom first."""

    pressure_pa: Array
    height_m: Array
    temperature_k: Array
    humidity_pct: Array
    u_ms: Array
    """Along the grid's axes, as v."""
    v_ms: Array


def _column(file: Any, record: int) -> Column:
    def get(name: str) -> Array:
        return np.asarray(file[name][record], float)

    pressure = get("P") + get("PB")
    faces_m = (get("PH") + get("PHB")) / GRAVITY
    temperature = (get("T") + 300) * (pressure / P0) ** (DRY_GAS / HEAT_CAPACITY)
    u, v = get("U"), get("V")
    return Column(
        pressure_pa=pressure,
        height_m=(faces_m[1:] + faces_m[:-1]) / 2,
        temperature_k=temperature,
        humidity_pct=diagnostics.relative_humidity(get("QVAPOR"), temperature, pressure),
        u_ms=(u[..., 1:] + u[..., :-1]) / 2,
        v_ms=(v[:, 1:] + v[:, :-1]) / 2,
    )


def _with_fields(frame: Frame, file: Any) -> Frame:
    record = frame.record

    def get(name: str) -> Array:
        return np.asarray(file[name][record], float)

    column = _column(file, record)
    terrain, surface_pa = get("HGT"), get("PSFC")
    fields = {
        "terrain": terrain,
        "land": get("LANDMASK"),
        "slp": diagnostics.sea_level_pressure(
            surface_pa, terrain, column.temperature_k, column.height_m, column.pressure_pa
        ),
        "u10": get("U10"),
        "v10": get("V10"),
        "t2": get("T2") - 273.15,
        "rh2": diagnostics.relative_humidity(get("Q2"), get("T2"), surface_pa),
        "td2": diagnostics.dew_point(get("Q2"), surface_pa),
    }
    fields["wind10"] = np.hypot(fields["u10"], fields["v10"])
    for level in LEVELS_HPA:
        aloft = {
            "z": column.height_m / 10,
            "t": column.temperature_k - 273.15,
            "u": column.u_ms,
            "v": column.v_ms,
            "rh": column.humidity_pct,
        }
        for name, values in aloft.items():
            fields[f"{name}{level}"] = diagnostics.at_pressure(values, column.pressure_pa, level * 100.0)
    if "rain" not in frame.absent:
        fields["rain"] = _rain(file, record)
    if {"COSALPHA", "SINALPHA"} <= file.variables.keys():
        fields |= {"cosine": get("COSALPHA"), "sine": get("SINALPHA")}
    return replace(frame, fields=fields)


def _rain(file: Any, record: int) -> Array:
    """mm since the start: of clouds that the grid resolves, of deep and of shallow convection; full buckets counted."""
    total = np.zeros(file["RAINNC"].shape[1:])
    bucket_mm = float(getattr(file, "BUCKET_MM", -1.0))
    for name in ("RAINNC", "RAINC", "RAINSH"):
        if name in file.variables:
            total += np.asarray(file[name][record], float)
        if bucket_mm > 0 and f"I_{name}" in file.variables:
            total += bucket_mm * np.asarray(file[f"I_{name}"][record], float)
    return total


def _date(text: str) -> datetime:
    return datetime.strptime(re.sub("[^0-9]", "", text), "%Y%m%d%H%M%S").replace(tzinfo=UTC)


@dataclass(frozen=True)
class Slice:
    """The atmosphere along a line on the map, (levels, points)."""

    lat: Array
    lon: Array
    distance_km: Array
    surface_hpa: Array
    pressure_hpa: Array
    theta_k: Array
    temperature_c: Array
    humidity_pct: Array
    along_ms: Array
    """Wind in the direction of the line."""
    across_ms: Array
    """Wind to the left of it."""


def read_slice(frame: Frame, rows: Array, columns: Array) -> Slice:
    """Between the grid's points, at fractional indices. Raises MapsError."""
    with _opened(frame.path) as file:
        column = _column(file, frame.record)
        surface = np.asarray(file["PSFC"][frame.record], float)

    def cut(values: Array) -> Array:
        return diagnostics.bilinear(values, rows, columns)

    x, y = columns * frame.grid.dx_km, rows * frame.grid.dy_km
    length = float(np.hypot(x[-1] - x[0], y[-1] - y[0]))
    east, north = (x[-1] - x[0]) / length, (y[-1] - y[0]) / length
    pressure, temperature, u, v = (
        cut(values) for values in (column.pressure_pa, column.temperature_k, column.u_ms, column.v_ms)
    )
    return Slice(
        lat=cut(frame.grid.lat),
        lon=cut(frame.grid.lon),
        distance_km=np.hypot(x - x[0], y - y[0]),
        surface_hpa=cut(surface) / 100,
        pressure_hpa=pressure / 100,
        theta_k=temperature * (P0 / pressure) ** (DRY_GAS / HEAT_CAPACITY),
        temperature_c=temperature - 273.15,
        humidity_pct=cut(column.humidity_pct),
        along_ms=u * east + v * north,
        across_ms=v * east - u * north,
    )
