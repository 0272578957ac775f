"""Kubeflow's training operator as a process beside the API server, and the jobs of its kinds."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.cluster import daemons
from tests.cluster.binaries import Module, build, module_source
from tests.cluster.state import ADMIN_CONF, kubectl, wait_for_definitions, wait_until

_SOURCE = "github.com/kubeflow/training-operator"
TRAINING = Module("training", {"training-operator": f"{_SOURCE}/cmd/training-operator.v1"})
_NAME = "training-operator"
_NAMESPACE = "kubeflow"
_SECRET = "training-operator-webhook-cert"
_CERTIFICATES = Path("/tmp/k8s-webhook-server/serving-certs")
"""Fixed in its source: where a pod of it has the Secret's keys as files."""
_KINDS = {"TFJob": "tfjobs", "PyTorchJob": "pytorchjobs"}


@contextmanager
def training_operator(gang_scheduler: str = "") -> Iterator[None]:
    """`gang_scheduler` is its option of that name: "volcano", or "" for pods of the default scheduler. Its webhooks,
    which only refuse bad jobs, are not registered.
    """
    program = build(TRAINING) / _NAME
    crds = module_source(TRAINING, _SOURCE) / "manifests/base/crds"
    definitions = [word for kind in _KINDS.values() for word in ("-f", crds / f"kubeflow.org_{kind}.yaml")]
    kubectl("apply", "--server-side", *definitions)
    wait_for_definitions(*(f"crd/{kind}.kubeflow.org" for kind in _KINDS.values()))
    kubectl("create", "namespace", _NAMESPACE)
    kubectl("create", "secret", "generic", _SECRET, "-n", _NAMESPACE)
    options = [f"--enable-scheme={kind.lower()}" for kind in _KINDS]
    ports = ("--metrics-bind-address", "0", "--health-probe-bind-address", "0", "--webhook-server-port", "9543")
    gang = ("--gang-scheduler-name", gang_scheduler) if gang_scheduler else ()
    daemons.start(_NAME, program, "--kubeconfig", ADMIN_CONF, *options, *ports, *gang)
    try:
        wait_until("the training operator's certificate", _mount_certificate)
        yield
    finally:
        daemons.stop(_NAME)
        kubectl("delete", "namespace", _NAMESPACE)
        kubectl("delete", *definitions)
        shutil.rmtree(_CERTIFICATES.parent, ignore_errors=True)


def _mount_certificate() -> bool:
    """What a kubelet does for its pod. It begins when it sees the certificate, which comes last."""
    data = json.loads(kubectl("get", "secret", _SECRET, "-n", _NAMESPACE, "-o", "json")).get("data") or {}
    if "tls.crt" not in data:
        return False
    _CERTIFICATES.mkdir(parents=True, exist_ok=True)
    for key in sorted(data, reverse=True):
        (_CERTIFICATES / key).write_bytes(base64.b64decode(data[key]))
    return True


def job(kind: str, name: str, *, count: int, cpus: str) -> dict[str, Any]:
    """A TFJob of `count` workers, or a PyTorchJob of one master, whose pods run until it is deleted."""
    role, container, field = {
        "TFJob": ("Worker", "tensorflow", "tfReplicaSpecs"),
        "PyTorchJob": ("Master", "pytorch", "pytorchReplicaSpecs"),
    }[kind]
    size = {"requests": {"cpu": cpus}}
    containers = [{"name": container, "image": "localhost/pause:1", "resources": size}]
    template = {"spec": {"containers": containers, "terminationGracePeriodSeconds": 1}}
    replicas = {role: {"replicas": count, "restartPolicy": "Never", "template": template}}
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": meta, "spec": {field: replicas}}
