"""A request is answered once; a job that is about to end is not altered."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hpcbatch.controller.requests import Requests
from hpcbatch.model.record import Reply
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.model.state import JobState
from tests.unit.policy.test_requests import record


class Refusing:
    """Stands for intake and site, which these requests do not get as far as."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(name)


def test_each_request_is_answered_once_whatever_comes_between() -> None:
    requests = Requests(Refusing(), Refusing(), Refusing())  # type: ignore[arg-type]
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
    requests = Requests(Refusing(), Refusing(), Refusing())  # type: ignore[arg-type]
    for spec, state in (({"deleteRequested": True}, JobState.RUNNING), ({}, JobState.EXITING)):
        obj = {"spec": {"alteration": {"id": "a", "fields": {"name": "n"}}, **spec}}
        found = requests.handle(obj, record(state), is_placed=True).status
        assert found.answered is not None
        assert (found.answered.code, found.altered) == (RefusalCode.ENDING, {})
