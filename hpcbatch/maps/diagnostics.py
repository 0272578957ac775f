"""From the model's variables to what a map shows. Arrays in, arrays out; SI units where a name says nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

GRAVITY: Final = 9.81  # these four: WRF's constants
DRY_GAS: Final = 287.0
HEAT_CAPACITY: Final = 1004.5
P0: Final = 1.0e5
LAPSE: Final = 0.0065  # K/m
KNOTS: Final = 3600 / 1852  # of one m/s
_BLOCKS: Final = 240


def saturation_pressure(celsius: Array) -> Array:
    """Pa, over water. Source: Bolton (1980), as in WRF."""
    return np.asarray(611.2 * np.exp(17.67 * celsius / (celsius + 243.5)))


def relative_humidity(vapour: Array, temperature_k: Array, pressure_pa: Array) -> Array:
    """Percent over water, 0 to 100, of the mixing ratio in kg/kg."""
    saturation_pa = saturation_pressure(temperature_k - 273.15)
    saturated = 0.622 * saturation_pa / (pressure_pa - saturation_pa)
    return np.clip(100 * vapour / saturated, 0, 100)


def dew_point(vapour: Array, pressure_pa: Array) -> Array:
    """°C, of the mixing ratio in kg/kg; the inverse of Bolton's saturation pressure."""
    pressure = np.maximum(vapour, 1e-9) * pressure_pa / (0.622 + vapour)
    logarithm = np.log(pressure / 611.2)
    return np.asarray(243.5 * logarithm / (17.67 - logarithm))


def at_pressure(field: Array, pressure_pa: Array, level_pa: Array | float) -> Array:
    """`field` (levels, y, x), bottom first, at `level_pa`, linear in the logarithm of pressure; NaN out of range."""
    below = np.sum(pressure_pa > level_pa, axis=0)  # levels under the surface that is looked for
    inside = (below > 0) & (below < len(pressure_pa))
    upper = np.clip(below, 1, len(pressure_pa) - 1)[None]
    p1, p2 = (np.take_along_axis(pressure_pa, upper - n, axis=0)[0] for n in (1, 0))
    f1, f2 = (np.take_along_axis(field, upper - n, axis=0)[0] for n in (1, 0))
    part = np.log(p1 / level_pa) / np.log(p1 / p2)
    return np.where(inside, f1 + part * (f2 - f1), np.nan)


def sea_level_pressure(
    surface_pa: Array, terrain_m: Array, temperature_k: Array, height_m: Array, pressure_pa: Array
) -> Array:
    """hPa. Downward with 6.5 K/km from the temperature 100 hPa above the ground, which day and night change little."""
    aloft = surface_pa - 10_000
    free_k, free_m = (at_pressure(field, pressure_pa, aloft) for field in (temperature_k, height_m))
    sea_k = free_k + LAPSE * free_m
    return np.asarray(surface_pa / 100 * (1 - LAPSE * terrain_m / sea_k) ** (-GRAVITY / (DRY_GAS * LAPSE)))


def towards_east(u: Array, v: Array, cosine: Array, sine: Array) -> tuple[Array, Array]:
    """Wind along the grid's axes → towards east and north; the angle as COSALPHA and SINALPHA have it."""
    return u * cosine - v * sine, v * cosine + u * sine


def bilinear(field: Array, rows: Array, columns: Array) -> Array:
    """`field` (…, y, x) between its points, at fractional indices within it."""
    low_row = np.clip(np.floor(rows).astype(int), 0, field.shape[-2] - 2)
    low_column = np.clip(np.floor(columns).astype(int), 0, field.shape[-1] - 2)
    up, right = rows - low_row, columns - low_column
    near = field[..., low_row, low_column] * (1 - right) + field[..., low_row, low_column + 1] * right
    far = field[..., low_row + 1, low_column] * (1 - right) + field[..., low_row + 1, low_column + 1] * right
    return np.asarray(near * (1 - up) + far * up)


def smoothed(field: Array, passes: int) -> Array:
    """Each pass takes the mean of a point (half) and its four neighbours; the edge stays."""
    result = field.copy()
    for _ in range(passes):
        inner = result[1:-1, 1:-1]
        around = result[2:, 1:-1] + result[:-2, 1:-1] + result[1:-1, 2:] + result[1:-1, :-2]
        result[1:-1, 1:-1] = inner / 2 + around / 8
    return result


def past_hour(totals: Sequence[Array], hours: Sequence[float]) -> list[tuple[Array, float] | None]:
    """Of growing totals: what came in the hour before each time, and in how many hours it did.

    These are more than one where times lie further apart, less so soon after the first. None at the first.
    """
    found: list[tuple[Array, float] | None] = []
    for index, (total, hour) in enumerate(zip(totals, hours, strict=True)):
        if index == 0:
            found.append(None)
            continue
        since = max((n for n in range(index) if hour - hours[n] > 1 - 1e-3), default=0)
        found.append((np.maximum(total - totals[since], 0), hour - hours[since]))
    return found


def extrema(field: Array, depth: float, *, sign: int) -> list[tuple[int, int]]:
    """Row and column of each maximum (`sign` 1) or minimum (-1) that a closed line surrounds `depth` away from it, the
    most extreme first. So none lies at the edge, where the field may go on, and ripples are none.

    Large fields are looked at in blocks, so that each side has no more than `_BLOCKS`.
    """
    if not np.isfinite(field).all():
        return []
    size = -(-max(field.shape) // _BLOCKS)
    rows, columns = (-(-length // size) for length in field.shape)
    padding = ((0, rows * size - field.shape[0]), (0, columns * size - field.shape[1]))
    blocks = np.pad(sign * field, padding, constant_values=-np.inf).reshape(rows, size, columns, size).swapaxes(1, 2)
    flat = blocks.reshape(rows, columns, size * size)
    inside = flat.argmax(axis=2)
    found = []
    for row, column in _summits(flat.max(axis=2), depth):
        down, right = divmod(int(inside[row, column]), size)
        found.append((row * size + down, column * size + right))
    return found


def _summits(heights: Array, depth: float) -> list[tuple[int, int]]:
    """As water falls over the field, islands appear, grow and meet. A summit counts if the water has fallen by `depth`
    before its island meets a higher one or the edge.
    """
    rows, columns = heights.shape
    values = heights.ravel().tolist()
    island: dict[int, int] = {}  # a point to one nearer to the summit of its island

    def summit(point: int) -> int:
        path = []
        while (nearer := island[point]) != point:
            path.append(point)
            point = nearer
        for each in path:
            island[each] = point
        return point

    reached: set[int] = set()  # summits whose islands have met the edge
    found = []
    for point in np.argsort(-heights, axis=None, kind="stable").tolist():
        row, column = divmod(point, columns)
        near = (
            point - columns if row else -1,
            point + columns if row < rows - 1 else -1,
            point - 1 if column else -1,
            point + 1 if column < columns - 1 else -1,
        )
        met = {summit(each) for each in near if each in island} or {point}
        # the highest keeps its name; that of the edge is the highest of all
        kept = max(met, key=lambda one: (one in reached, values[one], -one))
        is_edge = row in (0, rows - 1) or column in (0, columns - 1)
        island[point] = kept
        for other in met:
            ends = other != kept or (is_edge and kept not in reached)
            if ends and other not in reached and values[other] - values[point] >= depth:
                found.append(other)
            island[other] = kept
        if is_edge or any(other in reached for other in met):
            reached.add(kept)
    found.sort(key=lambda point: -values[point])
    return [divmod(point, columns) for point in found]
