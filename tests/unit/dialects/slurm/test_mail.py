"""Slurm's mails: when, to whom, and their subjects. Source: Slurm 22.05, mail_job_info(), job_completion_logger()."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hpcbatch.dialects.slurm.mail import mails, next_time
from hpcbatch.model.array import Array, ArrayStatus, Membership
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.indices import Indices
from hpcbatch.model.record import JobRecord, JobStatus, PastRun
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState, Reason

SUBMITTED = datetime(2026, 11, 21, 2, 50, tzinfo=UTC)
STARTED = SUBMITTED + timedelta(seconds=7)
ENDED = STARTED + timedelta(seconds=5)
NOW = STARTED + timedelta(seconds=60)
ALL = "INVALID_DEPEND,BEGIN,END,FAIL,REQUEUE,STAGE_OUT"
RAN: dict[str, Any] = {"start_time": STARTED, "run_count": 1}
OVER = RAN | {"end_time": ENDED}
PAST = PastRun(start_time=SUBMITTED, end_time=SUBMITTED + timedelta(seconds=12))


def job(
    types: str,
    state: JobState,
    reason: Reason = Reason.NONE,
    *,
    limit_s: int | None = 3600,
    users: tuple[str, ...] = (),
    array: Array | None = None,
    array_status: ArrayStatus | None = None,
    member_of: Membership | None = None,
    **status: Any,
) -> JobRecord:
    spec = JobSpec(
        dialect=Dialect.SLURM,
        name="x",
        walltime_s=limit_s,
        mail_points=types,
        mail_users=users,
        array=array,
        member_of=member_of,
    )
    given = JobStatus(state=state, reason=reason, owner="tester", submit_time=SUBMITTED, array=array_status, **status)
    return JobRecord(job_id=12, namespace="tester", object_name="slurm-12", spec=spec, status=given, queue="debug")


def subjects(record: JobRecord, now: datetime = NOW) -> list[str]:
    return [mail.subject for mail in mails(record, now)]


ENDS = [
    (JobState.FINISHED, Reason.NONE, {"exit_code": 0}, "Ended, Run time 00:00:05, COMPLETED, ExitCode 0"),
    (JobState.FAILED, Reason.NON_ZERO_EXIT, {"exit_code": 3}, "Failed, Run time 00:00:05, FAILED, ExitCode 3"),
    (JobState.FAILED, Reason.SIGNALLED, {"exit_signal": 9}, "Failed, Run time 00:00:05, FAILED"),
    (JobState.TIMEOUT, Reason.TIME_LIMIT, {}, "Failed, Run time 00:00:05, TIMEOUT, ExitCode 0"),
    (JobState.FAILED, Reason.OUT_OF_MEMORY, {}, "Failed, Run time 00:00:05, OUT_OF_MEMORY"),
    (JobState.FAILED, Reason.NODE_LOST, {}, "Failed, Run time 00:00:05, NODE_FAIL, ExitCode 0"),
    (JobState.FAILED, Reason.PREEMPTED, {}, "Failed, Run time 00:00:05, PREEMPTED, ExitCode 0"),
    (JobState.DELETED, Reason.DELETED_BY_USER, {}, "Ended, Run time 00:00:05, CANCELLED"),
]


@pytest.mark.parametrize(("state", "reason", "status", "text"), ENDS, ids=[e[3] for e in ENDS])
def test_begin_and_end(state: JobState, reason: Reason, status: dict[str, Any], text: str) -> None:
    assert subjects(job(ALL, state, reason, **OVER, **status)) == [
        "Slurm Job_id=12 Name=x Began, Queued time 00:00:07",
        f"Slurm Job_id=12 Name=x {text}",
    ]


def test_the_body_is_empty_and_the_owner_gets_it() -> None:
    mail = mails(job("END", JobState.FINISHED, **OVER, exit_code=0), NOW)[0]
    assert (mail.mail_id, mail.body, mail.to, mail.when) == ("end", "", ("tester",), ENDED)
    assert mails(job("BEGIN", JobState.RUNNING, users=("a", "b@c"), **RAN), NOW)[0].to == ("a", "b@c")


TYPES = [
    ("", JobState.FINISHED, OVER, []),
    ("BEGIN", JobState.FINISHED, OVER, ["begin.1"]),
    ("FAIL", JobState.FINISHED, OVER, []),
    ("FAIL", JobState.DELETED, OVER, []),
    ("FAIL", JobState.FAILED, OVER, ["end"]),
    ("END", JobState.FAILED, OVER, ["end"]),
    ("END", JobState.DELETED, {"end_time": ENDED}, ["end"]),
    ("TIME_LIMIT", JobState.TIMEOUT, OVER, ["time100.1"]),
    ("END", JobState.QUEUED, {"run_count": 1}, []),
    ("REQUEUE", JobState.QUEUED, {"run_count": 1, "past_runs": (PAST,)}, ["requeue.1"]),
    ("REQUEUE", JobState.RUNNING, RAN | {"run_count": 3, "past_runs": (PAST, PAST)}, ["requeue.1", "requeue.2"]),
    ("REQUEUE", JobState.QUEUED, {"run_count": 120, "past_runs": (PAST,)}, ["requeue.120"]),
    ("REQUEUE", JobState.QUEUED, {}, []),
]


@pytest.mark.parametrize(("types", "state", "status", "expected"), TYPES)
def test_types(types: str, state: JobState, status: dict[str, Any], expected: list[str]) -> None:
    assert [mail.mail_id for mail in mails(job(types, state, **status), NOW)] == expected


def test_failed_is_said_where_only_the_end_was_asked_for() -> None:
    (subject,) = subjects(job("END", JobState.FAILED, Reason.NON_ZERO_EXIT, **OVER, exit_code=3))
    assert subject == "Slurm Job_id=12 Name=x Ended, Run time 00:00:05, FAILED, ExitCode 3"


def test_requeue() -> None:
    queued = job("REQUEUE", JobState.QUEUED, Reason.NODE_LOST, run_count=1, past_runs=(PAST,))
    assert subjects(queued) == ["Slurm Job_id=12 Name=x Requeued, Run time 00:00:12"]


def test_a_dependency_that_is_never_met() -> None:
    held = job("INVALID_DEPEND", JobState.HELD, Reason.DEPENDENCY_NEVER)
    assert subjects(held) == ["Slurm Job_id=12 Name=x Invalid dependency"]


def test_parts_of_the_time_limit() -> None:
    running = job("TIME_LIMIT_90,TIME_LIMIT_80,TIME_LIMIT_50", JobState.RUNNING, limit_s=100, **RAN)

    def at(seconds: int) -> datetime:
        return STARTED + timedelta(seconds=seconds)

    assert subjects(running, at(49)) == []
    assert next_time(running, at(49)) == at(50)
    assert subjects(running, at(51)) == ["Slurm Job_id=12 Name=x Reached 50% of time limit, Run time 00:00:51"]
    assert next_time(running, at(51)) == at(80)
    assert [mail.mail_id for mail in mails(running, at(95))] == ["time50.1", "time80.1", "time90.1"]
    assert next_time(running, at(95)) is None
    assert next_time(job("TIME_LIMIT_90", JobState.RUNNING, limit_s=None, **RAN), NOW) is None
    short = job("TIME_LIMIT_50", JobState.FINISHED, limit_s=100, **OVER)
    assert subjects(short, at(95)) == []  # it ended before


ARRAY = Array(indices=Indices.parse("0-3"))
SUMMARIES = [
    ("0-3", "", JobState.FINISHED, 0, "Ended, COMPLETED, ExitCode [0-0]"),
    ("0-2", "3", JobState.FAILED, 7, "Failed, Mixed, ExitCode [0-7]"),
    ("", "0-3", JobState.FAILED, 7, "Failed, FAILED, ExitCode [7-7]"),
]


@pytest.mark.parametrize(("good", "bad", "state", "code", "text"), SUMMARIES)
def test_an_array_has_one_summary(good: str, bad: str, state: JobState, code: int, text: str) -> None:
    status = ArrayStatus(succeeded=Indices.parse(good), failed=Indices.parse(bad))
    done = job(ALL, state, array=ARRAY, array_status=status, start_time=STARTED, end_time=ENDED, exit_code=code)
    head = "Slurm Array Summary Job_id=12_* (12) Name=x"
    assert subjects(done) == [f"{head} Began", f"{head} {text}"]
    member = Membership(array_id=9, array_name="slurm-9", index=3)
    assert subjects(job(ALL, JobState.FINISHED, member_of=member, **OVER)) == []


def test_tasks_of_an_array_each_on_their_own() -> None:
    done = job(f"{ALL},ARRAY_TASKS", JobState.FINISHED, array=ARRAY, array_status=ArrayStatus(), **OVER)
    assert subjects(done) == []
    member = Membership(array_id=9, array_name="slurm-9", index=3)
    assert subjects(job("END,ARRAY_TASKS", JobState.FINISHED, member_of=member, exit_code=0, **OVER)) == [
        "Slurm Array Task Job_id=9_3 (12) Name=x Ended, Run time 00:00:05, COMPLETED, ExitCode 0"
    ]
