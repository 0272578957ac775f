"""hpcbatch's own controllers on the cluster: which of them leads, and the processes behind the pods."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cluster.state import kubectl, wait_until

NAMESPACE = "hpcbatch-system"
LEASE = "hpcbatch-controller"
_SELECTOR = "app.kubernetes.io/name=hpcbatch,app.kubernetes.io/component=controller"


def pods() -> dict[str, str]:
    """uid by name, of those that run."""
    found = json.loads(kubectl("-n", NAMESPACE, "get", "pods", "-l", _SELECTOR, "-o", "json"))["items"]
    return {
        pod["metadata"]["name"]: pod["metadata"]["uid"]
        for pod in found
        if pod["status"]["phase"] == "Running" and "deletionTimestamp" not in pod["metadata"]
    }


def leader() -> str:
    """The name of the pod that holds the lease; "" while nobody does."""
    lease = json.loads(kubectl("-n", NAMESPACE, "get", "lease", LEASE, "-o", "json"))
    holder = str(lease["spec"].get("holderIdentity") or "")
    return next((name for name in pods() if holder.startswith(name)), "")


def process(pod: str) -> int:
    """The controller's process on this machine."""
    uid = pods()[pod]
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"pod{uid}" in (folder / "cgroup").read_text() and b"hpcbatch" in (folder / "cmdline").read_bytes():
                return int(folder.name)
        except (FileNotFoundError, ProcessLookupError):
            continue
    raise AssertionError(f"no process of pod {pod}")


def wait_for_leader() -> str:
    wait_until("a leader among the controllers", leader, 60)
    return leader()


def kill_leader() -> str:
    """kill -9 of the one that acts; its pod's name."""
    pod = wait_for_leader()
    os.kill(process(pod), signal.SIGKILL)
    return pod


def replicas(count: int) -> None:
    """As many controllers as that, and ready."""
    deployment = f"deployment/{LEASE}"
    kubectl("-n", NAMESPACE, "scale", deployment, f"--replicas={count}")
    if count:
        kubectl("-n", NAMESPACE, "rollout", "status", deployment, "--timeout=90s")
        wait_for_leader()
    else:
        wait_until("the controllers to go", lambda: not pods(), 60)


@contextmanager
def away() -> Iterator[None]:
    """No controller at all for a while."""
    replicas(0)
    try:
        yield
    finally:
        replicas(2)
