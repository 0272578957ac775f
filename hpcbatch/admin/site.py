"""The site configuration as the admin gave it to the cluster."""

from __future__ import annotations

from hpcbatch.admin.embedded import is_embedded
from hpcbatch.api.client import HttpApi
from hpcbatch.api.resources import CONFIGMAPS
from hpcbatch.errors import HpcBatchError, NotFoundError
from hpcbatch.model.site import SiteConfig
from hpcbatch.site.file import CLUSTER_DEFAULTS, FILE_KEY, SiteFileError, read_config

SYSTEM_NAMESPACE = "hpcbatch-system"
SITE_CONFIGMAP = "hpcbatch-site"


def read_site(api: HttpApi) -> SiteConfig:
    """The defaults where none was given. Raises HpcBatchError if it is not in order: what users need hangs on it."""
    defaults = SiteConfig() if is_embedded(api) else CLUSTER_DEFAULTS
    try:
        data = api.get(CONFIGMAPS, SITE_CONFIGMAP, SYSTEM_NAMESPACE).get("data") or {}
    except NotFoundError:
        return defaults
    try:
        return read_config(data.get(FILE_KEY, ""), defaults=defaults)
    except SiteFileError as error:
        raise HpcBatchError(f"the site configuration ({SYSTEM_NAMESPACE}/{SITE_CONFIGMAP}) is bad: {error}") from None
