"""Where a place lies on a model's grid: WRF's map projections on its sphere of 6370 km."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from hpcbatch.maps.diagnostics import Array

RADIUS_KM: Final = 6370.0
_POLE: Final = 89.9  # degrees; what lies beyond may have no place on a map
_Project = Callable[[Array, Array], tuple[Array, Array]]


@dataclass(frozen=True)
class Grid:
    """Mass points of a domain, (south_north, west_east); x and y in km from the south-western one."""

    lat: Array
    lon: Array
    dx_km: float
    dy_km: float
    project: _Project | None
    """Latitudes and longitudes to km on the projection's plane; None where the file's projection does not fit its
    coordinates, as in idealised cases."""

    @property
    def x(self) -> Array:
        return np.arange(self.lat.shape[1], dtype=float) * self.dx_km

    @property
    def y(self) -> Array:
        return np.arange(self.lat.shape[0], dtype=float) * self.dy_km

    def place(self, lat: Array, lon: Array) -> tuple[Array, Array]:
        """x and y in km of places; call only where there is a projection."""
        assert self.project is not None  # noqa: S101  said above
        x, y = self.project(lat, lon)
        x0, y0 = self.project(self.lat[:1, 0], self.lon[:1, 0])
        return x - x0[0], y - y0[0]

    def indices(self, lat: float, lon: float) -> tuple[float, float] | None:
        """Fractional row and column; None outside."""
        rows, columns = self.lat.shape
        if self.project is not None:
            x, y = self.place(np.array([lat]), np.array([lon]))
            row, column = float(y[0]) / self.dy_km, float(x[0]) / self.dx_km
            return (row, column) if 0 <= row <= rows - 1 and 0 <= column <= columns - 1 else None
        apart = np.linalg.norm(_vectors(self.lat, self.lon) - _vectors(np.array(lat), np.array(lon)), axis=-1)
        nearest = np.unravel_index(np.argmin(apart), apart.shape)
        is_inside = apart[nearest] * RADIUS_KM <= max(self.dx_km, self.dy_km)
        return (float(nearest[0]), float(nearest[1])) if is_inside else None


def grid(lat: Array, lon: Array, attributes: Mapping[str, float]) -> Grid:
    """`attributes` are the file's: DX and DY in m, MAP_PROJ, TRUELAT1 …"""
    dx_km, dy_km = attributes["DX"] / 1000, attributes["DY"] / 1000
    project = _projection(lat, lon, attributes)
    found = Grid(lat=lat, lon=lon, dx_km=dx_km, dy_km=dy_km, project=project)
    if project is not None:
        with np.errstate(all="ignore"):
            x, y = found.place(lat, lon)
        off = np.maximum(abs(x - found.x) / dx_km, abs(y - found.y[:, None]) / dy_km)
        if not np.all(off < 0.5):  # NaN too
            return Grid(lat=lat, lon=lon, dx_km=dx_km, dy_km=dy_km, project=None)
    return found


def _projection(lat: Array, lon: Array, given: Mapping[str, float]) -> _Project | None:
    """The projection that MAP_PROJ names. Source: geogrid's module_llxy."""
    if min(lat.shape) < 2 or np.ptp(lat) == 0 or np.ptp(lon) == 0:
        return None
    kind = int(given.get("MAP_PROJ", 0))
    true1, true2 = np.radians(given.get("TRUELAT1", 0.0)), np.radians(given.get("TRUELAT2", 0.0))
    middle = float(given.get("STAND_LON", 0.0))
    if kind == 1:
        return _lambert(true1, true2, middle)
    if kind == 2:
        return _polar(true1, middle)
    if kind == 3:
        return _mercator(true1, float(lon[lon.shape[0] // 2, lon.shape[1] // 2]))
    return _latitude_longitude(lat, lon) if kind == 6 else None


def _lambert(true1: float, true2: float, middle: float) -> _Project:
    def tangent(angle: float | Array) -> Array:
        return np.tan(np.pi / 4 + np.asarray(angle) / 2)

    if abs(true1 - true2) < 1e-4:
        cone = np.sin(true1)
    else:
        cone = np.log(np.cos(true1) / np.cos(true2)) / np.log(tangent(true2) / tangent(true1))
    if abs(cone) < 1e-6:
        return _mercator(true1, middle)
    scale = RADIUS_KM * np.cos(true1) * tangent(true1) ** cone / cone

    def project(lat: Array, lon: Array) -> tuple[Array, Array]:
        distance = scale / tangent(np.radians(np.clip(lat, -_POLE, _POLE))) ** cone
        angle = cone * np.radians(_around(lon - middle))
        return distance * np.sin(angle), -distance * np.cos(angle)

    return project


def _polar(true1: float, middle: float) -> _Project:
    side = -1.0 if true1 < 0 else 1.0
    scale = RADIUS_KM * (1 + np.sin(abs(true1)))

    def project(lat: Array, lon: Array) -> tuple[Array, Array]:
        phi = np.radians(side * np.clip(lat, -_POLE if side > 0 else -90, 90 if side > 0 else _POLE))
        distance, angle = scale * np.cos(phi) / (1 + np.sin(phi)), np.radians(lon - middle)
        return distance * np.sin(angle), -side * distance * np.cos(angle)

    return project


def _mercator(true1: float, middle: float) -> _Project:
    scale = RADIUS_KM * np.cos(true1)

    def project(lat: Array, lon: Array) -> tuple[Array, Array]:
        phi = np.radians(np.clip(lat, -_POLE, _POLE))
        return scale * np.radians(_around(lon - middle)), scale * np.log(np.tan(np.pi / 4 + phi / 2))

    return project


def _latitude_longitude(lat: Array, lon: Array) -> _Project:
    """Of a rotated pole, too: rows of the grid are circles around it, so it is the normal of a row's plane."""
    row = _vectors(lat, lon)[lat.shape[0] // 2]
    pole = np.linalg.svd(row - row.mean(axis=0))[2][-1]
    north = _vectors(lat[[0, -1], 0], lon[[0, -1], 0]) @ pole
    pole = pole if north[1] > north[0] else -pole
    middle = row[len(row) // 2]
    first = middle - (middle @ pole) * pole
    first = first / np.linalg.norm(first)
    second = np.cross(pole, first)

    def project(lat: Array, lon: Array) -> tuple[Array, Array]:
        at = _vectors(lat, lon)
        x = RADIUS_KM * np.arctan2(at @ second, at @ first)
        return x, RADIUS_KM * np.arcsin(np.clip(at @ pole, -1, 1))

    return project


def _vectors(lat: Array, lon: Array) -> Array:
    """On the unit sphere, (…, 3)."""
    phi, angle = np.radians(lat), np.radians(lon)
    return np.stack([np.cos(phi) * np.cos(angle), np.cos(phi) * np.sin(angle), np.sin(phi)], axis=-1)


def _around(degrees: Array) -> Array:
    """-180 to 180."""
    return (degrees + 180) % 360 - 180
