"""What the tests of users share."""

from __future__ import annotations

from typing import Any

from hpcbatch.admin import certificates, user_kubeconfig, users
from hpcbatch.admin.users import Wish
from hpcbatch.api.kubeconfig import Connection
from hpcbatch.model.site import SiteConfig

ALICE = Wish(user="alice", uid=1000, gid=1000, groups=((2000, "wrf"),))
NS = "hpcbatch-user-alice"
NO_SITE = SiteConfig()


def add(api: Any, wish: Wish, site: SiteConfig = NO_SITE) -> list[str]:
    return users.carry_out(api, users.plan(api, wish, site))


def text(connection: Connection, issued: certificates.Issued, server: str | None = None) -> str:
    return user_kubeconfig.kubeconfig_text(
        connection, cluster="pbs1", user="hpcbatch:alice", namespace=NS, issued=issued, server=server
    )
