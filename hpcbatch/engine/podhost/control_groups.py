"""Control groups of engines, each below `hpcbatch-<process id>`: where they lie, and removing those of no engine."""

from __future__ import annotations

import contextlib
import os
from typing import Final

_NAME: Final = "hpcbatch-"


def base(parent: str, pid: int) -> str:
    return f"{parent}/{_NAME}{pid}"


def version_1(controller: str) -> str:
    """The group of this process in the controller's hierarchy of version 1; "" if there is none."""
    for line in read("/proc/self/mounts").splitlines():
        _, place, kind, options, *_ = line.split(" ")
        if kind == "cgroup" and controller in options.split(","):
            return place.rstrip("/") + own_path(controller)
    return ""


def version_2() -> str:
    """The root of the hierarchy of version 2; "" if there is none."""
    for line in read("/proc/self/mounts").splitlines():
        _, place, kind, *_ = line.split(" ")
        if kind == "cgroup2":
            return place
    return ""


def own_path(controller: str) -> str:
    """The group of this process in a hierarchy of version 1, from its root; "" for the root itself."""
    for line in read("/proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            return path.rstrip("/")
    return ""


def remove_stale(parent: str) -> None:
    """Remove the groups of engines that are no more."""
    for name in os.listdir(parent):
        pid = name.removeprefix(_NAME)
        if name.startswith(_NAME) and pid.isdecimal() and not os.path.exists(f"/proc/{pid}"):
            remove_tree(f"{parent}/{name}")


def remove_tree(path: str) -> None:
    with contextlib.suppress(OSError):
        for entry in os.scandir(path):
            if entry.is_dir(follow_symlinks=False):
                remove(entry.path)
    remove(path)


def remove(group: str) -> None:
    with contextlib.suppress(OSError):
        os.rmdir(group)


def read(path: str) -> str:
    with open(path) as file:
        return file.read()


def write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)
