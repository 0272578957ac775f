"""Jobs, tasks and pods for the tests of the life of a Volcano Job."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from hpcbatch.volcano.job_view import JobView, PodView, TaskView
from hpcbatch.volcano.lifecycle import (
    SetState,
)

NOW = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)


def with_state(job: JobView, state: SetState, now: datetime) -> JobView:
    """The job as it is after `state` has been written."""
    since = job.since if state.phase is job.phase else now
    return replace(
        job,
        phase=state.phase,
        version=state.version,
        retry_count=state.retry_count,
        reason=state.reason,
        target=state.target,
        since=since,
    )


def job(*tasks: TaskView, **more: Any) -> JobView:
    tasks = tasks or (TaskView(name="t", replicas=2, min_available=2),)
    fields = {"name": "j", "created": NOW, "min_available": sum(t.min_available for t in tasks), "since": NOW, **more}
    return JobView(tasks=tasks, **fields)


def pod(name: str, phase: str = "Running", **more: Any) -> PodView:
    task, _, index = name.rpartition("-")
    fields = {"uid": name, "created": NOW, "finished": NOW if phase in {"Succeeded", "Failed"} else None, **more}
    return PodView(name=f"j-{name}", task=task, index=int(index), phase=phase, **fields)
