"""All pictures of a forecast: which there are, the page that shows them, and what is said of what cannot be drawn."""

from __future__ import annotations

import gc
import re
import weakref
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

for _name in ("netCDF4", "matplotlib", "PIL"):
    pytest.importorskip(_name, reason=f"{_name} is not installed (pip install 'hpcbatch[wrf]')")

import numpy as np  # noqa: E402
from PIL import Image  # noqa: E402

from hpcbatch.maps import draw, meteogram, page, section  # noqa: E402
from hpcbatch.maps.errors import MapsError  # noqa: E402
from hpcbatch.maps.main import run  # noqa: E402
from hpcbatch.maps.names import NAMES, PAGE  # noqa: E402
from hpcbatch.maps.options import OPTIONS  # noqa: E402
from hpcbatch.maps.products import PRODUCTS  # noqa: E402
from hpcbatch.maps.wrfout import Frame, load, read  # noqa: E402
from tests.unit.maps.synthetic import PROJECTIONS, START, write  # noqa: E402


def drawn(folder: Path, *files: Path, **given: Any) -> tuple[list[str], list[str]]:
    """What was written, by its name, and what was said."""
    written: list[str] = []
    said: list[str] = []
    nothing: Mapping[str, Any] = {option.variable: None for option in OPTIONS}
    run({**nothing, "files": files, "output": folder / "maps", **given}, written.append, said.append)
    return [Path(path).name for path in written], said


def ranges_of(frame: Frame) -> dict[str, draw.Range]:
    return {name: draw.range_of(values) for name, values in frame.fields.items()}


class Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.images: list[dict[str, str]] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.tags.add(tag)
        self.ids += [given["id"]] if "id" in given else []
        if tag == "a":
            self.targets.append(given["href"])
        if tag == "img":
            self.images.append(given)


def read_page(path: Path) -> Links:
    links = Links()
    links.feed(path.read_text())
    return links


def test_every_product_has_a_name_and_fields_of_a_frame(tmp_path: Path) -> None:
    assert tuple(product.name for product in PRODUCTS) == NAMES
    (frame,) = map(load, read(write(tmp_path / "wrfout_d01")))
    for product in PRODUCTS:
        for name in product.fields:
            assert name in {*frame.fields, "rain1h"}
            assert name[0] in "uv" or draw.words(name)


@pytest.fixture(scope="module")
def forecast(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    folder = tmp_path_factory.mktemp("forecast")
    outer = write(folder / "wrfout_d01", hours=(0, 1))
    inner = write(folder / "wrfout_d02", dx_m=4e3, domain=2)
    written, said = drawn(
        folder, outer, inner, only="slp,rain1h", at=["Bern:46.95,10.2"], section=[("Uri<b>:47.1,10", "46,8")]
    )
    assert all("no map rain1h of domain 2: it needs two times" in line or "coasts" in line for line in said), said
    return folder / "maps", written


def test_maps_of_all_times_and_domains(forecast: tuple[Path, list[str]]) -> None:
    folder, written = forecast
    assert sorted(written) == sorted(
        [
            "slp_d01_2024-01-15_000000.png",
            "slp_d01_2024-01-15_010000.png",
            "slp_d01.gif",
            "rain1h_d01_2024-01-15_010000.png",
            "slp_d02_2024-01-15_000000.png",
            "meteogram_Bern_d01.png",
            "section_Uri-b-_46_8_d01_2024-01-15_000000.png",
            "section_Uri-b-_46_8_d01_2024-01-15_010000.png",
            "section_Uri-b-_46_8_d01.gif",
            PAGE,
        ]
    )
    assert written[-1] == PAGE
    assert sorted(path.name for path in folder.iterdir()) == sorted(written)
    with Image.open(folder / "slp_d01.gif") as film, Image.open(folder / "slp_d01_2024-01-15_000000.png") as still:
        assert film.n_frames == 2  # type: ignore[attr-defined]
        assert film.size == still.size


def test_the_page_stands_alone(forecast: tuple[Path, list[str]]) -> None:
    folder, written = forecast
    text = (folder / PAGE).read_text()
    found = read_page(folder / PAGE)
    assert "script" not in found.tags
    assert not re.search(r"https?://", text)
    assert "<b>" not in text
    pictures = [Path(name).stem for name in written if name.endswith(".png")]
    assert sorted(unquote(each) for each in found.ids if each != "top") == sorted(pictures)
    assert len(set(found.ids)) == len(found.ids)
    assert {target.removeprefix("#") for target in found.targets} <= set(found.ids)
    assert {unquote(target.removeprefix("#")) for target in found.targets} >= set(pictures)
    for image in found.images:
        assert image["src"].startswith("data:image/png;base64,")
        assert len(image["alt"]) > 40
    assert any("pressure at sea level from 990." in image["alt"] or "from 99" in image["alt"] for image in found.images)


def test_a_page_of_many_pictures_shows_those_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "_LARGEST", 1000)
    _, said = drawn(tmp_path, write(tmp_path / "wrfout_d01"), only="slp")
    assert any("too large for one file" in line for line in said)
    (image,) = read_page(tmp_path / "maps" / PAGE).images
    assert (tmp_path / "maps" / unquote(image["src"])).is_file()


def test_what_is_left_out_is_left_out(tmp_path: Path) -> None:
    file = write(tmp_path / "wrfout_d01", hours=(0, 1), without=("RAINC",))
    written, said = drawn(tmp_path, file, only="rain,t2m", no_gif=True, no_page=True)
    assert written == ["t2m_d01_2024-01-15_000000.png", "t2m_d01_2024-01-15_010000.png"]
    assert "no map rain of domain 1: the files have no RAINC" in said


@pytest.mark.parametrize("name", PROJECTIONS)
def test_the_map_fills_its_picture(tmp_path: Path, name: str) -> None:
    """No band is empty: above, below or beside."""
    (frame,) = map(load, read(write(tmp_path / "wrfout_d01", PROJECTIONS[name])))
    product = next(each for each in PRODUCTS if each.name == "850hPa")
    figure = draw.draw(frame, draw.series(product, [ranges_of(frame)], None))
    axes = figure.axes[0]
    axes.apply_aspect()
    box = axes.get_position()
    wide, high = figure.get_size_inches()
    inches = (box.x0 * wide, box.y0 * high, (1 - box.x1) * wide, (1 - box.y1) * high)
    assert inches == pytest.approx((0.55, 0.68, 0.95, 0.62), abs=0.01)


@pytest.mark.parametrize(("warmer_k", "says"), [(0, "0 °C (dark)"), (60, "0 °C (dark): none on this map")])
def test_a_line_that_is_not_there_is_not_promised(tmp_path: Path, warmer_k: float, says: str) -> None:
    (frame,) = map(load, read(write(tmp_path / "wrfout_d01")))
    fields = {**frame.fields, "t2": frame.fields["t2"] - frame.fields["t2"].mean() + warmer_k}
    frame = replace(frame, fields=fields)
    product = next(each for each in PRODUCTS if each.name == "t2m")
    figure = draw.draw(frame, draw.series(product, [ranges_of(frame)], None))
    assert says in [text.get_text() for text in figure.texts]


def test_barbs_of_a_section_do_not_touch(tmp_path: Path) -> None:
    (frame,) = map(load, read(write(tmp_path / "wrfout_d01")))
    ends = (meteogram.Place("west", 47, 8), meteogram.Place("east", 47, 12))
    rows, columns = frame.grid.lat.shape
    figure = section.draw(frame, ends, section.cut(frame, (rows / 2, 2), (rows / 2, columns - 3)))
    axes = figure.axes[0]
    (barbs,) = [each for each in axes.collections if type(each).__name__ == "Barbs"]
    levels = sorted(set(np.asarray(barbs.get_offsets())[:, 1]))
    places = (axes.transScale + axes.transLimits).transform([(0, level) for level in levels])[:, 1]
    inches = places * axes.get_position().height * figure.get_figheight()
    assert len(levels) > 3
    assert np.abs(np.diff(inches)).min() > 0.23


def test_barbs_and_letters_are_inside(tmp_path: Path) -> None:
    (frame,) = map(load, read(write(tmp_path / "wrfout_d01")))
    product = next(each for each in PRODUCTS if each.name == "slp")
    figure = draw.draw(frame, draw.series(product, [ranges_of(frame)], None))
    axes = figure.axes[0]
    (barbs,) = [each for each in axes.collections if type(each).__name__ == "Barbs"]
    x, y = np.asarray(barbs.get_offsets()).T
    inch = frame.grid.x[-1] / (axes.get_position().width * figure.get_figwidth())
    for places, end in ((x, frame.grid.x[-1]), (y, frame.grid.y[-1])):
        assert places.min() >= 0.29 * inch
        assert places.max() <= end - 0.29 * inch
    letters = {text.get_text(): text.get_position() for text in axes.texts if text.get_text() in "HL"}
    assert letters.keys() == {"H", "L"}
    values = [text.get_text() for text in axes.texts if text.get_text().isdigit() and len(text.get_text()) > 2]
    assert {"1030", "990"} <= set(values)
    for a, b in letters.values():
        assert np.hypot(x - a, y - b).min() > 0.25 * inch


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"only": "slp,fog"}, "--only: there is no map fog: expected some of slp, rain"),
        ({"at": ["Bern"]}, "'Bern' is no place: expected LAT,LON"),
        ({"at": ["95,10"]}, "'95,10' is no place"),
        ({"at": ["1.2.3,10"]}, "'1.2.3,10' is no place"),
        ({"at": ["Rome:41.9,12.5"]}, "Rome, 41.9°N 12.5°E is outside all domains of the files"),
        ({"at": ["47,10"]}, "a meteogram needs two times of domain 1, and there is one"),
        ({"section": [("47,10", "-41,12")]}, "41°S 12°E is outside all domains"),
        ({"section": [("47,10", "47.01,10")]}, "shorter than two cells"),
        ({"domain": "two"}, "--domain: expected a number, found 'two'"),
        ({"domain": "2"}, "none of the files is of domain 2"),
    ],
)
def test_what_is_wrong_with_a_request_is_one_line(tmp_path: Path, given: dict[str, Any], text: str) -> None:
    file = write(tmp_path / "wrfout_d01")
    with pytest.raises(MapsError) as caught:
        drawn(tmp_path, file, **given)
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "maps").exists()


def test_places_in_a_nest_that_moves(tmp_path: Path) -> None:
    import netCDF4

    path = write(tmp_path / "wrfout_d02", hours=(0, 1), domain=2)
    with netCDF4.Dataset(path, "a") as file:
        file["XLAT"][1] = file["XLAT"][0] + 1
    with pytest.raises(MapsError, match="is outside all domains of the files; domain 2 moves, so it is left out"):
        drawn(tmp_path, path, at=["47,10"])


def test_two_forecasts_are_not_mixed(tmp_path: Path) -> None:
    files = [write(tmp_path / f"a{day}", start=START + timedelta(days=day)) for day in (0, 1)]
    with pytest.raises(MapsError, match="several forecasts, which start at 2024-01-15_00:00, 2024-01-16_00:00"):
        drawn(tmp_path, *files)


@pytest.mark.slow
def test_a_forecast_takes_no_more_memory_than_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fields are loaded twice, and those of one time at once."""
    alive: list[weakref.ref[Any]] = []
    most = []

    def counted(frame: Frame) -> Frame:
        gc.collect()
        most.append(sum(ref() is not None for ref in alive))
        found = load(frame)
        alive.append(weakref.ref(found.fields["slp"]))
        return found

    monkeypatch.setattr("hpcbatch.maps.forecast.load", counted)
    drawn(tmp_path, write(tmp_path / "wrfout_d01", hours=(0, 1, 2)), only="rain1h", no_gif=True, no_page=True)
    assert len(most) == 6
    assert max(most) <= 1
