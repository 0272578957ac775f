"""The sockets and cores of a node, and how its kubelet gives CPUs to pods, as Volcano's Numatopology objects say it.

Its resource-exporter writes one for each node, by the node's name. Source: volcano.sh/apis nodeinfo/v1alpha1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from hpcbatch.dataclass import dataclass
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.text import printable
from hpcbatch.typed import Any
from hpcbatch.units import parse_quantity

_NO_POLICY = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuTopology:
    sockets: int = 1
    cores_per_socket: int | None = None
    """None: not known, and each CPU counts as one."""
    threads_per_core: int = 1
    reserved_cores: int = 0
    """Kept from pods."""
    cpu_policy: str = _NO_POLICY
    """The kubelet's CPU manager: `static` gives some pods CPUs of their own."""
    topology_policy: str = _NO_POLICY
    """The kubelet's topology manager: `single-numa-node`, `restricted`, `best-effort`."""

    @property
    def policies(self) -> str:
        """Those that are not Kubernetes' defaults, `cpu-manager=static,topology-manager=restricted`; "": none."""
        found = (("cpu-manager", self.cpu_policy), ("topology-manager", self.topology_policy))
        return ",".join(f"{name}={policy}" for name, policy in found if policy not in {"", _NO_POLICY})


def cpu_topology(numatopology: Mapping[str, Any]) -> CpuTopology:
    """What one of these objects says. Where sockets have unlike numbers of cores, or cores of threads, the largest."""
    spec = numatopology.get("spec") or {}
    threads: dict[tuple[int, int], int] = {}
    for cpu in (spec.get("cpuDetail") or {}).values():
        place = int(cpu.get("socket", 0)), int(cpu.get("core", 0))  # 0 is left out in JSON
        threads[place] = threads.get(place, 0) + 1
    cores: dict[int, int] = {}
    for socket, _ in threads:
        cores[socket] = cores.get(socket, 0) + 1
    per_core = max(threads.values(), default=1)
    policies = spec.get("policies") or {}
    return CpuTopology(
        sockets=len(cores) or 1,
        cores_per_socket=max(cores.values(), default=None),
        threads_per_core=per_core,
        reserved_cores=math.ceil(_amount((spec.get("resReserved") or {}).get("cpu", 0)) / per_core),
        cpu_policy=printable(str(policies.get("CPUManagerPolicy") or _NO_POLICY)),
        topology_policy=printable(str(policies.get("TopologyManagerPolicy") or _NO_POLICY)),
    )


def _amount(quantity: object) -> float:
    try:
        return float(parse_quantity(str(quantity)))
    except HpcBatchError:
        return 0.0
