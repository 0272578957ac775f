"""What Volcano's resource-exporter says of a node, in `scontrol show node` of an ordinary user."""

from __future__ import annotations

import json

from tests.cluster.conftest import Admin
from tests.conformance.site import Site


def test_scontrol_shows_sockets_and_policies(admin: Admin, alice: Site) -> None:
    """An admin writes the object here, in the exporter's place."""
    listed = json.loads(admin.kubectl("get", "nodes", "-o", "json").stdout)["items"]
    node = next(one["metadata"]["name"] for one in listed if not one["spec"].get("taints"))
    made = {
        "apiVersion": "nodeinfo.volcano.sh/v1alpha1",
        "kind": "Numatopology",
        "metadata": {"name": node},
        "spec": {
            "policies": {"CPUManagerPolicy": "static", "TopologyManagerPolicy": "single-numa-node"},
            "resReserved": {"cpu": "1"},
            "cpuDetail": {str(cpu): {"numa": cpu % 2, "socket": cpu % 2, "core": cpu // 2} for cpu in range(4)},
        },
    }
    admin.kubectl("apply", "-f", "-", stdin=json.dumps(made))
    shown = alice.run("scontrol", "-o", "show", "node", node).stdout
    admin.kubectl("delete", "numatopology", node)
    for word in ("CoresPerSocket=2", "Sockets=2", "ThreadsPerCore=1", "CoreSpecCount=1"):
        assert f" {word} " in shown
    assert " Extra=cpu-manager=static,topology-manager=single-numa-node" in shown
    assert " Sockets=1 " in alice.run("scontrol", "-o", "show", "node", node).stdout
