"""Alterations and reruns: what is taken over, and what comes too late."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbatch.errors import HpcBatchError, RefusedError
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.record import JobRecord, JobStatus
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState
from hpcbatch.policy.requests import merge, rerun
from hpcbatch.record.fields import ALTERABLE


def record(state: JobState = JobState.QUEUED, *, spec: dict[str, Any] | None = None, **status: Any) -> JobRecord:
    given = JobSpec(dialect=Dialect.PBS, name="x", **{"attributes": {"a": "1", "b": "2"}, **(spec or {})})
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
        rerun(job, is_placed=is_placed)
    assert caught.value.code == code


@pytest.mark.parametrize("job", [record(JobState.RUNNING), record(JobState.SUSPENDED), record()])
def test_rerun_marks_the_job(job: JobRecord) -> None:
    assert rerun(job, is_placed=True).status.is_rerunning
