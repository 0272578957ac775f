"""What may be written through `pods/resize`: the CPU and memory of containers, and nothing else.

Source: podResizeStrategy and ValidatePodResize in k8s.io/kubernetes, v1.34.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from hpcbatch.engine.registry.defaults import pod_qos
from hpcbatch.engine.registry.statuses import FORBIDDEN, INVALID, Cause

Object = dict[str, Any]
_RESIZABLE: Final = ("cpu", "memory")
_KINDS: Final = ("containers", "initContainers")


def resized(given: Mapping[str, Any], old: Object) -> Object:
    """The pod `old` with the resources of the containers of `given`; with its containers where these are others, for
    `check_resize` to refuse.
    """
    spec = dict(old["spec"])
    asked = given.get("spec") or {}
    for kind in _KINDS:
        if kind not in spec and kind not in asked:
            continue
        before, now = spec.get(kind) or [], asked.get(kind) or []
        if _names(before) != _names(now):
            spec[kind] = now
        else:
            spec[kind] = [_with_resources(one, new) for one, new in zip(before, now, strict=True)]
    return {**old, "spec": spec}


def check_resize(pod: Object, old: Object) -> list[Cause]:
    causes = [cause for kind in _KINDS for cause in _check_order(pod["spec"], old["spec"], kind)]
    if causes:
        return causes
    was, now = pod_qos(old["spec"]), pod_qos(pod["spec"])
    if was != now:
        message = f'Invalid value: "{was}": Pod QOS Class may not change as a result of resizing'
        causes.append(Cause(INVALID, "spec", message))
    for index, (new, one) in enumerate(zip(pod["spec"]["containers"], old["spec"]["containers"], strict=True)):
        causes += _check_container(new, one, f"spec.containers[{index}].resources")
    for new, one in zip(pod["spec"].get("initContainers") or (), old["spec"].get("initContainers") or (), strict=True):
        if new.get("resources") != one.get("resources"):
            causes.append(
                Cause(FORBIDDEN, "spec", "Forbidden: resources for non-sidecar init containers are immutable")
            )
    return causes


def _check_order(spec: Object, old: Object, kind: str) -> Iterator[Cause]:
    before, now = _names(old.get(kind) or ()), _names(spec.get(kind) or ())
    if len(before) != len(now):
        yield Cause(FORBIDDEN, f"spec.{kind}", f"Forbidden: {kind} may not be added or removed on resize")
    elif before != now:
        at = next(index for index, name in enumerate(now) if name != before[index])
        message = f"Forbidden: {kind} may not be renamed or reordered on resize"
        yield Cause(FORBIDDEN, f"spec.{kind}[{at}].name", message)


def _check_container(new: Object, old: Object, field: str) -> Iterator[Cause]:
    before, now = old.get("resources") or {}, new.get("resources") or {}
    for part in ("requests", "limits"):
        if not (before.get(part) or {}).keys() <= (now.get(part) or {}).keys():
            yield Cause(FORBIDDEN, f"{field}.{part}", f"Forbidden: resource {part} cannot be removed")
    if _others(now) != _others(before):
        yield Cause(FORBIDDEN, "spec", "Forbidden: only cpu and memory resources are mutable")


def _others(resources: Mapping[str, Any]) -> list[tuple[str, str, Any]]:
    """Amounts of what cannot be resized."""
    return sorted(
        (part, name, amount)
        for part in ("requests", "limits")
        for name, amount in (resources.get(part) or {}).items()
        if name not in _RESIZABLE
    )


def _names(containers: Sequence[Any]) -> list[Any]:
    return [one.get("name") if isinstance(one, dict) else None for one in containers]


def _with_resources(old: Object, new: Object) -> Object:
    resources = new.get("resources") or {}
    return old if (old.get("resources") or {}) == resources else {**old, "resources": resources}
