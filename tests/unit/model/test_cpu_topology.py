"""What Numatopology objects say of a node's CPUs."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbatch.model.cpu_topology import CpuTopology, cpu_topology

TWO_SOCKETS = {
    str(cpu): {"numa": cpu // 4 % 2, "socket": cpu // 4 % 2, "core": cpu % 4} | ({} if cpu % 4 else {"core": 0})
    for cpu in range(16)
}


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ({}, CpuTopology()),
        (
            {
                "policies": {"CPUManagerPolicy": "static", "TopologyManagerPolicy": "single-numa-node"},
                "resReserved": {"cpu": "500m", "memory": "1Gi"},
                "numares": {"cpu": {"allocatable": "0-15", "capacity": 16}},
                "cpuDetail": TWO_SOCKETS,
            },
            CpuTopology(
                sockets=2,
                cores_per_socket=4,
                threads_per_core=2,
                reserved_cores=1,
                cpu_policy="static",
                topology_policy="single-numa-node",
            ),
        ),
        ({"cpuDetail": {"0": {}, "1": {"core": 1}}}, CpuTopology(cores_per_socket=2)),
        ({"resReserved": {"cpu": "many"}, "policies": {"CPUManagerPolicy": ""}}, CpuTopology()),
    ],
)
def test_read(spec: dict[str, Any], found: CpuTopology) -> None:
    assert cpu_topology({"metadata": {"name": "node-0"}, "spec": spec}) == found


def test_policies() -> None:
    assert CpuTopology().policies == ""
    assert CpuTopology(cpu_policy="static").policies == "cpu-manager=static"
    both = CpuTopology(cpu_policy="static", topology_policy="restricted")
    assert both.policies == "cpu-manager=static,topology-manager=restricted"
