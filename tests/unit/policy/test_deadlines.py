"""What becomes of a job whose deadline comes: before it starts, while it runs, and when it is looked at again."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hpcbatch.model.record import JobStatus
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy.deadlines import least_s, seconds_left, shortened, without_grant
from hpcbatch.policy.decide import decide
from hpcbatch.policy.statuses import queued_again
from tests.unit.policy.job_seen import NOW, START, pod, seen


def at(seconds: float) -> dict[str, object]:
    return {"deadline": NOW + timedelta(seconds=seconds)}


@pytest.mark.parametrize("more", [{}, {"hold": True}, {"begin_time": NOW + timedelta(seconds=1)}])
@pytest.mark.parametrize("phase", [None, "Pending"])
def test_a_job_that_can_no_longer_keep_its_deadline_leaves_the_queue(
    more: dict[str, object], phase: str | None
) -> None:
    decision = decide(seen(spec=at(59) | {"walltime_s": 60} | more, phase=phase))
    status = decision.status
    assert (status.state, status.reason) == (JobState.TIMEOUT, Reason.DEADLINE)
    assert status.message == "deadline 2026-11-21T12:00:59Z cannot be kept"
    assert decision.delete is (phase is not None)
    assert not decision.create


@pytest.mark.parametrize(
    ("spec", "look_s"),
    [
        (at(100) | {"walltime_s": 60, "hold": True}, 40.1),
        (at(100) | {"hold": True}, 100.1),
        (at(100) | {"begin_time": NOW + timedelta(seconds=30)}, 30),
        (at(60) | {"walltime_s": 60, "hold": True}, 0.1),
    ],
)
def test_it_is_looked_at_again_in_time(spec: dict[str, object], look_s: float) -> None:
    decision = decide(seen(spec=spec))
    assert not decision.status.state.is_final
    assert decision.look_again_s == pytest.approx(look_s)


def test_a_running_job_ends_at_its_deadline() -> None:
    running = JobStatus(state=JobState.RUNNING, start_time=START, run_count=1, owner="alice")
    goes_on = decide(seen(spec=at(5), status=running, phase="Running", pods=[pod(started_at=START)]))
    assert (goes_on.status.state, goes_on.look_again_s) == (JobState.RUNNING, 5)
    late = seen(spec=at(0), status=running, phase="Running", pods=[pod(started_at=START)])
    noted = decide(late).status
    assert (noted.state, noted.reason) == (JobState.EXITING, Reason.DEADLINE)
    ended = decide(seen(spec=at(0), status=noted, phase="Running", pods=[pod(started_at=START)]))
    assert ended.terminate
    over = pod(started_at=START, finished_at=NOW, phase="Failed", exit_code=143)
    status = decide(seen(spec=at(0), status=noted, phase="Terminated", pods=[over])).status
    assert (status.state, status.reason) == (JobState.TIMEOUT, Reason.DEADLINE)
    assert status.message == "deadline 2026-11-21T12:00:00Z has passed"


def test_jobs_without_deadline() -> None:
    assert seconds_left(JobSpec(dialect="pbs", name="x"), 60, NOW) is None


@pytest.mark.parametrize(
    ("min_s", "walltime_s", "least"),
    [(None, None, 0), (None, 60, 60), (30, 60, 30), (90, 60, 60), (30, None, 30)],
)
def test_the_least_time_that_a_job_may_get(min_s: int | None, walltime_s: int | None, least: int) -> None:
    assert least_s(JobSpec(dialect="slurm", name="x", min_walltime_s=min_s), walltime_s) == least


@pytest.mark.parametrize(
    ("full_s", "least", "given_s", "walltime_s"),
    [(600, None, 90, 600), (600, 60, 600, 600), (600, 60, 90.9, 90), (600, 60, 59.9, 60), (None, 60, 90.5, 90)],
    ids=["one walltime", "all of it", "less", "never too little", "less than without end"],
)
def test_a_run_gets_a_shorter_walltime_and_the_next_all_again(
    full_s: int | None, least: int | None, given_s: float, walltime_s: int
) -> None:
    waits = JobStatus(walltime_s=full_s)
    starts = shortened(waits, least, given_s)
    assert starts.walltime_s == walltime_s
    assert shortened(starts, least, given_s) == starts
    assert without_grant(starts) == waits
    assert queued_again(starts, NOW).walltime_s == full_s


def test_a_least_walltime_keeps_a_job_longer() -> None:
    spec = at(59) | {"walltime_s": 60, "hold": True}
    kept = decide(seen(spec=spec | {"min_walltime_s": 20}))
    assert not kept.status.state.is_final
    assert kept.look_again_s == pytest.approx(39.1)
    assert decide(seen(spec=spec | {"min_walltime_s": 60})).status.reason is Reason.DEADLINE
