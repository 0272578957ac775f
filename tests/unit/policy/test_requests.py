"""Alterations and reruns: what is taken over, and what comes too late."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hpcbatch.errors import HpcBatchError, RefusedError
from hpcbatch.model.array import ArrayStatus
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.indices import Indices
from hpcbatch.model.interactive import Interactive
from hpcbatch.model.record import JobRecord, JobStatus, PastRun
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy.again import with_members_again
from hpcbatch.policy.requests import merge, rerun
from hpcbatch.record.fields import ALTERABLE
from hpcbatch.units import rfc3339

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def record(state: JobState = JobState.QUEUED, *, spec: dict[str, Any] | None = None, **status: Any) -> JobRecord:
    given = JobSpec(**{"dialect": Dialect.PBS, "name": "x", "attributes": {"a": "1", "b": "2"}, **(spec or {})})
    full = JobStatus(state=state, layout=(Chunk(),), **status)
    return JobRecord(job_id=7, namespace="ns", object_name="x", queue="q", spec=given, status=full)


def test_later_fields_go_over_earlier_ones() -> None:
    before = record(altered={"name": "n", "account": "a", "priority": 3})
    found = merge(before, {"fields": {"name": "m"}, "cleared": ["account"]}, has_started=False)
    assert found == {"name": "m", "account": None, "priority": 3}


def test_attributes_are_added_and_taken_away_one_by_one() -> None:
    asked = {"fields": {"attributes": {"b": "3", "c": "4"}}, "cleared": ["attributes.a"]}
    assert merge(record(), asked, has_started=False) == {"attributes": {"b": "3", "c": "4"}}
    only_taken = merge(record(), {"cleared": ["attributes.a"]}, has_started=False)
    assert only_taken == {"attributes": {"b": "2"}}


@pytest.mark.parametrize(
    "field", ["submissionSecret", "image", "dialect", "memberOf", "hold", "adminHolds", "nonsense"]
)
def test_what_is_not_to_be_altered(field: str) -> None:
    assert field not in ALTERABLE
    for asked in ({"fields": {field: "x"}}, {"cleared": [field]}):
        with pytest.raises(HpcBatchError, match=f"{field} cannot be altered"):
            merge(record(), asked, has_started=False)


@pytest.mark.parametrize("field", ["chunks", "queue", "account", "stdout", "dependency", "umask"])
def test_too_late_for_a_job_that_has_started(field: str) -> None:
    for asked in ({"fields": {"name": "n", field: "x"}}, {"cleared": [field]}):
        with pytest.raises(RefusedError, match=field) as caught:
            merge(record(), asked, has_started=True)
        assert caught.value.code == RefusalCode.STARTED


def test_a_running_job_may_have_another_name_and_time() -> None:
    asked = {"fields": {"name": "n", "walltimeSeconds": 60, "mailPoints": "e", "priority": 5}}
    assert merge(record(), asked, has_started=True) == asked["fields"]


@pytest.mark.parametrize(
    ("job", "is_placed", "code"),
    [
        (record(), False, RefusalCode.NOT_RUNNING),
        (record(JobState.HELD), False, RefusalCode.NOT_RUNNING),
        (record(JobState.EXITING), True, RefusalCode.ENDING),
        (record(JobState.RUNNING, spec={"rerunnable": False}), True, RefusalCode.NOT_RERUNNABLE),
    ],
)
def test_rerun_is_refused(job: JobRecord, is_placed: bool, code: RefusalCode) -> None:
    with pytest.raises(RefusedError) as caught:
        rerun(job, {"id": "1"}, is_placed=is_placed, now=NOW)
    assert caught.value.code == code


@pytest.mark.parametrize("job", [record(JobState.RUNNING), record(JobState.SUSPENDED), record()])
def test_rerun_marks_the_job(job: JobRecord) -> None:
    assert rerun(job, {"id": "1"}, is_placed=True, now=NOW).status.is_rerunning


SLURM = {"dialect": Dialect.SLURM}


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        ({}, RefusalCode.NOT_RUNNING),
        (SLURM | {"rerunnable": False}, RefusalCode.NOT_RERUNNABLE),
        (SLURM | {"interactive": Interactive.STREAMS}, RefusalCode.NOT_BATCH),
    ],
)
def test_an_ended_job_that_does_not_run_again(spec: dict[str, Any], code: RefusalCode) -> None:
    with pytest.raises(RefusedError) as caught:
        rerun(record(JobState.FAILED, spec=spec), {"id": "1"}, is_placed=False, now=NOW)
    assert caught.value.code == code


def test_an_ended_job_runs_again() -> None:
    """Its last run is remembered, and nothing else of it."""
    start, end = NOW - timedelta(hours=2), NOW - timedelta(hours=1)
    ended = record(JobState.DELETED, spec=SLURM)
    status = replace(
        ended.status, start_time=start, end_time=end, exit_code=3, deleted_by="bob", run_count=1, cpu_used_s=5
    )
    again = rerun(replace(ended, status=status), {"id": "1"}, is_placed=False, now=NOW).status
    assert (again.state, again.reason) == (JobState.WAITING, Reason.BEGIN_TIME)
    assert again.past_runs == (PastRun(start_time=start, end_time=end),)
    assert (again.start_time, again.end_time, again.exit_code, again.deleted_by, again.cpu_used_s) == (
        None,
        None,
        None,
        "",
        None,
    )
    assert (again.run_count, again.altered) == (1, {"beginTime": rfc3339(NOW + timedelta(seconds=121))})


def test_an_ended_job_is_held_and_marked() -> None:
    request = {"id": "1", "special": True}
    held = record(JobState.FINISHED, spec=SLURM | {"hold": True})
    status = rerun(held, request, is_placed=False, now=NOW).status
    assert (status.state, status.reason, status.is_special) == (JobState.HELD, Reason.SPECIAL_EXIT, True)
    free = rerun(record(JobState.FINISHED, spec=SLURM), request, is_placed=False, now=NOW).status
    assert not free.is_special


def test_an_array_goes_on_with_its_members() -> None:
    array = ArrayStatus(succeeded=Indices.parse("1-2"), failed=Indices.parse("3"))
    over = JobStatus(state=JobState.FAILED, exit_code=1, start_time=NOW, end_time=NOW, array=array)
    assert with_members_again(over, Indices()) is None
    again = with_members_again(over, Indices.parse("2-3"))
    assert again is not None
    assert (again.state, again.end_time, again.exit_code) == (JobState.RUNNING, None, None)
    assert again.array == ArrayStatus(active=Indices.parse("2-3"), succeeded=Indices.parse("1"))
