"""Tables as Slurm's accounting commands print them. Source: print_fields.c."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum

from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.typed import NamedTuple

_OWN = re.compile(r"[\w ,.:/+=()\[\]-]")


class Kind(Enum):
    """How a value that is too long for its column is written."""

    TEXT = "text"  # cut, with a + at the end
    NUMBER = "number"  # whole
    DATE = "date"  # as #####


class Heading(NamedTuple):
    """A column."""

    name: str
    width: int
    """Negative: to the left."""
    kind: Kind = Kind.TEXT


class Style(NamedTuple):
    """How the table is set."""

    header: bool = True
    delimiter: str | None = None
    """Between the fields of -p and -P; None: columns."""
    trailing: bool = False
    """Whether a delimiter stands behind the last field too (-p)."""


def style_of(asked: Iterable[str]) -> Style:
    """Of the options --noheader, --parsable and --parsable2, by name."""
    names = set(asked)
    return Style("noheader" not in names, "|" if {"parsable", "parsable2"} & names else None, "parsable" in names)


def list_of_fields(names: Iterable[str], width: int, most: int) -> str:
    """What -e prints: so many names on a line, each so wide."""
    padded = [f"{name:<{width}}" for name in names]
    return "\n".join(" ".join(padded[first : first + most]) for first in range(0, len(padded), most))


def headings(fields: str, known: Mapping[str, int], command: str) -> list[Heading]:
    """The columns of `name[%[-]width],…`, of which a beginning is enough. Raises SlurmUsageError for one that there is
    not.
    """
    found = []
    for item in filter(None, fields.split(",")):
        name, _, width = item.partition("%")
        full = next((each for each in known if each.lower().startswith(name.lower())), None)
        if full is None:
            raise SlurmUsageError(f'{command}: error: Invalid field requested: "{name}"')
        is_number = width.removeprefix("-").isdecimal() and len(width) < 6
        found.append(Heading(full, int(width) if is_number else known[full]))
    return found


def table(headings: Sequence[Heading], rows: Iterable[Sequence[str]], style: Style) -> Iterator[str]:
    """Line by line, each with its newline."""
    if style.delimiter is not None:
        end = f"{style.delimiter}\n" if style.trailing else "\n"
        if style.header:
            yield style.delimiter.join(heading.name for heading in headings) + end
        for row in rows:
            cells = (
                _apart(_dated(cell, heading.width, heading.kind), style.delimiter)
                for cell, heading in zip(row, headings, strict=True)
            )
            yield style.delimiter.join(cells) + end
        return
    if style.header:
        yield "".join(f"{_padded(name[: abs(width)], width)} " for name, width, _ in headings) + "\n"
        yield "".join(f"{'-' * abs(heading.width)} " for heading in headings) + "\n"
    for row in rows:
        yield "".join(f"{_cell(cell, heading)} " for cell, heading in zip(row, headings, strict=True)) + "\n"


def _apart(cell: str, delimiter: str) -> str:
    """Without the delimiter, by which a job's name would make fields of its own; one that Slurm's own values are full
    of is its user's choice. The real sacct leaves it there in any case.
    """
    return cell if not delimiter or _OWN.search(delimiter) else cell.replace(delimiter, "?")


def _cell(text: str, heading: Heading) -> str:
    size = abs(heading.width)
    if heading.kind is Kind.DATE:
        text = _dated(text, heading.width, heading.kind)
    elif heading.kind is Kind.TEXT and len(text) > size:
        text = f"{text[: size - 1]}+" if size else ""
    return _padded(text, heading.width)


def _padded(text: str, width: int) -> str:
    return text.ljust(-width) if width < 0 else text.rjust(width)


def _dated(text: str, width: int, kind: Kind) -> str:
    """A time that does not fit becomes #####, also where columns have no width."""
    return "#" * abs(width) if kind is Kind.DATE and len(text) > abs(width) and text != "Unknown" else text
