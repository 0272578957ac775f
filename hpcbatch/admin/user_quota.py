"""Waiting until Kubernetes counts for a user's ResourceQuota: it refuses what it does not count yet."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from hpcbatch.admin import apply
from hpcbatch.admin.user_objects import USER_ROLE
from hpcbatch.api.port import Api
from hpcbatch.api.resources import RESOURCE_QUOTAS

_POLL_S: Final = 0.2
_PATIENCE_S: Final = 3.0
_GIVE_UP_S: Final = 90.0


def await_count(api: Api, namespace: str, tell: Callable[[str], None]) -> None:
    """Wait until all that the user's quota limits is counted, a minute and a half at most. `tell` hears why it waits
    for long, and of a vain end.

    kube-controller-manager learns of new kinds of objects twice a minute. A quota on job records that is older than
    its knowledge of them, as the first user's after the installation, waits for the next round of all quotas, up to
    five minutes, in which the API server refuses every job. A new quota is counted at once: it is made again.
    Source: k8s.io/kubernetes/pkg/controller/resourcequota v1.34, seen on a real cluster.
    """
    give_up = time.monotonic() + _GIVE_UP_S
    anew = time.monotonic() + _PATIENCE_S
    has_told = False
    while True:
        quota = apply.find(api, RESOURCE_QUOTAS, USER_ROLE, namespace)
        if quota is None:
            return
        limited, counted = quota["spec"].get("hard", {}), quota.get("status", {}).get("used", {})
        missing = ", ".join(sorted(limited.keys() - counted.keys()))
        if not missing:
            return
        if time.monotonic() >= give_up:
            tell(
                f"warning: Kubernetes does not count {missing} in namespace {namespace} yet, and refuses new ones "
                "until it does: does kube-controller-manager run, with its controller resourcequota?"
            )
            return
        if time.monotonic() >= anew:
            if not has_told:
                tell(f"waiting until Kubernetes counts {missing} (half a minute, soon after the installation)")
                has_told = True
            metadata = {
                key: quota["metadata"][key] for key in ("name", "labels", "annotations") if key in quota["metadata"]
            }
            api.delete(RESOURCE_QUOTAS, USER_ROLE, namespace)
            apply.create(api, RESOURCE_QUOTAS, {**quota, "metadata": metadata, "status": {}}, namespace)
            anew = time.monotonic() + _PATIENCE_S
        time.sleep(_POLL_S)
