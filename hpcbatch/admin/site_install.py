"""Put a site configuration into a cluster, and wait until the controller works by it."""

from __future__ import annotations

import time

from hpcbatch.api.names import IN_FORCE_CONFIGMAP, SITE_CONFIGMAP, SYSTEM_NAMESPACE
from hpcbatch.api.port import Api
from hpcbatch.api.resources import CONFIGMAPS
from hpcbatch.errors import HpcBatchError, NotFoundError
from hpcbatch.site.file import FILE_KEY

TAKEN_S = 15.0
_LOOK_S = 0.05


def put_site(api: Api, text: str, *, timeout_s: float = TAKEN_S) -> None:
    """Make `text`, which has been checked, the cluster's site file; a template beside it stays.
    Raises HpcBatchError if the controller has not taken it after `timeout_s`.
    """
    data = {FILE_KEY: text}
    try:
        api.patch(CONFIGMAPS, SITE_CONFIGMAP, {"data": data}, SYSTEM_NAMESPACE)
    except NotFoundError:
        made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": SITE_CONFIGMAP}, "data": data}
        api.create(CONFIGMAPS, made, SYSTEM_NAMESPACE)
    end = time.monotonic() + timeout_s
    while not _is_in_force(api, text):
        if time.monotonic() >= end:
            raise HpcBatchError(
                f"the controller has not taken the site configuration: "
                f"`kubectl -n {SYSTEM_NAMESPACE} describe configmap {SITE_CONFIGMAP}` may say why"
            )
        time.sleep(_LOOK_S)


def _is_in_force(api: Api, text: str) -> bool:
    try:
        kept = api.get(CONFIGMAPS, IN_FORCE_CONFIGMAP, SYSTEM_NAMESPACE)
    except NotFoundError:
        return False
    return bool((kept.get("data") or {}).get(FILE_KEY) == text)
