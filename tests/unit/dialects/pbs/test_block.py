"""How qsub -W block=true ends."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbatch.dialects.pbs.block import DELETED, outcome
from hpcbatch.model.state import JobState, Reason
from tests.unit.dialects.pbs.jobs import STARTED, record

ENDED = {"start_time": STARTED, "end_time": STARTED}
ASKED = "Job to be deleted at request of "


@pytest.mark.parametrize(
    ("state", "reason", "status", "expected"),
    [
        (JobState.FINISHED, Reason.NONE, {**ENDED, "exit_code": 0}, ("", 0)),
        (JobState.FAILED, Reason.NON_ZERO_EXIT, {**ENDED, "exit_code": 7}, ("", 7)),
        (JobState.FAILED, Reason.SIGNALLED, {**ENDED, "exit_signal": 9}, ("", 256 + 9 & 0xFF)),
        (JobState.DELETED, Reason.DELETED_BY_USER, {**ENDED, "deleted_by": "root"}, (f"{ASKED}root@pbs1", DELETED)),
        (JobState.RUNNING, Reason.NONE, {}, (f"{ASKED}tester@pbs1", DELETED)),
        (JobState.DELETED, Reason.DEPENDENCY_NEVER, {"message": "job 1 failed"}, ("job 1 failed", DELETED)),
    ],
    ids=["well", "code", "signal", "deleted", "being-deleted", "dependency"],
)
def test_outcome(state: JobState, reason: Reason, status: dict[str, Any], expected: tuple[str, int]) -> None:
    given = {"message": "", **status}
    assert outcome(record(1, state=state, reason=reason, **given)) == expected
