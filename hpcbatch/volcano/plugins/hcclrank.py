"""Plugin hcclrank: each pod's rank as an annotation that Ascend devices read. Source: Volcano 1.14.1, hcclrank.go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from hpcbatch.volcano.plugins.base import JobPlugin, Object, find_task, read_flags, task_of

_RANK = "hccl/rankIndex"


class HcclrankPlugin(JobPlugin):
    name: ClassVar[str] = "hcclrank"

    def __init__(self, arguments: Sequence[str]) -> None:
        flags = read_flags(arguments, {"master": "master", "worker": "worker"})
        self.master: str = flags["master"]
        self.worker: str = flags["worker"]

    def on_pod_create(self, pod: Object, job: Object) -> Object:
        """An annotation in the template stays; next a RANK variable counts, then masters come before workers."""
        annotations = pod["metadata"]["annotations"]
        if annotations.get(_RANK):
            return pod
        every = [variable for container in pod["spec"]["containers"] for variable in container.get("env") or ()]
        given = next((variable.get("value") for variable in every if variable["name"] == "RANK"), None)
        index = int(pod["metadata"]["labels"]["volcano.sh/task-index"])
        if given:
            annotations[_RANK] = given
        elif task_of(pod) == self.master:
            annotations[_RANK] = str(index)
        elif task_of(pod) == self.worker:
            annotations[_RANK] = str((find_task(job, self.master) or {}).get("replicas", 0) + index)
        return pod
