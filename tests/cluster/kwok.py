"""Virtual nodes beside the real ones: kwok plays their kubelets, so that thousands cost this machine no container.

What it plays is in stages/*.yaml: a node is ready at once, a pod of a Volcano Job runs for a second and reports that
all went well. Each node has CPUS cores, more than any real one here: a job that requests more than a real node has runs
only there. A taint keeps other pods away that find another place.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cluster import daemons
from tests.cluster.binaries import KWOK, build
from tests.cluster.state import ADMIN_CONF, BRIDGE_IP, COMPUTE_LABEL, kubectl, wait_until

CPUS, MEMORY, PODS = 64, "256Gi", 110
LABEL = "hpcbatch-cluster/virtual"
_STAGES = sorted((Path(__file__).parent / "stages").glob("*.yaml"))
_NAME = "kwok"


@contextmanager
def virtual_nodes(count: int) -> Iterator[None]:
    """`count` more nodes, ready; afterwards they are gone, and so are the pods on them."""
    program = build(KWOK) / "kwok"
    _clear()  # what one that was killed has left
    _expect_heartbeats(within="24h")
    options = [word for stage in _STAGES for word in ("--config", str(stage))]
    daemons.start(
        _NAME,
        program,
        "--kubeconfig",
        ADMIN_CONF,
        *options,
        "--manage-all-nodes=false",
        "--manage-nodes-with-label-selector",
        f"{LABEL}=yes",
        "--node-lease-duration-seconds",
        "0",
        "--cidr",
        "10.245.0.0/16",
        "--node-ip",
        BRIDGE_IP,
        "-v",
        "WARN",
    )
    try:
        nodes = json.dumps({"apiVersion": "v1", "kind": "List", "items": [_node(number) for number in range(count)]})
        kubectl("create", "-f", "-", stdin=nodes, limit_s=60 + count)
        wait_until(f"{count} virtual nodes", lambda: _ready() == count, limit_s=60 + count / 5)
        yield
    finally:
        _clear()


def _clear() -> None:
    if _NAME not in daemons.names():
        return
    kubectl("delete", "nodes", "-l", f"{LABEL}=yes", limit_s=600)
    for namespace, pod in _pods():  # no kubelet lets them go any more
        kubectl("-n", namespace, "delete", "pod", pod, "--force", "--grace-period", "0", check=False)
    daemons.stop(_NAME)
    _expect_heartbeats()


def _expect_heartbeats(within: str = "") -> None:
    """1,000 kubelets that tell every few seconds that they live would take most of a small machine; "": as it was."""
    daemons.kill("kube-controller-manager")
    daemons.restart("kube-controller-manager", *(("--node-monitor-grace-period", within) if within else ()))


def _node(number: int) -> dict[str, object]:
    name = f"virtual-{number}"
    role, _, value = COMPUTE_LABEL.partition("=")
    labels = {LABEL: "yes", role: value, "kubernetes.io/hostname": name}
    room = {"cpu": str(CPUS), "memory": MEMORY, "pods": str(PODS)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": [{"key": LABEL, "effect": "PreferNoSchedule"}]},
        "status": {"capacity": room, "allocatable": room},
    }


def _ready() -> int:
    states = "jsonpath={.items[*].status.conditions[?(@.type=='Ready')].status}"
    return kubectl("get", "nodes", "-l", f"{LABEL}=yes", "-o", states).split().count("True")


def _pods() -> list[tuple[str, str]]:
    """Namespace and name of each pod that is still bound to a virtual node."""
    lines = kubectl("get", "pods", "-A", "--no-headers", "-o", f"custom-columns={_POD_COLUMNS}").splitlines()
    rows = [line.split() for line in lines]
    return [(namespace, pod) for node, namespace, pod in rows if node.startswith("virtual-")]


_POD_COLUMNS = "NODE:.spec.nodeName,NAMESPACE:.metadata.namespace,NAME:.metadata.name"
