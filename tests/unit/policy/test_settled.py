from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from hpcbatch.model.record import JobStatus
from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy.decide import decide
from hpcbatch.policy.observed import Decision, Observed
from hpcbatch.policy.settled import is_settled
from tests.unit.policy.test_decide_properties import SEEN

RUNNING = JobStatus(state=JobState.RUNNING)


@pytest.mark.parametrize(
    ("status", "more", "expected"),
    [
        (RUNNING, {}, True),
        (JobStatus(state=JobState.QUEUED, reason=Reason.STARTING), {}, True),
        (JobStatus(state=JobState.EXITING), {}, True),
        (JobStatus(state=JobState.EXITING, reason=Reason.TIME_LIMIT), {}, False),
        (JobStatus(state=JobState.FINISHED), {}, False),
        (JobStatus(state=JobState.HELD), {}, False),
        (replace(RUNNING, is_rerunning=True), {}, False),
        (RUNNING, {"terminate": True}, False),
        (JobStatus(state=JobState.QUEUED), {"delete": True}, False),
    ],
)
def test_is_settled(status: JobStatus, more: dict[str, Any], expected: bool) -> None:
    assert is_settled(Decision(status=status, **more)) is expected


@given(SEEN)
def test_a_look_at_what_is_settled_would_do_nothing(observed: Observed) -> None:
    once = decide(observed)
    if is_settled(once):
        again = decide(replace(observed, record=replace(observed.record, status=once.status)))
        assert again.status == once.status
        assert (again.terminate, again.delete, again.give_up) == (False, False, ())
