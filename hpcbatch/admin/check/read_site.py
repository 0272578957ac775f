"""The site configuration as it lies in the cluster, read as the controller reads it."""

from __future__ import annotations

from dataclasses import dataclass

from hpcbatch.api.client import HttpApi
from hpcbatch.api.names import IN_FORCE_CONFIGMAP, SITE_CONFIGMAP, SITE_ERROR_ANNOTATION
from hpcbatch.api.port import Object
from hpcbatch.api.resources import CONFIGMAPS
from hpcbatch.errors import NotFoundError
from hpcbatch.model.site import SiteConfig
from hpcbatch.site.file import CLUSTER_DEFAULTS, FILE_KEY, TEMPLATE_KEY, Site, SiteFileError, read_site

_EMBEDDED_DEFAULTS = SiteConfig()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSite:
    config: SiteConfig
    """What is in force: of the ConfigMap if that is good, else of what was good last, else the defaults."""
    site: Site | None = None
    """The configuration with its template, if the ConfigMap is good."""
    is_there: bool = False
    problems: tuple[str, ...] = ()
    said: str = ""
    """What the controller wrote on the ConfigMap."""


def read(api: HttpApi, namespace: str, *, is_embedded: bool) -> ReadSite:
    """Read ConfigMap `hpcbatch-site`."""
    configmap = _get(api, SITE_CONFIGMAP, namespace)
    defaults = _EMBEDDED_DEFAULTS if is_embedded else CLUSTER_DEFAULTS
    if configmap is None:
        return ReadSite(config=defaults)
    said = str((configmap["metadata"].get("annotations") or {}).get(SITE_ERROR_ANNOTATION, ""))
    try:
        site = _parse(configmap, defaults)
    except SiteFileError as error:
        problems = tuple(str(problem) for problem in error.problems)
        in_force = _in_force(api, namespace, defaults)
        return ReadSite(config=in_force, is_there=True, problems=problems, said=said)
    return ReadSite(config=site.config, site=site, is_there=True, said=said)


def _parse(configmap: Object, defaults: SiteConfig) -> Site:
    data = configmap.get("data") or {}
    return read_site(str(data.get(FILE_KEY, "")), defaults=defaults, template=data.get(TEMPLATE_KEY))


def _in_force(api: HttpApi, namespace: str, defaults: SiteConfig) -> SiteConfig:
    configmap = _get(api, IN_FORCE_CONFIGMAP, namespace)
    try:
        return defaults if configmap is None else _parse(configmap, defaults).config
    except SiteFileError:
        return defaults


def _get(api: HttpApi, name: str, namespace: str) -> Object | None:
    try:
        return api.get(CONFIGMAPS, name, namespace)
    except NotFoundError:
        return None
