"""Plugin mpi: gives the master its list of workers; ssh and svc, which it needs, are added at admission."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from hpcbatch.volcano.plugins.base import (
    JobPlugin,
    Object,
    add_env,
    containers,
    find_task,
    host_addresses,
    open_port,
    read_flags,
    task_of,
)


class MpiPlugin(JobPlugin):
    name: ClassVar[str] = "mpi"

    def __init__(self, arguments: Sequence[str]) -> None:
        flags = read_flags(arguments, {"master": "master", "worker": "worker", "port": 22})
        self.master: str = flags["master"]
        self.worker: str = flags["worker"]
        self.port: int = flags["port"]

    def on_pod_create(self, pod: Object, job: Object) -> Object:
        workers = find_task(job, self.worker)
        if workers is None:
            return pod
        if task_of(pod) == self.master:
            add_env(pod, {"name": "MPI_HOST", "value": ",".join(host_addresses(job, workers))})
        for container in containers(pod):
            open_port(container, "mpijob-port", self.port)
        return pod
