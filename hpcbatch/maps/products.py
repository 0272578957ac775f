"""Which maps there are, and what is on each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hpcbatch.maps import colours
from hpcbatch.maps.colours import Scale


@dataclass(frozen=True)
class Shade:
    field: str
    label: str
    scale: Scale


@dataclass(frozen=True)
class Lines:
    field: str
    label: str
    """What they are and their unit, `{step}` for their spacing."""
    steps: tuple[float, ...]
    """Spacings; the smallest that is not too dense is taken, the same for all times."""
    colour: str
    width: float = 1.3
    is_marked: bool = False
    """Its highs and lows have their letter and value."""


@dataclass(frozen=True)
class Product:
    name: str
    """Of its files."""
    title: str
    shade: Shade | None = None
    lines: tuple[Lines, ...] = ()
    barbs: tuple[str, str] | None = None
    barbs_label: str = ""
    has_terrain: bool = False

    @property
    def fields(self) -> tuple[str, ...]:
        shaded = (self.shade.field,) if self.shade is not None else ()
        return (*shaded, *(each.field for each in self.lines), *(self.barbs or ()))


_PRESSURE: Final = Lines(
    "slp",
    "pressure at sea level every {step} hPa (blue)",
    (0.5, 1, 2, 4, 5),
    colours.BLUE,
    is_marked=True,
)
_SURFACE_WIND: Final = ("u10", "v10")
_AT_10_M: Final = "wind at 10 m (kn)"

PRODUCTS: Final = (
    Product("slp", "Pressure at sea level (hPa)", lines=(_PRESSURE,), barbs=_SURFACE_WIND, barbs_label=_AT_10_M),
    Product("rain", "Rain since the start (mm)", Shade("rain", "mm", colours.RAIN)),
    Product("rain1h", "Rain in {hours} (mm)", Shade("rain1h", "mm", colours.RAIN_HOUR)),
    Product(
        "t2m",
        "Temperature at 2 m (°C)",
        Shade("t2", "°C", colours.TEMPERATURE),
        (Lines("t2", "0 °C (dark)", (1000,), "#303030", 1.6),),
    ),
    Product(
        "wind10m",
        "Wind at 10 m (m/s)",
        Shade("wind10", "m/s", colours.WIND),
        barbs=_SURFACE_WIND,
        barbs_label=_AT_10_M,
    ),
    Product(
        "850hPa",
        "850 hPa: temperature (°C), height (dam)",
        Shade("t850", "°C", colours.TEMPERATURE),
        (Lines("z850", "height every {step} dam (blue)", (1, 2, 4), colours.BLUE),),
        ("u850", "v850"),
        "wind (kn)",
    ),
    Product(
        "500hPa",
        "500 hPa: relative humidity (%), height (dam)",
        Shade("rh500", "relative humidity, %", colours.HUMIDITY),
        (Lines("z500", "height every {step} dam (blue)", (1, 2, 4, 8), colours.BLUE),),
        ("u500", "v500"),
        "wind (kn)",
    ),
    Product(
        "ground",
        "Near the ground: relative humidity at 2 m (%), pressure (hPa)",
        Shade("rh2", "relative humidity at 2 m, %", colours.HUMIDITY),
        (_PRESSURE,),
        _SURFACE_WIND,
        _AT_10_M,
        has_terrain=True,
    ),
)
BY_NAME: Final = {product.name: product for product in PRODUCTS}
