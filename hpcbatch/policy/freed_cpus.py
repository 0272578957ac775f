"""The CPUs of a suspended job: its pods request none, so that others get them, and theirs again before it goes on.

Kubernetes resizes pods in place, by `pods/resize`. A pod must keep its class of quality of service, and no request can
be taken away. Source: Kubernetes, "Resize CPU and Memory Resources assigned to Containers".
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.labels import CPUS_ANNOTATION
from hpcbatch.typed import Any, Final
from hpcbatch.units import cpu_milli, memory_bytes
from hpcbatch.volcano.amounts import granted_requests, why_infeasible

Object = dict[str, Any]
_LITTLE_MEMORY: Final = "1Mi"
"""What a pod requests that requested nothing but CPU: without any request it would be of another class."""
_LEAST_CPU: Final = "1m"
"""Of a pod whose class demands a limit of CPU."""


def own_cpus(pod: Object) -> dict[str, str]:
    """What its containers request of CPU when its job runs; those that request none are left out."""
    return kept_cpus(pod) or {
        one["name"]: str(cpu)
        for one in pod["spec"]["containers"]
        if (cpu := _part(one, "requests").get("cpu")) is not None and cpu_milli(cpu)
    }


def kept_cpus(pod: Object) -> dict[str, str]:
    """The same as its annotation has it; {}: it has none that can be read."""
    text = (pod["metadata"].get("annotations") or {}).get(CPUS_ANNOTATION)
    if text is None:
        return {}
    try:
        found = json.loads(text)
        return {str(name): str(cpu) for name, cpu in found.items() if cpu_milli(str(cpu))}
    except (ValueError, AttributeError, HpcBatchError):
        return {}


def whole_milli(pod: Object) -> int:
    """What it requests of CPU when its job runs, if an annotation says it."""
    return sum(map(cpu_milli, kept_cpus(pod).values()))


def annotation(pod: Object) -> str | None:
    """What its annotation is to be before its CPUs are freed; None: it is that."""
    return None if kept_cpus(pod) else json.dumps(own_cpus(pod))


def freed(pod: Object) -> list[Object] | None:
    """The containers with as little CPU as they can have; None: they have."""
    return _changed(pod, dict.fromkeys(own_cpus(pod), _LEAST_CPU if _is_guaranteed(pod) else "0"))


def whole(pod: Object) -> list[Object] | None:
    """The containers with their CPUs; None: they have them."""
    return _changed(pod, kept_cpus(pod))


def has_its_cpus(pods: Iterable[Object]) -> bool:
    """Whether their nodes have granted all CPUs that these pods are to have when their job runs."""
    return all(whole(pod) is None and not granted_requests(pod) for pod in pods)


def is_pending(pods: Iterable[Object]) -> bool:
    return any(granted_requests(pod) for pod in pods)


def why_never(pods: Iterable[Object]) -> str:
    """Why a node does not resize one of them at all; "": none has said so."""
    return next(filter(None, map(why_infeasible, pods)), "")


def _changed(pod: Object, cpus: Mapping[str, str]) -> list[Object] | None:
    before, are_limited = pod["spec"]["containers"], _is_guaranteed(pod)
    after = [_with_cpu(one, cpus[one["name"]], are_limited) if one["name"] in cpus else one for one in before]
    return None if all(new is old for new, old in zip(after, before, strict=True)) else after


def _with_cpu(container: Object, cpu: str, is_limited: bool) -> Object:
    requests, limits = _part(container, "requests"), _part(container, "limits")
    if cpu_milli(requests.get("cpu", 0)) == cpu_milli(cpu):
        return container
    requests = {**requests, "cpu": cpu}
    if not memory_bytes(requests.get("memory", 0)):
        requests["memory"] = _LITTLE_MEMORY
    if is_limited:
        limits = {**limits, "cpu": cpu}
    resources = {**container["resources"], "requests": requests}
    return {**container, "resources": {**resources, "limits": limits} if is_limited else resources}


def _is_guaranteed(pod: Object) -> bool:
    """Its class demands that each of its containers is limited to what it requests."""
    return (pod.get("status") or {}).get("qosClass") == "Guaranteed"


def _part(container: Object, part: str) -> Mapping[str, Any]:
    return (container.get("resources") or {}).get(part) or {}
