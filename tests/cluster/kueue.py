"""Kueue as a process beside the API server, with its own webhooks, and queues whose quota each user has for himself."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.cluster import daemons, login
from tests.cluster.binaries import Module, build, module_source
from tests.cluster.control_plane import PKI, certificate
from tests.cluster.state import ADMIN_CONF, STATE, kubectl, run, wait_for_definitions, wait_until

KUEUE = Module("kueue", {"kueue": "sigs.k8s.io/kueue/cmd/kueue"})
QUOTA = {"cpu": "6", "memory": "64Gi"}
"""Of the one ClusterQueue, from which all users' LocalQueues take."""
_NAME = "kueue"
_METRICS_CERTIFICATE = Path("/etc/kueue/metrics/certs")
"""Fixed in its source, and asked for even if nobody reads its metrics."""
_PORT = 9443
_CONFIG = {
    "apiVersion": "config.kueue.x-k8s.io/v1beta2",
    "kind": "Configuration",
    "health": {"healthProbeBindAddress": "0"},
    "metrics": {"bindAddress": "0"},
    "webhook": {"port": _PORT, "certDir": str(STATE / _NAME)},
    "leaderElection": {"leaderElect": False},
    "internalCertManagement": {"enable": False},
    "integrations": {"frameworks": ["batch/job", "pod"]},
    "featureGates": {"VisibilityOnDemand": False},
}
_KINDS = "workloads,localqueues,clusterqueues,resourceflavors"


@contextmanager
def kueue() -> Iterator[str]:
    """Yields the name of what gives pods their nodes: the default scheduler, as Kueue only lets them go."""
    program, manifests = build(KUEUE) / "kueue", _manifests()
    definitions = [each for each in manifests if each["kind"] == "CustomResourceDefinition"]
    webhooks = [each for each in manifests if each["kind"].endswith("WebhookConfiguration")]
    _make_certificates()
    (STATE / "kueue.yaml").write_text(yaml.safe_dump(_CONFIG))
    _server_side_apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kueue-system"}}, *definitions])
    names = [f"crd/{each['metadata']['name']}" for each in definitions]
    wait_for_definitions(*names)
    daemons.start(_NAME, program, "--config", STATE / "kueue.yaml", "--kubeconfig", ADMIN_CONF)
    try:
        _server_side_apply(webhooks)
        wait_until("Kueue's queues", lambda: _server_side_apply(_queues()) or True, 120)
        yield "kube-scheduler"
        kubectl("delete", _KINDS, "--all", "-A", "--timeout=60s", limit_s=90)
    finally:
        for each in webhooks:
            kubectl("delete", each["kind"], each["metadata"]["name"], "--ignore-not-found")
        kubectl("delete", *names, "--wait=false")
        daemons.stop(_NAME)
        shutil.rmtree(_METRICS_CERTIFICATE.parents[1])


def _manifests() -> list[dict[str, Any]]:
    """Kueue's own, whose webhooks are called where its process listens."""
    folder = module_source(KUEUE, "sigs.k8s.io/kueue") / "config/default"
    found = [each for each in yaml.safe_load_all(run(STATE / "bin/kubectl", "kustomize", folder)) if each]
    for each in found:
        if each["kind"].endswith("WebhookConfiguration"):
            for webhook in each["webhooks"]:
                webhook["clientConfig"] = _at_process(webhook["clientConfig"])
        conversion = each.get("spec", {}).get("conversion", {}) if each["kind"] == "CustomResourceDefinition" else {}
        if "webhook" in conversion:
            conversion["webhook"]["clientConfig"] = _at_process(conversion["webhook"]["clientConfig"])
    return found


def _at_process(client: dict[str, Any]) -> dict[str, str]:
    authority = base64.b64encode((PKI / "ca.crt").read_bytes()).decode()
    return {"url": f"https://127.0.0.1:{_PORT}{client['service']['path']}", "caBundle": authority}


def _make_certificates() -> None:
    certificate(_NAME, "/CN=kueue", "DNS:localhost,IP:127.0.0.1")
    for folder in (STATE / _NAME, _METRICS_CERTIFICATE):
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(PKI / f"{_NAME}.crt", folder / "tls.crt")
        shutil.copy(PKI / f"{_NAME}.key", folder / "tls.key")


def _queues() -> list[dict[str, Any]]:
    """A ClusterQueue, and in each user's namespace the LocalQueue that has the name of the site's Volcano Queue."""

    def made(kind: str, name: str, **more: Any) -> dict[str, Any]:
        return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": name}, **more}

    flavor = {"name": "any", "resources": [{"name": key, "nominalQuota": value} for key, value in QUOTA.items()]}
    groups = [{"coveredResources": list(QUOTA), "flavors": [flavor]}]
    queues = [made("LocalQueue", "default", spec={"clusterQueue": "cluster"}) for _ in login.USERS]
    for queue, user in zip(queues, login.USERS.values(), strict=True):
        queue["metadata"]["namespace"] = user.namespace
    spec = {"namespaceSelector": {}, "resourceGroups": groups}
    return [made("ResourceFlavor", "any"), made("ClusterQueue", "cluster", spec=spec), *queues]


def _server_side_apply(objects: list[dict[str, Any]]) -> None:
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    kubectl("apply", "--server-side", "-f", "-", stdin=text)
