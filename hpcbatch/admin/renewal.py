"""New certificates for users' kubeconfigs before the old ones expire: what an admin's daily timer runs."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hpcbatch.admin import certificates, user_kubeconfig, users
from hpcbatch.admin.embedded import is_embedded
from hpcbatch.admin.user_names import GROUP, kubernetes_user
from hpcbatch.api.client import HttpApi
from hpcbatch.errors import HpcBatchError
from hpcbatch.site.identity import Identity


@dataclass(frozen=True, slots=True)
class Renewals:
    renewed: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    """One line for each kubeconfig that could not be renewed."""


def renew(
    api: HttpApi, names: Sequence[str], pattern: str, *, life: timedelta, before: timedelta, now: datetime | None = None
) -> Renewals:
    """Renew what expires `before` long from now, in the file that `pattern` ({user}, {home}) names for each user. With
    no `names`, of all users that have such a file and are not disabled. Raises HpcBatchError for an unknown name.
    """
    if is_embedded(api):
        raise HpcBatchError("the embedded engine signs no certificates: whoever uses it shares its own kubeconfig")
    rows = [users.find(api, name) for name in names] or users.rows(api)
    done = Renewals()
    for row in rows:
        identity = row.identity
        if identity is None or identity.is_disabled:
            if names:
                done.faults.append(f"user {row.user} is {'disabled' if identity else f'broken: {row.fault}'}")
            continue
        path = Path(pattern.replace("{home}", identity.home).replace("{user}", identity.user))
        try:
            if path.exists() or names:
                until = (now or datetime.now(UTC)) + before
                done.renewed.extend(_renew(api, identity, row.namespace, path, lives=(until, life)))
        except (HpcBatchError, OSError) as error:  # the next one's is renewed all the same
            done.faults.append(str(error))
    return done


def _renew(
    api: HttpApi, identity: Identity, namespace: str, path: Path, *, lives: tuple[datetime, timedelta]
) -> list[str]:
    """`lives`: what lasts longer than the first stays; the second is how long the new one lasts."""
    until, life = lives
    name = kubernetes_user(identity.user)
    user_kubeconfig.check_target(path, name)
    config = user_kubeconfig.read(path, name)
    if _expires(config, path) > until:
        return []
    issued = certificates.issue(api, name, GROUP, namespace, life)
    config["users"] = [{"name": name, "user": user_kubeconfig.credentials(issued)}]
    text = json.dumps(config, indent=2) + "\n"
    user_kubeconfig.write(path, text, uid=identity.uid, gid=identity.gid)
    return [f"{path}: certificate of {name} renewed, valid until {issued.not_after:%Y-%m-%d %H:%M} UTC"]


def _expires(config: Any, path: Path) -> datetime:
    from cryptography import x509

    try:
        pem = base64.b64decode(config["users"][0]["user"]["client-certificate-data"])
        return x509.load_pem_x509_certificate(pem).not_valid_after_utc
    except (ValueError, KeyError, TypeError) as error:
        raise HpcBatchError(f"{path}: its certificate cannot be read: {error}") from None
