"""Formats of squeue and sinfo: `%[[.]size]type` strings and comma lists of `name[:[.]size]`, as lists of columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from string import ascii_lowercase, ascii_uppercase

from hpcbatch.typed import NamedTuple

_FIELD = re.compile(r"%(\.?)(#?)([0-9]*)(.?)", re.DOTALL)
_NAMED = re.compile(r"(\.?)([0-9]*)(.*)", re.DOTALL)
NAMED_WIDTH = 20
ALL = "%all"
MAX_WIDTH = 4096


class Column(NamedTuple):
    """One field of a line. `key` is a letter or a name; width 0 leaves the value as long as it is."""

    key: str
    width: int = 0
    right: bool = False
    suffix: str = ""
    before: str = ""
    grow: bool = False
    """`#` of sinfo: as wide as the longest value, at least `width`."""
    unknown: str = ""
    """The letter or name of a field that there is not: it has no value, and `complaint` tells the user."""

    def cell(self, value: str) -> str:
        """The value padded or cut to the width, with the text around it."""
        if self.width:
            value = value[: self.width]
            value = value.rjust(self.width) if self.right else value.ljust(self.width)
        return f"{self.before}{value}{self.suffix}"


def complaint(columns: Sequence[Column], words: str) -> str:
    """What the command says on stderr about unknown fields before it goes on; "" where there are none."""
    return "\n".join(f"{words} format specification: {column.unknown}" for column in columns if column.unknown)


def parse_format(text: str, known: Callable[[str], bool], after_capital: str = "") -> list[Column]:
    """Read an -o format. Text that is no field stays as it is, an unknown field too; `%all` is every letter.
    `after_capital` is what then stands behind those of capital letters. Source: parse_format().
    """
    if text.lower() == ALL:
        ends = dict.fromkeys(ascii_lowercase, "|") | dict.fromkeys(ascii_uppercase, f"{after_capital}|")
        ends["Z"] = after_capital
        return [Column(letter, suffix=suffix) for letter, suffix in ends.items() if known(letter)]
    columns: list[Column] = []
    before, at = "", 0
    for match in _FIELD.finditer(text):
        before += text[at : match.start()]
        at = match.end()
        dot, grow, width, letter = match.groups()
        if not known(letter):
            columns.append(Column("", before=before + match[0], unknown=letter))
            before = ""
            continue
        columns.append(Column(letter, _width(width), bool(dot), before=before, grow=bool(grow)))
        before = ""
    rest = before + text[at:]
    if rest:
        columns.append(Column("", before=rest))
    return columns


def parse_names(text: str, known: Callable[[str], bool]) -> list[Column]:
    """Read an -O list: 20 wide by default, cut and without separator; `name:|` is unpadded with a `|` behind it.
    Of an unknown name only that stays. Source: parse_long_format().
    """
    columns: list[Column] = []
    for part in text.split(","):
        if not part:
            continue
        name, colon, size = part.partition(":")
        match = _NAMED.fullmatch(size)
        dot, width, suffix = match.groups() if match else ("", "", size)
        if not known(name.lower()):
            columns.append(Column("", suffix=suffix, unknown=name))
        elif not colon:
            columns.append(Column(name.lower(), NAMED_WIDTH))
        else:
            columns.append(Column(name.lower(), _width(width), bool(dot), suffix=suffix))
    return columns


def _width(text: str) -> int:
    return min(int(text or 0), MAX_WIDTH)


def line(columns: Sequence[Column], value: Callable[[str], str]) -> str:
    """One line of output; `value` gives the value of a key. Where the format sets columns apart by `|`, a job's name
    makes none of its own by it.
    """
    cells = (value(column.key) if column.key else "" for column in columns)
    if any("|" in column.before or "|" in column.suffix for column in columns):
        cells = (cell.replace("|", "?") for cell in cells)
    return "".join(column.cell(cell) for column, cell in zip(columns, cells, strict=True))
