"""The names of all maps, for those who must not wait for matplotlib."""

from __future__ import annotations

from typing import Final

NAMES: Final = ("slp", "rain", "rain1h", "t2m", "wind10m", "850hPa", "500hPa", "ground")
PAGE: Final = "forecast.html"
"""All of a forecast, beside its maps."""
