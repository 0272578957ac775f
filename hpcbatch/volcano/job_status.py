"""The status of a Volcano Job as it is written: state, counters, conditions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

from hpcbatch.units import rfc3339
from hpcbatch.volcano.job_view import JobView, Object, Phase, PodView, go_duration
from hpcbatch.volcano.lifecycle import SetState

_COUNTERS = {"Pending": "pending", "Running": "running", "Succeeded": "succeeded", "Failed": "failed"}


def job_status(
    job: JobView,
    before: Mapping[str, object],
    state: SetState,
    pods: Sequence[PodView],
    *,
    controlled: Mapping[str, str],
    now: datetime,
) -> Object:
    """The whole new status. `before` is the old one: its times stay where nothing changes."""
    moved = before.get("state") is None or state.phase is not job.phase
    since = rfc3339(now) if moved or job.since is None else rfc3339(job.since)
    entry: Object = {"phase": str(state.phase), "lastTransitionTime": since}
    if state.reason:
        entry["reason"] = state.reason
    if state.target:
        entry["message"] = state.target
    status: Object = {"state": entry, "minAvailable": job.min_available}
    status["conditions"] = _conditions(before, state.phase, since)
    for key, value in (("version", state.version), ("retryCount", state.retry_count)):
        if value:
            status[key] = value
    there = [pod for pod in pods if not pod.is_terminating]
    totals = Counter(_COUNTERS.get(pod.phase, "unknown") for pod in there)
    totals["terminating"] = len(pods) - len(there)
    status |= {name: count for name, count in sorted(totals.items()) if count}
    tasks = {
        task.name: {"phase": dict(sorted(Counter(pod.phase for pod in there if pod.task == task.name).items()))}
        for task in job.tasks
        if any(pod.task == task.name for pod in there)
    }
    if tasks:
        status["taskStatusCount"] = tasks
    if controlled:
        status["controlledResources"] = dict(sorted(controlled.items()))
    if state.phase.is_final or state.phase is Phase.ABORTED:
        if not moved and before.get("runningDuration"):
            status["runningDuration"] = before["runningDuration"]
        else:
            status["runningDuration"] = go_duration((now - job.created).total_seconds())
    return status


def recorded_pods(status: Mapping[str, object]) -> dict[str, int]:
    """The number of pods of each task that a status counts."""
    tasks = status.get("taskStatusCount")
    if not isinstance(tasks, Mapping):
        return {}
    return {name: sum(entry.get("phase", {}).values()) for name, entry in tasks.items()}


def _conditions(before: Mapping[str, object], phase: Phase, since: str) -> list[Object]:
    """One for each phase, in the order they were entered last."""
    held = before.get("conditions")
    kept = [entry for entry in (held if isinstance(held, list) else []) if entry.get("status") != phase]
    return [*kept, {"status": str(phase), "lastTransitionTime": since}]
