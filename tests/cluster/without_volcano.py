"""The cluster with Volcano's controllers and scheduler stopped, and the site on another scheduler."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import yaml

from tests.cluster import daemons
from tests.cluster.conftest import Admin
from tests.cluster.install import SITE
from tests.cluster.site_text import put_site
from tests.cluster.state import CHECKOUT

VOLCANO = ("vc-controller-manager", "vc-scheduler")


@contextmanager
def without_volcano(admin: Admin, scheduler: str, **site: str) -> Iterator[None]:
    """With that scheduler and more values of the site's file."""
    lines = "".join(f"{key}: {value}\n" for key, value in {"scheduler": scheduler, **site}.items())
    _apply(admin, _rights(admin, "deploy/without-volcano"))
    put_site(admin, SITE.read_text() + lines)
    for name in VOLCANO:
        daemons.kill(name)
    try:
        yield
    finally:
        for name in VOLCANO:
            daemons.restart(name)
        put_site(admin, SITE.read_text())
        _apply(admin, _rights(admin, "deploy/controller"))


def _apply(admin: Admin, objects: list[dict[str, Any]]) -> None:
    admin.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))


def _rights(admin: Admin, folder: str) -> list[dict[str, Any]]:
    """Those of a folder; the definitions are Volcano's here."""
    made = yaml.safe_load_all(admin.kubectl("kustomize", str(CHECKOUT / folder)).stdout)
    return [each for each in made if each["apiVersion"].startswith("rbac.authorization.k8s.io/")]
