"""Volcano: its CRDs, scheduler, controllers and webhooks, as processes beside the API server."""

from __future__ import annotations

import base64
import json

from tests.cluster import daemons
from tests.cluster.binaries import VOLCANO, module_source
from tests.cluster.control_plane import PKI, certificate
from tests.cluster.state import ADMIN_CONF, COMPUTE_LABEL, STATE, kubectl, wait_until

_SCHEDULER = """\
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang, enablePreemptable: false}, {name: conformance}]
- plugins:
  - {name: overcommit}
  - {name: drf, enablePreemptable: false}
  - {name: predicates}
  - {name: proportion}
  - {name: nodeorder}
"""

_ALL = ["CREATE", "UPDATE", "DELETE"]
# as Volcano's own installer sets them up: path, kind, name, group, version, resource, operations
_WEBHOOKS = (
    ("/jobs/mutate", "Mutating", "mutatejob", "batch.volcano.sh", "v1alpha1", "jobs", ["CREATE"]),
    ("/jobs/validate", "Validating", "validatejob", "batch.volcano.sh", "v1alpha1", "jobs", ["CREATE", "UPDATE"]),
    ("/queues/mutate", "Mutating", "mutatequeue", "scheduling.volcano.sh", "v1beta1", "queues", ["CREATE"]),
    ("/queues/validate", "Validating", "validatequeue", "scheduling.volcano.sh", "v1beta1", "queues", _ALL),
    ("/podgroups/mutate", "Mutating", "mutatepodgroup", "scheduling.volcano.sh", "v1beta1", "podgroups", ["CREATE"]),
)
_QUEUE_STATE = ("get", "queue", "default", "-o", "jsonpath={.status.state}")
_WEBHOOK_URL = "https://127.0.0.1:8443"


def start() -> None:
    source = module_source(VOLCANO, "volcano.sh/volcano")
    bases = ("-f", source / "config/crd/volcano/bases", "-f", source / "config/crd/jobflow/bases")
    kubectl("apply", "--server-side", *bases)
    kubectl("create", "namespace", "volcano-system")
    certificate("webhook", "/CN=webhook", "DNS:localhost,IP:127.0.0.1")
    (STATE / "scheduler.yaml").write_text(_SCHEDULER)
    common = ("--kubeconfig", ADMIN_CONF, "--enable-healthz=false")
    programs = STATE / "bin"
    daemons.start("vc-controller-manager", programs / "vc-controller-manager", *common, "--leader-elect=false")
    daemons.start(
        "vc-scheduler",
        programs / "vc-scheduler",
        *common,
        "--leader-elect=false",
        "--scheduler-conf",
        STATE / "scheduler.yaml",
        "--node-selector",  # else it counts the control plane's CPUs too, and lets a job in that can never run
        COMPUTE_LABEL.replace("=", ":"),
    )
    daemons.start(
        "vc-webhook-manager",
        programs / "vc-webhook-manager",
        *common,
        "--tls-cert-file",
        PKI / "webhook.crt",
        "--tls-private-key-file",
        PKI / "webhook.key",
        "--ca-cert-file",
        PKI / "ca.crt",
        "--webhook-url",
        _WEBHOOK_URL,
        "--enabled-admission",
        ",".join(path for path, *_ in _WEBHOOKS),
    )
    kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": _webhooks()}))
    wait_until(
        "Volcano's default queue",
        lambda: "Open" in kubectl("get", "queue", "default", "-o", "jsonpath={.status.state}"),
    )


def _webhooks() -> list[dict[str, object]]:
    authority = base64.b64encode((PKI / "ca.crt").read_bytes()).decode()
    return [
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": f"{kind}WebhookConfiguration",
            "metadata": {"name": f"volcano-admission-service{path.replace('/', '-')}"},
            "webhooks": [
                {
                    "name": f"{name}.volcano.sh",
                    "admissionReviewVersions": ["v1"],
                    "sideEffects": "NoneOnDryRun",
                    "failurePolicy": "Fail",
                    "clientConfig": {"url": _WEBHOOK_URL + path, "caBundle": authority},
                    "rules": [
                        {"apiGroups": [group], "apiVersions": [version], "resources": [what], "operations": when}
                    ],
                }
            ],
        }
        for path, kind, name, group, version, what, when in _WEBHOOKS
    ]
