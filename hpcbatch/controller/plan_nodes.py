"""The nodes as the plan sees them: what each has for jobs beside other pods, and what pods that leave still hold."""

from __future__ import annotations

from collections.abc import Container, Iterable

from hpcbatch.api.port import Object, WatchEvent
from hpcbatch.controller.bound_pods import BoundPods
from hpcbatch.controller.groupings import Groupings
from hpcbatch.controller.plan_basis import PlanBasis
from hpcbatch.policy.plan.snapshot import Node, RunningJob
from hpcbatch.policy.planned import BoundPod, leaving_pods, node_of


class PlanNodes:
    def __init__(self, basis: PlanBasis, released: Container[str]) -> None:
        """`released`: the jobs whose pods are counted as theirs, by the plan's names; all others' take from a node."""
        self._basis, self._released = basis, released
        self.by_name: dict[str, Node] = {}
        self.pods = BoundPods()
        self.groupings = Groupings(self.by_name)
        self._objects: dict[str, Object] = {}
        self._changed: set[str] = set()

    def on_node(self, event: WatchEvent) -> None:
        name = event.object["metadata"]["name"]
        if event.type == "DELETED":
            self._objects.pop(name, None)
        else:
            self._objects[name] = event.object
        self._changed.add(name)

    def on_pod(self, event: WatchEvent) -> tuple[BoundPod, ...]:
        """The pod as it was and as it is, if anything has changed by it."""
        changed = self.pods.on_pod(event)
        self.look_at_nodes_of(changed)
        return changed

    def look_at_nodes_of(self, pods: Iterable[BoundPod]) -> None:
        """They are counted otherwise from now on."""
        self._changed.update(pod.node for pod in pods)

    def refresh(self, now_s: float) -> None:
        for name in self._changed:
            self._set_node(name, now_s)
        self._changed.clear()

    def is_open(self, name: str) -> bool:
        node = self.by_name.get(name)
        return node is not None and node.is_open

    def _set_node(self, name: str, now_s: float) -> None:
        obj, basis = self._objects.get(name), self._basis
        pods = () if obj is None else self.pods.on_node(name)
        others = [pod for pod in pods if pod.job_id not in self._released]
        self._set_leaving(leaving_pods(name, (pod.takes for pod in others if pod.is_leaving), now_s))
        if obj is None:
            if self.by_name.pop(name, None) is not None:
                basis.planner.drop_node(name)
                basis.is_changed = self.groupings.has_other_labels = True
            return
        node, before = node_of(obj, (pod.takes for pod in others if not pod.is_leaving)), self.by_name.get(name)
        if before != node:
            self.by_name[name] = node
            if before is None or before.labels != node.labels:
                self.groupings.has_other_labels = True
            basis.planner.put_node(node)
            basis.is_changed = True

    def _set_leaving(self, pods: RunningJob) -> None:
        if any(pods.placed.values()):
            self._basis.put_running(pods)
        elif not self._basis.drop_running(pods.job_id):
            return
        self._basis.is_changed = True
