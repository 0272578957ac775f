"""What the live view says of a job."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hpcbatch.cli.common import Session
from hpcbatch.cli.live import LinesView, TableView
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


def test_the_table_is_drawn_over_itself(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("LINES", "24")
    view = TableView()
    ended = RUNNING._replace(state=JobState.FINISHED, end_time=START + timedelta(seconds=3661))
    view.show({"a": row(3, name="long-name"), "b": ended})
    view.show({"b": ended})
    first, second = capsys.readouterr().out.split("\x1b[3A")
    assert [line.removeprefix("\x1b[2K") for line in first.splitlines()] == [
        "JOB  NAME       USER   QUEUE    STATE     TIME      NODES  WHERE OR WHY",
        "3    long-name  alice  default  Queued    -         1",
        "12   ring       alice  default  Finished  01:01:01  1      on node-0, node-1",
        "\x1b[0J",
    ]
    assert second.count("\n") == 2


def test_the_table_fits_its_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("LINES", "5")
    TableView().show({str(n): row(n, name="long" * 20) for n in range(10)})
    lines = capsys.readouterr().out.replace("\x1b[2K", "").replace("\x1b[0J", "").splitlines()
    assert len(lines) == 4
    assert all(len(line) <= 40 for line in lines)
