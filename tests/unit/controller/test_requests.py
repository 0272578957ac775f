"""Alterations and reruns: what is taken over, what comes too late, and that a request is answered once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hpcbatch.controller.requests import Requests, merge, rerun
from hpcbatch.errors import HpcBatchError, RefusedError
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.record import JobRecord, JobStatus, Reply
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.model.spec import Chunk, JobSpec
from hpcbatch.model.state import JobState
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


class Refusing:
    """Stands for intake and site, which these requests do not get as far as."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(name)


def test_each_request_is_answered_once_whatever_comes_between() -> None:
    requests = Requests(Refusing(), Refusing())  # type: ignore[arg-type]
    obj: dict[str, Any] = {"spec": {"rerunRequest": {"id": "r1"}, "alteration": {"id": "a1", "fields": {"image": "x"}}}}
    job = record()
    first = requests.handle(obj, job, is_placed=False)
    assert first.status.answered is not None
    assert (first.status.answered.request_id, first.status.answered.code) == ("a1", RefusalCode.BAD_SPEC)
    second = requests.handle(obj, first, is_placed=False)
    code = RefusalCode.NOT_RUNNING
    assert second.status.answered == Reply(request_id="r1", code=code, message="the job is not running")
    assert second.status.handled == {"alteration": "a1", "rerunRequest": "r1"}
    assert not requests.are_open(obj, second)
    assert requests.handle(obj, second, is_placed=True) == second
    again = {"spec": {**obj["spec"], "rerunRequest": {"id": "r2"}}}
    running = replace(second, status=replace(second.status, state=JobState.RUNNING))
    third = requests.handle(again, running, is_placed=True)
    assert third.status.is_rerunning
    assert third.status.answered == Reply(request_id="r2")


def test_a_job_that_is_to_end_is_not_altered() -> None:
    requests = Requests(Refusing(), Refusing())  # type: ignore[arg-type]
    for spec, state in (({"deleteRequested": True}, JobState.RUNNING), ({}, JobState.EXITING)):
        obj = {"spec": {"alteration": {"id": "a", "fields": {"name": "n"}}, **spec}}
        found = requests.handle(obj, record(state), is_placed=True).status
        assert found.answered is not None
        assert (found.answered.code, found.altered) == (RefusalCode.ENDING, {})
