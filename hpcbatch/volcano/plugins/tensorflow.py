"""Plugin tensorflow: TF_CONFIG, the cluster for tf.distribute. Source: Volcano 1.14.1, tensorflow.go."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import ClassVar

from hpcbatch.volcano.plugins.base import JobPlugin, Object, find_task, pod_address, read_flags, task_of

_ROLES = ("ps", "worker", "chief", "evaluator")


class TensorflowPlugin(JobPlugin):
    name: ClassVar[str] = "tensorflow"

    def __init__(self, arguments: Sequence[str]) -> None:
        flags = read_flags(arguments, {**{role: role for role in _ROLES}, "port": 2222})
        self.tasks: dict[str, str] = {role: flags[role] for role in _ROLES}
        self.port: int = flags["port"]

    def on_pod_create(self, pod: Object, job: Object) -> Object:
        """Init containers get none, nor does the only pod of a job."""
        tasks = job["spec"]["tasks"]
        if len(tasks) == 1 and tasks[0].get("replicas", 0) == 1:
            return pod
        text = json.dumps(self._config(pod, job), separators=(",", ":"))
        for container in pod["spec"]["containers"]:
            container["env"] = [*(container.get("env") or ()), {"name": "TF_CONFIG", "value": text}]
        return pod

    def _config(self, pod: Object, job: Object) -> Object:
        """A task without role is in no cluster, and has its own name as type."""
        cluster = {}
        for role, name in self.tasks.items():
            task = find_task(job, name)
            if task is not None and task.get("replicas", 0):
                indices = range(task["replicas"])
                cluster[role] = [f"{pod_address(job, task, index)}:{self.port}" for index in indices]
        own = task_of(pod)
        role = next((role for role, name in self.tasks.items() if name == own), own)
        return {"cluster": cluster, "task": {"type": role, "index": int(pod["metadata"]["name"].rpartition("-")[2])}}
