"""Memory limits of containers by control groups, version 1 or 2: a best effort.

They need a hierarchy in which this process may make groups, as root's may, and an ordinary user's seldom. Elsewhere
what containers hold is looked at (sampling.py). No limit on the address space takes their place: programs reserve much
more of it than they use.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass

from hpcbatch.engine.podhost import control_groups


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """`base` is the group in which those of all containers lie."""

    base: str
    version: int

    @property
    def limit_file(self) -> str:
        return "memory.limit_in_bytes" if self.version == 1 else "memory.max"


def open_hierarchy(own_pid: int) -> tuple[Hierarchy | None, str]:
    """Make the base group of this engine, named by its process id, and remove those of engines that are no more.
    Where that cannot be, in one line why.
    """
    try:
        version, parent = _parent()
        control_groups.remove_stale(parent)
        base = control_groups.base(parent, own_pid)
        os.makedirs(base, exist_ok=True)
        if version == 2:
            control_groups.write(f"{base}/cgroup.subtree_control", "+memory")
        found = Hierarchy(base, version)
        os.mkdir(f"{base}/probe")
        usable = os.path.exists(f"{base}/probe/{found.limit_file}")
        os.rmdir(f"{base}/probe")
        if not usable:
            raise OSError("there is no memory controller")
    except OSError as error:
        return None, error.strerror or str(error)
    return found, ""


def close_hierarchy(hierarchy: Hierarchy | None) -> None:
    """Remove the base group; all of its processes are gone."""
    if hierarchy is not None:
        control_groups.remove_tree(hierarchy.base)


def make_group(hierarchy: Hierarchy, name: str, limit_bytes: int) -> str:
    """A group with the limit; returns its path."""
    path = f"{hierarchy.base}/{name}"
    os.makedirs(path, exist_ok=True)
    control_groups.write(f"{path}/{hierarchy.limit_file}", str(limit_bytes))
    # Swap would only put the end off; and in version 2 one process too many ends all, as in Kubernetes.
    extras = (
        (("memory.memsw.limit_in_bytes", str(limit_bytes)),)
        if hierarchy.version == 1
        else (("memory.swap.max", "0"), ("memory.oom.group", "1"))
    )
    for file, value in extras:
        with contextlib.suppress(OSError):
            control_groups.write(f"{path}/{file}", value)
    return path


def out_of_memory(group: str) -> bool:
    """Whether the kernel killed a process of the group for want of memory."""
    for file in ("memory.events", "memory.oom_control"):
        with contextlib.suppress(OSError):
            for line in control_groups.read(f"{group}/{file}").splitlines():
                word, _, count = line.partition(" ")
                if word == "oom_kill":
                    return int(count) > 0
    return False


def _parent() -> tuple[int, str]:
    """The version, and where engines make their groups: version 2 beside all others, because a group that holds
    processes, as our own does, may not hold limited groups.
    """
    if parent := control_groups.version_1("memory"):
        return 1, parent
    unified = control_groups.version_2()
    if unified and "memory" in control_groups.read(f"{unified}/cgroup.controllers").split():
        return 2, unified
    raise OSError("there is no memory controller")
