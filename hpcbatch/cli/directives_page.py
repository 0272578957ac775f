"""The tables of the documentation that follow from those which the commands read by: `make directives`.

`<!-- table: NAME -->` begins one, `<!-- end -->` ends it; all other text stays as it is.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from hpcbatch.cli import commands_page

_TABLE = re.compile(r"(<!-- table: ([^>]+) -->\n).*?(<!-- end -->\n)", re.DOTALL)


def blocks() -> dict[str, str]:
    """All that can stand in a page, as Markdown."""
    tables = {name: commands_page.markdown(rows) for name, rows in commands_page.known_tables().items()}
    return {**tables, **commands_page.texts()}


def updated(page: str) -> str:
    """The page with all tables as they are now. Raises KeyError for a name that nobody knows."""
    known = blocks()
    return _TABLE.sub(lambda match: f"{match[1]}{known[match[2]]}{match[3]}", page)


def named(page: str) -> list[str]:
    """The names of the page's tables, in order."""
    return [match[2] for match in _TABLE.finditer(page)]


def main(*paths: str) -> None:
    for path in paths:
        page = Path(path)
        text = page.read_text(encoding="utf-8")
        if named(text):
            page.write_text(updated(text), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
