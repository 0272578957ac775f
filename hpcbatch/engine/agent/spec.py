"""A pod's spec as messages for the pod host: its user, its mounts and its commands."""

from __future__ import annotations

import grp
import os
import pwd
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any, Final

from hpcbatch.api.port import Object
from hpcbatch.engine.agent.environment import Fetch, NotReadyError, config_error, environment, expand
from hpcbatch.engine.agent.volumes import Volume
from hpcbatch.units import memory_bytes

Message = dict[str, Any]


_MEMORY_DIR: Final = "/.hpcbatch"
"""An empty directory in memory that each container has for itself."""
_MEMORY_DIR_VARIABLE: Final = "HPCBATCH_MEMORY_DIR"  # runner/common.sh
_LOGIN_SHELL: Final = "HPCBATCH_LOGIN_SHELL"
_GROUPS_KEPT_S: Final = 10.0
_RUN: Final = "/hpcbatch/run"
"""Where a container has a volume mounted if it is to run the runner."""


@dataclass(frozen=True, slots=True)
class Host:
    """Facts about the machine and the user that the agent runs as."""

    mode: str
    """The pod host's mode: root, user or plain."""
    why_plain: str
    uid: int
    gid: int
    groups: tuple[int, ...]
    home: str
    path: str
    ip: str
    ssh_dir: str = ""
    """A private /etc/ssh for pods with a network of their own; empty if there is no sshd."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Variables of every container that does not set them itself."""

    @property
    def may_switch_user(self) -> bool:
        return self.mode == "root"


def own_network(spec: Object) -> bool:
    """Pods that must find each other by name get a network of their own; all others use the host's."""
    return bool(spec.get("hostname") or spec.get("subdomain")) and not spec.get("hostNetwork")


def hostname(pod: Object) -> str:
    """The pod's host name, cut to 63 bytes as by the kubelet."""
    name: str = pod["spec"].get("hostname") or pod["metadata"]["name"]
    return name[:63].rstrip("-.")


def fs_group(pod: Object, host: Host) -> int | None:
    group = (pod["spec"].get("securityContext") or {}).get("fsGroup")
    return int(group) if group is not None and host.may_switch_user else None


def pod_message(pod: Object, volumes: Sequence[Volume], host: Host) -> Message:
    """The `pod` message. Raises NotReadyError if this machine cannot run such a pod."""
    spec, meta = pod["spec"], pod["metadata"]
    network = own_network(spec)
    if network and host.mode == "plain":
        raise NotReadyError("NamespacesUnavailable", host.why_plain)
    gid = fs_group(pod, host)
    sysctls = (spec.get("securityContext") or {}).get("sysctls") or ()
    return {
        "op": "pod",
        "pod": meta["uid"],
        "hostname": hostname(pod),
        "namespace": meta["namespace"],
        "subdomain": spec.get("subdomain") or "",
        "network": network,
        "host_ip": host.ip,
        "aliases": [
            {"ip": one["ip"], "hostnames": one.get("hostnames") or []} for one in spec.get("hostAliases") or ()
        ],
        "sysctls": {one["name"]: one["value"] for one in sysctls if one["name"].startswith("net.")} if network else {},
        "volumes": [volume_message(volume, gid) for volume in volumes if volume.files is not None],
    }


def volume_message(volume: Volume, gid: int | None) -> Message:
    files = list(volume.files or ())
    return {"name": volume.name, "files": files, "gid": gid, "memory": volume.memory, "size": volume.size_bytes}


def start_message(
    pod: Object,
    container: Object,
    volumes: Mapping[str, Volume],
    host: Host,
    *,
    fetch: Fetch,
    facts: Mapping[str, str],
    log: str,
) -> Message:
    """The `start` message of one container. Raises NotReadyError."""
    user = _user(pod, container, host)
    own = environment(pod, container, fetch, facts)
    defaults = {"PATH": host.path, "HOSTNAME": hostname(pod), "HOME": _home(user, host), **host.variables}
    if host.mode != "plain":
        defaults[_MEMORY_DIR_VARIABLE] = _MEMORY_DIR
    _check_command(container)
    words = [*container["command"], *(container.get("args") or ())]
    security = _security(pod, container)
    mounts = _mounts(pod, container, volumes, host, own)
    runs_runner = host.mode != "plain" and any(mount["target"] == _RUN for mount in mounts)
    if runs_runner:
        defaults[_LOGIN_SHELL] = _login_shell(host.uid if user is None else user["uid"])
    drop = ((security.get("capabilities") or {}).get("drop")) or ()
    memory = (((container.get("resources") or {}).get("limits")) or {}).get("memory")
    return {
        "op": "start",
        "pod": pod["metadata"]["uid"],
        "container": container["name"],
        "argv": [expand(word, own) for word in words],
        "env": {**defaults, **own},
        "cwd": container.get("workingDir") or "",
        "mounts": mounts,
        "prepares": _MEMORY_DIR if runs_runner else "",
        "log": log,
        "tty": bool(container.get("tty")),
        "stdin": bool(container.get("stdin")),
        "stdin_once": bool(container.get("stdinOnce")),
        "termination": container.get("terminationMessagePath") or "/dev/termination-log",
        "user": user,
        "drop_capabilities": "ALL" in drop,
        "no_new_privileges": security.get("allowPrivilegeEscalation") is False,
        "memory_bytes": memory_bytes(memory) if memory else 0,
    }


def _check_command(container: Object) -> None:
    if not container.get("command"):
        raise config_error(
            "no command specified: the engine runs this machine's programs and has no images, so no entry points either"
        )


def _security(pod: Object, container: Object) -> dict[str, Any]:
    """The container's security context over the pod's."""
    own = {key: value for key, value in (container.get("securityContext") or {}).items() if value is not None}
    return {**(pod["spec"].get("securityContext") or {}), **own}


def _user(pod: Object, container: Object, host: Host) -> Message | None:
    """The user that the container runs as; None: the engine's."""
    security = _security(pod, container)
    uid, gid = security.get("runAsUser"), security.get("runAsGroup")
    extra = [int(group) for group in security.get("supplementalGroups") or ()]
    if security.get("fsGroup") is not None:
        extra.append(int(security["fsGroup"]))
    if security.get("runAsNonRoot") and (host.uid if uid is None else uid) == 0:
        raise config_error("container has runAsNonRoot and would run as root")
    if not host.may_switch_user:
        who = "root without its rights" if host.uid == 0 else "an ordinary user"
        for wanted, have, word in ((uid, host.uid, "user"), (gid, host.gid, "group")):
            if wanted is not None and wanted != have:
                raise config_error(
                    f"the pod wants to run as {word} {wanted}, but this engine was started by {who} "
                    f"and runs everything as {word} {have}"
                )
        foreign = [group for group in extra if group != host.gid and group not in host.groups]
        if foreign:
            raise config_error(f"the pod wants group {foreign[0]}, which the user that started this engine is not in")
        return None
    if uid is None and gid is None and not extra:
        return None
    uid = 0 if uid is None else int(uid)
    try:
        entry = pwd.getpwuid(uid)
        gid = entry.pw_gid if gid is None else int(gid)
        member = os.getgrouplist(entry.pw_name, gid) if uid else _groups_of_root(int(time.monotonic() / _GROUPS_KEPT_S))
    except KeyError:
        gid, member = int(gid or 0), []
    return {"uid": uid, "gid": gid, "groups": sorted({gid, *member, *extra})}


@lru_cache(maxsize=1)
def _groups_of_root(_period: int) -> Sequence[int]:
    return [one.gr_gid for one in grp.getgrall() if "root" in one.gr_mem]


def never_starts(spec: Object, host: Host) -> str:
    """Why no pod of that spec can ever start here; empty if one may. The users that pods can run as do not change while
    an engine runs.
    """
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        try:
            _check_command(container)
            _user({"spec": spec}, container, host)
        except NotReadyError as error:
            return f"container {container['name']}: {error}"
    return ""


def _login_shell(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_shell
    except KeyError:
        return ""


def _home(user: Message | None, host: Host) -> str:
    if user is None:
        return host.home
    try:
        return pwd.getpwuid(user["uid"]).pw_dir
    except KeyError:
        return "/"


def _mounts(
    pod: Object, container: Object, volumes: Mapping[str, Volume], host: Host, variables: Mapping[str, str]
) -> list[Message]:
    mounts: list[Message] = [{"target": _MEMORY_DIR}] if host.mode != "plain" else []
    if host.ssh_dir and own_network(pod["spec"]):
        mounts.append({"target": "/etc/ssh", "source": host.ssh_dir, "read_only": True})
    for mount in container.get("volumeMounts") or ():
        volume = volumes.get(mount["name"])
        if volume is None:
            raise config_error(f'volumeMount {mount["mountPath"]}: no volume "{mount["name"]}" in the pod')
        sub = mount.get("subPath") or expand(mount.get("subPathExpr") or "", variables)
        if sub and (sub.startswith("/") or ".." in PurePosixPath(sub).parts):
            raise config_error(f"subPath {sub!r} is not a path inside the volume")
        target = "/" + mount["mountPath"].strip("/")
        if target == "/":
            raise config_error('mountPath "/" is the root itself')
        if host.mode == "user" and (target == "/root" or target.startswith("/root/")):
            # /root is the home of the container's user; here that user is the one who started the engine
            target = host.home.rstrip("/") + target.removeprefix("/root")
        source = f"{volume.path}/{sub}" if sub else volume.path
        mounts.append(
            {
                "target": target,
                "source": source,
                "read_only": volume.read_only or bool(mount.get("readOnly")),
                "make_source": bool(sub) and not volume.read_only,
                "beneath": volume.path if sub else "",
            }
        )
    return mounts
