"""What a running job is asked, as lines of an annotation: nothing lost, nothing twice."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.api.port import Object
from hpcbatch.controller.pod_requests import (
    Signal,
    announce_end,
    pass_on,
    requests_text,
    signals_of_grace,
    unsent_signal,
)
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.labels import REQUESTS_ANNOTATION
from hpcbatch.model.preemption import PreemptMode
from hpcbatch.model.record import JobRecord, JobStatus, Preempted
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState
from hpcbatch.model.warn_signal import WarnSignal

RUNNING = JobStatus(state=JobState.RUNNING)
NOW = datetime(2026, 11, 25, 12, 0, tzinfo=UTC)


def signal(request_id: str, number: int = 10, scope: str = "session") -> Signal:
    return Signal(request_id=request_id, number=number, scope=scope)


@pytest.mark.parametrize(
    ("before", "status", "is_suspended", "asked", "text"),
    [
        ("", RUNNING, False, None, ""),
        ("", RUNNING, False, signal("a"), "signal 1 10 session a\n"),
        ("signal 1 9 all a\n", RUNNING, False, signal("b", 15, "all"), "signal 1 9 all a\nsignal 2 15 all b\n"),
        ("signal 1 10 session a\n", RUNNING, False, signal("a"), "signal 1 10 session a\n"),
        ("", RUNNING, True, None, "suspend\n"),
        ("suspend\n", RUNNING, False, None, ""),
        ("", JobStatus(walltime_s=90, altered={"walltimeSeconds": 90}), False, None, "walltime 90\n"),
        ("walltime 90\n", JobStatus(altered={"walltimeSeconds": None}), False, None, "walltime none\n"),
        ("", JobStatus(altered={"cpuTimeSeconds": 60}), False, None, "cput 60\n"),
        ("cput 60\n", JobStatus(altered={"cpuTimeSeconds": None}), False, None, "cput none\n"),
        ("", JobStatus(walltime_s=90, altered={"name": "x"}), False, None, ""),
    ],
)
def test_text(before: str, status: JobStatus, is_suspended: bool, asked: Signal | None, text: str) -> None:
    assert requests_text(before, status, is_suspended=is_suspended, signals=[] if asked is None else [asked]) == text


def test_the_word_to_start_stays() -> None:
    told = requests_text("", RUNNING, is_suspended=False, may_start=True)
    assert told == "start\n"
    assert requests_text(told, RUNNING, is_suspended=True) == "start\nsuspend\n"
    assert requests_text("suspend\n", RUNNING, is_suspended=False) == ""


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 2)), max_size=60))
def test_each_signal_once_in_order_however_often_it_is_written(asked: list[tuple[str, int]]) -> None:
    text, expected, handled, delivered = "", list[str](), 0, list[str]()
    for count, (name, repeated) in enumerate(asked):
        request_id = f"{name}{count}"
        expected.append(request_id)
        for _ in range(1 + repeated):  # a controller that was killed before it wrote the status
            text = requests_text(text, RUNNING, is_suspended=False, signals=[signal(request_id)])
        for line in text.splitlines():  # as runner/watch/watch.sh does it
            _, sequence, _, _, found = line.split(" ")
            if int(sequence) > handled:
                handled = int(sequence)
                delivered.append(found)
    assert delivered == expected
    assert len(text) < 1000


def test_a_request_is_dealt_with_once() -> None:
    spec = {"signalRequest": {"id": "a", "signal": 12, "scope": "steps"}}
    assert unsent_signal(spec, RUNNING) == signal("a", 12, "steps")
    assert unsent_signal(spec, JobStatus(signalled="a")) is None
    assert unsent_signal({}, RUNNING) is None


class Patches:
    def __init__(self) -> None:
        self.made: list[tuple[str, Object]] = []

    def patch(self, _resource: object, name: str, change: Object, _namespace: str) -> Object:
        self.made.append((name, change))
        return {}


def record(state: JobState) -> JobRecord:
    return JobRecord(
        job_id=1,
        namespace="n",
        object_name="o",
        spec=JobSpec(dialect=Dialect.PBS, name="x"),
        status=JobStatus(state=state),
        queue="q",
    )


POD: dict[str, Any] = {"metadata": {"name": "p", "namespace": "n", "resourceVersion": "7"}}
ASKED = {"signalRequest": {"id": "a", "signal": 10, "scope": "all"}}


def test_the_pod_is_told_and_the_user_answered() -> None:
    api = Patches()
    status = pass_on(api, ASKED, record(JobState.RUNNING), POD)  # type: ignore[arg-type]
    # with its version: a signal that was written a moment ago must not be written over
    told = {"annotations": {REQUESTS_ANNOTATION: "signal 1 10 all a\n"}, "resourceVersion": "7"}
    assert api.made == [("p", {"metadata": told})]
    assert status.signalled == "a"
    assert status.answered is not None
    assert (status.answered.request_id, status.answered.code) == ("a", "")


@pytest.mark.parametrize(
    ("state", "pod"), [(JobState.QUEUED, None), (JobState.EXITING, POD), (JobState.RUNNING, None)], ids=str
)
def test_a_job_that_does_not_run_gets_no_signal(state: JobState, pod: Object | None) -> None:
    api = Patches()
    status = pass_on(api, ASKED, record(state), pod)  # type: ignore[arg-type]
    assert not api.made
    assert status.answered is not None
    assert (status.signalled, status.answered.code) == ("a", "NotRunning")


def test_nothing_new_is_not_written() -> None:
    api = Patches()
    pod = {"metadata": {**POD["metadata"], "annotations": {REQUESTS_ANNOTATION: "suspend\n"}}}
    status = pass_on(api, {"suspended": True}, record(JobState.SUSPENDED), pod)  # type: ignore[arg-type]
    assert not api.made
    assert status == record(JobState.SUSPENDED).status


def test_a_requeue_is_told_once_and_given_time() -> None:
    api, now = Patches(), datetime(2026, 1, 1, tzinfo=UTC)
    pod = {"metadata": {**POD["metadata"], "annotations": {REQUESTS_ANNOTATION: "suspend\n"}}}
    assert announce_end(api, pod, "requeue", now) == 2  # type: ignore[arg-type]
    told = f"suspend\nrequeue {int(now.timestamp())}\n"
    assert api.made == [("p", {"metadata": {"annotations": {REQUESTS_ANNOTATION: told}, "resourceVersion": "7"}})]
    pod["metadata"]["annotations"] = {REQUESTS_ANNOTATION: told}
    for passed_s, left_s in ((0.5, 1.5), (2, 0), (600, 0)):
        assert announce_end(api, pod, "requeue", now + timedelta(seconds=passed_s)) == left_s  # type: ignore[arg-type]
    assert len(api.made) == 1


def in_grace(grace_s: int, **spec: Any) -> JobRecord:
    mark = Preempted(by=9, time=NOW, end_time=NOW + timedelta(seconds=grace_s), mode=PreemptMode.CANCEL)
    job = JobSpec(dialect=Dialect.SLURM, name="j", chunks=(Chunk(),), **spec)
    return JobRecord(
        job_id=7, namespace="ns", object_name="j", spec=job, status=replace(RUNNING, preempted=mark), queue="q"
    )


@pytest.mark.parametrize(
    ("record", "sends_user_signal", "sent"),
    [
        (in_grace(0), False, []),
        (in_grace(30), False, [(18, "steps"), (15, "steps")]),
        (in_grace(30), True, [(18, "steps"), (15, "steps")]),
        (in_grace(30, warn_signal=WarnSignal(signal=10)), False, [(18, "steps"), (15, "steps")]),
        (in_grace(30, warn_signal=WarnSignal(signal=10)), True, [(10, "steps")]),
        (in_grace(30, warn_signal=WarnSignal(signal=10, is_batch_only=True)), True, [(10, "script")]),
    ],
)
def test_what_a_job_gets_when_its_grace_time_begins(
    record: JobRecord, sends_user_signal: bool, sent: list[tuple[int, str]]
) -> None:
    signals = signals_of_grace(record, sends_user_signal=sends_user_signal)
    assert [(one.number, one.scope) for one in signals] == sent
    once = requests_text("", RUNNING, is_suspended=False, signals=signals)
    assert requests_text(once, RUNNING, is_suspended=False, signals=signals) == once, "each is sent once"
