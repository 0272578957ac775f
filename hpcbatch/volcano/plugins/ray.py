"""Plugin ray: its containers run a Ray cluster, instead of their own command. Source: Volcano 1.14.1, ray.go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from hpcbatch.volcano.plugins.base import (
    JobPlugin,
    Object,
    ObjectRef,
    PluginError,
    beside,
    find_task,
    open_port,
    pod_address,
    read_flags,
    task_of,
)


class RayPlugin(JobPlugin):
    name: ClassVar[str] = "ray"

    def __init__(self, arguments: Sequence[str]) -> None:
        flags = read_flags(
            arguments,
            {
                "head": "head",
                "headContainer": "head",
                "worker": "worker",
                "workerContainer": "worker",
                "port": 6379,
                "dashboardPort": 8265,
                "clientPort": 10001,
            },
        )
        self.head: str = flags["head"]
        self.worker: str = flags["worker"]
        self._containers: tuple[str, str] = flags["headContainer"], flags["workerContainer"]
        self.port: int = flags["port"]
        self._ports = {"gcs": self.port, "dashboard": flags["dashboardPort"], "client-server": flags["clientPort"]}

    def on_pod_create(self, pod: Object, job: Object) -> Object:
        head = find_task(job, self.head)
        if head is None:
            raise PluginError(f"job {job['metadata']['name']} doesn't have head task {self.head}")
        of_head, of_worker = self._containers
        for container in pod["spec"]["containers"]:
            if (task_of(pod), container["name"]) == (self.head, of_head):
                for name, number in self._ports.items():
                    open_port(container, name, number)
                start = f"ray start --head --block --dashboard-host=0.0.0.0 --port={self.port}"
                ports = " --dashboard-port={dashboard} --ray-client-server-port={client-server}".format_map(self._ports)
                container["command"] = ["sh", "-c", start + ports]
            if (task_of(pod), container["name"]) == (self.worker, of_worker):
                address = f"{pod_address(job, head, 0)}:{self.port}"
                container["command"] = ["sh", "-c", f"ray start --block --address={address}"]
        return pod

    def on_job_add(self, job: Object) -> list[Object]:
        meta = job["metadata"]
        selector = {
            "volcano.sh/job-name": meta["name"],
            "volcano.sh/job-namespace": meta["namespace"],
            "volcano.sh/task-spec": self.head,
        }
        ports = [
            {"name": name, "port": number, "targetPort": name, "protocol": "TCP"}
            for name, number in self._ports.items()
        ]
        return [beside(job, "v1", "Service", _service_name(job), spec={"selector": selector, "ports": ports})]

    def on_job_delete(self, job: Object) -> list[ObjectRef]:
        return [ObjectRef("Service", _service_name(job))]


def _service_name(job: Object) -> str:
    return f"{job['metadata']['name']}-head-svc"
