"""Plugin pytorch: variables for torch.distributed's `env://`: one master with rank 0, and workers from rank 1 on.

If requested, workers wait for the master's port in an init container, with our own script: unlike Volcano's it needs no
nc if there is a bash, and ends at once if there is neither. Source: Volcano 1.14.1, pytorch.go.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import ClassVar

from hpcbatch.volcano.plugins.base import JobPlugin, Object, find_task, open_port, pod_address, read_flags, task_of

_WAITER = "wait-for-master"
_WAIT = """\
host={host} port={port} left={seconds}
if command -v nc >/dev/null; then
  answers() {{ nc -z "$host" "$port"; }}
elif command -v bash >/dev/null; then
  answers() {{ bash -c ': >"/dev/tcp/$0/$1"' "$host" "$port"; }}
else
  echo "neither nc nor bash is here, one of which is needed to see whether $host:$port answers" >&2
  exit 1
fi
echo "waiting for $host:$port"
until answers 2>/dev/null; do
  [ "$left" -gt 0 ] || {{ echo "$host:$port did not answer within {seconds} s" >&2; exit 1; }}
  sleep 1
  left=$((left - 1))
done
"""


class PytorchPlugin(JobPlugin):
    name: ClassVar[str] = "pytorch"

    def __init__(self, arguments: Sequence[str]) -> None:
        flags = read_flags(
            arguments,
            {
                "master": "master",
                "worker": "worker",
                "port": 23456,
                "wait-master-enabled": False,
                "wait-master-timeout": 300,
                "wait-master-image": "busybox:1.36.1",
            },
        )
        self.master: str = flags["master"]
        self.worker: str = flags["worker"]
        self.port: int = flags["port"]
        self._waits: bool = flags["wait-master-enabled"]
        self._wait_s: int = flags["wait-master-timeout"]
        self._wait_image: str = flags["wait-master-image"]

    def on_pod_create(self, pod: Object, job: Object) -> Object:
        """Init containers get no variables. Other tasks get all but a RANK, and do not count in WORLD_SIZE."""
        master = find_task(job, self.master)
        if master is None:
            return pod
        address = pod_address(job, master, 0)
        tasks = job["spec"]["tasks"]
        size = sum(task.get("replicas", 0) for task in tasks if task["name"] in {self.master, self.worker})
        variables = {"MASTER_ADDR": address, "MASTER_PORT": str(self.port), "WORLD_SIZE": str(size)}
        if task_of(pod) == self.worker:
            variables["RANK"] = str(int(pod["metadata"]["name"].rpartition("-")[2]) + 1)
            if self._waits:
                self._add_waiter(pod, address)
        elif task_of(pod) == self.master:
            variables["RANK"] = "0"
        for container in pod["spec"]["containers"]:
            open_port(container, "pytorchjob-port", self.port)
            env = [{"name": name, "value": value} for name, value in variables.items()]
            container["env"] = [*(container.get("env") or ()), *env]
        return pod

    def _add_waiter(self, pod: Object, address: str) -> None:
        first = pod["spec"].get("initContainers") or []
        if any(container["name"] == _WAITER for container in first):
            return
        script = _WAIT.format(host=shlex.quote(address), port=self.port, seconds=self._wait_s)
        waiter = {"name": _WAITER, "image": self._wait_image, "command": ["sh", "-c", script]}
        pod["spec"]["initContainers"] = [*first, waiter]
