"""The demands of a chunk's pods on their nodes: resources, labels, and anti-affinity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.labels import JOB_ID_LABEL
from hpcbatch.model.placed import PlacedJob
from hpcbatch.model.site import Launcher, QueueConfig, SiteConfig
from hpcbatch.model.spec import Arrangement, Sharing

MASTER_TASK = "mpimaster"


def resources(chunk: Chunk, site: SiteConfig) -> dict[str, Any]:
    """CPU is only requested: a limit would keep ranks from using idle CPUs. Memory and extended resources have limits
    too; Kubernetes requires equal values for the latter.
    Raises HpcBatchError for a resource that the site does not have.
    """
    limits: dict[str, str] = {} if chunk.mem_bytes is None else {"memory": str(chunk.mem_bytes)}
    for name, count in extended_resources(chunk, site).items():
        limits[name] = str(count)
    requests = {"cpu": str(chunk.cpus), **limits}
    return {"requests": requests, "limits": limits} if limits else {"requests": requests}


def launcher_resources(site: SiteConfig) -> dict[str, Any]:
    """The resources of a dedicated launcher."""
    return {"requests": {"cpu": f"{site.launcher_cpu_milli}m"}}


def extended_resources(chunk: Chunk, site: SiteConfig) -> dict[str, int]:
    """Kubernetes' name and number of each further resource. Two names of the site for one resource add up.
    Raises HpcBatchError for a resource that the site does not have.
    """
    found: dict[str, int] = {}
    for name, count in chunk.resources:
        if name not in site.resources:
            raise HpcBatchError(f"this site has no resource {name}")
        if count:
            found[site.resources[name]] = found.get(site.resources[name], 0) + count
    return found


def node_selector(chunk: Chunk, queue: QueueConfig, site: SiteConfig) -> dict[str, str]:
    """The labels that a node must have: the queue's, and those of the chunk's node properties.
    Raises HpcBatchError for an unknown property, and for two that no node can have together.
    """
    labels: dict[str, str] = {}
    wanted_by: dict[str, str] = {}
    for wish, wanted in ((f"queue {queue.name}", queue.node_selector), *_properties(chunk, site)):
        for label, value in wanted.items():
            if labels.get(label, value) != value:
                raise HpcBatchError(
                    f"no node can have both: {wanted_by[label]} needs {label}={labels[label]}, {wish} {label}={value}"
                )
            labels[label] = value
            wanted_by.setdefault(label, wish)
    return labels


def _properties(chunk: Chunk, site: SiteConfig) -> list[tuple[str, Mapping[str, str]]]:
    for name in chunk.properties:
        if name not in site.node_properties:
            raise HpcBatchError(f"this site has no node property {name}")
    return [(f"property {name}", site.node_properties[name]) for name in chunk.properties]


def anti_affinity(job: PlacedJob, *, is_launcher: bool) -> list[dict[str, Any]]:
    """Terms that keep a pod off the nodes of the job's other computing pods (scatter), of other jobs (exclusive)."""
    terms: list[dict[str, Any]] = []
    if job.spec.arrangement is Arrangement.SCATTER and len(job.pods) > 1 and not is_launcher:
        own: dict[str, Any] = {"matchLabels": {JOB_ID_LABEL: str(job.job_id)}}
        if job.launcher is Launcher.DEDICATED:  # which may share a node with any of them
            own["matchExpressions"] = [{"key": "volcano.sh/task-spec", "operator": "NotIn", "values": [MASTER_TASK]}]
        terms.append(_apart(own))
    if job.spec.sharing is Sharing.EXCLUSIVE:
        other = {"key": JOB_ID_LABEL, "operator": "NotIn", "values": [str(job.job_id)]}
        of_a_job = {"key": "volcano.sh/job-name", "operator": "Exists"}
        terms.append({**_apart({"matchExpressions": [of_a_job, other]}), "namespaceSelector": {}})
    return terms


def _apart(selector: Mapping[str, Any]) -> dict[str, Any]:
    return {"labelSelector": selector, "topologyKey": "kubernetes.io/hostname"}
