"""How commands end, and what they know of their user's surroundings."""

from __future__ import annotations

import errno
import io
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.cli.common import EndedError, LocalZone, Session, outcome
from hpcbatch.cli.script import read_script, search_path
from hpcbatch.errors import HpcBatchError, UnknownJobError


def describe(_session: Session) -> Callable[[Exception], tuple[str, int]]:
    return lambda error: (f"cmd: {error}", 153 if isinstance(error, UnknownJobError) else 1)


def raising(error: BaseException) -> Callable[[Session], int]:
    def body(_session: Session) -> int:
        print("before")
        raise error

    return body


@pytest.mark.parametrize(
    ("error", "text", "code"),
    [
        (UnknownJobError("no job 5"), "cmd: no job 5\n", 153),
        (HpcBatchError("sorry"), "cmd: sorry\n", 1),
        (EndedError("Unknown Host.\ncmd: x", 255), "Unknown Host.\ncmd: x\n", 255),
        (OSError(errno.ENOENT, "No such file", "f"), "cmd: [Errno 2] No such file: 'f'\n", 1),
        (
            ValueError("a\nb"),
            "cmd: internal error: ValueError: a b; please report it with HPCBATCH_DEBUG=1 output\n",
            70,
        ),
    ],
    ids=["job", "ours", "ended", "os", "bug"],
)
def test_errors_are_told_without_traceback(
    capsys: pytest.CaptureFixture[str], error: Exception, text: str, code: int
) -> None:
    assert outcome("cmd", raising(error), describe) == code
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("before\n", text)


def test_debug_shows_the_traceback(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HPCBATCH_DEBUG", "1")
    assert outcome("cmd", raising(ValueError("bug")), describe) == 70
    assert "Traceback" in capsys.readouterr().err


def child(code: str, **options: object) -> subprocess.Popen[bytes]:
    """A command of one line, run as commands are."""
    program = (
        "import sys\nfrom hpcbatch.cli.common import run\n"
        f"def body(session):\n    {code}\n    return 0\n"
        "run('cmd', body, lambda session: lambda error: (f'cmd: {error}', 1))\n"
    )
    return subprocess.Popen([sys.executable, "-c", program], **options)  # type: ignore[call-overload,no-any-return]


def test_a_reader_that_goes_away_ends_the_command_quietly() -> None:
    process = child("print('x' * 1000000)", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    assert process.wait(60) == 141


def test_a_full_disk_is_told() -> None:
    with Path("/dev/full").open("wb") as full:
        process = child("print('x')", stdout=full, stderr=subprocess.PIPE)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (1, b"cmd: cannot write: No space left on device\n")


def test_interrupts_exit_with_130() -> None:
    process = child("raise KeyboardInterrupt", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.communicate(timeout=60) == (b"", b"")
    assert process.returncode == 130


def test_names_that_the_terminal_cannot_show_are_escaped() -> None:
    process = child("print('\\u00e9\\udcff')", stdout=subprocess.PIPE, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert process.communicate(timeout=60)[0] == b"\\xe9\\udcff\n"


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    # The rule itself, so that no zone files are needed.
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("instant", "local", "name"),
    [
        ("2026-01-15T12:00:00", "2026-01-15 13:00:00+01:00", "CET"),
        ("2026-07-15T12:00:00", "2026-07-15 14:00:00+02:00", "CEST"),
        ("2026-10-25T00:30:00", "2026-10-25 02:30:00+02:00", "CEST"),
        ("2026-10-25T01:30:00", "2026-10-25 02:30:00+01:00", "CET"),
    ],
    ids=["winter", "summer", "twice-first", "twice-second"],
)
def test_local_times_follow_the_date(berlin: None, instant: str, local: str, name: str) -> None:
    when = datetime.fromisoformat(instant).replace(tzinfo=UTC).astimezone(LocalZone())
    assert (str(when), when.tzname()) == (local, name)
    assert when.dst() == timedelta(hours=1 if name == "CEST" else 0)


@given(st.datetimes(min_value=datetime(1990, 1, 1), max_value=datetime(2037, 1, 1), timezones=st.just(UTC)))
def test_local_times_come_back(when: datetime) -> None:
    assert when.astimezone(LocalZone()).astimezone(UTC) == when


def test_the_directory_has_the_name_by_which_the_user_came(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    monkeypatch.chdir(tmp_path / "link")
    assert Session({"PWD": str(tmp_path / "link")}).cwd == str(tmp_path / "link")
    assert Session({"PWD": str(tmp_path)}).cwd == str((tmp_path / "real").resolve())
    assert Session({"PWD": "/nonexistent"}).cwd == Session({}).cwd


def test_a_directory_that_is_gone_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(HpcBatchError, match="current directory"):
        _ = Session({}).cwd


def test_scripts_are_read_byte_for_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    content = b"#!/bin/sh\r\n\xff\0"
    (tmp_path / "job.sh").write_bytes(content)
    session = Session({})
    assert read_script(session, "job.sh", prompt=False) == (f"{session.cwd}/job.sh", content)
    with pytest.raises(IsADirectoryError):
        read_script(session, ".", prompt=False)
    with pytest.raises(FileNotFoundError):
        read_script(session, "none.sh", prompt=False)


@pytest.mark.parametrize("name", [None, "-"])
def test_scripts_come_from_standard_input(name: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"sleep 1\n")))
    assert read_script(Session({}), name, prompt=True) == (None, b"sleep 1\n")


def test_sbatch_looks_for_scripts_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "job.sh").write_text("")
    (tmp_path / "bin" / "here.sh").write_text("")
    (tmp_path / "here.sh").write_text("")
    session = Session({"PATH": f"/nonexistent:{tmp_path / 'bin'}"})
    assert search_path(session, "job.sh") == str(tmp_path / "bin" / "job.sh")
    assert search_path(session, "here.sh") == "here.sh"
    assert search_path(session, "./job.sh") == "./job.sh"
    assert search_path(session, "none.sh") == "none.sh"
