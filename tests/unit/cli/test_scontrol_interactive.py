"""scontrol's requests from standard input."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pytest

from hpcbatch.cli.common import EndedError, Session
from hpcbatch.cli.slurm.scontrol_interactive import requests
from hpcbatch.dialects.slurm.errors import SlurmUsageError


@pytest.mark.parametrize(
    ("lines", "done", "code"),
    [
        ("ping\nexit\nversion\n", [["ping"]], 0),
        ("ping\n!!\nquit\n", [["ping"], ["ping"]], 0),
        ("show 'a b'\n\n", [["show", "a b"]], 0),
        ("bad\nping\n", [["bad"], ["ping"]], 1),
        ("ended\n", [["ended"]], 3),
        ("'open\nping\nqui\n", [["ping"], ["qui"]], 1),
    ],
)
def test_requests(lines: str, done: list[list[str]], code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[list[str]] = []

    def execute(words: Sequence[str]) -> int:
        found.append(list(words))
        if words[0] == "ended":
            raise EndedError("over", 3)
        if words[0] == "bad":
            raise SlurmUsageError("invalid keyword: bad")
        return 0

    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    assert requests(Session({}), execute) == code
    assert found == done
