"""What scheduler-plugins brings along, as far as hpcbatch sees it."""

from __future__ import annotations

from hpcbatch.api.resources import CRDS
from tests.component.volcano_cluster import Cluster


def install_coscheduling(cluster: Cluster) -> None:
    """The definition of its PodGroup."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1alpha1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": "PodGroup", "listKind": "PodGroupList", "plural": "podgroups", "singular": "podgroup"}
    spec = {"group": "scheduling.x-k8s.io", "scope": "Namespaced", "names": names, "versions": [version]}
    cluster.create(CRDS, {"metadata": {"name": "podgroups.scheduling.x-k8s.io"}, "spec": spec})
