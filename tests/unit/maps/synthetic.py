"""A wrfout as WRF writes it, of weather that is known: variables, dimensions, staggering and attributes are WRF 4.7's;
temperature falls by 6.5 K/km everywhere, so pressure and height are known at every place.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

START: Final = datetime(2024, 1, 15, 0)
RADIUS_M: Final = 6370e3
LAPSE, GRAVITY, GAS, CP = 0.0065, 9.81, 287.0, 1004.5
POWER: Final = GRAVITY / (GAS * LAPSE)
SEA_LEVEL_K: Final = 288.0
ROWS, COLUMNS, LEVELS = 40, 48, 40
HIGH, LOW = (10, 34), (27, 14)
"""Row and column of the pressure's extrema: 1030 and 990 hPa in 1012."""


@dataclass(frozen=True)
class Projection:
    """Its inverse, from km on the plane around the middle of the domain to degrees, written down for itself."""

    number: int
    attributes: dict[str, float]

    def inverse(self, x: Array, y: Array) -> tuple[Array, Array]:
        given = {name: np.radians(value) for name, value in self.attributes.items()}
        lat0, lon0 = self.attributes["CEN_LAT"], self.attributes["CEN_LON"]
        if self.number == 1:
            first, second = given["TRUELAT1"], given["TRUELAT2"]
            n = np.log(np.cos(first) / np.cos(second)) / np.log(
                np.tan(np.pi / 4 + second / 2) / np.tan(np.pi / 4 + first / 2)
            )
            f = np.cos(first) * np.tan(np.pi / 4 + first / 2) ** n / n
            rho0 = RADIUS_M * f / np.tan(np.pi / 4 + np.radians(lat0) / 2) ** n
            rho = np.sign(n) * np.hypot(x, rho0 - y)
            angle = np.arctan2(np.sign(n) * x, np.sign(n) * (rho0 - y))
            lat = 2 * np.arctan((RADIUS_M * f / rho) ** (1 / n)) - np.pi / 2
            return np.degrees(lat), lon0 + np.degrees(angle / n)
        if self.number == 2:
            side = np.sign(given["TRUELAT1"])
            scale = RADIUS_M * (1 + np.sin(abs(given["TRUELAT1"])))
            rho0 = scale * np.tan(np.pi / 4 - abs(np.radians(lat0)) / 2)
            down = rho0 - side * y
            lat = side * (np.pi / 2 - 2 * np.arctan(np.hypot(x, down) / scale))
            return np.degrees(lat), lon0 + np.degrees(np.arctan2(x, down))
        if self.number == 3:
            scale = RADIUS_M * np.cos(given["TRUELAT1"])
            north = np.log(np.tan(np.pi / 4 + np.radians(lat0) / 2)) + y / scale
            return np.degrees(2 * np.arctan(np.exp(north)) - np.pi / 2), lon0 + np.degrees(x / scale)
        pole = self.attributes.get("POLE_LAT", 90.0)
        if pole == 90:
            return lat0 + np.degrees(y / RADIUS_M), lon0 + np.degrees(x / RADIUS_M)
        phi, angle = y / RADIUS_M, x / RADIUS_M  # turned around an axis in the plane of the equator
        east, north, up = np.cos(phi) * np.cos(angle), np.cos(phi) * np.sin(angle), np.sin(phi)
        turn = np.radians(lat0)
        x1, z1 = east * np.cos(turn) - up * np.sin(turn), east * np.sin(turn) + up * np.cos(turn)
        return np.degrees(np.arcsin(z1)), lon0 + np.degrees(np.arctan2(north, x1))


def _projection(
    number: int, lat: float, lon: float, true1: float = 0, true2: float = 0, pole: float = 90
) -> Projection:
    middle = {"CEN_LAT": lat, "CEN_LON": lon, "MOAD_CEN_LAT": lat, "STAND_LON": lon}
    return Projection(number, {**middle, "TRUELAT1": true1, "TRUELAT2": true2, "POLE_LAT": pole, "POLE_LON": 0.0})


PROJECTIONS: Final = {
    "lambert": _projection(1, 47, 10, 30, 60),
    "lambert-south": _projection(1, -35, -65, -30, -50),
    "polar": _projection(2, 68, 20, 60),
    "polar-south": _projection(2, -70, -60, -71),
    "mercator": _projection(3, 12, 122, 10),
    "mercator-date-line": _projection(3, -17, 179, -15),
    "lat-lon": _projection(6, 40, -5),
    "rotated": _projection(6, 52, 8, pole=38),
}


def coordinates(projection: Projection, dx_m: float, rows: int = ROWS, columns: int = COLUMNS) -> tuple[Array, Array]:
    x = (np.arange(columns) - (columns - 1) / 2) * dx_m
    y = (np.arange(rows) - (rows - 1) / 2) * dx_m
    lat, lon = projection.inverse(*np.meshgrid(x, y))
    return lat, (lon + 180) % 360 - 180


def sea_level_hpa(rows: Array, columns: Array) -> Array:
    def hill(place: tuple[int, int], wide: float) -> Array:
        return np.exp(-((rows - place[0]) ** 2 + (columns - place[1]) ** 2) / (2 * wide**2))

    return 1012 + 18 * hill(HIGH, 7) - 22 * hill(LOW, 6)


def height_m(pressure_hpa: float, sea_level: Array) -> Array:
    """Of a pressure, in this atmosphere."""
    return SEA_LEVEL_K / LAPSE * (1 - (pressure_hpa / sea_level) ** (1 / POWER))


def rain_mm(rows: Array, columns: Array, hours: float) -> dict[str, Array]:
    """A band that moves eastwards; a fifth of it convective."""
    fallen = np.zeros_like(rows)
    for hour in np.arange(0, hours, 0.25):
        fallen += 1.5 * np.exp(-((columns - 10 - 3 * hour - 0.3 * rows) ** 2) / 30)
    return {"RAINNC": fallen * 0.8, "RAINC": fallen * 0.2}


def write(
    path: Path,
    projection: Projection = PROJECTIONS["lambert"],
    *,
    hours: tuple[float, ...] = (0.0,),
    dx_m: float = 12e3,
    domain: int = 1,
    start: datetime = START,
    peak_m: float = 2500.0,
    without: tuple[str, ...] = (),
    form: Any = "NETCDF4",
    **attributes: Any,
) -> Path:
    import netCDF4

    lat, lon = coordinates(projection, dx_m)
    rows, columns = (each.astype(float) for each in np.mgrid[0:ROWS, 0:COLUMNS])
    slp = sea_level_hpa(rows, columns)
    terrain = 50 + peak_m * np.exp(-((rows - 20) ** 2 + (columns - 24) ** 2) / 8)
    faces = terrain + (16_000 - terrain) * (np.linspace(0, 1, LEVELS + 1) ** 1.5)[:, None, None]
    middles = (faces[1:] + faces[:-1]) / 2
    pressure = 100 * slp * (1 - LAPSE * middles / SEA_LEVEL_K) ** POWER
    temperature = SEA_LEVEL_K - LAPSE * middles
    across = np.radians(projection.attributes["STAND_LON"] - lon)
    turned = across * 0.7 if projection.number == 1 else 0 * across
    fields: dict[str, tuple[Any, str]] = {
        "XLAT": (lat, "yx"),
        "XLONG": (lon, "yx"),
        "HGT": (terrain, "yx"),
        "LANDMASK": ((columns > 12) * 1.0, "yx"),
        "COSALPHA": (np.cos(turned), "yx"),
        "SINALPHA": (np.sin(turned), "yx"),
        "PSFC": (100 * slp * (1 - LAPSE * terrain / SEA_LEVEL_K) ** POWER, "yx"),
        "T2": (SEA_LEVEL_K - LAPSE * terrain, "yx"),
        "Q2": (0.006 + 0 * slp, "yx"),
        "P": (pressure * 0.01, "zyx"),
        "PB": (pressure * 0.99, "zyx"),
        "PH": (faces * GRAVITY * 0.1, "Zyx"),
        "PHB": (faces * GRAVITY * 0.9, "Zyx"),
        "T": (temperature * (1e5 / pressure) ** (GAS / CP) - 300, "zyx"),
        "QVAPOR": (0.006 * (pressure / 1e5) ** 3, "zyx"),
        "U": (np.full((LEVELS, ROWS, COLUMNS + 1), 9.0), "zyX"),
        "V": (np.full((LEVELS, ROWS + 1, COLUMNS), 12.0), "zYx"),
    }
    low_v, low_u = np.gradient(slp)
    fields |= {"U10": (-3.5 * low_v, "yx"), "V10": (3.5 * low_u, "yx")}  # around the low, as in the north
    sizes = {"y": ROWS, "x": COLUMNS, "z": LEVELS, "Y": ROWS + 1, "X": COLUMNS + 1, "Z": LEVELS + 1}
    names = {"y": "south_north", "x": "west_east", "z": "bottom_top"}
    names |= {letter.upper(): f"{name}_stag" for letter, name in names.items()}
    with netCDF4.Dataset(path, "w", format=form) as file:
        file.createDimension("Time", None)
        file.createDimension("DateStrLen", 19)
        for letter, name in names.items():
            file.createDimension(name, sizes[letter])
        given = {"TITLE": " OUTPUT FROM WRF V4.7.1 MODEL", "GRID_ID": np.int32(domain), "BUCKET_MM": np.float32(-1)}
        given |= {"SIMULATION_START_DATE": f"{start:%Y-%m-%d_%H:%M:%S}", "MAP_PROJ": np.int32(projection.number)}
        given |= {"DX": np.float32(dx_m), "DY": np.float32(dx_m), "MAP_PROJ_CHAR": "of a test"}
        given |= {name: np.float32(value) for name, value in projection.attributes.items()}
        file.setncatts({**given, **attributes})
        times = file.createVariable("Times", "S1", ("Time", "DateStrLen"))
        letters = [list(f"{start + timedelta(hours=hour):%Y-%m-%d_%H:%M:%S}") for hour in hours]
        if letters:
            times[:] = np.array(letters, "S1")
        for record, hour in enumerate(hours or (None,)):
            rain = rain_mm(rows, columns, hour or 0.0)
            every = {**fields, **{name: (values, "yx") for name, values in rain.items()}}
            for name, (values, shape) in every.items():
                if name in without:
                    continue
                if name not in file.variables:
                    file.createVariable(name, "f4", ("Time", *(names[letter] for letter in shape)))
                if hour is not None:
                    file[name][record] = values
    return path
