"""Memory limits of containers by control groups, version 1 or 2: a best effort.

They need a hierarchy in which this process may make groups, as root's may, and an ordinary user's seldom. Elsewhere
limits hold for the scheduler only, and the log says so once. No limit on the address space takes their place: programs
reserve much more of it than they use.
"""

from __future__ import annotations

import contextlib
import os
import sys
from dataclasses import dataclass
from typing import Final

_NAME: Final = "hpcbatch-"


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """`base` is the group in which those of all containers lie."""

    base: str
    version: int

    @property
    def limit_file(self) -> str:
        return "memory.limit_in_bytes" if self.version == 1 else "memory.max"


def open_hierarchy(own_pid: int) -> Hierarchy | None:
    """Make the base group of this engine, named by its process id, and remove those of engines that are no more."""
    try:
        version, parent = _parent(_read("/proc/self/mounts"), _read("/proc/self/cgroup"))
        _remove_stale(parent)
        base = f"{parent}/{_NAME}{own_pid}"
        os.makedirs(base, exist_ok=True)
        if version == 2:
            _write(f"{base}/cgroup.subtree_control", "+memory")
        found = Hierarchy(base, version)
        os.mkdir(f"{base}/probe")
        usable = os.path.exists(f"{base}/probe/{found.limit_file}")
        os.rmdir(f"{base}/probe")
        if not usable:
            raise OSError("there is no memory controller")
    except OSError as error:
        print(f"podhost: memory limits of pods are not enforced: {error}", file=sys.stderr, flush=True)
        return None
    return found


def close_hierarchy(hierarchy: Hierarchy | None) -> None:
    """Remove the base group; all of its processes are gone."""
    if hierarchy is not None:
        _remove_group(hierarchy.base)


def make_group(hierarchy: Hierarchy, name: str, limit_bytes: int) -> str:
    """A group with the limit; returns its path."""
    path = f"{hierarchy.base}/{name}"
    os.makedirs(path, exist_ok=True)
    _write(f"{path}/{hierarchy.limit_file}", str(limit_bytes))
    # Swap would only put the end off; and in version 2 one process too many ends all, as in Kubernetes.
    extras = (
        (("memory.memsw.limit_in_bytes", str(limit_bytes)),)
        if hierarchy.version == 1
        else (("memory.swap.max", "0"), ("memory.oom.group", "1"))
    )
    for file, value in extras:
        with contextlib.suppress(OSError):
            _write(f"{path}/{file}", value)
    return path


def out_of_memory(group: str) -> bool:
    """Whether the kernel killed a process of the group for want of memory."""
    for file in ("memory.events", "memory.oom_control"):
        with contextlib.suppress(OSError):
            for line in _read(f"{group}/{file}").splitlines():
                word, _, count = line.partition(" ")
                if word == "oom_kill":
                    return int(count) > 0
    return False


def remove_group(group: str) -> None:
    with contextlib.suppress(OSError):
        os.rmdir(group)


def _parent(mounts: str, own: str) -> tuple[int, str]:
    """The version, and where engines make their groups: version 2 beside all others, because a group that holds
    processes, as our own does, may not hold limited groups.
    """
    unified = ""
    for line in mounts.splitlines():
        _, place, kind, options, *_ = line.split(" ")
        if kind == "cgroup" and "memory" in options.split(","):
            return 1, place.rstrip("/") + _own_path(own, "memory")
        if kind == "cgroup2" and not unified:
            unified = place
    if unified and "memory" in _read(f"{unified}/cgroup.controllers").split():
        return 2, unified
    raise OSError("there is no memory controller")


def _own_path(own: str, controller: str) -> str:
    for line in own.splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            return path.rstrip("/")
    return ""


def _remove_stale(parent: str) -> None:
    for name in os.listdir(parent):
        pid = name.removeprefix(_NAME)
        if name.startswith(_NAME) and pid.isdecimal() and not os.path.exists(f"/proc/{pid}"):
            _remove_group(f"{parent}/{name}")


def _remove_group(path: str) -> None:
    with contextlib.suppress(OSError):
        for entry in os.scandir(path):
            if entry.is_dir(follow_symlinks=False):
                remove_group(entry.path)
    remove_group(path)


def _read(path: str) -> str:
    with open(path) as file:
        return file.read()


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)
