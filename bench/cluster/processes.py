"""What the cluster's processes take of this machine: CPU seconds and memory, from /proc."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from tests.cluster import daemons

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
OTHERS = ("kube-apiserver", "etcd", "vc-controller-manager", "vc-scheduler", "vc-webhook-manager", "kwok")


def cpu_s(pid: int) -> float:
    """CPU time since the process's start, of all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S


def memory_mib(pid: int) -> float:
    """Resident memory."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024


def cpu_of_all(controller: int) -> Mapping[str, float]:
    """CPU seconds of the controller and of what works for it."""
    running = {name: daemons.pid(name) for name in OTHERS if name in daemons.names()}
    return {name: cpu_s(pid) for name, pid in {"hpcbatch-controller": controller, **running}.items()}
