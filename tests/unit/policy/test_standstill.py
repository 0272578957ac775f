"""A job that is suspended, step by step: what its record says next, whatever of it is done."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.preemption import PreemptMode
from hpcbatch.model.record import JobRecord, JobStatus, Preempted
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy.observed import Observed, Waiting
from hpcbatch.policy.standstill import WAITS, as_it_stands

NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)
RUNNING, SUSPENDED = JobState.RUNNING, JobState.SUSPENDED
MARK = Preempted(by=9, time=NOW - timedelta(seconds=9), end_time=NOW, mode=PreemptMode.SUSPEND)
IN_GRACE = replace(MARK, end_time=NOW + timedelta(seconds=9))
WHY = "pods are not resized here"


def seen(state: JobState, *, rerunnable: bool = True, **more: Any) -> Observed:
    status = {name: more.pop(name) for name in ("frees_cpus", "preempted") if name in more}
    spec = JobSpec(dialect=Dialect.SLURM, name="j", chunks=(Chunk(),), rerunnable=rerunnable)
    record = JobRecord(
        job_id=7, namespace="n", object_name="o", spec=spec, status=JobStatus(state=state, **status), queue="q"
    )
    none = Waiting(reason=Reason.NONE, message="")
    fixed: dict[str, Any] = {
        "delete_requested": False,
        "volcano_job": None,
        "was_created": True,
        "pods": (),
        "waiting": none,
    }
    return Observed(record=record, now=NOW, **fixed, **more)


@pytest.mark.parametrize(
    ("seen", "state", "frees_cpus", "reason", "message"),
    [
        pytest.param(seen(RUNNING), RUNNING, False, Reason.NONE, "", id="runs"),
        pytest.param(seen(RUNNING, is_suspended=True), SUSPENDED, True, Reason.NONE, "", id="is stopped"),
        pytest.param(
            seen(RUNNING, is_suspended=True, why_not_freed=WHY),
            *(SUSPENDED, False, Reason.NONE, f"its CPUs stay taken: {WHY}"),
            id="is stopped where pods are not resized",
        ),
        pytest.param(
            seen(SUSPENDED, frees_cpus=True, is_suspended=True, may_go_on=True),
            *(SUSPENDED, True, Reason.NONE, ""),
            id="stays stopped",
        ),
        pytest.param(
            seen(SUSPENDED, frees_cpus=True, is_suspended=True, why_not_freed=WHY),
            *(SUSPENDED, False, Reason.NONE, f"its CPUs stay taken: {WHY}"),
            id="is refused then",
        ),
        pytest.param(
            seen(SUSPENDED, frees_cpus=True, may_go_on=False),
            *(SUSPENDED, True, Reason.RESOURCES, WAITS),
            id="waits for its CPUs",
        ),
        pytest.param(
            seen(SUSPENDED, frees_cpus=True, may_go_on=True, has_cpus=False),
            *(SUSPENDED, False, Reason.NONE, "it gets its CPUs again"),
            id="takes its CPUs",
        ),
        pytest.param(
            seen(SUSPENDED, has_cpus=False),
            *(SUSPENDED, False, Reason.NONE, "it gets its CPUs again"),
            id="they are not granted yet",
        ),
        pytest.param(seen(SUSPENDED, has_cpus=True), RUNNING, False, Reason.NONE, "", id="goes on"),
        pytest.param(
            seen(SUSPENDED, has_cpus=False, is_suspended=True),
            *(SUSPENDED, True, Reason.NONE, ""),
            id="is stopped again before it goes on",
        ),
        pytest.param(seen(RUNNING, preempted=IN_GRACE), RUNNING, False, Reason.NONE, "", id="chosen, in grace"),
        pytest.param(seen(RUNNING, preempted=MARK), SUSPENDED, True, Reason.NONE, "", id="stopped for another"),
        pytest.param(
            seen(SUSPENDED, frees_cpus=True, preempted=MARK, may_go_on=False),
            *(SUSPENDED, True, Reason.RESOURCES, WAITS),
            id="waits for the other",
        ),
        pytest.param(
            seen(RUNNING, preempted=replace(MARK, otherwise=PreemptMode.REQUEUE), why_not_freed=WHY),
            *(JobState.EXITING, False, Reason.PREEMPTED, "it was preempted for job 9"),
            id="queued again where pods are not resized",
        ),
        pytest.param(
            seen(RUNNING, preempted=MARK, why_not_freed=WHY),
            *(RUNNING, False, Reason.NONE, f"its CPUs stay taken: {WHY}"),
            id="left alone if nothing else was said",
        ),
    ],
)
def test_what_its_record_says_next(
    seen: Observed, state: JobState, frees_cpus: bool, reason: Reason, message: str
) -> None:
    status = as_it_stands(seen, seen.record.status)
    assert (status.state, status.frees_cpus, status.reason, status.message) == (state, frees_cpus, reason, message)
    assert status.is_rerunning is (state is JobState.EXITING)


def test_one_that_cannot_be_suspended_is_ended_if_that_was_said() -> None:
    found = seen(RUNNING, preempted=replace(MARK, otherwise=PreemptMode.CANCEL), why_not_freed=WHY)
    status = as_it_stands(found, found.record.status)
    assert (status.state, status.is_rerunning) == (JobState.EXITING, False)


def test_the_mark_goes_when_it_goes_on() -> None:
    """So that it can be suspended for yet another job."""
    found = seen(SUSPENDED, has_cpus=True, preempted=MARK)
    assert as_it_stands(found, found.record.status).preempted is None
