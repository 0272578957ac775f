"""One page with all of a forecast: no scripts, nothing fetched, fit for a keyboard and a screen reader."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Final
from urllib.parse import quote

from hpcbatch.maps.wrfout import Frame

_LARGEST: Final = 40 << 20
"""Bytes of all pictures together, up to which the page holds them."""
_STYLE: Final = """
:root { color-scheme: light dark; --line: #bbb; --soft: #f2f2f2; --link: #0b57a4 }
@media (prefers-color-scheme: dark) { :root { --line: #555; --soft: #222; --link: #8ec1ff } }
body { font: 16px/1.45 system-ui, sans-serif; margin: 0 auto; max-width: 72rem; padding: 0 1rem 4rem }
h1 { font-size: 1.5rem; margin-bottom: 0 }
a { color: var(--link) }
.table { overflow-x: auto }
table { border-collapse: collapse; font-size: .9rem }
th, td { border: 1px solid var(--line); padding: .25rem .5rem; text-align: center; white-space: nowrap }
th[scope=row] { text-align: left; font-weight: normal; position: sticky; left: 0; background: var(--soft) }
thead th { background: var(--soft); font-weight: 600 }
figure { margin: 1rem 0 2.5rem; scroll-margin-top: .5rem }
figure img { max-width: 100%; height: auto; background: #fff; border: 1px solid var(--line) }
figcaption { font-size: .9rem }
nav.near { font-size: .95rem; margin: .3rem 0 }
nav.near a, nav.near span { display: inline-block; min-width: 6.5rem; padding: .15rem 0 }
nav.near span { opacity: .5 }
h2 { margin-top: 2.5rem; border-top: 1px solid var(--line); padding-top: 1rem }
"""


@dataclass(frozen=True)
class Shown:
    """One picture on the page."""

    path: Path
    group: str
    """Of one name for all times of a map."""
    title: str
    domain: int
    frame: Frame | None
    """None: it is of all times."""
    text: str
    """For who does not see it."""
    size: tuple[int, int] = (0, 0)

    @property
    def anchor(self) -> str:
        return quote(self.path.stem)


def write(path: Path, shown: Sequence[Shown], series: Sequence[Sequence[Frame]]) -> bool:
    """False if the pictures are too large to be in the page: it shows those beside it."""
    is_whole = sum(each.path.stat().st_size for each in shown) <= _LARGEST
    first = series[0][0]
    last = max(frames[-1].valid for frames in series)
    title = f"Forecast from {first.start:%Y-%m-%d %H:%M} UTC"
    counts = f"{_count(len(series), 'domain')}, {_count(len(shown), 'picture')}"
    about = f"{first.note}; to {last:%a %Y-%m-%d %H:%M} UTC, {counts}."
    parts = [f"<h1>{title}</h1>\n<p>{escape(about)}</p>"]
    for frames in series:
        parts.append(
            _index(frames, [each for each in shown if each.frame is not None and each.domain == frames[0].domain])
        )
    over_time = [each for each in shown if each.frame is None]
    if over_time:
        links = "".join(f'<li><a href="#{each.anchor}">{escape(each.title)}</a></li>' for each in over_time)
        parts.append(f"<h2>Places</h2>\n<ul>{links}</ul>")
    groups: dict[tuple[int, str], list[Shown]] = {}
    for each in shown:
        groups.setdefault((each.domain if each.frame is not None else 0, each.group), []).append(each)
    for (domain, _), members in groups.items():
        heading = members[0].title if domain else "Meteograms"
        parts.append(f"<h2>{escape(heading)}{f', domain {domain}' if domain else ''}</h2>")
        parts += [_figure(members, index, is_whole=is_whole) for index in range(len(members))]
    head = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body id="top">\n<main>\n'
    )
    path.write_text(head + "\n".join(parts) + "\n</main>\n</body>\n</html>\n", "utf-8")
    return is_whole


def _index(frames: Sequence[Frame], shown: Sequence[Shown]) -> str:
    """Fields by times; a cell names the lead time."""
    titles: dict[str, str] = {}
    at: dict[tuple[str, object], Shown] = {}
    for each in shown:
        assert each.frame is not None  # noqa: S101  those of all times are not here
        titles.setdefault(each.group, each.title)
        at[each.group, each.frame.valid] = each
    times = [frame.valid for frame in frames]
    head = "".join(f'<th scope="col">{time:%a %d.}<br>{time:%H:%M}</th>' for time in times)
    rows = []
    for group, title in titles.items():
        cells = []
        for frame in frames:
            one = at.get((group, frame.valid))
            label = escape(f"{title}, {frame.valid:%a %d. %H:%M} UTC")
            link = "" if one is None else f'<a href="#{one.anchor}" aria-label="{label}">{frame.hours:+g} h</a>'
            cells.append(f"<td>{link}</td>")
        rows.append(f'<tr><th scope="row">{escape(title)}</th>{"".join(cells)}</tr>')
    grid = frames[0].grid
    about = f"Domain {frames[0].domain}: {grid.lat.shape[1]} × {grid.lat.shape[0]} points, {grid.dx_km:g} km"
    return (
        f'<h2>{escape(about)}</h2>\n<div class="table" tabindex="0" role="region" aria-label="{escape(about)}">'
        f'<table><thead><tr><th scope="col">valid, UTC</th>{head}</tr></thead>\n'
        f"<tbody>{chr(10).join(rows)}</tbody></table></div>"
    )


def _figure(members: Sequence[Shown], index: int, *, is_whole: bool) -> str:
    each = members[index]
    if is_whole:
        source = "data:image/png;base64," + base64.b64encode(each.path.read_bytes()).decode()
    else:
        source = quote(each.path.name)
    links = []
    if each.frame is not None:
        for step, word in ((-1, "← earlier"), (1, "later →")):
            near = index + step
            is_there = 0 <= near < len(members)
            links.append(f'<a href="#{members[near].anchor}">{word}</a>' if is_there else f"<span>{word}</span>")
    links.append('<a href="#top">all maps</a>')
    width, height = each.size
    caption = each.title if each.frame is None else f"{each.title}, valid {each.frame.valid:%a %Y-%m-%d %H:%M} UTC"
    return (
        f'<figure id="{each.anchor}">\n<nav class="near" aria-label="{escape(caption)}">{" ".join(links)}</nav>\n'
        f'<img src="{source}" width="{width}" height="{height}" loading="lazy" alt="{escape(each.text)}">\n'
        f"<figcaption>{escape(caption)}</figcaption>\n</figure>"
    )


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
