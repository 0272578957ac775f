"""Which pods may get their nodes from Kubernetes' own scheduler although the site has Volcano. Pure.

A job of one pod is no gang. Where the plan has chosen its node, Volcano's scheduler has nothing left to decide, unless
job, queue or node have something that only Volcano knows: then the pod is left to it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from hpcbatch.typed import Any, Final
from hpcbatch.volcano.amounts import Amounts, add, pod_requests, read_amounts

Object = dict[str, Any]

_ROOT: Final = "root"
_DOMAIN: Final = "volcano.sh"
_OF_EVERY_JOB: Final = frozenset({"volcano.sh/job-type"})
"""What hpcbatch's own template says to Volcano, which concerns no scheduler."""
_RULED_NODES: Final = frozenset(
    {f"{_DOMAIN}/{name}" for name in ("nodegroup-name", "revocable-zone", "oversubscription")}
)
"""Labels of nodes that only some queues or jobs may use, or only at some times, by plugins of Volcano's scheduler."""
_DEEPEST: Final = 32
"""Queues above each other; more are a circle."""


def is_plain(volcano_job: Object) -> bool:
    """Whether a Volcano Job has one pod, and asks for nothing that only Volcano's scheduler gives: groups of nodes, its
    shared devices, its policies for NUMA. Claims to devices count as such: of two schedulers that allocate them at the
    same time neither sees what the other does.
    """
    spec = volcano_job["spec"]
    if sum(int(task.get("replicas", 0)) for task in spec["tasks"]) != 1 or spec.get("networkTopology"):
        return False
    (task,) = (task for task in spec["tasks"] if task.get("replicas"))
    pod, metadata = task["template"]["spec"], task["template"].get("metadata") or {}
    if (task.get("topologyPolicy") or "none") != "none" or task.get("partitionPolicy"):
        return False
    names = [*_keys(volcano_job["metadata"]), *_keys(metadata), *_resources(pod)]
    return not (pod.get("schedulerName") or pod.get("resourceClaims") or _are_volcanos(names))


def is_plain_node(labels: Collection[str]) -> bool:
    """Whether Volcano has no rules of its own for a node with labels of those names."""
    return _RULED_NODES.isdisjoint(labels)


def has_room(volcano_job: Object, queues: Mapping[str, Object]) -> bool:
    """Whether the job's Volcano Queue, and those above it, have room for it by what Volcano has written of them, and
    no rules by which Volcano might still let the job wait. `queues`: all, by name.
    """
    if any(_is_any(((queue.get("spec") or {}).get("guarantee") or {}).get("resource")) for queue in queues.values()):
        return False  # what is kept for one queue, the others do not get
    wants: Amounts = {}
    for task in volcano_job["spec"]["tasks"]:
        add(wants, {"pods": 1, **pod_requests(task["template"]["spec"])}, int(task.get("replicas", 0)))
    name = str(volcano_job["spec"].get("queue") or "default")
    for _ in range(_DEEPEST):
        queue = queues.get(name)
        if queue is None:
            return False
        spec = queue.get("spec") or {}
        if _is_over(spec, queue.get("status") or {}, wants):
            return False
        if name == _ROOT:
            return True
        if spec.get("affinity") or _is_any(spec.get("deserved")):
            return False
        name = str(spec.get("parent") or _ROOT)
        if name == _ROOT and _ROOT not in queues:
            return True
    return False


def given_to(volcano_job: Object, scheduler_name: str) -> Object:
    """The Volcano Job, whose pods another scheduler places. Volcano copies the job's own name only to pods that have
    none.
    """
    tasks = [
        {
            **task,
            "template": {**task["template"], "spec": {**task["template"]["spec"], "schedulerName": scheduler_name}},
        }
        for task in volcano_job["spec"]["tasks"]
    ]
    return {**volcano_job, "spec": {**volcano_job["spec"], "tasks": tasks}}


def is_given_away(volcano_job: Object) -> bool:
    """Whether it was made by `given_to`."""
    own = volcano_job["spec"].get("schedulerName")
    return any(task["template"]["spec"].get("schedulerName", own) != own for task in volcano_job["spec"]["tasks"])


def _is_over(spec: Object, status: Object, wants: Mapping[str, int]) -> bool:
    capability, allocated = read_amounts(spec.get("capability")), read_amounts(status.get("allocated"))
    return any(
        allocated.get(what, 0) + amount > capability.get(what, amount + allocated.get(what, 0))
        for what, amount in wants.items()
    )


def _is_any(quantities: Mapping[str, Any] | None) -> bool:
    return any(read_amounts(quantities).values())


def _keys(metadata: Object) -> Iterator[str]:
    yield from metadata.get("labels") or ()
    yield from metadata.get("annotations") or ()


def _resources(pod: Object) -> Iterator[str]:
    for container in (*(pod.get("initContainers") or ()), *(pod.get("containers") or ())):
        for side in (container.get("resources") or {}).values():
            if isinstance(side, dict):
                yield from side


def _are_volcanos(names: Collection[str]) -> bool:
    """Whether one of them is of Volcano's domain."""
    domains = {name.partition("/")[0] for name in names if name not in _OF_EVERY_JOB}
    return any(domain == _DOMAIN or domain.endswith(f".{_DOMAIN}") for domain in domains)
