"""hpcbatch on the cluster, as docs/install.md has it, with the storage and the two users of this site."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from tests.cluster import database, guide, login
from tests.cluster.state import HOME, admin_environment, kubectl, run

SITE = Path(__file__).parent / "site.yaml"


def install() -> None:
    for section in ("Install", "Configure the site", "Check"):
        guide.run(section, SITE=str(SITE))
    database.install()
    guide.run("Add users", SITE=str(SITE))
    kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": volumes()}))
    login.make()
    for user in login.USERS.values():
        add(user)


def add(user: login.User) -> None:
    """What the guide's command does, with this site's homes; alice, whom it has added, is changed."""
    (user.home / ".kube").mkdir(exist_ok=True)
    os.chown(user.home / ".kube", user.uid, user.gid)
    groups = ",".join(f"{gid}:{name}" for name, gid in user.groups.items())
    hpcbatch(
        "user",
        "add",
        user.name,
        "--uid",
        str(user.uid),
        "--gid",
        str(user.gid),
        "--home",
        str(user.home),
        *(["--groups", groups] if groups else []),
        "--pvc",
        f"home=10Gi,volume=home-{user.name}",
        "--kubeconfig",
        str(user.home / ".kube/config"),
    )


def hpcbatch(*argv: str) -> str:
    """As the admin."""
    return run(Path(sys.executable).parent / "hpcbatch", *argv, env=admin_environment())


def volumes() -> list[dict[str, object]]:
    """The shared storage, once for each user: a claim takes a volume for itself."""
    return [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": f"home-{user}"},
            "spec": {
                "capacity": {"storage": "10Gi"},
                "accessModes": ["ReadWriteMany"],
                "persistentVolumeReclaimPolicy": "Retain",
                "storageClassName": "",
                "hostPath": {"path": str(HOME)},
            },
        }
        for user in login.USERS
    ]
