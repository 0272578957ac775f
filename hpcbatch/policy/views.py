"""Converts Kubernetes objects to the views that `decide` takes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from hpcbatch.dataclass import replace
from hpcbatch.model.labels import REQUESTS_ANNOTATION, START_WORD
from hpcbatch.model.site import Launcher
from hpcbatch.model.state import Reason
from hpcbatch.policy.observed import PodView, VolcanoJobView
from hpcbatch.policy.plausible import ContainerEnd, NodeSize, plausible
from hpcbatch.policy.waiting import NodeRoom
from hpcbatch.typed import Any, NamedTuple
from hpcbatch.units import cpu_milli, memory_bytes, parse_quantity, parse_rfc3339
from hpcbatch.volcano.amounts import granted_requests, held_requests
from hpcbatch.volcano.gangs.chosen import scheduler_of
from hpcbatch.volcano.job_names import LAUNCHER_LABEL
from hpcbatch.volcano.pod_needs import claimed_by
from hpcbatch.volcano.report import parse_report

Object = dict[str, Any]

# Reasons that the kubelet, the node and taint controllers and the eviction API set when they end a pod.
_LOST_REASONS = frozenset({"NodeLost", "NodeShutdown", "Evicted", "Preempting", "Terminated", "ContainerStatusUnknown"})
# How the reasons begin with which a kubelet does not take a pod that was given more than is free on its node.
_REFUSED = ("OutOf", "UnexpectedAdmissionError")
# Reasons that kube-scheduler and Volcano set for pods preempted by others; older Volcanos only the last.
_PREEMPTED = frozenset({("DisruptionTarget", "True", "PreemptionByScheduler"), ("Ready", "False", "Evict")})
_STARTING = frozenset({"", "ContainerCreating", "PodInitializing"})
# Between two tries the kubelet reports a back-off, followed by the last failure.
_BACK_OFF = re.compile(r'ImagePullBackOff: Back-off pulling image ".*?": (ErrImagePull: .*)', re.DOTALL)
_HOPELESS = frozenset({"InvalidImageName", "ErrImageNeverPull"})
_PODS_TELL = frozenset({"Pending", "Running"})
"""Phases of a Volcano Job that say no more than its pods."""
_TELLING = frozenset({"PodScheduled", "DisruptionTarget"})
"""Conditions of a pod that its view depends on."""


class FirstTaken(NamedTuple):
    """The pod of a job that was deleted before the others, and whether the script was running then."""

    uid: str
    script_ran: bool


def volcano_job_view(job: Object) -> VolcanoJobView:
    phase = job.get("status", {}).get("state", {}).get("phase", "Pending")
    metadata = job["metadata"]
    shape = (metadata.get("labels") or {}).get(LAUNCHER_LABEL, Launcher.SHARED)
    return VolcanoJobView(
        uid=metadata["uid"],
        phase=phase,
        is_deleting="deletionTimestamp" in metadata,
        launcher=Launcher(shape),
        may_bind_in_part=scheduler_of(job).may_bind_in_part,
        has_run=_has_run(job),
        restarts=int(job.get("status", {}).get("retryCount") or 0),
        restarted_at=None if (again := _entered(job, "Restarting")) is None else again[1],
    )


def _has_run(job: Object) -> bool:
    """Since it was last restarted."""
    ran, again = _entered(job, "Running"), _entered(job, "Restarting")
    return ran is not None and (again is None or ran[0] > again[0])


def _entered(job: Object, phase: str) -> tuple[int, datetime | None] | None:
    """Place and time of the last time that it entered the phase: each has one condition, and they are in this order."""
    for place, one in enumerate(job.get("status", {}).get("conditions") or ()):
        if one.get("status") == phase:
            return place, parse_rfc3339(since) if (since := one.get("lastTransitionTime")) else None
    return None


class VolcanoJobNews(NamedTuple):
    """The parts of a Volcano Job from which a step of its BatchJob may follow."""

    uid: str
    is_deleting: bool
    phase: str


def volcano_job_news(job: Object) -> VolcanoJobNews:
    """That its pods wait or run is seen by them."""
    phase = job.get("status", {}).get("state", {}).get("phase", "Pending")
    metadata = job["metadata"]
    return VolcanoJobNews(metadata["uid"], "deletionTimestamp" in metadata, "" if phase in _PODS_TELL else phase)


class PodNews(NamedTuple):
    """The parts of a pod from which a step of its job may follow: those of its PodView, and its annotations."""

    uid: str
    deletion: object
    annotations: object
    node: str
    phase: str
    reasons: tuple[str, str]
    state: object
    conditions: tuple[tuple[object, ...], ...]


def pod_news(pod: Object) -> PodNews:
    metadata, status = pod["metadata"], pod.get("status", {})
    container: Object = next(iter(status.get("containerStatuses", ())), {})
    state = container.get("state", {})
    if (state.get("waiting") or {}).get("reason", "") in _STARTING and not (state.keys() - {"waiting"}):
        state = None  # as one that nothing is known of yet
    return PodNews(
        uid=metadata["uid"],
        deletion=metadata.get("deletionTimestamp"),
        annotations=metadata.get("annotations"),
        node=pod["spec"].get("nodeName", ""),
        phase=status.get("phase", "Pending"),
        reasons=(status.get("reason", ""), status.get("message", "")),
        state=state,
        conditions=tuple(
            (one["type"], one["status"], one.get("reason"), one.get("lastTransitionTime"))
            for one in status.get("conditions", ())
            if one["type"] in _TELLING or (one["type"], one["status"], one.get("reason")) in _PREEMPTED
        ),
    )


def pod_views(
    pods: Iterable[Object],
    names: Sequence[str],
    *,
    launcher: Launcher = Launcher.SHARED,
    gone: Collection[str] = (),
    ready_nodes: Collection[str] | None = None,
    down_nodes: Collection[str] = (),
    first_taken: FirstTaken | None = None,
    preempted: Collection[str] = (),
    sizes: Mapping[str, NodeSize] | None = None,
) -> list[PodView]:
    """The pods of one job in the order of `names`, the result of `volcano.job_names.pod_names`.

    `gone` are the names of deleted pods, which are shown as last seen. `ready_nodes` are the nodes whose kubelet
    responds; None: all. `down_nodes` are those that operators have marked so. `first_taken` is the pod deleted
    before the others, if known; `preempted` are the uids of pods that the scheduler was seen to evict, whatever their
    status is now. `sizes` are those of the nodes by name.
    """
    place = {name: index for index, name in enumerate(names)}
    views = [
        _pod_view(
            pod,
            place[pod["metadata"]["name"]],
            is_gone=pod["metadata"]["name"] in gone,
            is_launcher=launcher is Launcher.DEDICATED and place[pod["metadata"]["name"]] == 0,
            node_answers=ready_nodes is None or pod["spec"].get("nodeName") in ready_nodes,
            is_set_down=pod["spec"].get("nodeName") in down_nodes,
            first_taken=first_taken if first_taken and first_taken.uid == pod["metadata"]["uid"] else None,
            was_preempted=pod["metadata"]["uid"] in preempted,
            size=(sizes or {}).get(pod["spec"].get("nodeName", "")),
        )
        for pod in pods
        if pod["metadata"]["name"] in place
    ]
    return sorted(views, key=lambda view: view.index)


def _pod_view(
    pod: Object,
    index: int,
    *,
    is_gone: bool,
    is_launcher: bool,
    node_answers: bool,
    is_set_down: bool,
    first_taken: FirstTaken | None,
    was_preempted: bool,
    size: NodeSize | None,
) -> PodView:
    metadata, spec, status = pod["metadata"], pod["spec"], pod.get("status", {})
    dies_at = metadata.get("deletionTimestamp") if spec.get("nodeName") else None
    container: Object = next(iter(status.get("containerStatuses", ())), {})
    state: dict[str, Any] = container.get("state", {})
    ended = state.get("terminated")
    running = state.get("running") or ended or {}
    started_at = running.get("startedAt")
    is_lost, is_deleting = was_preempted or _is_lost(status, ended or {}), "deletionTimestamp" in metadata
    # a container that never ran is dated 1970
    began = parse_rfc3339(started_at) if started_at and not started_at.startswith("1970") else None
    finished = parse_rfc3339(ended["finishedAt"]) if ended and ended.get("finishedAt") else None
    report = parse_report(ended.get("message", "")) if ended else None
    if report is not None and ended is not None:
        ran_s = None if began is None or finished is None else max(0, round((finished - began).total_seconds()))
        end = ContainerEnd(exit_code=ended["exitCode"], seconds=ran_s, was_requested=is_lost or is_deleting or is_gone)
        report = plausible(report, end, size)
    requests = spec["containers"][0].get("resources", {}).get("requests", {})
    return PodView(
        index=index,
        name=metadata["name"],
        uid=metadata["uid"],
        node=spec.get("nodeName", ""),
        cpus=round(parse_quantity(requests.get("cpu", "0"))),
        phase=status.get("phase", "Pending"),
        is_deleting=is_deleting,
        is_lost=is_lost,
        is_refused=_is_refused(status),
        is_preempted=was_preempted or is_preempted(status),
        is_set_down=is_set_down,
        is_out_of_memory=(ended is not None and ended.get("reason") == "OOMKilled")
        or (report is not None and report.reason is Reason.OUT_OF_MEMORY),
        started_at=began,
        finished_at=finished,
        exit_code=None if ended is None else ended["exitCode"],
        report=report,
        problem=_problem(status, state),
        is_hopeless=state.get("waiting", {}).get("reason") in _HOPELESS,
        bound_at=_bound_at(status) if spec.get("nodeName") else None,
        dies_at=parse_rfc3339(dies_at) if dies_at else None,
        node_answers=node_answers,
        is_first_taken=first_taken is not None,
        is_taken_early=first_taken is not None and first_taken.script_ran,
        is_gone=is_gone,
        is_launcher=is_launcher,
        has_word=has_word(pod),
    )


def has_word(pod: Object) -> bool:
    """Whether it was allowed to start its job's script."""
    return START_WORD in (pod["metadata"].get("annotations") or {}).get(REQUESTS_ANNOTATION, "").splitlines()


def _bound_at(status: Object) -> datetime | None:
    for condition in status.get("conditions", ()):
        if condition["type"] == "PodScheduled" and condition["status"] == "True" and condition["lastTransitionTime"]:
            return parse_rfc3339(condition["lastTransitionTime"])
    return parse_rfc3339(status["startTime"]) if status.get("startTime") else None


def why_unplaced(pod: Object) -> str:
    """What its scheduler says of a pod that has no node."""
    for condition in (pod.get("status") or {}).get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return str(condition.get("message") or "")
    return ""


def problem_from_events(events: Iterable[Object]) -> str:
    """What keeps a pod from starting that its status does not show, such as a mount: the newest of its events, if that
    is a warning; else "". `events` are the pod's own.
    """
    # of two in one second the good one counts as later: the other may have been a first try
    reported = (event for event in events if event.get("reason") != "Scheduled")  # that comes before all others
    newest = max(reported, key=lambda event: (_event_time(event), event.get("type") != "Warning"), default=None)
    if newest is None or newest.get("type") != "Warning":
        return ""
    return f"{newest.get('reason', '')}: {' '.join(newest.get('message', '').split())}"


def _event_time(event: Object) -> str:
    return (
        (event.get("series") or {}).get("lastObservedTime")
        or event.get("lastTimestamp")
        or event.get("eventTime")
        or ""
    )


def is_preempted(status: Object) -> bool:
    """Whether the scheduler evicts the pod for a job of higher priority."""
    return status.get("reason") == "Preempting" or any(
        (condition["type"], condition["status"], condition.get("reason")) in _PREEMPTED
        for condition in status.get("conditions", ())
    )


def _is_lost(status: Object, ended: Object) -> bool:
    disrupted = any(c["type"] == "DisruptionTarget" and c["status"] == "True" for c in status.get("conditions", ()))
    return (
        disrupted
        or is_preempted(status)
        or _is_refused(status)
        or status.get("reason") in _LOST_REASONS
        or ended.get("reason") in _LOST_REASONS
    )


def _is_refused(status: Object) -> bool:
    """Whether its node had no room for it. None of its containers has begun."""
    has_begun = bool(status.get("containerStatuses"))
    return status.get("phase") == "Failed" and not has_begun and status.get("reason", "").startswith(_REFUSED)


def _problem(status: Object, state: Object) -> str:
    for part in (state.get("waiting") or {}, state.get("terminated") or {}, status):
        reason, message = part.get("reason", ""), part.get("message", "")
        if reason in _STARTING | {"Completed", "Error", "OOMKilled", "Unschedulable"} or not reason:
            continue
        text = f"{reason}: {message}" if message else str(reason)
        backed_off = _BACK_OFF.fullmatch(text)
        return backed_off[1] if backed_off else text
    return ""


def is_ready(node: Object) -> bool:
    """Whether its kubelet responds."""
    conditions = node.get("status", {}).get("conditions", ())
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


class Requests(NamedTuple):
    """What a pod requests of a node; an empty `node`: nothing of any."""

    node: str
    amounts: Mapping[str, int]


def pod_requests(pod: Object) -> Requests:
    node = pod["spec"].get("nodeName")
    if not node or pod.get("status", {}).get("phase") in {"Succeeded", "Failed"}:
        return Requests("", {})
    amounts: dict[str, int] = {}
    for container in pod["spec"]["containers"]:
        _add(amounts, _amounts(container.get("resources", {}).get("requests", {})))
    _add(amounts, claimed_by(pod))
    if granted_requests(pod):  # it is being resized
        amounts |= {name: held for name, held in held_requests(pod).items() if name in {"cpu", "memory"}}
    return Requests(node, amounts)


def used_by(requests: Iterable[Requests]) -> dict[str, dict[str, int]]:
    """What is used of each node, by its name."""
    used: dict[str, dict[str, int]] = {}
    for node, amounts in requests:
        if node:
            _add(used.setdefault(node, {}), amounts)
    return used


def rooms_of(empty: Iterable[tuple[str, NodeRoom | None]], requests: Iterable[Requests]) -> list[NodeRoom]:
    """The nodes that take pods, with what is used of them: `empty` are all nodes by name."""
    used = used_by(requests)
    return [replace(room, used=used[name]) if name in used else room for name, room in empty if room is not None]


def _add(total: dict[str, int], amounts: Mapping[str, int]) -> None:
    for resource, amount in amounts.items():
        total[resource] = total.get(resource, 0) + amount


def empty_room(node: Object) -> NodeRoom | None:
    """Of a node without pods; None if it takes none."""
    if not takes_pods(node):
        return None
    return NodeRoom(labels=node["metadata"].get("labels") or {}, has=_amounts(node["status"]["allocatable"]), used={})


def takes_pods(node: Object) -> bool:
    taints = node["spec"].get("taints") or ()
    return not node["spec"].get("unschedulable") and all(taint["effect"] == "PreferNoSchedule" for taint in taints)


def _amounts(quantities: Object) -> dict[str, int]:
    """CPUs in thousandths, memory and disk, and extended resources."""
    return {
        resource: cpu_milli(text) if resource == "cpu" else memory_bytes(text)
        for resource, text in quantities.items()
        if resource in {"cpu", "memory", "ephemeral-storage"} or "/" in resource
    }
