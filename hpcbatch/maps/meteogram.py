"""A meteogram: the forecast for one place over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num
from matplotlib.figure import Figure

from hpcbatch.maps import colours, diagnostics
from hpcbatch.maps.diagnostics import KNOTS, Array
from hpcbatch.maps.draw import degrees, spacing
from hpcbatch.maps.picture import DPI
from hpcbatch.maps.wrfout import Frame

_SIZE: Final = (8.6, 7.4)  # inches
_RAIN: Final = "#2367ac"


@dataclass(frozen=True)
class Place:
    name: str
    lat: float
    lon: float

    @property
    def shown(self) -> str:
        where = f"{degrees(round(self.lat, 3), False)} {degrees(round(self.lon, 3), True)}"
        return f"{self.name}, {where}" if self.name else where


@dataclass(frozen=True)
class Course:
    """The weather at a place, over all times."""

    hours: Array
    """Since the first time."""
    temperature_c: Array
    dew_point_c: Array
    rain_mm: Array | None
    """Since the start of the forecast."""
    east_ms: Array
    """Wind at 10 m towards east, turned from the grid's axes, as north_ms."""
    north_ms: Array
    pressure_hpa: Array
    """At sea level."""
    terrain_m: float
    """The model's own height there."""


def values_at(frame: Frame, row: float, column: float) -> dict[str, float]:
    """Of all fields of a loaded frame that a meteogram shows, between the grid's points."""
    names = ("t2", "td2", "rain", "u10", "v10", "cosine", "sine", "slp", "terrain")
    at = np.array(row), np.array(column)
    return {name: float(diagnostics.bilinear(frame.fields[name], *at)) for name in names if name in frame.fields}


def course(frames: Sequence[Frame], values: Sequence[Mapping[str, float]]) -> Course:
    """`values` at the place, of each of the frames."""

    def over_time(name: str) -> Array:
        return np.array([each[name] for each in values])

    u, v = over_time("u10"), over_time("v10")
    if all("cosine" in each for each in values):
        u, v = diagnostics.towards_east(u, v, over_time("cosine"), over_time("sine"))
    return Course(
        hours=np.array([(frame.valid - frames[0].valid).total_seconds() / 3600 for frame in frames]),
        temperature_c=over_time("t2"),
        dew_point_c=over_time("td2"),
        rain_mm=over_time("rain") if all("rain" in each for each in values) else None,
        east_ms=u,
        north_ms=v,
        pressure_hpa=over_time("slp"),
        terrain_m=values[0]["terrain"],
    )


def draw(place: Place, frames: Sequence[Frame], found: Course) -> Figure:
    figure = Figure(figsize=_SIZE, dpi=DPI)
    parts = figure.subplots(4, 1, sharex=True, gridspec_kw={"height_ratios": [1.3, 1, 1, 0.9], "hspace": 0.12})
    figure.subplots_adjust(left=0.105, right=0.9, top=0.885, bottom=0.085)
    times: Array = np.array(date2num([frame.valid for frame in frames]), np.float64)  # type: ignore[no-untyped-call]
    _temperature(parts[0], times, found)
    _rain(parts[1], times, found)
    _wind(parts[2], times, found, place)
    parts[3].plot(times, found.pressure_hpa, color=colours.BLUE, linewidth=1.6)
    parts[3].set_ylabel("pressure, hPa\nat sea level")
    parts[3].ticklabel_format(axis="y", useOffset=False)
    _room(parts[3], found.pressure_hpa, 4.0)
    for each in parts:
        each.grid(color="#d0d0d0", linewidth=0.5)
        each.set_axisbelow(True)
        each.yaxis.label.set_size(9)
        each.tick_params(labelsize=8.5)
    span = (times[-1] - times[0]) * 0.035
    parts[3].set_xlim(times[0] - span, times[-1] + span)
    locator = AutoDateLocator(minticks=4, maxticks=10)  # type: ignore[no-untyped-call]
    parts[3].xaxis.set_major_locator(locator)
    parts[3].xaxis.set_major_formatter(ConciseDateFormatter(locator, show_offset=False))  # type: ignore[no-untyped-call]
    last = frames[-1]
    figure.text(0.105, 0.962, place.shown, fontsize=13, fontweight="bold")
    when = f"start {last.start:%a %Y-%m-%d %H:%M} UTC, to {last.valid:%a %Y-%m-%d %H:%M} UTC {last.hours:+g} h"
    figure.text(0.105, 0.931, f"{when}; times in UTC", fontsize=9.5)
    source = f"{last.note} · domain {last.domain} · {spacing(last)} · the model's ground at {found.terrain_m:.0f} m"
    figure.text(0.105, 0.015, source, fontsize=8, color="#404040")
    return figure


def _temperature(axes: Axes, times: Array, found: Course) -> None:
    axes.plot(times, found.temperature_c, color=colours.RED, linewidth=1.8, label="temperature at 2 m")
    axes.plot(times, found.dew_point_c, color="#2e7d32", linewidth=1.3, linestyle="--", label="dew point at 2 m")
    both = np.concatenate([found.temperature_c, found.dew_point_c])
    _room(axes, both, 6.0)
    if both.min() < 0 < both.max():
        axes.axhline(0, color="#606060", linewidth=0.9)
    axes.set_ylabel("°C")
    axes.legend(fontsize=8, ncols=2, loc="lower right", bbox_to_anchor=(1, 1), frameon=False, borderaxespad=0.1)


def _rain(axes: Axes, times: Array, found: Course) -> None:
    axes.set_ylabel("rain, mm\n(bars: each step)")
    if found.rain_mm is None:
        axes.text(0.5, 0.5, "the files have no rain", transform=axes.transAxes, ha="center", fontsize=9)
        return
    steps = np.maximum(np.diff(found.rain_mm), 0)
    axes.bar(times[:-1], steps, np.diff(times) * 0.92, align="edge", color=_RAIN, alpha=0.75)
    axes.set_ylim(0, max(1.0, float(steps.max(initial=0)) * 1.15))
    total = axes.twinx()
    total.plot(times, found.rain_mm, color="#42217a", linewidth=1.5)
    total.set_ylim(0, max(1.0, float(found.rain_mm.max()) * 1.15))
    total.set_ylabel("since the start\n(line), mm", fontsize=9)
    total.tick_params(labelsize=8.5)


def _wind(axes: Axes, times: Array, found: Course, place: Place) -> None:
    speed = np.hypot(found.east_ms, found.north_ms)
    axes.plot(times, speed, color="#00695c", linewidth=1.5)
    top = max(5.0, float(speed.max()) * 1.9)  # the barbs have the upper part
    axes.set_ylim(0, top)
    every = max(1, round(len(times) / 26))
    here = slice(None, None, every)
    axes.barbs(
        times[here],
        np.full(len(times[here]), top * 0.78),
        found.east_ms[here] * KNOTS,
        found.north_ms[here] * KNOTS,
        length=5.6,
        linewidth=0.7,
        color="#202020",
        pivot="middle",
        flip_barb=place.lat < 0,
        sizes={"emptybarb": 0.12},
    )
    axes.set_ylabel("wind at 10 m, m/s\n(barbs: kn)")


def _room(axes: Axes, values: Array, least: float) -> None:
    """At least so much from bottom to top: what hardly changes is to look so."""
    low, high = float(values.min()), float(values.max())
    missing = max(0.0, least - (high - low)) / 2 + 0.06 * max(least, high - low)
    axes.set_ylim(low - missing, high + missing)
