"""Plugin mpi: the master is told its workers; ssh and svc, which it needs, are added at admission."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from hpcbatch.volcano.plugins.base import Object, ObjectRef, add_env, containers, host_addresses, read_flags


class MpiPlugin:
    name: ClassVar[str] = "mpi"

    def __init__(self, arguments: Sequence[str]) -> None:
        flags = read_flags(arguments, {"master": "master", "worker": "worker", "port": 22})
        self.master: str = flags["master"]
        self.worker: str = flags["worker"]
        self.port: int = flags["port"]

    def on_pod_create(self, pod: Object, job: Object) -> Object:
        workers = next((task for task in job["spec"]["tasks"] if task["name"] == self.worker), None)
        if workers is None:
            return pod
        if pod["metadata"]["annotations"]["volcano.sh/task-spec"] == self.master:
            add_env(pod, {"name": "MPI_HOST", "value": ",".join(host_addresses(job, workers))})
        for container in containers(pod):
            ports = container.get("ports") or []
            if all(port.get("containerPort") != self.port for port in ports):
                port = {"name": "mpijob-port", "containerPort": self.port, "protocol": "TCP"}
                container["ports"] = [*ports, port]
        return pod

    def on_job_add(self, job: Object) -> list[Object]:  # noqa: ARG002
        return []

    def on_job_update(self, job: Object) -> list[Object]:  # noqa: ARG002
        return []

    def on_job_delete(self, job: Object) -> list[ObjectRef]:  # noqa: ARG002
        return []
