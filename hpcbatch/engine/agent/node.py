"""Node objects and their Leases, as the kubelet registers and renews them."""

from __future__ import annotations

import os
import platform
import socket
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import hpcbatch
from hpcbatch.api.port import Object
from hpcbatch.engine.machine import architecture
from hpcbatch.model.labels import MACHINE_CPUS, MACHINE_MEMORY
from hpcbatch.units import rfc3339

MAX_PODS: Final = 250
KUBELET_VERSION: Final = "v1.34.1"
LEASE_NAMESPACE: Final = "kube-node-lease"
LEASE_S: Final = 3600
"""Nodes and store end together, so nobody watches the lease; it is renewed seldom, to leave an idle engine idle."""

_CONDITIONS = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """A node of the embedded cluster: a share of this machine."""

    name: str
    cpus: int
    memory_bytes: int


def node_metadata(spec: NodeSpec) -> dict[str, Any]:
    arch = architecture()
    labels = {
        "beta.kubernetes.io/arch": arch,
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": arch,
        "kubernetes.io/hostname": spec.name,
        "kubernetes.io/os": "linux",
    }
    annotations = {
        "node.alpha.kubernetes.io/ttl": "0",
        "volumes.kubernetes.io/controller-managed-attach-detach": "true",
        MACHINE_CPUS: str(os.cpu_count() or 1),
        MACHINE_MEMORY: str(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")),
    }
    return {"name": spec.name, "labels": labels, "annotations": annotations}


def node_status(spec: NodeSpec, state_dir: Path, host_ip: str, now: datetime) -> dict[str, Any]:
    disk = os.statvfs(state_dir)
    disk_bytes = disk.f_blocks * disk.f_frsize
    amounts = {
        "cpu": str(spec.cpus),
        "ephemeral-storage": f"{disk_bytes // 1024}Ki",
        "hugepages-1Gi": "0",
        "hugepages-2Mi": "0",
        "memory": f"{spec.memory_bytes // 1024}Ki",
        "pods": str(MAX_PODS),
    }
    time = rfc3339(now)
    return {
        "capacity": amounts,
        "allocatable": {**amounts, "ephemeral-storage": str(disk_bytes * 9 // 10)},
        "conditions": [
            {
                "type": kind,
                "status": status,
                "lastHeartbeatTime": time,
                "lastTransitionTime": time,
                "reason": reason,
                "message": message,
            }
            for kind, status, reason, message in _CONDITIONS
        ],
        "addresses": [{"type": "InternalIP", "address": host_ip}, {"type": "Hostname", "address": spec.name}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": {
            "machineID": _first_line("/etc/machine-id"),
            "systemUUID": _first_line("/sys/class/dmi/id/product_uuid") or _first_line("/etc/machine-id"),
            "bootID": _first_line("/proc/sys/kernel/random/boot_id"),
            "kernelVersion": platform.release(),
            "osImage": _os_image(),
            "containerRuntimeVersion": f"hpcbatch://{hpcbatch.__version__}",
            "kubeletVersion": KUBELET_VERSION,
            "kubeProxyVersion": "",
            "operatingSystem": "linux",
            "architecture": architecture(),
        },
    }


def lease_spec(node: str, now: datetime) -> dict[str, Any]:
    return {
        "holderIdentity": node,
        "leaseDurationSeconds": LEASE_S,
        "renewTime": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
    }


def lease(node: Object, now: datetime) -> Object:
    meta = node["metadata"]
    owner = {"apiVersion": "v1", "kind": "Node", "name": meta["name"], "uid": meta["uid"]}
    return {
        "metadata": {"name": meta["name"], "namespace": LEASE_NAMESPACE, "ownerReferences": [owner]},
        "spec": lease_spec(meta["name"], now),
    }


def host_address() -> str:
    """The address under which other machines would see this one; no packet is sent to find it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:  # no network
            return "127.0.0.1"


def _first_line(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def _os_image() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "Linux")
    except OSError:
        return "Linux"
