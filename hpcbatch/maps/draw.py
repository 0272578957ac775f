"""Draws one map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.patheffects import AbstractPathEffect, withStroke

from hpcbatch.maps import coast, colours, diagnostics
from hpcbatch.maps.diagnostics import KNOTS, Array
from hpcbatch.maps.grid import Grid
from hpcbatch.maps.picture import DPI
from hpcbatch.maps.products import Product
from hpcbatch.maps.wrfout import Frame

_LARGEST: Final = (7.6, 6.4)  # inches of the map itself
_LEFT, _ABOVE = 0.55, 0.62  # inches around it
_RIGHT: Final = {True: 0.95, False: 0.15}
"""With a bar of colours, and without."""
_BELOW: Final = {True: 0.68, False: 0.5}
"""With a legend, and without."""
_MOST_LINES: Final = 12
_HALO: Final[list[AbstractPathEffect]] = [withStroke(linewidth=2.2, foreground="white", alpha=0.85)]
_APART: Final = 0.42  # inches between barbs
_DEPTH: Final = 0.5  # of the lines' spacing: so deep is a high or low


Range = tuple[float, float]
"""Least and greatest value; NaN where there is none."""


@dataclass(frozen=True)
class Series:
    """What all times of a product and domain have in common, so that they can be compared."""

    product: Product
    shade_levels: tuple[float, ...]
    steps: tuple[float, ...]
    """Of each of the product's lines."""
    coasts: dict[str, list[Array]] | None


def series(product: Product, ranges: Sequence[Mapping[str, Range]], coasts: dict[str, list[Array]] | None) -> Series:
    """`ranges` of the fields of each time."""

    def of(name: str) -> list[Range]:
        return [each[name] for each in ranges if name in each]

    shade = product.shade
    at: tuple[float, ...] = ()
    if shade is not None:
        finite = [each for each in of(shade.field) if each[0] <= each[1]]
        low, high = min((each[0] for each in finite), default=np.nan), max((each[1] for each in finite), default=np.nan)
        at = shade.scale.within(low, high)
    return Series(
        product=product,
        shade_levels=at,
        steps=tuple(interval(of(each.field), each.steps) for each in product.lines),
        coasts=coasts,
    )


def interval(ranges: Sequence[Range], choices: Sequence[float]) -> float:
    """The smallest of `choices` that draws at most twelve lines through the widest of `ranges`."""
    widest = max((high - low for low, high in ranges if low <= high), default=0.0)
    return next((step for step in choices if widest / step <= _MOST_LINES), choices[-1])


def levels(field: Array, step: float) -> Array:
    """Multiples of `step` within the field."""
    if not np.isfinite(field).any():
        return np.array([])
    return np.arange(np.ceil(np.nanmin(field) / step), np.floor(np.nanmax(field) / step) + 1) * step


def draw(frame: Frame, common: Series) -> Figure:
    product, grid = common.product, frame.grid
    legend = _legend(common, frame)
    figure, axes = _figure(grid, has_bar=product.shade is not None, has_legend=bool(legend))
    tints = ListedColormap([colours.SEA, colours.LAND])
    is_land = frame.fields["land"] > 0.5
    axes.pcolormesh(grid.x, grid.y, is_land, cmap=tints, vmin=0, vmax=1, shading="nearest", zorder=0)
    fields = frame.fields
    if product.shade is not None:
        _shade(figure, axes, fields[product.shade.field], common, grid)
    if product.has_terrain:
        _contours(axes, grid, fields["terrain"], np.arange(250.0, 9000, 250), ("#7a5230", 0.4), is_labelled=False)
    _coasts(axes, grid, fields["land"], common.coasts)
    _graticule(axes, grid)
    marks: list[tuple[float, float]] = []
    for each, step in zip(product.lines, common.steps, strict=True):
        field = fields[each.field]
        _contours(axes, grid, field, levels(field, step), (each.colour, each.width))
        if each.is_marked:
            marks += _mark(axes, grid, field, _DEPTH * step)
    if product.barbs is not None:
        u, v = (fields[name] for name in product.barbs)
        _barbs(axes, grid, u, v, marks)
    _texts(figure, axes, frame, common, legend)
    return figure


def _figure(grid: Grid, *, has_bar: bool, has_legend: bool) -> tuple[Figure, Axes]:
    """The map fills its figure, whatever its shape."""
    wide, high = float(grid.x[-1]), float(grid.y[-1])
    scale = min(_LARGEST[0] / wide, _LARGEST[1] / high)
    width, height = max(wide * scale, 3.6), max(high * scale, 1.2)
    below = _BELOW[has_legend]
    total = (width + _LEFT + _RIGHT[has_bar], height + below + _ABOVE)
    figure = Figure(figsize=total, dpi=DPI)
    axes = figure.add_axes((_LEFT / total[0], below / total[1], width / total[0], height / total[1]))
    axes.set_xlim(0, wide)
    axes.set_ylim(0, high)
    axes.set_aspect("equal")
    return figure, axes


def _shade(figure: Figure, axes: Axes, field: Array, common: Series, grid: Grid) -> None:
    shade = common.product.shade
    assert shade is not None  # noqa: S101  the caller looked
    if np.isnan(field).any():  # the shading covers the rest of it
        axes.add_patch(Rectangle((0, 0), grid.x[-1], grid.y[-1], color=colours.GROUND, linewidth=0, zorder=0.5))
    colour_map, norm = shade.scale.drawn()
    shown = axes.contourf(
        grid.x,
        grid.y,
        field,
        common.shade_levels,
        cmap=colour_map,
        norm=norm,
        extend=_extend(field, common.shade_levels, is_open=shade.scale.is_open),
        zorder=1,
    )
    box = axes.get_position()
    inch = 1 / figure.get_figwidth()
    bar = figure.colorbar(shown, cax=figure.add_axes((box.x1 + 0.12 * inch, box.y0, 0.17 * inch, box.height)))
    every = max(1, round(len(common.shade_levels) / 14))
    bar.set_ticks(list(common.shade_levels[::every]))
    bar.ax.set_yticklabels([f"{level:g}" for level in common.shade_levels[::every]])
    bar.ax.tick_params(labelsize=8, length=2)
    bar.ax.minorticks_off()
    bar.set_label(shade.label, fontsize=8.5)


def _extend(field: Array, at: Sequence[float], *, is_open: bool) -> Any:
    """Whether values lie beyond the scale; what is below a scale that is not open stays free."""
    is_above, is_below = (
        bool(np.nanmax(field, initial=-np.inf) > at[-1]),
        bool(np.nanmin(field, initial=np.inf) < at[0]),
    )
    if is_open and is_below:
        return "both" if is_above else "min"
    return "max" if is_above else "neither"


def _coasts(axes: Axes, grid: Grid, land: Array, found: dict[str, list[Array]] | None) -> None:
    if found is None:
        if 0 < land.mean() < 1:
            axes.contour(grid.x, grid.y, land, [0.5], colors="black", linewidths=1.0, zorder=2)
        return
    for name, colour, width, style in (
        ("lake", "#303030", 0.5, "-"),
        ("border", "#303030", 0.6, (0, (5, 2))),
        ("coast", "black", 0.9, "-"),
    ):
        axes.add_collection(
            LineCollection(found[name], colors=colour, linewidths=width, linestyles=[style], zorder=2), autolim=False
        )


def _contours(
    axes: Axes, grid: Grid, field: Array, at: Array, line: tuple[str, float], *, is_labelled: bool = True
) -> None:
    if not len(at):
        return
    colour, width = line
    drawn = axes.contour(grid.x, grid.y, field, at, colors=colour, linewidths=width, linestyles="-", zorder=3)
    if is_labelled:
        margin = 0.14 * _km_of_an_inch(axes)
        for text in axes.clabel(drawn, fmt="%g", fontsize=8.5, inline_spacing=4, zorder=5):
            x, y = text.get_position()
            if not (margin < x < grid.x[-1] - margin and margin < y < grid.y[-1] - margin):
                text.set_visible(False)  # the edge would cut it
            text.set_path_effects(_HALO)


def _mark(axes: Axes, grid: Grid, field: Array, depth: float) -> list[tuple[float, float]]:
    """Highs and lows; places in km. Of two whose letters would meet the deeper one stays."""
    flat = diagnostics.smoothed(field, 4)
    inch = _km_of_an_inch(axes)
    found: list[tuple[float, float]] = []
    for sign, letter, colour in ((1, "H", colours.BLUE), (-1, "L", colours.RED)):
        for row, column in diagnostics.extrema(flat, depth, sign=sign):
            x, y = float(grid.x[column]), float(grid.y[row])
            if any(np.hypot(x - a, y - b) < 0.45 * inch for a, b in found):
                continue
            found.append((x, y))
            style: dict[str, Any] = {"color": colour, "ha": "center", "zorder": 6, "path_effects": _HALO}
            axes.text(x, y, letter, fontsize=17, fontweight="bold", va="center", clip_on=True, **style)
            below = y > 0.35 * inch
            axes.text(
                x,
                y + (-0.13 if below else 0.13) * inch,
                f"{field[row, column]:.0f}",
                fontsize=9,
                fontweight="bold",
                va="top" if below else "bottom",
                **style,
            )
    return found


def _km_of_an_inch(axes: Axes) -> float:
    box = axes.get_position()
    figure = axes.get_figure()
    assert figure is not None  # noqa: S101  it is drawn in one
    return float(axes.get_xlim()[1] / (box.width * figure.get_size_inches()[0]))  # type: ignore[union-attr]


def _barbs(axes: Axes, grid: Grid, u: Array, v: Array, marks: list[tuple[float, float]]) -> None:
    """So far from the edge that none is cut, and none below the letter of a high or low."""
    inch = _km_of_an_inch(axes)
    apart = _APART * inch
    rows = _spread(grid.lat.shape[0], grid.dy_km, apart, 0.3 * inch)
    columns = _spread(grid.lat.shape[1], grid.dx_km, apart, 0.3 * inch)
    here = np.ix_(rows, columns)
    x, y = np.meshgrid(grid.x[columns], grid.y[rows])
    free = np.ones(x.shape, dtype=bool)
    for a, b in marks:
        free &= np.hypot(x - a, y - b) > 0.3 * inch
    free &= np.isfinite(u[here]) & np.isfinite(v[here])
    if free.any():
        axes.barbs(
            x[free],
            y[free],
            u[here][free] * KNOTS,
            v[here][free] * KNOTS,
            length=5.2,
            linewidth=0.6,
            color="#202020",
            flip_barb=grid.lat[here][free] < 0,  # in the south the feathers stand on the other side
            sizes={"emptybarb": 0.12},
            zorder=4,
        )


def _spread(count: int, spacing_km: float, apart_km: float, margin_km: float) -> Any:
    """Indices of points `apart_km` apart, the same margin on both sides."""
    every = max(1, round(apart_km / spacing_km))
    first = min(count // 2, int(np.ceil(margin_km / spacing_km)))
    inside = count - 2 * first
    rest = (max(1, inside) - 1) % every
    return np.arange(first + rest // 2, max(first + 1, count - first), every)


def _legend(common: Series, frame: Frame) -> str:
    product = common.product
    parts = []
    for each, step in zip(product.lines, common.steps, strict=True):
        has_any = len(levels(frame.fields[each.field], step))
        parts.append(each.label.format(step=f"{step:g}") + ("" if has_any else ": none on this map"))
    if product.barbs is not None:
        parts.append(f"{product.barbs_label}: half barb 5, barb 10, pennant 50")
    if product.has_terrain:
        parts.append("terrain every 250 m (brown)")
    return "; ".join(parts)


def _texts(figure: Figure, axes: Axes, frame: Frame, common: Series, legend: str) -> None:
    box = axes.get_position()
    height = figure.get_figheight()
    figure.text(box.x0, box.y1 + 0.33 / height, headline(common.product, frame), fontsize=13, fontweight="bold")
    figure.text(box.x0, box.y1 + 0.11 / height, when(frame), fontsize=9.5)
    source = f"{frame.note} · domain {frame.domain} · {spacing(frame)}"
    if common.coasts is not None:
        source += f" · {coast.CREDIT}"
    figure.text(box.x0, 0.28 / height, legend, fontsize=8)
    figure.text(box.x0, 0.09 / height, source, fontsize=8, color="#404040")


def headline(product: Product, frame: Frame) -> str:
    return product.title.format(hours=duration(frame.rain_hours))


def when(frame: Frame) -> str:
    return f"valid {frame.valid:%a %Y-%m-%d %H:%M} UTC = start {frame.start:%Y-%m-%d %H:%M} UTC {frame.hours:+g} h"


_WORDS: Final = {
    "slp": ("pressure at sea level", "hPa"),
    "rain": ("rain", "mm"),
    "rain1h": ("rain", "mm"),
    "t2": ("temperature", "°C"),
    "wind10": ("wind", "m/s"),
    "rh2": ("relative humidity", "%"),
}
_WORDS_ALOFT: Final = {"z": ("height", "dam"), "t": ("temperature", "°C"), "rh": ("relative humidity", "%")}


def words(name: str) -> tuple[str, str]:
    """A field's name and unit in words."""
    return _WORDS.get(name) or _WORDS_ALOFT[name.rstrip("0123456789")]


def range_of(field: Array) -> Range:
    """NaN where all of it lies below the ground."""
    finite = field[np.isfinite(field)]
    return (float(finite.min()), float(finite.max())) if finite.size else (np.nan, np.nan)


def duration(hours: float) -> str:
    return f"{hours:g} h" if hours >= 1 or not hours else f"{hours * 60:.0f} min"


def spacing(frame: Frame) -> str:
    dx, dy = (f"{km:.3g}" for km in (frame.grid.dx_km, frame.grid.dy_km))
    return f"{dx} km" if dx == dy else f"{dx} × {dy} km"


def _graticule(axes: Axes, grid: Grid) -> None:
    """Meridians and parallels as thin dotted lines, their degrees where they leave the map below and on the left."""
    lon = grid.lon % 360 if np.ptp(grid.lon) > 180 else grid.lon  # across the date line
    for field, edge, is_longitude in ((lon, lon[0], True), (grid.lat, grid.lat[:, 0], False)):
        at = levels(field, interval([range_of(field)], (0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 20)))
        if len(at):
            axes.contour(grid.x, grid.y, field, at, colors="#505050", linewidths=0.4, linestyles=":", zorder=2)
        along, axis = (grid.x, axes.xaxis) if is_longitude else (grid.y, axes.yaxis)
        found = [(place, value) for value in at for place in crossings(along, edge - value)]
        axis.set_ticks([place for place, _ in found], [degrees(value, is_longitude) for _, value in found])
    axes.tick_params(length=0, labelsize=8, labelcolor="#404040")


def crossings(places: Array, values: Array) -> list[float]:
    """Where `values`, at `places`, go through zero."""
    here = np.nonzero(np.signbit(values[1:]) != np.signbit(values[:-1]))[0]
    part = values[here] / (values[here] - values[here + 1])
    return [float(place) for place in places[here] + part * (places[here + 1] - places[here])]


def degrees(value: float, is_longitude: bool) -> str:
    value = (value + 180) % 360 - 180 if is_longitude else value
    side = ("EW" if is_longitude else "NS")[int(value < 0)] if value else ""
    return f"{abs(value):g}°{side}"
