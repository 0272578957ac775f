"""A Volcano Job and its pods as the state machine sees them: manifests in, frozen values out."""

from __future__ import annotations

import re
from datetime import datetime
from enum import StrEnum
from typing import Any

from hpcbatch.dataclass import dataclass
from hpcbatch.errors import HpcBatchError
from hpcbatch.units import parse_rfc3339
from hpcbatch.volcano.job_objects import OUT_OF_SYNC, TASK_INDEX, TASK_SPEC, VERSION, min_available

Object = dict[str, Any]


class Phase(StrEnum):
    """status.state.phase of a Volcano Job; PENDING also stands for a job without any status."""

    PENDING = "Pending"
    RUNNING = "Running"
    RESTARTING = "Restarting"
    ABORTING = "Aborting"
    ABORTED = "Aborted"
    COMPLETING = "Completing"
    COMPLETED = "Completed"
    TERMINATING = "Terminating"
    TERMINATED = "Terminated"
    FAILED = "Failed"

    @property
    def is_final(self) -> bool:
        """No transition leads out of it; a ResumeJob leads out of ABORTED."""
        return self in {Phase.COMPLETED, Phase.TERMINATED, Phase.FAILED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    events: frozenset[str] = frozenset()
    action: str = ""
    exit_code: int | None = None
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskView:
    name: str
    replicas: int
    min_available: int
    max_retry: int = 3
    policies: tuple[Policy, ...] = ()
    depends_on: tuple[str, ...] = ()
    depends_on_any: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class JobView:
    name: str
    created: datetime
    tasks: tuple[TaskView, ...]
    min_available: int
    min_success: int | None = None
    max_retry: int = 3
    ttl_s: int | None = None
    policies: tuple[Policy, ...] = ()
    phase: Phase = Phase.PENDING
    since: datetime | None = None
    """When it entered this phase."""
    reason: str = ""
    """The action that led to this phase; `target` is the pod, task or partition that a restart affects."""
    target: str = ""
    version: int = 0
    retry_count: int = 0
    has_plugin_objects: bool = False
    is_deleting: bool = False

    @property
    def replicas(self) -> int:
        return sum(task.replicas for task in self.tasks)

    def task(self, name: str) -> TaskView | None:
        return next((task for task in self.tasks if task.name == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class PodView:
    name: str
    uid: str
    task: str
    index: int
    created: datetime
    phase: str = "Pending"
    version: int = 0
    """The job's version when the pod was created."""
    is_terminating: bool = False
    is_kept: bool = False
    """Somebody's finalizer keeps it in the API after its deletion, as Kueue's does till its whole group is over."""
    is_marked: bool = False
    """Deleted by the controller, not by somebody else."""
    is_ready: bool = False
    exit_code: int = 0
    """Of the first container; 0 while it runs."""
    restarts: int = 0
    restarted: datetime | None = None
    """When a container of it ended and was started again, the last time."""
    finished: datetime | None = None
    partition: str = ""

    @property
    def is_finished(self) -> bool:
        return self.phase in {"Succeeded", "Failed"}

    @property
    def is_alive(self) -> bool:
        return not self.is_finished


def job_view(job: Object) -> JobView:
    spec, status, meta = job["spec"], job.get("status") or {}, job["metadata"]
    state = status.get("state") or {}
    changed = state.get("lastTransitionTime")
    return JobView(
        name=meta["name"],
        created=parse_rfc3339(meta["creationTimestamp"]),
        tasks=tuple(_task_view(task) for task in spec["tasks"]),
        min_available=spec.get("minAvailable", 0),
        min_success=spec.get("minSuccess"),
        max_retry=spec.get("maxRetry", 3),
        ttl_s=spec.get("ttlSecondsAfterFinished"),
        policies=tuple(_policy(policy) for policy in spec.get("policies") or ()),
        phase=Phase(state.get("phase") or "Pending"),
        since=parse_rfc3339(changed) if changed else None,
        reason=state.get("reason", ""),
        target=state.get("message", ""),
        version=status.get("version", 0),
        retry_count=status.get("retryCount", 0),
        has_plugin_objects=bool(status.get("controlledResources")),
        is_deleting="deletionTimestamp" in meta,
    )


def _task_view(task: Object) -> TaskView:
    depends = task.get("dependsOn") or {}
    names = tuple(depends.get("name") or ())
    return TaskView(
        name=task["name"],
        replicas=task.get("replicas", 0),
        min_available=min_available(task),
        max_retry=task.get("maxRetry", 3),
        policies=tuple(_policy(policy) for policy in task.get("policies") or ()),
        depends_on=names,
        depends_on_any=depends.get("iteration") == "any" and len(names) > 1,
    )


def _policy(policy: Object) -> Policy:
    named = [policy["event"]] if policy.get("event") else []
    timeout = policy.get("timeout")
    return Policy(
        events=frozenset([*named, *(policy.get("events") or ())]),
        action=policy.get("action", ""),
        exit_code=policy.get("exitCode"),
        timeout_s=parse_go_duration(timeout) if timeout else None,
    )


def pod_view(pod: Object) -> PodView:
    """View of a pod that a Job controls; one without Volcano's annotations belongs to no task and is surplus."""
    meta, status = pod["metadata"], pod.get("status") or {}
    notes = meta.get("annotations") or {}
    statuses = status.get("containerStatuses") or []
    ended = ((statuses[0].get("state") or {}).get("terminated") or {}) if statuses else {}
    index = notes.get(TASK_INDEX, "")
    return PodView(
        name=meta["name"],
        uid=meta["uid"],
        task=notes.get(TASK_SPEC, ""),
        index=int(index) if index.isdecimal() else 0,
        created=parse_rfc3339(meta["creationTimestamp"]),
        phase=status.get("phase") or "Pending",
        version=int(notes.get(VERSION, "0")) if notes.get(VERSION, "0").isdecimal() else 0,
        is_terminating="deletionTimestamp" in meta,
        is_kept="deletionTimestamp" in meta and bool(meta.get("finalizers")),
        is_marked=notes.get(OUT_OF_SYNC) == "true",
        is_ready=bool(statuses) and all(container.get("ready") for container in statuses),
        exit_code=ended.get("exitCode", 0),
        restarts=sum(
            container.get("restartCount", 0) for container in [*statuses, *(status.get("initContainerStatuses") or ())]
        ),
        restarted=_latest_end(statuses, "lastState"),
        finished=_latest_end(statuses, "state"),
        partition=(meta.get("labels") or {}).get("volcano.sh/partition-id", ""),
    )


def _latest_end(statuses: list[Object], key: str) -> datetime | None:
    ends = [((container.get(key) or {}).get("terminated") or {}).get("finishedAt") for container in statuses]
    return max((parse_rfc3339(end) for end in ends if end), default=None)


_GO_UNIT_S = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_GO_PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)")


def parse_go_duration(text: str) -> float:
    """Read `1h30m`, `5s`, `-1.5h` as seconds. Raises HpcBatchError with Go's message. Source: time.ParseDuration."""
    sign, rest = (-1.0, text[1:]) if text.startswith("-") else (1.0, text.removeprefix("+"))
    if rest == "0":
        return 0.0
    parts = _GO_PART.findall(rest)
    if not parts or "".join(number + unit for number, unit in parts) != rest:
        raise HpcBatchError(f'time: invalid duration "{text}"')
    return sign * sum(float(number) * _GO_UNIT_S[unit] for number, unit in parts)


def go_duration(seconds: float) -> str:
    """Write whole seconds as Go prints a duration: `12s`, `1m8s`, `2h0m5s`."""
    whole = max(0, int(seconds))
    hours, minutes, rest = whole // 3600, whole % 3600 // 60, whole % 60
    return (f"{hours}h" if hours else "") + (f"{minutes}m" if whole >= 60 else "") + f"{rest}s"
