"""A vertical cross-section between two places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patheffects import AbstractPathEffect, withStroke
from matplotlib.ticker import FuncFormatter, NullLocator

from hpcbatch.maps import colours
from hpcbatch.maps.diagnostics import KNOTS, Array
from hpcbatch.maps.draw import spacing, when
from hpcbatch.maps.meteogram import Place
from hpcbatch.maps.picture import DPI
from hpcbatch.maps.wrfout import Frame, Slice, read_slice

_SIZE: Final = (9.0, 5.6)  # inches
_BOX: Final = (0.075, 0.165, 0.8, 0.7)
"""Of the section within the figure, in parts of it: left, bottom, width, height."""
_ROWS_APART: Final = 0.24
"""Inches between rows of barbs."""
_TOP_HPA: Final = 200.0
_BARBS_HPA: Final = (1000, 950, 900, 850, 800, 700, 600, 500, 400, 300, 250)
_TICKS_HPA: Final = (1000, 925, 850, 700, 600, 500, 400, 300, 250, 200, 150, 100)


def cut(frame: Frame, first: tuple[float, float], last: tuple[float, float]) -> Slice:
    """Between two fractional (row, column) of the grid, two points for each of its cells or more. Raises MapsError."""
    cells = max(abs(first[0] - last[0]), abs(first[1] - last[1]))
    count = int(np.clip(2 * np.ceil(cells), 120, 600))
    return read_slice(frame, np.linspace(first[0], last[0], count), np.linspace(first[1], last[1], count))


def draw(frame: Frame, ends: tuple[Place, Place], found: Slice) -> Figure:
    figure = Figure(figsize=_SIZE, dpi=DPI)
    axes = figure.add_axes(_BOX)
    found = _to_the_ground(found)
    x = np.broadcast_to(found.distance_km, found.pressure_hpa.shape)
    top = max(_TOP_HPA, float(found.pressure_hpa[-1].max()))
    bottom = float(found.surface_hpa.max()) + 8
    scale = colours.HUMIDITY
    colour_map, norm = scale.drawn()
    shown = axes.contourf(x, found.pressure_hpa, found.humidity_pct, scale.levels, cmap=colour_map, norm=norm)
    inside = found.pressure_hpa >= top
    theta = found.theta_k[inside]
    step = next((n for n in (1, 2, 4, 5, 10) if np.ptp(theta) / n <= 26), 10)
    lines = axes.contour(
        x,
        found.pressure_hpa,
        found.theta_k,
        np.arange(np.floor(theta.min() / step) * step, theta.max(), step),
        colors="#303030",
        linewidths=0.9,
    )
    halo: list[AbstractPathEffect] = [withStroke(linewidth=2, foreground="white", alpha=0.85)]
    for text in axes.clabel(lines, fmt="%g", fontsize=8, zorder=6):
        text.set_path_effects(halo)
    has_freezing = bool(found.temperature_c.min() < 0 < found.temperature_c.max())
    if has_freezing:
        freezing = axes.contour(x, found.pressure_hpa, found.temperature_c, [0], colors=colours.RED, linewidths=1.7)
        for text in axes.clabel(freezing, fmt="0 °C", fontsize=8.5, zorder=7):
            text.set_path_effects(halo)
    _barbs(axes, found, bottom, top)
    axes.fill_between(found.distance_km, found.surface_hpa, bottom + 50, color="#6d5a43", zorder=5)
    axes.set_yscale("log")
    axes.set_ylim(bottom, top)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.set_yticks([level for level in _TICKS_HPA if top <= level <= bottom])
    axes.set_ylabel("hPa", fontsize=9)
    axes.set_xlim(0, found.distance_km[-1])
    axes.set_xlabel("km", fontsize=9, labelpad=2)
    axes.tick_params(labelsize=8.5)
    box = axes.get_position()
    bar = figure.colorbar(shown, cax=figure.add_axes((box.x1 + 0.013, box.y0, 0.019, box.height)))
    bar.set_ticks(list(scale.levels))
    bar.ax.tick_params(labelsize=8, length=2)
    bar.set_label("relative humidity, %", fontsize=8.5)
    title = f"{ends[0].shown}  →  {ends[1].shown}"
    figure.text(box.x0, 0.945, title, fontsize=12, fontweight="bold")
    figure.text(box.x0, 0.895, f"relative humidity (%), potential temperature (K); {when(frame)}", fontsize=9)
    legend = (
        f"potential temperature every {step:g} K (black); {'0 °C (red); ' if has_freezing else ''}"
        "wind (kn), from the left: along the section; half barb 5, barb 10, pennant 50"
    )
    figure.text(box.x0, 0.047, legend, fontsize=8)
    source = f"{frame.note} · domain {frame.domain} · {spacing(frame)} · brown: the model's ground"
    figure.text(box.x0, 0.013, source, fontsize=8, color="#404040")
    return figure


def _to_the_ground(found: Slice) -> Slice:
    """With a level at the ground, which has the values of the lowest one: a few metres lie between them."""
    fields = ("theta_k", "temperature_c", "humidity_pct", "along_ms", "across_ms")
    lower = {name: np.concatenate([getattr(found, name)[:1], getattr(found, name)]) for name in fields}
    return replace(found, pressure_hpa=np.concatenate([found.surface_hpa[None], found.pressure_hpa]), **lower)


def _barbs(axes: object, found: Slice, bottom_hpa: float, top_hpa: float) -> None:
    columns = ((np.arange(15) + 0.8) / 15.6 * (found.distance_km.size - 1)).round().astype(int)
    levels = _apart([level for level in _BARBS_HPA if level > top_hpa * 1.04], bottom_hpa, top_hpa)
    points: list[tuple[float, float, float, float]] = []
    for column in columns:
        pressure = found.pressure_hpa[:, column]
        for level in levels:
            if pressure[-1] < level < pressure[0] and level < found.surface_hpa[column] - 12:
                wind = (_at(level, pressure, values[:, column]) * KNOTS for values in (found.along_ms, found.across_ms))
                points.append((float(found.distance_km[column]), float(level), *wind))  # type: ignore[arg-type]
    if points:
        x, y, along, across = np.array(points).T
        axes.barbs(  # type: ignore[attr-defined]
            x,
            y,
            along,
            across,
            length=5,
            linewidth=0.6,
            color="#202020",
            sizes={"emptybarb": 0.12},
            flip_barb=found.lat.mean() < 0,
            zorder=4,
        )


def _apart(levels: Sequence[int], bottom_hpa: float, top_hpa: float) -> list[int]:
    """Those whose barbs do not touch, from the top down: they are denser than that near the ground."""
    inches = _SIZE[1] * _BOX[3] / np.log(bottom_hpa / top_hpa)
    kept: list[int] = []
    for level in sorted(levels):
        if not kept or np.log(level / kept[-1]) * inches >= _ROWS_APART:
            kept.append(level)
    return kept


def _at(level: float, pressure: Array, values: Array) -> float:
    return float(np.interp(-np.log(level), -np.log(pressure), values))
