"""The site's file on the cluster, for some cases another one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from hpcbatch.api.names import IN_FORCE_CONFIGMAP
from tests.cluster.conftest import Admin
from tests.cluster.install import SITE
from tests.waiting import wait_for

NAMESPACE = ("-n", "hpcbatch-system")


@contextmanager
def site_with(admin: Admin, **more: str) -> Iterator[None]:
    """More values of the site's file are in force."""
    try:
        put_site(admin, SITE.read_text() + "".join(f"{key}: {value}\n" for key, value in more.items()))
        yield
    finally:
        put_site(admin, SITE.read_text())


def put_site(admin: Admin, text: str) -> None:
    data = json.dumps({"data": {"site.yaml": text}})
    admin.kubectl(*NAMESPACE, "patch", "configmap", "hpcbatch-site", "--type=merge", "-p", data)
    in_force = ("get", "configmap", IN_FORCE_CONFIGMAP, "-o", "json")
    wait_for(
        "the configuration in force",
        lambda: json.loads(admin.kubectl(*NAMESPACE, *in_force).stdout)["data"].get("site.yaml") == text,
    )
