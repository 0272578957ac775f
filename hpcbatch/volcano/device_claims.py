"""The claims to devices (Kubernetes' DRA) of a job's pods: templates from which Kubernetes makes one for each pod."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from hpcbatch.model.accelerator import DEVICES
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.labels import JOB_ID_LABEL, MANAGED_BY
from hpcbatch.model.site import SiteConfig
from hpcbatch.volcano.job_names import job_name
from hpcbatch.volcano.pod_needs import extended_resources

Object = dict[str, Any]
CLAIM_TEMPLATE = "ResourceClaimTemplate"


def template_name(job_id: int, chunk: Chunk, site: SiteConfig) -> str:
    """Of the template for the chunk's pods; "": they claim nothing. An altered job has templates of other names: what
    one says cannot be changed.
    """
    requests = _requests(chunk, site)
    if not requests:
        return ""
    return f"{job_name(job_id)}-{hashlib.sha256(json.dumps(requests).encode()).hexdigest()[:10]}"


def claim_templates(job_id: int, chunks: Iterable[Chunk], site: SiteConfig, namespace: str) -> list[Object]:
    """Those of a job, each once. Raises HpcBatchError for a resource that the site does not have."""
    labels = {**MANAGED_BY, JOB_ID_LABEL: str(job_id)}
    named = {template_name(job_id, chunk, site): chunk for chunk in chunks}
    return [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": CLAIM_TEMPLATE,
            "metadata": {"name": name, "namespace": namespace, "labels": labels},
            "spec": {"metadata": {"labels": labels}, "spec": {"devices": {"requests": _requests(chunk, site)}}},
        }
        for name, chunk in named.items()
        if name
    ]


def _requests(chunk: Chunk, site: SiteConfig) -> list[Object]:
    """So many devices of each class, all on the pod's node."""
    found: list[Object] = []
    for resource, count in extended_resources(chunk, site).items():
        kind = next((each for each in site.accelerators if each.resource == resource), None)
        if kind is None or not resource.startswith(DEVICES):
            continue
        exactly: Object = {"deviceClassName": kind.device_class, "allocationMode": "ExactCount", "count": count}
        if kind.selectors:
            exactly["selectors"] = [{"cel": {"expression": text}} for text in kind.selectors]
        found.append({"name": f"devices-{len(found)}", "exactly": exactly})
    return found
