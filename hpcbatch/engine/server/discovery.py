"""Discovery: which groups, versions and resources there are, in the aggregated form and in the older one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from hpcbatch.engine.machine import architecture
from hpcbatch.engine.registry.kinds import ALL_VERBS, Kind

Object = dict[str, Any]
KUBERNETES_VERSION = "v1.34.1"


@dataclass(frozen=True, slots=True)
class Review:
    """A resource that can only be asked: it is answered and not kept."""

    group: str
    plural: str
    kind: str


REVIEWS = (
    Review("authentication.k8s.io", "selfsubjectreviews", "SelfSubjectReview"),
    Review("authorization.k8s.io", "selfsubjectaccessreviews", "SelfSubjectAccessReview"),
    Review("authorization.k8s.io", "selfsubjectrulesreviews", "SelfSubjectRulesReview"),
)


def _versions(kinds: Sequence[Kind], group: str) -> list[str]:
    found: dict[str, None] = {}
    for kind in kinds:
        if kind.resource.group == group:
            found.update(dict.fromkeys(kind.versions))
    if any(review.group == group for review in REVIEWS):
        found["v1"] = None
    return list(found)


def groups(kinds: Sequence[Kind]) -> list[str]:
    """All groups but core. Their order decides which kind a bare name means: built-in ones come first."""
    found = dict.fromkeys(kind.resource.group for kind in kinds if not kind.custom)
    found.update(dict.fromkeys(review.group for review in REVIEWS))
    found.update(dict.fromkeys(kind.resource.group for kind in kinds))
    return [group for group in found if group]


def group_versions(kinds: Sequence[Kind]) -> list[tuple[str, str]]:
    return [(group, version) for group in ["", *groups(kinds)] for version in _versions(kinds, group)]


def _served(kinds: Iterable[Kind], group: str, version: str) -> list[Kind]:
    return [kind for kind in kinds if kind.resource.group == group and version in kind.versions]


def _response_kind(group: str, version: str, kind: str) -> Object:
    return {"group": group, "version": version, "kind": kind}


def _aggregated_resource(kind: Kind, version: str) -> Object:
    resource = kind.resource
    entry: Object = {
        "resource": resource.plural,
        "responseKind": _response_kind(resource.group, version, resource.kind),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": list(ALL_VERBS),
    }
    if kind.short_names:
        entry["shortNames"] = list(kind.short_names)
    if kind.categories:
        entry["categories"] = list(kind.categories)
    if kind.subresources:
        entry["subresources"] = [
            {
                "subresource": sub.name,
                "responseKind": _response_kind(sub.group, sub.version, sub.kind),
                "verbs": list(sub.verbs),
            }
            for sub in kind.subresources
        ]
    return entry


def _aggregated_review(review: Review) -> Object:
    return {
        "resource": review.plural,
        "responseKind": _response_kind(review.group, "v1", review.kind),
        "scope": "Cluster",
        "singularResource": review.kind.lower(),
        "verbs": ["create"],
    }


def _aggregated_group(kinds: Sequence[Kind], group: str) -> Object:
    versions = [
        {
            "version": version,
            "freshness": "Current",
            "resources": [
                *(_aggregated_resource(kind, version) for kind in _served(kinds, group, version)),
                *(_aggregated_review(review) for review in REVIEWS if review.group == group and version == "v1"),
            ],
        }
        for version in _versions(kinds, group)
    ]
    return {"metadata": {"name": group} if group else {}, "versions": versions}


def aggregated(kinds: Sequence[Kind], form: str, *, core: bool, others: Sequence[Object] = ()) -> Object:
    """`/api` or `/apis` as APIGroupDiscoveryList; `form` is v2 or v2beta1. `others` are groups that have no kinds."""
    wanted = [""] if core else groups(kinds)
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": f"apidiscovery.k8s.io/{form}",
        "metadata": {},
        "items": [*(_aggregated_group(kinds, group) for group in wanted), *others],
    }


def api_versions(address: str) -> Object:
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    }


def _group(kinds: Sequence[Kind], group: str) -> Object:
    versions = [{"groupVersion": f"{group}/{version}", "version": version} for version in _versions(kinds, group)]
    return {"name": group, "versions": versions, "preferredVersion": versions[0]}


def api_group_list(kinds: Sequence[Kind], others: Sequence[Object] = ()) -> Object:
    return {
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [*(_group(kinds, group) for group in groups(kinds)), *others],
    }


def api_group(kinds: Sequence[Kind], group: str) -> Object | None:
    if group not in groups(kinds):
        return None
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(kinds, group)}


def resource_list(kinds: Sequence[Kind], group: str, version: str) -> Object | None:
    """`/api/v1`, `/apis/GROUP/VERSION`; None if there is no such version."""
    if (group, version) not in group_versions(kinds):
        return None
    entries: list[Object] = []
    for kind in _served(kinds, group, version):
        resource = kind.resource
        entry: Object = {
            "name": resource.plural,
            "singularName": kind.singular,
            "namespaced": resource.namespaced,
            "kind": resource.kind,
            "verbs": list(ALL_VERBS),
        }
        if kind.short_names:
            entry["shortNames"] = list(kind.short_names)
        if kind.categories:
            entry["categories"] = list(kind.categories)
        entries.append(entry)
        for sub in kind.subresources:
            below: Object = {
                "name": f"{resource.plural}/{sub.name}",
                "singularName": "",
                "namespaced": resource.namespaced,
                "kind": sub.kind,
                "verbs": list(sub.verbs),
            }
            if sub.group != group:
                below |= {"group": sub.group, "version": sub.version}
            entries.append(below)
    entries += [
        {
            "name": review.plural,
            "singularName": review.kind.lower(),
            "namespaced": False,
            "kind": review.kind,
            "verbs": ["create"],
        }
        for review in REVIEWS
        if review.group == group
    ]
    result: Object = {"kind": "APIResourceList"}
    if group:
        result["apiVersion"] = "v1"
    result["groupVersion"] = f"{group}/{version}" if group else version
    result["resources"] = entries
    return result


def version() -> Object:
    major, minor, _ = KUBERNETES_VERSION.lstrip("v").split(".")
    return {
        "major": major,
        "minor": minor,
        "gitVersion": f"{KUBERNETES_VERSION}-hpcbatch",
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": f"linux/{architecture()}",
    }
