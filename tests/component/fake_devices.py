"""A fake DRA driver: it publishes devices that nobody provides. Its kinds are those of resource.k8s.io, without what
Kubernetes checks of them.
"""

from __future__ import annotations

from typing import Any

from hpcbatch.api.resources import CLAIM_TEMPLATES, CRDS, DEVICE_CLASSES, RESOURCE_CLAIMS, RESOURCE_SLICES
from tests.component.volcano_cluster import NS, Cluster

DRIVER = "gpu.fake.example"


def install_devices(cluster: Cluster) -> None:
    """The kinds, and the driver's DeviceClass."""
    for kind in (DEVICE_CLASSES, RESOURCE_SLICES, RESOURCE_CLAIMS, CLAIM_TEMPLATES):
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        version = {"name": kind.version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
        names = {"kind": kind.kind, "listKind": f"{kind.kind}List", "plural": kind.plural}
        names["singular"] = kind.kind.lower()
        scope = "Namespaced" if kind.namespaced else "Cluster"
        spec = {"group": kind.group, "scope": scope, "names": names, "versions": [version]}
        cluster.create(CRDS, {"metadata": {"name": f"{kind.plural}.{kind.group}"}, "spec": spec})
    selector = {"cel": {"expression": f'device.driver == "{DRIVER}"'}}
    cluster.create(DEVICE_CLASSES, {"metadata": {"name": DRIVER}, "spec": {"selectors": [selector]}})


def publish(cluster: Cluster, node: str, *devices: str) -> None:
    """The node's only slice."""
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec: dict[str, Any] = {"driver": DRIVER, "nodeName": node, "pool": pool}
    spec["devices"] = [{"name": name} for name in devices]
    cluster.create(RESOURCE_SLICES, {"metadata": {"name": f"{node}-{DRIVER}"}, "spec": spec})


def claim(cluster: Cluster, name: str, node: str, device: str) -> None:
    """Somebody else's, with its device."""
    result = {"driver": DRIVER, "pool": node, "device": device, "request": "one"}
    status = {"allocation": {"devices": {"results": [result]}}}
    cluster.create(RESOURCE_CLAIMS, {"metadata": {"name": name}, "spec": {}, "status": status})


def templates(cluster: Cluster) -> list[dict[str, Any]]:
    return list(cluster.registry.list(CLAIM_TEMPLATES, NS).items)
