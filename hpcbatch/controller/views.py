"""Kubernetes objects as `decide` wants to see them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from hpcbatch.api.port import Object
from hpcbatch.controller.decide import PodView, VolcanoJobView
from hpcbatch.controller.waiting import NodeRoom
from hpcbatch.units import cpu_milli, memory_bytes, parse_quantity, parse_rfc3339
from hpcbatch.volcano.report import parse_report

# What the kubelet, the node and taint controllers and the eviction API say when a pod was taken away from a job.
_LOST_REASONS = frozenset({"NodeLost", "NodeShutdown", "Evicted", "Preempting", "Terminated", "ContainerStatusUnknown"})
_STARTING = frozenset({"", "ContainerCreating", "PodInitializing"})


def volcano_job_view(job: Object) -> VolcanoJobView:
    phase = job.get("status", {}).get("state", {}).get("phase", "Pending")
    return VolcanoJobView(uid=job["metadata"]["uid"], phase=phase, is_deleting="deletionTimestamp" in job["metadata"])


def pod_views(pods: Iterable[Object], names: Sequence[str]) -> list[PodView]:
    """The pods of one job in the order of `names`, which `volcano.translate.pods` gave."""
    place = {name: index for index, name in enumerate(names)}
    views = [_pod_view(pod, place[pod["metadata"]["name"]]) for pod in pods if pod["metadata"]["name"] in place]
    return sorted(views, key=lambda view: view.index)


def _pod_view(pod: Object, index: int) -> PodView:
    metadata, spec, status = pod["metadata"], pod["spec"], pod.get("status", {})
    container: Object = next(iter(status.get("containerStatuses", ())), {})
    state: dict[str, Any] = container.get("state", {})
    ended = state.get("terminated")
    running = state.get("running") or ended or {}
    started_at = running.get("startedAt")
    requests = spec["containers"][0].get("resources", {}).get("requests", {})
    return PodView(
        index=index,
        name=metadata["name"],
        node=spec.get("nodeName", ""),
        cpus=round(parse_quantity(requests.get("cpu", "0"))),
        phase=status.get("phase", "Pending"),
        is_deleting="deletionTimestamp" in metadata,
        is_lost=_is_lost(status, ended or {}),
        is_out_of_memory=ended is not None and ended.get("reason") == "OOMKilled",
        # a container that never came to run is dated 1970
        started_at=parse_rfc3339(started_at) if started_at and not started_at.startswith("1970") else None,
        finished_at=parse_rfc3339(ended["finishedAt"]) if ended and ended.get("finishedAt") else None,
        exit_code=None if ended is None else ended["exitCode"],
        report=parse_report(ended.get("message", "")) if ended else None,
        problem=_problem(status, state),
    )


def _is_lost(status: Object, ended: Object) -> bool:
    disrupted = any(c["type"] == "DisruptionTarget" and c["status"] == "True" for c in status.get("conditions", ()))
    return disrupted or status.get("reason") in _LOST_REASONS or ended.get("reason") in _LOST_REASONS


def _problem(status: Object, state: Object) -> str:
    for part in (state.get("waiting") or {}, state.get("terminated") or {}, status):
        reason, message = part.get("reason", ""), part.get("message", "")
        if reason in _STARTING | {"Completed", "Error", "OOMKilled", "Unschedulable"} or not reason:
            continue
        return f"{reason}: {message}" if message else str(reason)
    return ""


def node_rooms(nodes: Iterable[Object], pods: Iterable[Object]) -> list[NodeRoom]:
    """What each schedulable node has, and what the pods on it have asked for."""
    used: dict[str, tuple[int, int]] = {}
    for pod in pods:
        node = pod["spec"].get("nodeName")
        if not node or pod.get("status", {}).get("phase") in {"Succeeded", "Failed"}:
            continue
        cpu, mem = used.get(node, (0, 0))
        for container in pod["spec"]["containers"]:
            requests = container.get("resources", {}).get("requests", {})
            cpu += cpu_milli(requests.get("cpu", "0"))
            mem += memory_bytes(requests.get("memory", "0"))
        used[node] = cpu, mem
    rooms = []
    for node in nodes:
        if node["spec"].get("unschedulable"):
            continue
        has = node["status"]["allocatable"]
        cpu, mem = used.get(node["metadata"]["name"], (0, 0))
        rooms.append(
            NodeRoom(
                cpus=cpu_milli(has["cpu"]) // 1000,
                mem_bytes=memory_bytes(has["memory"]),
                cpus_used=cpu / 1000,
                mem_used_bytes=mem,
            )
        )
    return rooms
