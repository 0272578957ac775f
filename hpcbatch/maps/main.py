"""The program: `python3 wrfmaps.pyz`, and what `hpcbatch wrf maps` does with what it was given."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hpcbatch.maps.errors import MapsError
from hpcbatch.maps.names import NAMES
from hpcbatch.maps.options import FILES, OPTIONS

NAME = "wrfmaps.pyz"
"""As users call the packed program."""
_PLACE = re.compile(r"(?:(?P<name>[^:]*):)?\s*(?P<lat>[-+]?[0-9.]+)\s*,\s*(?P<lon>[-+]?[0-9.]+)\s*")
_PACKAGES = {"numpy": "numpy", "matplotlib": "matplotlib", "netCDF4": "netCDF4", "PIL": "pillow"}


def run(given: Mapping[str, Any], tell: Callable[[str], None], complain: Callable[[str], None]) -> None:
    """`given` by the variables of `OPTIONS`. Raises MapsError."""
    from importlib import import_module

    for module, package in _PACKAGES.items():
        try:
            import_module(module)
        except ImportError:
            need = "it needs netCDF4, numpy, matplotlib and pillow (pip install 'hpcbatch[wrf]')"
            raise MapsError(f"{package} is not installed: {need}") from None
    from hpcbatch.maps.forecast import Wanted, draw_all

    wanted = Wanted(
        files=tuple(Path(file) for file in given["files"]),
        output=Path(given["output"]),
        products=_products(given["only"]),
        places=tuple(_place(text) for text in given["at"] or ()),
        sections=tuple((_place(first), _place(last)) for first, last in given["section"] or ()),
        domain=_domain(given["domain"]),
        is_animated=not given["no_gif"],
        has_page=not given["no_page"],
    )
    try:
        draw_all(wanted, tell, complain)
    except OSError as error:
        raise MapsError(f"{error.filename}: {error.strerror}" if error.filename else str(error)) from error


def _products(text: str | None) -> tuple[str, ...]:
    if text is None:
        return NAMES
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in names:
        if name not in NAMES:
            raise MapsError(f"--only: there is no map {name}: expected some of {', '.join(NAMES)}")
    return names


def _place(text: str) -> Any:
    from hpcbatch.maps.meteogram import Place

    match = _PLACE.fullmatch(text)
    try:
        lat, lon = (float(match[part]) for part in ("lat", "lon")) if match is not None else (float("nan"),) * 2
    except ValueError:
        lat = lon = float("nan")
    if match is None or not (-90 <= lat <= 90 and -360 <= lon <= 360):
        raise MapsError(f"{text!r} is no place: expected LAT,LON in degrees, or NAME:LAT,LON, such as Bern:46.95,7.45")
    return Place(name=(match["name"] or "").strip(), lat=lat, lon=lon)


def _domain(text: str | None) -> int | None:
    if text is None:
        return None
    if not re.fullmatch(r"[0-9]{1,3}", text):
        raise MapsError(f"--domain: expected a number, found {text!r}")
    return int(text)


def main(arguments: list[str] | None = None) -> None:
    """Prints the files it wrote. Exit code 1 and one line if something fails, 2 for a bad command line."""
    parser = argparse.ArgumentParser(prog=NAME, description="Maps, meteograms and cross-sections of wrfout files.")
    parser.add_argument(FILES.variable, metavar=FILES.metavar, nargs="+", help=FILES.help)
    for option in OPTIONS:
        shown = option.help.removesuffix(".")
        if not option.metavar:
            parser.add_argument(*option.names, dest=option.variable, action="store_true", help=shown)
            continue
        parser.add_argument(
            *option.names,
            dest=option.variable,
            metavar=option.metavar if option.words == 1 else (option.metavar,) * option.words,
            default=option.default,
            nargs=None if option.words == 1 else option.words,
            action="append" if option.is_repeated else "store",
            help=shown + (f" (default: {option.default})" if option.default else ""),
        )
    given = vars(parser.parse_args(_dashes(sys.argv[1:] if arguments is None else arguments)))
    try:
        run(given, lambda path: print(path, flush=True), lambda text: print(f"{NAME}: {text}", file=sys.stderr))
    except MapsError as error:
        sys.exit(f"{NAME}: {error}")


def _dashes(arguments: list[str]) -> list[str]:
    """A place in the south or west begins with `-`, which argparse would take for an option: it gets a blank first."""
    return [f" {word}" if re.match(r"-[0-9.]+,", word) else word for word in arguments]
