"""The documentation says what the commands do: its tables are made of theirs."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcbatch.cli.commands_page import known_tables
from hpcbatch.cli.directives_page import blocks, named, updated

FOLDER = Path(__file__).parents[3] / "docs"
PAGES = {path.name: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.md"))}


@pytest.mark.parametrize("name", [name for name, text in PAGES.items() if named(text)])
def test_the_page_is_up_to_date(name: str) -> None:
    assert updated(PAGES[name]) == PAGES[name], "`make directives` makes its tables anew"


def test_each_table_stands_once() -> None:
    assert sorted(name for text in PAGES.values() for name in named(text)) == sorted(blocks())


def test_every_row_says_what_becomes_of_it() -> None:
    for name, (heading, *rows) in known_tables().items():
        assert rows, name
        for row in rows:
            assert len(row) == len(heading), row
            assert row[0], row
            assert row[-1].strip(), row


def test_text_around_the_tables_stays() -> None:
    name = next(iter(known_tables()))
    page = updated(f"before\n<!-- table: {name} -->\nold\n<!-- end -->\nafter\n")
    assert page.startswith(f"before\n<!-- table: {name} -->\n| ")
    assert page.endswith(" |\n<!-- end -->\nafter\n")
    assert updated(page) == page
