"""Charts as SVG, drawn here: nothing runs in the browser for them. Colours come from the style sheet, by classes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from markupsafe import Markup

_WIDTH, _HEIGHT = 720, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 12, 14, 30
_TICKS = 4
_LABELS = 8
"""So many labels below a chart can be read."""

Write = Callable[[float], str]
"""An amount as the axis shows it."""


class Series(NamedTuple):
    """Of one colour. In a bar chart those that follow each other are stacked."""

    name: str
    kind: str
    """Class in the style sheet."""
    values: Sequence[float]


class Chart(NamedTuple):
    title: str
    svg: Markup
    series: Sequence[Series]
    labels: Sequence[str]
    write: Write

    @property
    def rows(self) -> list[tuple[str, list[str]]]:
        """The same as a table, for who does not see it."""
        return [
            (label, [self.write(one.values[place]) for one in self.series]) for place, label in enumerate(self.labels)
        ]


def step_of(most: float) -> float:
    """A round number, of which a few reach `most`."""
    if most <= 0:
        return 1.0
    raw = most / _TICKS
    power = 10.0 ** math.floor(math.log10(raw))
    return next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= raw * 0.999)


def binary_step_of(most: float) -> float:
    """The same for bytes."""
    if most < 1024:
        return step_of(most)
    unit = 1024.0 ** math.floor(math.log(most, 1024))
    return step_of(most / unit) * unit


def counting_step_of(most: float) -> float:
    """The same for what comes in whole numbers."""
    return max(1.0, math.ceil(step_of(most)))


def time_step_of(most: float) -> float:
    """The same for seconds."""
    steps = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200)
    return next((float(one) for one in steps if one * _TICKS >= most), step_of(most / 86400) * 86400)


def bars(
    title: str,
    labels: Sequence[str],
    series: Sequence[Series],
    write: Write,
    step_for: Callable[[float], float] = step_of,
) -> Chart:
    """A bar for each label, the series on top of each other."""
    sums = [sum(one.values[place] for one in series) for place in range(len(labels))]
    most = max(sums, default=0.0)
    step = step_for(most)
    top = max(step, math.ceil(most / step - 1e-9) * step)
    wide = (_WIDTH - _LEFT - _RIGHT) / max(1, len(labels))
    drawn = [_axis(top, step, write)]
    for place, label in enumerate(labels):
        foot, x = 0.0, _LEFT + place * wide + wide * 0.12
        for one in series:
            value = one.values[place]
            if value <= 0:
                continue
            drawn.append(
                Markup(
                    '<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}">'
                    "<title>{}: {} {}</title></rect>"
                ).format(
                    one.kind,
                    x,
                    _y(foot + value, top),
                    wide * 0.76,
                    _y(foot, top) - _y(foot + value, top),
                    label,
                    one.name,
                    write(value),
                )
            )
            foot += value
    every = max(1, -(-len(labels) // _LABELS))
    places = [(_LEFT + (place + 0.5) * wide, label) for place, label in enumerate(labels) if place % every == 0]
    drawn.append(_below(places))
    return Chart(title, _svg(title, _said(series, labels, write), drawn), series, labels, write)


def line(
    title: str,
    points: Sequence[tuple[float, float]],
    *,
    name: str,
    limit: float | None,
    label: Callable[[float], str],
    write: Write,
    step_for: Callable[[float], float] = step_of,
) -> Chart:
    """A course over time: (seconds, amount), at least two. `limit` is drawn across, if it is not far above."""
    most = max(amount for _, amount in points)
    is_limit_shown = limit is not None and limit <= most * 20
    reach = max(most, limit or 0.0) if is_limit_shown else most
    step = step_for(reach)
    top = max(step, math.ceil(reach / step - 1e-9) * step)
    first, last = points[0][0], points[-1][0]
    span = max(1.0, last - first)
    inner = _WIDTH - _LEFT - _RIGHT

    def x(seconds: float) -> float:
        return _LEFT + inner * (seconds - first) / span

    corners = [(x(seconds), _y(amount, top)) for seconds, amount in points]
    path = " ".join(f"{'L' if place else 'M'}{a:.1f},{b:.1f}" for place, (a, b) in enumerate(corners))
    ground = _y(0, top)
    drawn = [
        _axis(top, step, write),
        Markup('<path class="area" d="{} L{:.1f},{:.1f} L{:.1f},{:.1f} Z"/>').format(
            path, corners[-1][0], ground, corners[0][0], ground
        ),
        Markup('<path class="course" d="{}"/>').format(path),
    ]
    if limit is not None and is_limit_shown:
        height = _y(limit, top)
        drawn.append(Markup('<path class="limit" d="M{},{:.1f} H{}"/>').format(_LEFT, height, _WIDTH - _RIGHT))
        drawn.append(
            Markup('<text class="limit-text" x="{}" y="{:.1f}">{}</text>').format(
                _WIDTH - _RIGHT, height - 5, f"asked for: {write(limit)}"
            )
        )
    places = [(x(first + span * part / 4), label(first + span * part / 4)) for part in range(5)]
    drawn.append(_below(places))
    series = [Series(name, "course", [amount for _, amount in points])]
    said = f"{name}: at last {write(points[-1][1])}, at most {write(most)}"
    return Chart(title, _svg(title, said, drawn), series, [label(seconds) for seconds, _ in points], write)


def share(parts: Sequence[tuple[float, str, str, str]], free: str) -> Markup:
    """A bar of 100 %, of parts (share of 1, class, what it is, an address or ""), the rest free."""
    drawn, at = [], 0.0
    for amount, kind, what, where in parts:
        wide = max(0.0, min(amount, 1.0 - at)) * 200
        piece = Markup('<rect class="{}" x="{:.2f}" y="0" width="{:.2f}" height="16"><title>{}</title></rect>').format(
            kind, at * 200, max(0.0, wide - 0.6), what
        )
        # beside it stands a list of the same links, which the keyboard reaches
        drawn.append(Markup('<a href="{}" tabindex="-1">{}</a>').format(where, piece) if where else piece)
        at = min(1.0, at + amount)
    said = ", ".join([*(what for _, _, what, _ in parts), free])
    return Markup(
        '<svg class="share" viewBox="0 0 200 16" preserveAspectRatio="none" role="img" aria-label="{}">'
        '<rect class="free" x="0" y="0" width="200" height="16"/>{}</svg>'
    ).format(said, Markup("").join(drawn))


def _y(value: float, top: float) -> float:
    return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * value / top


def _axis(top: float, step: float, write: Write) -> Markup:
    drawn = []
    for place in range(round(top / step) + 1):
        y = _y(place * step, top)
        drawn.append(Markup('<path class="grid" d="M{},{:.1f} H{}"/>').format(_LEFT, y, _WIDTH - _RIGHT))
        drawn.append(
            Markup('<text class="tick" x="{}" y="{:.1f}">{}</text>').format(_LEFT - 7, y + 4, write(place * step))
        )
    return Markup("").join(drawn)


def _below(places: Sequence[tuple[float, str]]) -> Markup:
    drawn = []
    for x, text in places:
        is_last = x > _WIDTH - 2 * _RIGHT  # in the middle below its place it would be cut
        kind = "label last" if is_last else "label"
        drawn.append(Markup('<text class="{}" x="{:.1f}" y="{}">{}</text>').format(kind, x, _HEIGHT - 9, text))
    return Markup("").join(drawn)


def _said(series: Sequence[Series], labels: Sequence[str], write: Write) -> str:
    """For who does not see it; the numbers stand below in a table."""
    if not labels:
        return "nothing to show"
    sums = ", ".join(f"{one.name} {write(sum(one.values))}" for one in series)
    return f"{labels[0]} to {labels[-1]}, in all: {sums}"


def _svg(title: str, said: str, drawn: Sequence[Markup]) -> Markup:
    return Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        _WIDTH, _HEIGHT, f"{title}. {said}", Markup("").join(drawn)
    )
