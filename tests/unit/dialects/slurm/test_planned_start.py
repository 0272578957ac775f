"""When and where a waiting job is expected to start, in Slurm's listings."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hpcbatch.dialects.slurm.scontrol import format_job
from hpcbatch.dialects.slurm.states import expected_end, expected_start
from hpcbatch.model.state import JobState
from hpcbatch.record.rows import row_of

from .jobs import QUEUE

NOW = datetime(2026, 11, 21, 2, 50, tzinfo=UTC)
SOON = NOW + timedelta(hours=1)
WAITING = next(job for job in QUEUE if job.status.state is JobState.QUEUED and job.spec.array is None)
PLANNED = replace(WAITING, status=replace(WAITING.status, planned_start=SOON, planned_nodes="n1,n2"))


def test_the_planned_start_is_the_expected_one() -> None:
    row = row_of(PLANNED)
    assert (expected_start(row), row.planned_nodes) == (SOON, ("n1", "n2"))
    assert row.walltime_s is not None
    assert expected_end(row) == SOON + timedelta(seconds=row.walltime_s)
    assert expected_start(row_of(WAITING)) is None


def test_scontrol_shows_it() -> None:
    shown = format_job(PLANNED, NOW, UTC)
    assert "StartTime=2026-11-21T03:50:00 " in shown
    assert "NodeList= SchedNodeList=n[1-2]\n" in shown
    assert "SchedNodeList" not in format_job(WAITING, NOW, UTC)
