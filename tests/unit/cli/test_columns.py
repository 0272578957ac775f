"""The tables of our own commands."""

from __future__ import annotations

import pytest

from hpcbatch.cli.columns import aligned

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
