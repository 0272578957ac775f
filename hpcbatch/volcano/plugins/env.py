"""Plugin env: each pod's index in its task."""

from __future__ import annotations

from typing import ClassVar

from hpcbatch.volcano.plugins.base import JobPlugin, Object, add_env


class EnvPlugin(JobPlugin):
    name: ClassVar[str] = "env"

    def on_pod_create(self, pod: Object, job: Object) -> Object:  # noqa: ARG002
        index = pod["metadata"]["name"].rpartition("-")[2]
        add_env(pod, {"name": "VK_TASK_INDEX", "value": index}, {"name": "VC_TASK_INDEX", "value": index})
        return pod
