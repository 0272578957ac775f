"""The pods that have nodes, by node and by job, as the plan looks for them."""

from __future__ import annotations

from collections.abc import Collection

from hpcbatch.api.informer import object_key
from hpcbatch.api.port import WatchEvent
from hpcbatch.model.labels import JOB_ID_LABEL
from hpcbatch.policy.planned import BoundPod, bound_pod

_Key = tuple[str, str]


class BoundPods:
    def __init__(self) -> None:
        self._pods: dict[_Key, BoundPod] = {}
        self._on_node: dict[str, dict[_Key, BoundPod]] = {}
        self._of_job: dict[str, dict[_Key, BoundPod]] = {}

    def on_pod(self, event: WatchEvent) -> tuple[BoundPod, ...]:
        """The pod as it was and as it is, if anything of it has changed that a plan knows."""
        key = object_key(event.object)
        before = self._pods.pop(key, None)
        number = (event.object["metadata"].get("labels") or {}).get(JOB_ID_LABEL, "")
        after = None if event.type == "DELETED" else bound_pod(event.object, number)
        if after is not None:
            self._pods[key] = after
        if before == after:
            return ()
        if before is not None:
            _remove(self._on_node, before.node, key)
            _remove(self._of_job, before.job_id, key)
        if after is not None:
            self._on_node.setdefault(after.node, {})[key] = after
            self._of_job.setdefault(after.job_id, {})[key] = after
        return tuple(pod for pod in (before, after) if pod is not None)

    def on_node(self, name: str) -> Collection[BoundPod]:
        return self._on_node.get(name, {}).values()

    def of_job(self, job_id: str) -> tuple[BoundPod, ...]:
        return tuple(self._of_job.get(job_id, {}).values())


def _remove(pods: dict[str, dict[_Key, BoundPod]], name: str, key: _Key) -> None:
    if (some := pods.get(name)) is not None:
        some.pop(key, None)
        if not some:
            del pods[name]
