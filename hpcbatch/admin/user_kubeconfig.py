"""The kubeconfig that an admin hands to a user: JSON, which is YAML too, so that the commands need no YAML parser."""

from __future__ import annotations

import base64
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from hpcbatch.admin.certificates import Issued
from hpcbatch.api.kubeconfig import Connection
from hpcbatch.errors import HpcBatchError

_LARGEST = 1 << 20
"""Bytes of a kubeconfig."""


def check_connection(connection: Connection) -> None:
    """Raises HpcBatchError if the admin's own connection is none to hand on."""
    if not connection.verify:
        raise HpcBatchError(
            "your kubeconfig does not verify the server (insecure-skip-tls-verify), and a user's must: "
            "put the cluster's certificate-authority into yours"
        )


def kubeconfig_text(
    connection: Connection, *, cluster: str, user: str, namespace: str, issued: Issued, server: str | None = None
) -> str:
    """The file's text. `connection` is the admin's, of which address and authority are taken; `server` replaces
    the address, `cluster` is the name that job ids carry.
    """
    entry: dict[str, Any] = {"server": server or connection.server}
    if connection.ca_pem is not None:
        entry["certificate-authority-data"] = _base64(connection.ca_pem.encode())
    if connection.proxy_url:
        entry["proxy-url"] = connection.proxy_url
    if connection.tls_server_name:
        entry["tls-server-name"] = connection.tls_server_name
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": cluster, "cluster": entry}],
        "users": [{"name": user, "user": credentials(issued)}],
        "contexts": [{"name": cluster, "context": {"cluster": cluster, "user": user, "namespace": namespace}}],
        "current-context": cluster,
    }
    return json.dumps(config, indent=2) + "\n"


def credentials(issued: Issued) -> dict[str, str]:
    """What a kubeconfig says of its user."""
    return {"client-certificate-data": _base64(issued.certificate), "client-key-data": _base64(issued.key)}


def check_target(path: Path, user: str) -> None:
    """Raises HpcBatchError if `path` is there and is not an older kubeconfig of this user's, or cannot be written."""
    folder = path.parent if path.parent.exists() else path.parent.parent  # `.kube` itself is made
    if not folder.is_dir():
        raise HpcBatchError(f"{path}: there is no directory {folder}")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise HpcBatchError(f"{path}: you may not write in {folder}")
    if path.is_symlink() or path.exists():
        read(path, user)


def read(path: Path, user: str) -> Any:
    """The kubeconfig at `path`. Raises HpcBatchError if it is not one that was made for `user`. It lies in the user's
    directory: root follows no link there, and waits for no pipe.
    """
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ValueError
            text = file.read(_LARGEST + 1)
        config = json.loads(text if len(text) <= _LARGEST else b"")
        json.dumps(config, indent=2)  # what can be read may be nested too deeply to be written again
        if [entry["name"] for entry in config["users"]] == [user]:
            return config
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    raise HpcBatchError(f"{path} exists and is not a kubeconfig that was made for {user}: remove it first") from None


def write(path: Path, text: str, *, uid: int, gid: int) -> None:
    """Put the file in place whole, mode 0600, its directory too where that is missing. In a directory of `uid`'s, root
    writes as `uid`: the file is the user's, and no symbolic link of his leads root anywhere.
    """
    folder = path.parent if path.parent.exists() else path.parent.parent
    scratch = path.with_name(f".{path.name}.{os.urandom(5).hex()}")
    try:
        with _acting_as(uid, gid) if os.geteuid() == 0 and folder.stat().st_uid == uid else nullcontext():
            path.parent.mkdir(mode=0o700, exist_ok=True)
            try:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
                with os.fdopen(os.open(scratch, flags, 0o600), "w", encoding="utf-8") as file:
                    file.write(text)
                    file.flush()
                    os.fsync(file.fileno())
                scratch.replace(path)
            finally:
                scratch.unlink(missing_ok=True)
    except OSError as error:
        raise HpcBatchError(f"{path} cannot be written: {error.strerror}") from None


@contextmanager
def _acting_as(uid: int, gid: int) -> Iterator[None]:
    """Root touches files as somebody else for a while."""
    own_gid, groups = os.getegid(), os.getgroups()
    os.setgroups([])
    os.setegid(gid)
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(own_gid)
        os.setgroups(groups)


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")
