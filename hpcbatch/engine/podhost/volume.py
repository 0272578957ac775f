"""The pod's volumes that are no directories of the host. Files of secret, configMap, downwardAPI and projected volumes
are laid out as the kubelet does: links through `..data`, so that new content replaces the old in one step.
"""

from __future__ import annotations

import base64
import contextlib
import os
from collections.abc import Iterable, Mapping
from typing import Any

from hpcbatch.engine.podhost import linux
from hpcbatch.engine.podhost.pods import Message, Pod


def lay_out(pod: Pod, volume: Message, *, has_mounts: bool) -> None:
    """Files, or an emptyDir in memory."""
    directory = f"{pod.directory}/volumes/{volume['name']}"
    if not volume["memory"]:
        write_volume(directory, volume["files"], volume["gid"])
        return
    os.makedirs(directory)
    if has_mounts:
        size = f",size={volume['size']}" if volume["size"] else ""
        linux.mount("tmpfs", directory, "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, f"mode=0777{size}")
        pod.tmpfs.append(directory)
    if volume["gid"] is not None:
        os.chown(directory, -1, volume["gid"])
        os.chmod(directory, 0o2777)  # noqa: S103 - as the kubelet does; only the pod gets there


def write_volume(directory: str, files: Iterable[Mapping[str, Any]], gid: int | None) -> None:
    """Each of `files` is {path, mode, data (base64)}. `gid`: the fsGroup, which may read everything."""
    os.makedirs(directory, exist_ok=True)
    os.chmod(directory, 0o777)  # noqa: S103 - as the kubelet does; only the pod gets there
    link = f"{directory}/..data"
    try:
        old = os.readlink(link)
        number = int(old.removeprefix("..")) + 1
    except OSError:
        old, number = "", 1
    fresh = f"{directory}/..{number}"
    os.mkdir(fresh, 0o755)
    tops = set()
    for file in files:
        path = f"{fresh}/{file['path']}"
        os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
        mode = file["mode"] if gid is None else file["mode"] | 0o440
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
        with os.fdopen(descriptor, "wb") as out:
            out.write(base64.b64decode(file["data"]))
            os.fchmod(descriptor, mode)
            if gid is not None:
                os.fchown(descriptor, -1, gid)
        tops.add(file["path"].split("/")[0])
    os.symlink(f"..{number}", f"{directory}/..data_new")
    os.rename(f"{directory}/..data_new", link)
    for name in os.listdir(directory):
        if not name.startswith("..") and name not in tops:
            os.unlink(f"{directory}/{name}")
    for name in tops:
        with contextlib.suppress(FileExistsError):
            os.symlink(f"..data/{name}", f"{directory}/{name}")
    if old:
        _remove(f"{directory}/{old}")


def _remove(path: str) -> None:
    for directory, folders, files in os.walk(path, topdown=False):
        for name in files:
            os.unlink(f"{directory}/{name}")
        for name in folders:
            os.rmdir(f"{directory}/{name}")
    os.rmdir(path)
