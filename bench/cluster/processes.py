"""What the cluster's processes take of this machine: CPU seconds and memory, from /proc."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bench.timing import cpu_s
from tests.cluster import daemons

OTHERS = ("kube-apiserver", "etcd", "vc-controller-manager", "vc-scheduler", "vc-webhook-manager", "kwok")


def memory_mib(pid: int) -> float:
    """Resident memory."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024


def cpu_of_all(controller: int) -> Mapping[str, float]:
    """CPU seconds of the controller and of what works for it."""
    running = {name: daemons.pid(name) for name in OTHERS if name in daemons.names()}
    return {name: cpu_s(pid) for name, pid in {"hpcbatch-controller": controller, **running}.items()}
