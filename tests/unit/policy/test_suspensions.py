"""When a job was suspended is remembered, each time once."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hpcbatch.model.preemption import PreemptMode
from hpcbatch.model.record import JobRecord, JobStatus, PastRun, Preempted, Suspension
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState
from hpcbatch.policy.suspensions import KEPT, with_suspensions
from hpcbatch.record.batchjob import status_from_json, status_to_json
from hpcbatch.record.rows import row_of

START = datetime(2026, 11, 21, 12, tzinfo=UTC)
RUNS = JobStatus(state=JobState.RUNNING, start_time=START, submit_time=START)


def at(seconds: int) -> datetime:
    return START + timedelta(seconds=seconds)


def become(status: JobStatus, state: JobState, seconds: int, **changes: object) -> JobStatus:
    return with_suspensions(status, replace(status, state=state, **changes), at(seconds))  # type: ignore[arg-type]


def test_a_job_that_goes_on() -> None:
    status = become(RUNS, JobState.SUSPENDED, 5)
    assert status.suspensions == (Suspension(start_time=at(5)),)
    assert become(status, JobState.SUSPENDED, 6) == status
    status = become(status, JobState.RUNNING, 15)
    assert status.suspensions == (Suspension(start_time=at(5), end_time=at(15), is_resumed=True),)
    assert become(status, JobState.RUNNING, 16) == status
    status = become(status, JobState.SUSPENDED, 20)
    assert len(status.suspensions) == 2
    assert status.suspended_s(at(0), at(30)) == 20
    assert status.suspended_s(at(10), at(12)) == 2
    assert status_from_json(status_to_json(status), START) == status


def test_a_run_that_ends_suspended() -> None:
    status = become(become(RUNS, JobState.SUSPENDED, 5), JobState.DELETED, 9, end_time=at(8))
    assert status.suspensions == (Suspension(start_time=at(5), end_time=at(8)),)


def test_a_request_that_changed_the_state_first() -> None:
    """qrerun writes that the job exits before it is decided anew."""
    status = replace(become(RUNS, JobState.SUSPENDED, 5), state=JobState.EXITING)
    (one,) = become(status, JobState.EXITING, 7).suspensions
    assert one == Suspension(start_time=at(5), end_time=at(7))


def test_for_another_job() -> None:
    mark = Preempted(by=9, time=START, end_time=START, mode=PreemptMode.SUSPEND)
    status = become(replace(RUNS, preempted=mark), JobState.SUSPENDED, 5)
    assert [one.by for one in status.suspensions] == [9]
    assert [one.by for one in become(status, JobState.RUNNING, 8).suspensions] == [9]


def test_another_run() -> None:
    status = become(become(RUNS, JobState.SUSPENDED, 5), JobState.RUNNING, 9, start_time=at(8))
    assert status.suspensions == (Suspension(start_time=at(5), end_time=at(9)),)


def test_only_the_last_are_remembered() -> None:
    status = RUNS
    for second in range(0, 4 * KEPT, 2):
        status = become(become(status, JobState.SUSPENDED, second), JobState.RUNNING, second + 1)
    assert len(status.suspensions) == KEPT
    assert status.suspensions[-1].end_time == at(4 * KEPT - 1)


def test_what_listings_show_of_its_time() -> None:
    """The time for which it stood does not count."""
    stood = become(become(RUNS, JobState.SUSPENDED, 5), JobState.RUNNING, 15)
    again = become(stood, JobState.SUSPENDED, 20)
    ended = become(stood, JobState.FINISHED, 40, end_time=at(35))
    for status, expected in ((RUNS, 30), (stood, 20), (again, 10), (ended, 25), (replace(again, start_time=None), 0)):
        record = JobRecord(
            job_id=1, namespace="n", object_name="o", spec=JobSpec(dialect="pbs", name="j"), status=status, queue="q"
        )
        assert row_of(record).ran_s(at(30)) == expected, status.state
    given_up = PastRun(start_time=at(0), end_time=at(60))
    assert row_of(replace(record, status=replace(stood, past_runs=(given_up,)))).earlier_s == 50
    assert row_of(replace(record, status=become(RUNS, JobState.RUNNING, 5, start_time=at(9)))).ran_s(at(8)) == 0
