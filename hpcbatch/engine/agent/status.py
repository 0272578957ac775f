"""The agent's state of a pod's run, and the pod status computed from it. Pure.

Source of the status shapes: statuses written by a real kubelet, step by step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from hpcbatch.api.port import Object
from hpcbatch.volcano.amounts import RESIZE_PENDING

OWN_CONDITIONS: Final = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", RESIZE_PENDING)
LOST_REASON: Final = "ContainerStatusUnknown"
LOST_MESSAGE: Final = "The container could not be located when the pod was terminated"
KILLED: Final = 137


@dataclass(slots=True)
class ContainerRun:
    """One container. `state` and `last` have the shape of the API."""

    spec: Object
    init: bool
    state: dict[str, Any]
    last: dict[str, Any] = field(default_factory=dict)
    restarts: int = 0
    backoff_s: float = 0.0

    @property
    def name(self) -> str:
        return str(self.spec["name"])

    @property
    def terminated(self) -> dict[str, Any] | None:
        return self.state.get("terminated")

    @property
    def running(self) -> bool:
        return "running" in self.state

    @property
    def succeeded(self) -> bool:
        end = self.terminated
        return end is not None and end["exitCode"] == 0


@dataclass(slots=True)
class PodStatusParts:
    """Everything that a pod's status is computed from, besides what other clients wrote there."""

    containers: list[ContainerRun]
    start_time: str
    host_ip: str
    ip: str = ""
    sandbox: bool = False
    """The sandbox exists or is about to: from here on processes of the pod may have run."""
    ended: bool = False
    """No container will run any more."""
    failed_because: str = ""
    """status.reason of a pod that failed as a whole; `message` goes with it."""
    message: str = ""
    pod_uid: str = ""
    resize_pending: tuple[str, str] | None = None
    """Reason and message, while the node does not grant a resize."""


def waiting(reason: str, message: str = "") -> dict[str, Any]:
    return {"waiting": {"reason": reason, "message": message} if message else {"reason": reason}}


def new_containers(spec: Object) -> list[ContainerRun]:
    init = [ContainerRun(one, True, waiting("PodInitializing")) for one in spec.get("initContainers") or ()]
    first = waiting("PodInitializing" if init else "ContainerCreating")
    return [*init, *(ContainerRun(one, False, dict(first)) for one in spec["containers"])]


def new_state(one: ContainerRun, containers: list[ContainerRun]) -> dict[str, Any]:
    """The waiting state of a container without an error."""
    if one.last:
        return one.state
    has_init = any(other.init for other in containers)
    return waiting("PodInitializing" if has_init else "ContainerCreating")


def phase(parts: PodStatusParts) -> str:
    main = [one for one in parts.containers if not one.init]
    if parts.failed_because and parts.ended:
        return "Failed"
    if parts.ended:
        return "Succeeded" if all(one.succeeded for one in parts.containers) else "Failed"
    started = any(one.running or one.terminated or one.last for one in main)
    return "Running" if started else "Pending"


def pod_status(parts: PodStatusParts, old: Mapping[str, Any], generation: int, now: str) -> dict[str, Any]:
    """The whole status; other clients' conditions and the times of unchanged ones are kept from `old`."""
    status: dict[str, Any] = {"observedGeneration": generation} if generation else {}
    status["phase"] = phase(parts)
    status["conditions"] = _conditions(parts, old.get("conditions") or (), status["phase"], generation, now)
    if parts.failed_because:
        status["reason"] = parts.failed_because
    if parts.message:
        status["message"] = parts.message
    status["hostIP"], status["hostIPs"] = parts.host_ip, [{"ip": parts.host_ip}]
    if parts.ip:
        status["podIP"], status["podIPs"] = parts.ip, [{"ip": parts.ip}]
    status["startTime"] = parts.start_time
    for init, name in ((True, "initContainerStatuses"), (False, "containerStatuses")):
        statuses = [_container_status(one, parts.pod_uid) for one in parts.containers if one.init == init]
        if statuses:
            status[name] = statuses
    if "qosClass" in old:
        status["qosClass"] = old["qosClass"]
    return status


def _container_status(one: ContainerRun, pod_uid: str) -> dict[str, Any]:
    status = {
        "name": one.name,
        "state": one.state,
        "lastState": one.last,
        "restartCount": one.restarts,
        "ready": one.succeeded if one.init else one.running,
        "started": one.running,
        "image": one.spec.get("image") or "",
        "imageID": "",
    }
    if "waiting" not in one.state:
        status["containerID"] = container_id(pod_uid, one)
    resources = one.spec.get("resources")
    if one.running and resources:
        status["resources"] = resources
        if resources.get("requests"):
            status["allocatedResources"] = resources["requests"]
    return status


def container_id(pod_uid: str, one: ContainerRun) -> str:
    return f"hpcbatch://{pod_uid}/{one.name}/{one.restarts}"


def _conditions(
    parts: PodStatusParts, old: Sequence[Mapping[str, Any]], state: str, generation: int, now: str
) -> list[dict[str, Any]]:
    main = [one for one in parts.containers if not one.init]
    unready = " ".join(one.name for one in main if not one.running)
    unfinished = " ".join(one.name for one in parts.containers if one.init and not one.succeeded)
    over = {"Succeeded": "PodCompleted", "Failed": "PodFailed"}.get(state)
    not_ready = {"reason": over} if over else _because("ContainersNotReady", "unready", unready)
    initialized = {"reason": over} if over == "PodCompleted" else {}
    wanted = {
        "PodReadyToStartContainers": (parts.sandbox and not parts.ended, {}, {}),
        "Initialized": (
            not unfinished,
            initialized,
            _because("ContainersNotInitialized", "incomplete", unfinished),
        ),
        "Ready": (not unready, {}, not_ready),
        "ContainersReady": (not unready, {}, not_ready),
    }
    if parts.resize_pending is not None:
        reason, message = parts.resize_pending
        wanted[RESIZE_PENDING] = (True, {"reason": reason, "message": message}, {})
    before = {one["type"]: one for one in old}
    result: list[dict[str, Any]] = []
    for kind, (true, if_true, if_false) in wanted.items():
        value = "True" if true else "False"
        past = before.get(kind, {})
        since = past.get("lastTransitionTime", now) if past.get("status") == value else now
        condition: dict[str, Any] = {"type": kind}
        if generation:
            condition["observedGeneration"] = generation
        condition.update(status=value, lastTransitionTime=since)
        result.append({**condition, **(if_true if true else if_false)})
    others = [one for one in old if one["type"] not in OWN_CONDITIONS]
    return [*result, *({name: value for name, value in one.items() if value is not None} for one in others)]


def _because(reason: str, word: str, names: str) -> dict[str, str]:
    return {"reason": reason, "message": f"containers with {word} status: [{names}]"}


def lost_parts(pod: Object, host_ip: str, now: str) -> PodStatusParts | None:
    """For a pod of an earlier engine: its last state, if its processes may have run, else None.

    The agent writes PodReadyToStartContainers before it starts anything, so a pod without it may still be started.
    """
    status = pod.get("status") or {}
    if status.get("phase") in {"Succeeded", "Failed"}:
        return None
    ready = any(
        one["type"] == "PodReadyToStartContainers" and one["status"] == "True" for one in status.get("conditions") or ()
    )
    recorded = {
        one["name"]: one for name in ("initContainerStatuses", "containerStatuses") for one in status.get(name) or ()
    }
    if not ready and not any("waiting" not in (one.get("state") or {}) for one in recorded.values()):
        return None
    parts = PodStatusParts(
        new_containers(pod["spec"]),
        status.get("startTime") or now,
        host_ip,
        ip=status.get("podIP") or "",
        sandbox=True,
        ended=True,
        pod_uid=pod["metadata"]["uid"],
    )
    for one in parts.containers:
        record = recorded.get(one.name, {})
        one.restarts, one.last = record.get("restartCount", 0), record.get("lastState") or {}
        one.state = record.get("state") or one.state
    lose(parts, now)
    return parts


def lose(parts: PodStatusParts, now: str) -> None:
    """End all containers that had not ended: their exit codes are unknown."""
    lost = False
    for one in parts.containers:
        if one.terminated is None:
            lost = True
            started = (one.state.get("running") or {}).get("startedAt")
            end = {"exitCode": KILLED, "reason": LOST_REASON, "message": LOST_MESSAGE}
            times = {} if started is None else {"startedAt": started, "finishedAt": now}
            one.state = {"terminated": {**end, **times}}
    parts.ended = True
    if lost and not parts.failed_because:
        parts.failed_because = LOST_REASON
        parts.message = "The engine ended while the pod was running; its processes were killed"
