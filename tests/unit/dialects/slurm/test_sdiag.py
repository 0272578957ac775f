"""sdiag: its counts, and the lines that Slurm 22.05.8 prints around them."""

from __future__ import annotations

from datetime import UTC, timedelta

import pytest

from hpcbatch.dialects.slurm.errors import SlurmAnswer, SlurmUsageError
from hpcbatch.dialects.slurm.sdiag import Counts, count, format_report, read_options
from hpcbatch.model.state import JobState
from tests.unit.dialects.slurm.jobs import ARRAY_ROW, NOW, ROWS, SUBMITTED

RECORDED = """\
*******************************************************
sdiag output at Sat Nov 21 02:50:06 2026 (1795229406)
Data since      Sat Nov 21 00:00:00 2026 (1795219200)
*******************************************************
Server thread count:  0
Agent queue size:     0
Agent count:          0
Agent thread count:   0
DBD Agent queue size: 0

Jobs submitted: 4
Jobs started:   2
Jobs completed: 0
Jobs canceled:  0
Jobs failed:    0

Job states ts:  Sat Nov 21 02:50:06 2026 (1795229406)
Jobs pending:   2
Jobs running:   2

Main schedule statistics (microseconds):
"""
MIDNIGHT = NOW.replace(hour=0, minute=0, second=0)


def test_lines() -> None:
    text = format_report(Counts(4, 2, 0, 0, 0, 2, 2), MIDNIGHT, NOW, UTC)
    assert text.startswith(RECORDED)
    assert text.endswith("\nPending RPC statistics\n\tNo pending RPCs\n")


def test_counts() -> None:
    running = sum(row.state is JobState.RUNNING for row in ROWS)
    assert count(ROWS, MIDNIGHT) == Counts(len(ROWS), running, 0, 0, 0, len(ROWS) - running, running)
    assert count(ROWS, NOW + timedelta(days=1))[:5] == (0, 0, 0, 0, 0)
    ended = [
        ROWS[0]._replace(state=state, start_time=SUBMITTED, end_time=NOW)
        for state in (JobState.FINISHED, JobState.FAILED, JobState.TIMEOUT, JobState.DELETED)
    ]
    assert count(ended, MIDNIGHT) == Counts(4, 4, 3, 1, 2, 0, 0)
    array = ARRAY_ROW._replace(array_indices="1-5", array_pending="2-5")
    member = ROWS[0]._replace(array_id=array.job_id, array_index=1, state=JobState.RUNNING, start_time=SUBMITTED)
    assert count([array, member], MIDNIGHT) == Counts(5, 1, 0, 0, 0, 4, 1)


def test_options() -> None:
    assert read_options(["-a", "-T", "x"]) is None
    assert read_options(["-M", "real"]) == "real"
    with pytest.raises(SlurmUsageError) as error:
        read_options(["-r"])
    assert error.value.text.splitlines()[0] == "slurm_reset_statistics: Access/permission denied"
    assert error.value.code == 255
    with pytest.raises(SlurmAnswer):
        read_options(["--help"])
    with pytest.raises(SlurmUsageError, match="unrecognized option '--json'"):
        read_options(["--json"])
