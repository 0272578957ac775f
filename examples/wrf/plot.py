#!/usr/bin/env python3
"""Maps of wrfout files: one of 500 hPa and one near the ground for each time, as PNG, and each series as a GIF.

    plot.py [-o DIRECTORY] [--no-gif] WRFOUT...

500 hPa: relative humidity, height (dam), wind. Near the ground: relative humidity at 2 m, pressure at sea level, wind
at 10 m, height of the terrain. Reads output of WRF 4 (em_real) and of the stand-in in ./standin, any map projection,
domain and number of times in a file. Nothing is fetched: the coast is the edge of the file's own LANDMASK, and maps are
drawn on the model's own grid, where the wind needs no turning.

Needs netCDF4, numpy, matplotlib and pillow. Prints the files it wrote. Exit code 1 and one line if something fails.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

try:
    import matplotlib as mpl
    import netCDF4
    import numpy as np
    from PIL import Image
except ImportError as error:
    sys.exit(f"plot.py: {error}: it needs netCDF4, numpy, matplotlib and pillow")
mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.patheffects import withStroke

GRAVITY, DRY_GAS, HEAT_CAPACITY, P0 = 9.81, 287.0, 1004.5, 1.0e5  # WRF's constants, SI
LAPSE = 0.0065  # K/m
KNOTS = 3600 / 1852  # of one m/s
FRAME_MS = 700
HUMIDITY = mpl.colors.LinearSegmentedColormap.from_list(
    "humidity", ["#8c6d46", "#cdb98f", "#f3efe2", "#d3e6c9", "#8cc58f", "#3f9b76", "#1f6d8c"]
)


class PlotError(Exception):
    """Something about a file that its owner can mend."""


@dataclass(frozen=True)
class Frame:
    """One time of one domain; fields are (south_north, west_east), NaN where 500 hPa lies below the ground."""

    domain: int
    valid: datetime
    start: datetime
    note: str  # of the model: its version, and whether it is one
    dx_km: float
    dy_km: float
    lat: np.ndarray
    lon: np.ndarray
    is_land: np.ndarray
    terrain_m: np.ndarray
    upper: dict[str, np.ndarray]  # z_dam, u_ms, v_ms, rh_pct at 500 hPa
    ground: dict[str, np.ndarray]  # slp_hpa, u_ms, v_ms, rh_pct


def relative_humidity(vapour: np.ndarray, temperature_k: np.ndarray, pressure_pa: np.ndarray) -> np.ndarray:
    """Percent over water, 0 to 100, of the mixing ratio in kg/kg. Saturation: Bolton (1980), as in WRF."""
    celsius = temperature_k - 273.15
    saturation_pa = 611.2 * np.exp(17.67 * celsius / (celsius + 243.5))
    saturated = 0.622 * saturation_pa / (pressure_pa - saturation_pa)
    return np.clip(100 * vapour / saturated, 0, 100)


def at_pressure(field: np.ndarray, pressure_pa: np.ndarray, level_pa: float) -> np.ndarray:
    """`field` (levels, y, x), bottom first, at `level_pa`, linear in the logarithm of pressure; NaN out of range."""
    below = np.sum(pressure_pa > level_pa, axis=0)  # levels under the surface that is looked for
    inside = (below > 0) & (below < len(pressure_pa))
    upper = np.clip(below, 1, len(pressure_pa) - 1)[None]
    p1, p2 = (np.take_along_axis(pressure_pa, upper - n, axis=0)[0] for n in (1, 0))
    f1, f2 = (np.take_along_axis(field, upper - n, axis=0)[0] for n in (1, 0))
    part = np.log(p1 / level_pa) / np.log(p1 / p2)
    return np.where(inside, f1 + part * (f2 - f1), np.nan)


def sea_level_pressure(
    surface_pa: np.ndarray, terrain_m: np.ndarray, temperature_k: np.ndarray, height_m: np.ndarray, pressure: np.ndarray
) -> np.ndarray:
    """hPa. Downward with 6.5 K/km from the temperature 100 hPa above the ground, which day and night change little."""
    aloft = surface_pa - 10_000
    free_k, free_m = (at_pressure(field, pressure, aloft) for field in (temperature_k, height_m))
    sea_k = free_k + LAPSE * free_m
    return surface_pa / 100 * (1 - LAPSE * terrain_m / sea_k) ** (-GRAVITY / (DRY_GAS * LAPSE))


def read(path: str) -> list[Frame]:
    """All times of a file. Raises PlotError."""
    try:
        with netCDF4.Dataset(path) as file:
            file.set_auto_mask(False)
            if not len(file.dimensions.get("Time", ())):
                raise PlotError(f"{path}: no time in it: not written yet, or no wrfout")
            return [_frame(file, record) for record in range(len(file.dimensions["Time"]))]
    except (KeyError, IndexError, AttributeError) as error:
        raise PlotError(f"{path}: no wrfout of em_real: {str(error).strip(chr(39) + chr(34))}") from error
    except (OSError, RuntimeError, ValueError) as error:
        raise PlotError(f"{path}: {getattr(error, 'strerror', None) or error}") from error


def _frame(file: netCDF4.Dataset, record: int) -> Frame:
    def get(name: str) -> np.ndarray:
        return file[name][record].astype(float)

    pressure = get("P") + get("PB")
    faces_m = (get("PH") + get("PHB")) / GRAVITY
    height = (faces_m[1:] + faces_m[:-1]) / 2
    temperature = (get("T") + 300) * (pressure / P0) ** (DRY_GAS / HEAT_CAPACITY)
    humidity = relative_humidity(get("QVAPOR"), temperature, pressure)
    u, v = get("U"), get("V")
    u, v = (u[..., 1:] + u[..., :-1]) / 2, (v[:, 1:] + v[:, :-1]) / 2
    fields = {"z_dam": height / 10, "u_ms": u, "v_ms": v, "rh_pct": humidity}
    terrain = get("HGT")
    ground = {
        "slp_hpa": sea_level_pressure(get("PSFC"), terrain, temperature, height, pressure),
        "u_ms": get("U10"),
        "v_ms": get("V10"),
        "rh_pct": relative_humidity(get("Q2"), get("T2"), get("PSFC")),
    }
    is_standin = "stand-in" in str(getattr(file, "COMMENT", "")).lower()
    title = str(file.TITLE).replace("OUTPUT FROM", "").replace("MODEL", "").strip()
    return Frame(
        domain=int(file.GRID_ID),
        valid=_date(bytes(file["Times"][record]).decode()),
        start=_date(str(file.SIMULATION_START_DATE)),
        note="STAND-IN for WRF, no forecast" if is_standin else title,
        dx_km=float(file.DX) / 1000,
        dy_km=float(file.DY) / 1000,
        lat=get("XLAT"),
        lon=get("XLONG"),
        is_land=get("LANDMASK"),
        terrain_m=terrain,
        upper={name: at_pressure(field, pressure, 50_000) for name, field in fields.items()},
        ground=ground,
    )


def _date(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%d_%H:%M:%S").replace(tzinfo=UTC)


def interval(fields: list[np.ndarray], choices: tuple[float, ...]) -> float:
    """The smallest of `choices` that draws at most twelve lines through the widest of `fields`."""
    ranges = [np.nanmax(field) - np.nanmin(field) for field in fields if np.isfinite(field).any()]
    return next((step for step in choices if max(ranges, default=0) / step <= 12), choices[-1])


def levels(field: np.ndarray, step: float) -> np.ndarray:
    if not np.isfinite(field).any():
        return np.array([])
    return np.arange(np.ceil(np.nanmin(field) / step), np.floor(np.nanmax(field) / step) + 1) * step


def lines(axes: plt.Axes, grid: tuple, field: np.ndarray, at: np.ndarray, label: str = "%g", **style: object) -> None:
    if len(at):
        drawn = axes.contour(*grid, field, at, **style)
        for text in axes.clabel(drawn, fmt=label, fontsize=8, inline_spacing=3, zorder=4):  # above the barbs
            text.set_path_effects([withStroke(linewidth=2, foreground="white", alpha=0.7)])


def draw(frame: Frame, fields: dict[str, np.ndarray], step: float, path: Path, *, is_upper: bool) -> None:
    """One map, with the same size in pixels for all times of a domain."""
    rows, columns = frame.lat.shape
    x, y = np.arange(columns) * frame.dx_km, np.arange(rows) * frame.dy_km
    ratio = max(0.4, min(2.5, y[-1] / x[-1]))
    figure = plt.figure(figsize=(9, 9 * 0.82 * ratio + 1.5))
    axes = figure.add_axes((0.07, 0.8 / figure.get_figheight(), 0.80, 1 - 1.4 / figure.get_figheight()))
    axes.set_aspect("equal")
    grid = (x, y)
    shaded = axes.contourf(*grid, fields["rh_pct"], np.arange(0, 101, 10), cmap=HUMIDITY)
    if not is_upper:
        lines(axes, grid, frame.terrain_m, np.arange(250, 9000, 250), "%g m", colors="#7a5230", linewidths=0.5)
    if 0 < frame.is_land.mean() < 1:
        axes.contour(*grid, frame.is_land, [0.5], colors="black", linewidths=1.1)
    _graticule(axes, grid, frame)
    what = fields["z_dam" if is_upper else "slp_hpa"]
    lines(axes, grid, what, levels(what, step), colors="#1a237e", linewidths=1.3)
    every = max(1, round(max(rows, columns) / 18))
    thin = (slice(every // 2, None, every),) * 2
    knots = [fields[name][thin] * KNOTS for name in ("u_ms", "v_ms")]
    south = frame.lat[thin] < 0  # where the barbs' feathers stand on the other side
    axes.barbs(
        x[thin[1]],
        y[thin[0]],
        *knots,
        length=5.5,
        linewidth=0.6,
        color="#202020",
        flip_barb=south,
        sizes={"emptybarb": 0.12},
        zorder=3,
    )
    axes.set_xlim(x[0], x[-1])
    axes.set_ylim(y[0], y[-1])
    axes.apply_aspect()
    box = axes.get_position()
    bar = figure.colorbar(shaded, cax=figure.add_axes((box.x1 + 0.015, box.y0, 0.02, box.height)))
    bar.set_ticks(np.arange(0, 101, 10))
    bar.set_label("relative humidity, %" if is_upper else "relative humidity at 2 m, %")
    hours = (frame.valid - frame.start).total_seconds() / 3600
    _headline(axes, frame, hours, "500 hPa" if is_upper else "Near the ground")
    legend = (
        f"height every {step:g} dam (blue), wind in knots"
        if is_upper
        else f"sea-level pressure every {step:g} hPa (blue), wind at 10 m in knots, terrain every 250 m (brown)"
    )
    legend += "; half barb 5 kn, barb 10 kn, pennant 50 kn"
    source = f"{frame.note} · domain {frame.domain} · {_spacing(frame)}"
    for text, inches in ((legend, 0.32), (source, 0.12)):
        figure.text(box.x0, inches / figure.get_figheight(), text, fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _headline(axes: plt.Axes, frame: Frame, hours: float, what: str) -> None:
    axes.set_title(f"{what}", loc="left", fontsize=13, fontweight="bold")
    when = f"valid {frame.valid:%a %Y-%m-%d %H:%M} UTC\nfrom {frame.start:%Y-%m-%d %H:%M} UTC, {hours:+g} h"
    axes.set_title(when, loc="right", fontsize=9)


def _spacing(frame: Frame) -> str:
    dx, dy = (f"{km:.3g}" for km in (frame.dx_km, frame.dy_km))
    return f"{dx} km" if dx == dy else f"{dx} × {dy} km"


def _graticule(axes: plt.Axes, grid: tuple, frame: Frame) -> None:
    """Meridians and parallels as thin dotted lines, their degrees where they leave the map below and on the left."""
    lon = frame.lon % 360 if np.ptp(frame.lon) > 180 else frame.lon  # across the date line
    for field, edge, axis in ((lon, lon[0], axes.xaxis), (frame.lat, frame.lat[:, 0], axes.yaxis)):
        at = levels(field, interval([field], (0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 20)))
        if len(at):
            axes.contour(*grid, field, at, colors="#505050", linewidths=0.5, linestyles=":")
        along = grid[0] if axis is axes.xaxis else grid[1]
        found = [(place, value) for value in at for place in crossings(along, edge - value)]
        axis.set_ticks([place for place, _ in found], [degrees(value, axis is axes.xaxis) for _, value in found])
    axes.tick_params(length=0, labelsize=8, labelcolor="#404040")


def crossings(places: np.ndarray, values: np.ndarray) -> list[float]:
    """Where `values`, at `places`, go through zero."""
    here = np.nonzero(np.signbit(values[1:]) != np.signbit(values[:-1]))[0]
    part = values[here] / (values[here] - values[here + 1])
    return list(places[here] + part * (places[here + 1] - places[here]))


def degrees(value: float, is_longitude: bool) -> str:
    value = (value + 180) % 360 - 180 if is_longitude else value
    side = ("EW" if is_longitude else "NS")[int(value < 0)] if value else ""
    return f"{abs(value):g}°{side}"


def animate(pictures: list[Path], path: Path) -> None:
    """All pictures with one palette, that of the first, so that no colour flickers."""
    frames = [Image.open(picture).convert("RGB") for picture in pictures]
    palette = frames[0].quantize(256)
    first, *others = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    first.save(path, save_all=True, append_images=others, duration=FRAME_MS, loop=0)


def plot(paths: list[str], directory: Path, *, is_animated: bool) -> list[Path]:
    """What was written. Raises PlotError."""
    frames = {(frame.domain, frame.valid): frame for path in paths for frame in read(path)}
    directory.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for domain in sorted({frame.domain for frame in frames.values()}):
        series = [frames[key] for key in sorted(frames) if key[0] == domain]
        for is_upper, name in ((True, "500hPa"), (False, "ground")):
            fields = [frame.upper if is_upper else frame.ground for frame in series]
            if is_upper:
                step = interval([each["z_dam"] for each in fields], (1, 2, 4, 8))
            else:
                step = interval([each["slp_hpa"] for each in fields], (0.5, 1, 2, 4, 5))
            pictures = []
            for frame, each in zip(series, fields, strict=True):
                picture = directory / f"{name}_d{domain:02d}_{frame.valid:%Y-%m-%d_%H%M%S}.png"
                draw(frame, each, step, picture, is_upper=is_upper)
                pictures.append(picture)
            written += pictures
            if is_animated and len(pictures) > 1:
                film = directory / f"{name}_d{domain:02d}.gif"
                animate(pictures, film)
                written.append(film)
    return written


def main() -> None:
    parser = argparse.ArgumentParser(description="Maps of wrfout files: 500 hPa and near the ground, PNG and GIF.")
    parser.add_argument("wrfout", nargs="+")
    parser.add_argument("-o", "--output", type=Path, default=Path("maps"), help="directory; default: maps")
    parser.add_argument("--no-gif", action="store_true", help="PNG files only")
    given = parser.parse_args()
    try:
        for path in plot(given.wrfout, given.output, is_animated=not given.no_gif):
            print(path)
    except (PlotError, OSError) as error:
        sys.exit(f"plot.py: {error}")


if __name__ == "__main__":
    main()
