"""What the program takes, said once for `hpcbatch wrf maps` and for the packed program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hpcbatch.maps.names import NAMES


@dataclass(frozen=True)
class Option:
    names: tuple[str, ...]
    variable: str
    help: str
    metavar: str = ""
    """"" of a flag."""
    default: str | None = None
    words: int = 1
    is_repeated: bool = False


FILES: Final = Option(("WRFOUT",), "files", "wrfout files, of one forecast", "WRFOUT")
OPTIONS: Final = (
    Option(("-o", "--output"), "output", "Directory for the maps.", "DIR", "maps"),
    Option(("--only",), "only", f"Maps to draw, with commas between: {', '.join(NAMES)}.", "NAMES"),
    Option(("--at",), "at", "A meteogram for a place; may be repeated.", "[NAME:]LAT,LON", is_repeated=True),
    Option(
        ("--section",),
        "section",
        "A vertical cross-section between two places, for each time; may be repeated.",
        "[NAME:]LAT,LON",
        words=2,
        is_repeated=True,
    ),
    Option(("--domain",), "domain", "Only of domain N.", "N"),
    Option(("--no-gif",), "no_gif", "No animations."),
    Option(("--no-page",), "no_page", "No page with all of it, forecast.html."),
)
