"""The files of the accounting log: each entry once, whoever writes them, and however often."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hpcbatch.cli.accounting_files import write_days
from hpcbatch.dialects.pbs.accounting import Entry
from hpcbatch.errors import HpcBatchError

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def entry(seconds: int, letter: str = "E", job: int = 1, text: str = "user=me ") -> Entry:
    return Entry(NOON + timedelta(seconds=seconds), letter, f"{job}.s", text, job)


def test_a_file_a_day(tmp_path: Path) -> None:
    directory = tmp_path / "some" / "where"
    assert write_days(directory, [entry(0), entry(43200, "Q", 2)], UTC) == 2
    assert (directory / "20261121").read_text() == "11/21/2026 12:00:00;E;1.s;user=me \n"
    assert (directory / "20261122").read_text() == "11/22/2026 00:00:00;Q;2.s;user=me \n"
    assert (directory / "20261121").stat().st_mode & 0o777 == 0o640


def test_again_adds_only_what_is_new_in_its_place(tmp_path: Path) -> None:
    write_days(tmp_path, [entry(0, "Q"), entry(9, "E")], UTC)
    assert write_days(tmp_path, [entry(0, "Q"), entry(5, "S"), entry(9, "E")], UTC) == 1
    assert write_days(tmp_path, [entry(5, "S")], UTC) == 0
    assert [line.split(";")[1] for line in (tmp_path / "20261121").read_text().splitlines()] == ["Q", "S", "E"]


def test_what_was_written_stays_as_it_is(tmp_path: Path) -> None:
    """A job that is altered later, or has left the history: what was true when it was written is what counts."""
    write_days(tmp_path, [entry(0, "Q", text="jobname=a;b ")], UTC)
    assert write_days(tmp_path, [entry(0, "Q", text="jobname=c ")], UTC) == 0
    assert "jobname=a;b" in (tmp_path / "20261121").read_text()


def test_a_draft_that_a_kill_left_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / ".20261121.new").write_text("half an en")
    write_days(tmp_path, [entry(0)], UTC)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "20261121"]
    assert (tmp_path / "20261121").read_text().count("\n") == 1


def test_several_at_once_lose_nothing(tmp_path: Path) -> None:
    parts = [[entry(n, job=n % 40) for n in range(first, first + 50)] for first in range(0, 200, 25)]
    threads = [threading.Thread(target=write_days, args=(tmp_path, part, UTC)) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = (tmp_path / "20261121").read_text().splitlines()
    assert len(lines) == len(set(lines)) == 225
    assert lines == sorted(lines, key=lambda line: line.partition(";")[0])


def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HpcBatchError, match="file"):
        write_days(tmp_path / "file", [entry(0)], UTC)
