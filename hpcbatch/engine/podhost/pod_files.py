"""The files of a pod outside of its namespaces: hosts, termination message, and, where there are no mounts, volumes."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from typing import Final

from hpcbatch.engine.podhost.pods import Message, Pod

_TERMINATION_LIMIT: Final = 4096
_MEMORY_EVENTS: Final = "/dev/hpcbatch-memory-events"
"""In containers whose memory is looked at: the line of a control group's memory.events, and how much it was of what."""


def hosts_head(message: Message, *, alone: bool) -> str:
    own = "".join(f"{alias['ip']} {' '.join(alias['hostnames'])}\n" for alias in message["aliases"])
    if not alone:
        return "127.0.0.1 localhost\n" + own
    # On the host's network the host's own names hold too.
    try:
        with open("/etc/hosts", encoding="utf-8", errors="replace") as file:
            host = file.read()
    except OSError:
        host = "127.0.0.1 localhost\n"
    return f"{host.rstrip()}\n{message['host_ip']} {message['hostname']}\n{own}"


def write_hosts(group: tuple[str, str], pods: Iterable[Pod]) -> None:
    """/etc/hosts of all pods of the group: namespace and subdomain."""
    namespace, subdomain = group
    members = [pod for pod in pods if pod.group == group and pod.ip]
    lines = "".join(
        f"{pod.ip} {pod.hostname}.{subdomain} {pod.hostname} {pod.hostname}.{subdomain}.{namespace}.svc.cluster.local\n"
        if subdomain
        else f"{pod.ip} {pod.hostname}\n"
        for pod in members
    )
    for pod in members:
        write_in_place(f"{pod.directory}/hosts", (pod.head + lines).encode())


def write_in_place(path: str, data: bytes) -> None:
    """Keep the inode, which is bound into pods; lines are only added or taken away, so a reader sees whole ones."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        os.pwrite(descriptor, data, 0)
        os.ftruncate(descriptor, len(data))
    finally:
        os.close(descriptor)


def show_memory_events(pod: Pod, name: str, message: Message) -> str:
    """Add to the `start` message what shows the container its memory events; returns the file to write them to."""
    events = f"{pod.directory}/memory-events-{name}"
    write_in_place(events, b"oom_kill 0\n")
    message["mounts"].append({"target": _MEMORY_EVENTS, "source": events, "read_only": True})
    message["env"]["HPCBATCH_MEMORY_EVENTS"] = _MEMORY_EVENTS
    return events


def termination_message(path: str) -> str:
    if not path:
        return ""
    try:
        with open(path, "rb") as file:
            return file.read(_TERMINATION_LIMIT).decode(errors="replace")
    except OSError:
        return ""


def plain_paths(pod: Pod, name: str, message: Message, termination: str) -> None:
    """Without mounts: lay the volumes out under a private directory, and point the command and variables there."""
    base = f"{pod.directory}/root-{name}"
    mounts = [*message["mounts"]]
    if message["termination"]:
        mounts.append({"target": message["termination"], "source": termination})
    for mount in sorted(mounts, key=lambda mount: str(mount["target"]).count("/")):
        place = base + mount["target"]
        os.makedirs(os.path.dirname(place), exist_ok=True)
        if mount.get("source"):
            if mount.get("make_source"):
                os.makedirs(mount["source"], exist_ok=True)
            with contextlib.suppress(FileExistsError):
                os.symlink(mount["source"], place)
        else:
            os.makedirs(place, exist_ok=True)

    def moved(text: str) -> str:
        inside = any(text == mount["target"] or text.startswith(mount["target"] + "/") for mount in mounts)
        return base + text if inside else text

    message["argv"] = [moved(word) for word in message["argv"]]
    message["env"] = {
        **{key: moved(value) for key, value in message["env"].items()},
        "HPCBATCH_MOUNTS": base,
        "HPCBATCH_ROOT": f"{base}/hpcbatch",  # where the runner looks for its files
        "HPCBATCH_TERMINATION_LOG": termination,
    }
    message["cwd"] = moved(message["cwd"])


def remove_tree(path: str) -> None:
    for directory, folders, files in os.walk(path, topdown=False):
        for name in files:
            with contextlib.suppress(OSError):
                os.unlink(f"{directory}/{name}")
        for name in folders:
            with contextlib.suppress(OSError):
                full = f"{directory}/{name}"
                os.unlink(full) if os.path.islink(full) else os.rmdir(full)
    with contextlib.suppress(OSError):
        os.rmdir(path)
