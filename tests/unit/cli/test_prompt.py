"""Requests of scontrol, sacctmgr and sreport from standard input."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence

import pytest

from hpcbatch.cli.common import EndedError, Session
from hpcbatch.cli.slurm.prompt import read_line, requests
from hpcbatch.dialects.slurm.errors import SlurmAnswer, SlurmUsageError


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
    assert requests(Session({}), "scontrol", execute) == code
    assert found == done


@pytest.mark.parametrize(
    ("command", "word", "ends"),
    [
        ("sacctmgr", "exi", False),
        ("sacctmgr", "quit", True),
        ("sacctmgr", "\\\\q", True),
        ("sreport", "e", True),
        ("sreport", "qui", False),
    ],
)
def test_each_command_has_its_own_way_out(command: str, word: str, ends: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{word}\n"))
    done: list[list[str]] = []
    assert requests(Session({}), command, lambda words: done.append(list(words)) or 0) == 0
    assert (done == []) is ends


def test_a_line_is_read_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes behind is the answer to a request's question."""
    reading, writing = os.pipe()
    os.write(writing, b"add account a\ny\n")
    with os.fdopen(reading) as stdin, os.fdopen(writing, "w"):
        monkeypatch.setattr("sys.stdin", stdin)
        assert read_line() == "add account a\n"
        assert os.read(reading, 10) == b"y\n"


def test_help_is_printed_and_no_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def execute(words: Sequence[str]) -> int:
        raise SlurmAnswer("usage")

    monkeypatch.setattr("sys.stdin", io.StringIO("help\n"))
    assert requests(Session({}), "sreport", execute) == 0
    assert capsys.readouterr() == ("sreport: usage\nsreport: \n", "")
