"""What the live view says of a job."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hpcbatch.cli.common import Session
from hpcbatch.cli.live import LinesView
from hpcbatch.cli.live_table import TableView
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.record import ExecHost, JobRecord, JobStatus
from hpcbatch.model.row import JobRow
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState, Reason
from hpcbatch.record.rows import row_of

START = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)


def row(number: int = 12, name: str = "ring", **status: Any) -> JobRow:
    return row_of(
        JobRecord(
            job_id=number,
            namespace="default",
            object_name=f"pbs-{number}",
            spec=JobSpec(dialect=Dialect.PBS, name=name),
            status=JobStatus(owner="alice", **status),
            queue="default",
        )
    )


RUNNING = row(
    state=JobState.RUNNING,
    start_time=START,
    hosts=tuple(ExecHost(node=node, pod="p", cpus=1) for node in ("node-0", "node-0", "node-1")),
)


ARRAY = RUNNING._replace(
    array_indices="1-4", array_pending="4", array_active="3", array_succeeded="1", array_failed="2", hosts=()
)


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (row(), "job 12 (ring) queued"),
        (
            row(reason=Reason.RESOURCES, message="2 of 3 pods fit"),
            "job 12 (ring) queued Resources: 2 of 3 pods fit",
        ),
        (row(state=JobState.HELD, reason=Reason.HELD_BY_USER), "job 12 (ring) held HeldByUser"),
        (RUNNING, "job 12 (ring) running on node-0, node-1"),
        (
            row(state=JobState.FAILED, reason=Reason.NON_ZERO_EXIT, exit_code=3),
            "job 12 (ring) failed exit code 3",
        ),
        (
            row(state=JobState.FAILED, reason=Reason.SIGNALLED, exit_signal=9),
            "job 12 (ring) failed killed by signal 9",
        ),
        (
            row(state=JobState.FAILED, reason=Reason.OUT_OF_MEMORY, exit_signal=9, message="too much"),
            "job 12 (ring) failed OutOfMemory: too much",
        ),
        (row(state=JobState.TIMEOUT, reason=Reason.TIME_LIMIT), "job 12 (ring) timeout TimeLimit"),
        (ARRAY._replace(state=JobState.QUEUED, start_time=None), "job 12[] (ring) queued"),
        (ARRAY, "job 12[] (ring) running 50 % of 4 members ended, 1 of them not well"),
        (RUNNING._replace(array_id=7, array_index=3), "job 7[3] (ring) running on node-0, node-1"),
    ],
    ids=["queued", "reason", "held", "running", "exit", "signal", "memory", "timeout", "array", "begun", "member"],
)
def test_lines_say_state_and_reason(capsys: pytest.CaptureFixture[str], shown: JobRow, text: str) -> None:
    view = LinesView(Session({}))
    view.show({"a": shown})
    view.show({"a": shown})
    (line,) = capsys.readouterr().out.splitlines()
    assert line[9:] == text


def screen(monkeypatch: pytest.MonkeyPatch, columns: int, lines: int) -> None:
    for name, value in {"COLUMNS": str(columns), "LINES": str(lines), "TERM": "xterm-256color"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)


def plain(text: str) -> list[str]:
    """The lines without escape sequences."""
    return [line.rstrip() for line in re.sub(r"\x1b\[[?0-9;]*[A-Za-z]|\r", "", text).splitlines()]


def test_the_table_is_drawn_over_itself(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    screen(monkeypatch, 110, 24)
    view = TableView()
    ended = RUNNING._replace(state=JobState.FINISHED, end_time=START + timedelta(seconds=3661))
    view.show({"a": row(3, name="long-name"), "b": ended})
    first = capsys.readouterr().out
    assert [line if n else line[:-10] for n, line in enumerate(plain(first))] == [
        "2 jobs  1 queued  1 finished",
        "JOB  NAME       USER   QUEUE    STATE         TIME  NODES  WHERE OR WHY",
        "3    long-name  alice  default  Queued           -      1",
        "12   ring       alice  default  Finished  01:01:01      1  on node-0, node-1",
    ]
    view.show({"b": ended})
    view.close()
    second = capsys.readouterr().out
    assert "\x1b[1A\x1b[2K" in second  # over the first
    assert "\x1b[?25h" in second  # with a cursor again
    assert any(line.startswith("1 job  1 finished") for line in plain(second))


def test_states_have_colours(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    screen(monkeypatch, 110, 24)
    view = TableView()
    view.show({"a": RUNNING, "b": row(13, state=JobState.FAILED, reason=Reason.NON_ZERO_EXIT, exit_code=3)})
    view.close()
    text = capsys.readouterr().out
    assert "\x1b[32mRunning" in text
    assert "\x1b[1;31mFailed" in text


@pytest.mark.parametrize(("columns", "heads"), [(40, "JOB NAME STATE WHERE"), (75, "JOB NAME STATE TIME NODES WHERE")])
def test_the_table_fits_its_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: int, heads: str
) -> None:
    screen(monkeypatch, columns, 6)
    view = TableView()
    view.show({str(n): row(n, name="long" * 20, reason=Reason.RESOURCES, message="why " * 30) for n in range(10)})
    lines = plain(capsys.readouterr().out)
    view.close()
    assert len(lines) == 5
    assert all(len(line) <= columns for line in lines)
    assert [word for word in lines[1].split() if word.isupper()][: len(heads.split())] == heads.split()
    assert lines[-1] == "… and 8 more"


def test_a_name_can_send_nothing_to_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    screen(monkeypatch, 110, 24)
    view = TableView()
    view.show({"a": row(1, name="a\x1b[2Jb[red]c")})
    view.close()
    text = capsys.readouterr().out
    assert "\x1b[2J" not in text
    assert "b[red]c" in text
