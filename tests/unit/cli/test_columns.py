"""The tables of our own commands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.cli.columns import aligned, folded

TABLE = [("USER", "JOBS", "STATE"), ("alice", "12", ""), ("bo", "3", "gone")]


@pytest.mark.parametrize(
    ("left", "lines"),
    [
        (None, ["USER   JOBS  STATE", "alice  12", "bo     3     gone"]),
        (1, ["USER   JOBS  STATE", "alice    12", "bo        3   gone"]),
        (0, [" USER  JOBS  STATE", "alice    12", "   bo     3   gone"]),
    ],
    ids=["left", "first-left", "right"],
)
def test_aligned(left: int | None, lines: list[str]) -> None:
    assert list(aligned(TABLE, left=left)) == lines


def test_nothing() -> None:
    assert list(aligned([])) == []


def test_folded() -> None:
    table = [
        ("WHERE", "WHY"),
        ("job.sh:2:9", "the clock of the CPUs is the node's and not the job's"),
        ("a" * 40, "no"),
    ]
    assert list(aligned(folded(table, 48))) == [
        "WHERE             WHY",
        "job.sh:2:9        the clock of the CPUs is the",
        "                  node's and not the job's",
        "aaaaaaaaaaaaaaa…  no",
    ]


@given(st.lists(st.tuples(st.text("ab", max_size=60), st.text("ab ", max_size=200)), min_size=1), st.integers(60, 200))
def test_folded_lines_fit_and_lose_no_words(table: list[tuple[str, str]], width: int) -> None:
    rows = folded(table, width)
    assert all(len(line) <= width for line in aligned(rows))
    assert "".join(row[-1] for row in rows).replace(" ", "") == "".join(row[-1] for row in table).replace(" ", "")
