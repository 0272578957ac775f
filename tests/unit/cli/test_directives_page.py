"""docs/directives.md says what the commands do: its tables are made of theirs."""

from __future__ import annotations

from pathlib import Path

from hpcbatch.cli.directives_page import named, tables, updated

PAGE = Path(__file__).parents[3] / "docs/directives.md"


def test_the_page_is_up_to_date() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert updated(text) == text, "`make directives` makes its tables anew"


def test_each_table_stands_once() -> None:
    assert sorted(named(PAGE.read_text(encoding="utf-8"))) == sorted(tables())


def test_every_row_says_what_becomes_of_it() -> None:
    for name, (heading, *rows) in tables().items():
        assert rows, name
        for row in rows:
            assert len(row) == len(heading), row
            assert row[0], row
            assert row[-1].strip(), row


def test_text_around_the_tables_stays() -> None:
    name = next(iter(tables()))
    page = updated(f"before\n<!-- table: {name} -->\nold\n<!-- end -->\nafter\n")
    assert page.startswith(f"before\n<!-- table: {name} -->\n| ")
    assert page.endswith(" |\n<!-- end -->\nafter\n")
    assert updated(page) == page
