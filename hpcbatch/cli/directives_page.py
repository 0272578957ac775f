"""The tables of docs/directives.md, made from those that the commands read by: `make directives`.

`<!-- table: NAME -->` begins one, `<!-- end -->` ends it; all other text stays as it is.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from hpcbatch.dialects.registry import DIALECTS

_TABLE = re.compile(r"(<!-- table: ([^>]+) -->\n).*?(<!-- end -->\n)", re.DOTALL)


def tables() -> Mapping[str, Sequence[Sequence[str]]]:
    """The tables of all dialects by their names, the heading first."""
    return {name: rows for door in DIALECTS.values() for name, rows in door.option_tables().items()}


def updated(page: str) -> str:
    """The page with all tables as they are now. Raises KeyError for a name that no dialect knows."""
    known = tables()
    return _TABLE.sub(lambda match: f"{match[1]}{_markdown(known[match[2]])}{match[3]}", page)


def named(page: str) -> list[str]:
    """The names of the page's tables, in order."""
    return [match[2] for match in _TABLE.finditer(page)]


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    heading, *rest = rows
    lines = [heading, ["---"] * len(heading), *rest]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def main(path: str) -> None:
    page = Path(path)
    page.write_text(updated(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
