"""The steps by which a run that was chosen for another job is ended."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from hpcbatch.model.preemption import PreemptMode
from hpcbatch.model.record import JobStatus, Preempted
from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy.preempted import grace_left_s, is_being_preempted, is_grace_over, sooner, to_end, told

NOW = datetime(2026, 11, 25, 12, 0, tzinfo=UTC)


def chosen(mode: PreemptMode, grace_s: int = 30) -> JobStatus:
    mark = Preempted(by=12, time=NOW, end_time=NOW + timedelta(seconds=grace_s), mode=mode)
    return JobStatus(state=JobState.RUNNING, start_time=NOW, preempted=mark)


def test_one_that_was_not_chosen() -> None:
    status = JobStatus(state=JobState.RUNNING, start_time=NOW)
    assert (told(status), grace_left_s(status, NOW)) == ("", None)
    assert not is_grace_over(status, NOW)
    assert not is_being_preempted(status)


@pytest.mark.parametrize(("mode", "is_rerunning"), [(PreemptMode.REQUEUE, True), (PreemptMode.CANCEL, False)])
def test_its_grace_time_and_its_end(mode: PreemptMode, is_rerunning: bool) -> None:
    status = chosen(mode)
    assert [grace_left_s(status, NOW + timedelta(seconds=passed)) for passed in (0, 29, 30, 60)] == [30, 1, 0, 0]
    assert not is_grace_over(status, NOW + timedelta(seconds=29))
    assert is_grace_over(status, NOW + timedelta(seconds=30))
    assert not is_being_preempted(status)
    ending = to_end(status)
    assert (ending.state, ending.reason, ending.is_rerunning) == (JobState.EXITING, Reason.PREEMPTED, is_rerunning)
    assert ending.message == "it was preempted for job 12"
    assert is_being_preempted(ending) is not is_rerunning


def test_what_comes_first() -> None:
    assert [sooner(None, None), sooner(3, None), sooner(None, 2), sooner(3, 2)] == [None, 3, 2, 2]
