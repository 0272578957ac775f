"""The tables of docs/mpi.md: the heading is how the job is submitted; a row for each line, a column for each
family.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/mpi.md"


@dataclass(frozen=True)
class Table:
    submit: str
    """What the job is submitted by: `qsub -l ...`."""
    families: list[str]
    lines: list[str]
    cells: dict[tuple[str, str], str]
    """By line and family."""


def read_tables() -> list[Table]:
    return [
        make_table(heading, body)
        for heading, body in re.findall(r"^### `([^`]+)`.*\n\n((?:\|.*\n)+)", PAGE.read_text(), re.MULTILINE)
    ]


def make_table(submit: str, body: str) -> Table:
    header, _, *rows = [split(row) for row in body.splitlines()]
    families = header[1:]
    cells = {(row[0].strip("`"), family): cell for row in rows for family, cell in zip(families, row[1:], strict=True)}
    return Table(submit, families, [row[0].strip("`") for row in rows], cells)


def split(row: str) -> list[str]:
    return [cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", row)[1:-1]]
