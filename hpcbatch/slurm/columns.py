"""Formats of squeue and sinfo: `%[[.]size]type` strings and comma lists of `name[:[.]size]`, as lists of columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from hpcbatch.slurm.errors import SlurmUsageError

_FIELD = re.compile(r"%(\.?)(#?)([0-9]*)(.?)", re.DOTALL)
_NAMED = re.compile(r"(\.?)([0-9]*)(.*)", re.DOTALL)
NAMED_WIDTH = 20
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

    def cell(self, value: str) -> str:
        """The value padded or cut to the width, with the text around it."""
        if self.width:
            value = value[: self.width]
            value = value.rjust(self.width) if self.right else value.ljust(self.width)
        return f"{self.before}{value}{self.suffix}"


def parse_format(text: str, known: Callable[[str], bool], command: str) -> list[Column]:
    """Read an -o format. Text that is no field stays as it is. Raises SlurmUsageError for an unknown letter."""
    columns: list[Column] = []
    before, at = "", 0
    for match in _FIELD.finditer(text):
        before += text[at : match.start()]
        at = match.end()
        dot, grow, width, letter = match.groups()
        if not known(letter):
            raise SlurmUsageError(f"{command}: error: Invalid job format specification: {letter}")
        columns.append(Column(letter, _width(width), bool(dot), before=before, grow=bool(grow)))
        before = ""
    rest = before + text[at:]
    if rest:
        columns.append(Column("", before=rest))
    return columns


def parse_names(text: str, known: Callable[[str], bool], command: str) -> list[Column]:
    """Read an -O list: 20 wide by default, cut and without separator; `name:|` is unpadded with a `|` behind it.
    Raises SlurmUsageError for an unknown name.
    """
    columns: list[Column] = []
    for part in text.split(","):
        if not part:
            continue
        name, colon, size = part.partition(":")
        if not known(name.lower()):
            raise SlurmUsageError(f"{command}: error: Invalid job format specification: {name}")
        if not colon:
            columns.append(Column(name.lower(), NAMED_WIDTH))
            continue
        match = _NAMED.fullmatch(size)
        dot, width, suffix = match.groups() if match else ("", "", size)
        columns.append(Column(name.lower(), _width(width), bool(dot), suffix=suffix))
    return columns


def _width(text: str) -> int:
    return min(int(text or 0), MAX_WIDTH)


def line(columns: Sequence[Column], value: Callable[[str], str]) -> str:
    """One line of output; `value` gives the value of a key."""
    return "".join(column.cell(value(column.key) if column.key else "") for column in columns)
