"""What scheduler-plugins and Koordinator bring along, as far as hpcbatch sees it."""

from __future__ import annotations

from hpcbatch.api.resources import COSCHEDULING_PODGROUPS, CRDS, KOORDINATOR_PODGROUPS, Resource
from tests.component.volcano_cluster import Cluster


def install_coscheduling(cluster: Cluster) -> None:
    """The definition of its PodGroup."""
    _define(cluster, COSCHEDULING_PODGROUPS)


def install_koordinator(cluster: Cluster) -> None:
    """The definition of its PodGroup."""
    _define(cluster, KOORDINATOR_PODGROUPS)


def _define(cluster: Cluster, resource: Resource) -> None:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1alpha1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": "PodGroup", "listKind": "PodGroupList", "plural": "podgroups", "singular": "podgroup"}
    group = resource.api_version.partition("/")[0]
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": [version]}
    cluster.create(CRDS, {"metadata": {"name": f"podgroups.{group}"}, "spec": spec})
