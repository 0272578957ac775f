"""One share of the processors for all pods of an engine: a best effort.

Outside of control groups, Linux schedules each session as a group of its own (autogroup): a rank that waits in one pod
and calls sched_yield(2) gives way to that pod's other ranks only, and those of other pods, for which it waits, get
their turn late. Ranks that mpirun starts by hand are in one session. Where all is in control groups, as on machines
with systemd, there is no autogroup. Source: sched(7), "The autogroup feature".
"""

from __future__ import annotations

import contextlib
import os

from hpcbatch.engine.podhost import control_groups


def join(own_pid: int) -> str:
    """Put this process, and so all that it starts, into a group of its own in the hierarchy of version 1. Returns the
    group; "" where there need not be one, or cannot.
    """
    try:
        if control_groups.read("/proc/sys/kernel/sched_autogroup_enabled").strip() == "0":
            return ""
        root = control_groups.version_1("cpu")
        if not root or control_groups.own_path("cpu"):
            return ""
        control_groups.remove_stale(root)
        group = control_groups.base(root, own_pid)
        os.makedirs(group, exist_ok=True)
        control_groups.write(f"{group}/cgroup.procs", str(own_pid))
    except OSError:
        return ""
    return group


def leave(group: str) -> None:
    """Back to where `join` found this process, the last that is in the group, which goes."""
    if group:
        with contextlib.suppress(OSError):
            control_groups.write(f"{os.path.dirname(group)}/cgroup.procs", str(os.getpid()))
        control_groups.remove(group)
