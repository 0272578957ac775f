"""Which changes of objects the agent acts on. For the others its thread is not woken. Pure."""

from __future__ import annotations

from collections.abc import Container

from hpcbatch.api.port import WatchEvent
from hpcbatch.api.resources import PODS


def concerns(event: WatchEvent, nodes: Container[str]) -> bool:
    """The end of a pod, a pod that is bound to one of these nodes, and a Secret or ConfigMap that is there."""
    is_pod = event.object.get("kind") == PODS.kind
    if event.type == "DELETED":
        return is_pod
    return not is_pod or event.object["spec"].get("nodeName") in nodes
