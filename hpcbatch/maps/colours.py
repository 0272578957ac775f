"""Colour scales. A value has the same colour in every forecast, and darkness grows with it on each side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from matplotlib.colors import BoundaryNorm, Colormap, LinearSegmentedColormap

LAND: Final = "#f3efe4"
SEA: Final = "#dfe9f1"
_MOST_COLOURS: Final = 16
GROUND: Final = "#b9b2a6"
"""Where a level lies below it."""
BLUE: Final = "#1a237e"
RED: Final = "#b71c1c"


@dataclass(frozen=True)
class Scale:
    """`levels` are the edges of the colours; below the first one nothing is drawn unless `is_open`."""

    levels: tuple[float, ...]
    colours: tuple[tuple[float, str], ...]
    """Anchors: a value and its colour, linear between them by number of level."""
    is_open: bool = False
    """Values below the first level have its colour, and a series has as many of the levels as it needs."""

    def within(self, low: float, high: float) -> tuple[float, ...]:
        """The levels that a series with these values needs; of NaN all of them."""
        if not self.is_open or not low <= high:
            return self.levels
        first = max(0, int(np.searchsorted(self.levels, low, "right")) - 1)
        last = min(len(self.levels) - 1, max(first + 1, int(np.searchsorted(self.levels, high, "left"))))
        every = next((n for n in (1, 2, 5) if (last - first) / n <= _MOST_COLOURS), 5)
        first -= first % every
        last = min(len(self.levels) - 1, first + -(-(last - first) // every) * every)
        return self.levels[first : last + 1 : every]

    def drawn(self) -> tuple[Colormap, BoundaryNorm]:
        """Whatever levels are drawn, a value's colour is that of the whole scale."""
        positions = np.interp([value for value, _ in self.colours], self.levels, np.arange(len(self.levels)))
        span = len(self.levels) - 1
        anchors = [(float(at / span), colour) for at, (_, colour) in zip(positions, self.colours, strict=True)]
        colours = LinearSegmentedColormap.from_list("scale", anchors, N=max(256, span * 4))
        ends = {"over": anchors[-1][1], "under": anchors[0][1]}
        return colours.resampled(span).with_extremes(**ends), BoundaryNorm(self.levels, span)


def _evenly(levels: Sequence[float], *colours: str) -> tuple[tuple[float, str], ...]:
    """The colours over all levels, at equal numbers of them apart."""
    at = np.interp(np.linspace(0, len(levels) - 1, len(colours)), np.arange(len(levels)), levels)
    return tuple((float(value), colour) for value, colour in zip(at, colours, strict=True))


_TEMPERATURES = tuple(float(value) for value in range(-40, 46))
TEMPERATURE: Final = Scale(
    levels=_TEMPERATURES,
    colours=(
        (-40, "#3b0f52"),
        (-28, "#4a2f8f"),
        (-18, "#2f5fb0"),
        (-10, "#5a9fd0"),
        (-0.5, "#d3e9f3"),
        (0.5, "#e6f3d9"),
        (6, "#9fd084"),
        (12, "#f3e37c"),
        (18, "#f4b455"),
        (25, "#e66b3d"),
        (32, "#b5232f"),
        (39, "#6a0d26"),
        (45, "#3d0617"),
    ),
    is_open=True,
)
_RAIN_COLOURS = ("#dff1f7", "#a9d9ea", "#67b7dc", "#348fc6", "#2367ac", "#27408f", "#42217a", "#64146a", "#8a0f55")
_RAIN = (0.1, 1, 2, 5, 10, 15, 20, 30, 40, 50, 75, 100, 150, 200, 300)
RAIN: Final = Scale(levels=_RAIN, colours=_evenly(_RAIN, *_RAIN_COLOURS))
_RAIN_HOUR = (0.1, 0.2, 0.5, 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 75)
RAIN_HOUR: Final = Scale(levels=_RAIN_HOUR, colours=_evenly(_RAIN_HOUR, *_RAIN_COLOURS))
_WIND = (2.0, 4, 6, 8, 10, 12, 14, 17, 20, 24, 28, 32, 40)
WIND: Final = Scale(
    levels=_WIND,
    colours=_evenly(_WIND, "#eef5ea", "#c5e3bb", "#8cc98f", "#f2d16b", "#ee9a4d", "#d9553f", "#a0265a", "#5a1a5e"),
)
_HUMIDITY = tuple(float(value) for value in range(0, 101, 10))
HUMIDITY: Final = Scale(
    levels=_HUMIDITY,
    colours=_evenly(_HUMIDITY, "#8c6d46", "#cdb98f", "#f3efe2", "#d3e6c9", "#8cc58f", "#3f9b76", "#1f6d8c"),
)
