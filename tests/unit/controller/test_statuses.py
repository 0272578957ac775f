"""What is mostly followed at once by more, a start or an end, is written once with it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest

from hpcbatch.api.port import Api, Object
from hpcbatch.controller import statuses
from hpcbatch.controller.own_writes import OwnWrites
from hpcbatch.controller.records import Admitted
from hpcbatch.controller.statuses import Statuses
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.record import JobRecord, JobStatus
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState, Reason

SPEC = JobSpec(dialect=Dialect.PBS, name="x")
RUNNING = JobRecord(
    job_id=7, namespace="ns", object_name="a", queue="q", spec=SPEC, status=JobStatus(state=JobState.RUNNING)
)
OBJ: Object = {"metadata": {"namespace": "ns", "name": "a", "resourceVersion": "1"}, "status": {}}


class Written:
    """Implements what is called of Api."""

    def __init__(self) -> None:
        self.states: list[str] = []

    def replace(self, _resource: object, obj: Any, _namespace: str, *, subresource: str) -> Object:
        assert subresource == "status"
        self.states.append(obj["status"]["state"])
        return {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(len(self.states) + 1)}}


def as_state(state: JobState) -> JobRecord:
    return replace(RUNNING, status=replace(RUNNING.status, state=state))


def statuses_of(api: Written) -> Statuses:
    return Statuses(cast(Api, api), OwnWrites(), wake=lambda _: None, mail=lambda *_: None)


def admitted(record: JobRecord, *, had: str = "") -> Admitted:
    return Admitted({**OBJ, "status": {"volcanoJob": had}}, record)


def written(
    api: Written,
    record: JobRecord,
    *,
    is_settled: bool = True,
    before: JobRecord = RUNNING,
    had: str = "",
    has: str = "job-7",
) -> float | None:
    """`had` is the Volcano Job that the record names already, `has` the one that it is to name."""
    return statuses_of(api).write(admitted(before, had=had), record, has, is_settled=is_settled)


@pytest.mark.parametrize("before", [JobState.QUEUED, JobState.RUNNING])
def test_an_end_waits_a_moment(before: JobState, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statuses, "_EXITING_S", 60.0)
    api = Written()
    wait_s = written(api, as_state(JobState.EXITING), before=as_state(before))
    assert wait_s is not None
    assert 0 < wait_s <= 60.0
    assert api.states == []


def test_a_long_end_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statuses, "_EXITING_S", 0.0)
    api = Written()
    assert written(api, as_state(JobState.EXITING)) is None
    assert api.states == ["Exiting"]


@pytest.mark.parametrize(
    ("state", "is_settled"), [(JobState.EXITING, False), (JobState.FINISHED, False), (JobState.RUNNING, True)]
)
def test_all_else_is_written_at_once(state: JobState, is_settled: bool) -> None:
    api = Written()
    assert written(api, as_state(state), is_settled=is_settled) is None
    assert api.states == [state.value]


QUEUED = as_state(JobState.QUEUED)
STARTING = replace(QUEUED, status=replace(QUEUED.status, reason=Reason.STARTING))


@pytest.mark.parametrize("had", [pytest.param("job-7", id="its reason"), pytest.param("", id="its Volcano Job, too")])
def test_a_start_waits_a_moment(had: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statuses, "_STARTING_S", 60.0)
    api = Written()
    wait_s = written(api, STARTING, before=QUEUED, had=had)
    assert wait_s is not None
    assert 0 < wait_s <= 60.0
    assert api.states == []


def test_a_long_start_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statuses, "_STARTING_S", 0.0)
    api = Written()
    assert written(api, STARTING, before=QUEUED, had="job-7") is None
    assert api.states == ["Queued"]


@pytest.mark.parametrize(
    ("now", "has"),
    [
        pytest.param(STARTING, "", id="it waits"),
        pytest.param(as_state(JobState.RUNNING), "job-7", id="it runs"),
        pytest.param(replace(STARTING, status=replace(STARTING.status, rank=2)), "job-7", id="more has changed"),
        pytest.param(
            replace(STARTING, status=replace(STARTING.status, licenses=(("matlab", 1),))),
            "job-7",
            id="it holds licences",
        ),
    ],
)
def test_of_a_start_all_else_is_written_at_once(now: JobRecord, has: str) -> None:
    api = Written()
    before = replace(QUEUED, status=replace(QUEUED.status, licenses=now.status.licenses))
    assert written(api, now, before=before, has=has) is None
    assert api.states == [now.status.state.value]


def test_an_end_waits_its_own_moment_after_that_of_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statuses, "_STARTING_S", 60.0)
    monkeypatch.setattr(statuses, "_EXITING_S", 60.0)
    at_s = 1000.0
    monkeypatch.setattr("time.monotonic", lambda: at_s)
    api = Written()
    made, job = statuses_of(api), admitted(QUEUED)
    assert made.write(job, STARTING, "job-7", is_settled=True) == 60.0
    at_s += 50.0
    assert made.write(job, STARTING, "job-7", is_settled=True) == 10.0
    assert made.write(job, as_state(JobState.EXITING), "job-7", is_settled=True) == 60.0
    at_s += 60.0
    assert made.write(job, as_state(JobState.EXITING), "job-7", is_settled=True) is None
    assert api.states == ["Exiting"]
