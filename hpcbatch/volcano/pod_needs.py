"""The demands of a chunk's pods on their nodes: resources, labels, and anti-affinity."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.accelerator import DEVICES, is_gpu
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.labels import HAS_CPUS_ANNOTATION, JOB_ID_LABEL
from hpcbatch.model.placed import PlacedJob
from hpcbatch.model.site import OTHER_KIND, Launcher, QueueConfig, SiteConfig, Word
from hpcbatch.model.spec import Sharing

MASTER_TASK = "mpimaster"
CLAIM = "devices"
"""The name, in a pod, of its claim to devices."""
DEVICES_ANNOTATION = "hpcbatch.io/devices"
"""On a job's pod: what it claims, `devices.hpcbatch.io/gpu.nvidia.com=2`."""
_HOST = "kubernetes.io/hostname"
_MAX_TERMS = 256


def resources(chunk: Chunk, site: SiteConfig) -> dict[str, Any]:
    """CPU is only requested: a limit would keep ranks from using idle CPUs. Memory and extended resources have limits
    too; Kubernetes requires equal values for the latter. Devices of a DeviceClass are claimed.
    Raises HpcBatchError for a resource that the site does not have.
    """
    limits: dict[str, str] = {} if chunk.mem_bytes is None else {"memory": str(chunk.mem_bytes)}
    if chunk.tmp_bytes is not None:
        limits["ephemeral-storage"] = str(chunk.tmp_bytes)
    further = extended_resources(chunk, site)
    limits |= {name: str(count) for name, count in further.items() if not name.startswith(DEVICES)}
    found: dict[str, Any] = {"requests": {"cpu": str(chunk.cpus_of_pod), **limits}}
    if limits:
        found["limits"] = limits
    if any(name.startswith(DEVICES) for name in further):
        found["claims"] = [{"name": CLAIM}]
    return found


def launcher_resources(site: SiteConfig) -> dict[str, Any]:
    """The resources of a dedicated launcher."""
    return {"requests": {"cpu": f"{site.launcher_cpu_milli}m"}}


def extended_resources(chunk: Chunk, site: SiteConfig) -> dict[str, int]:
    """Kubernetes' name and number of each further resource, and those of devices that are claimed. Two names of the
    site for one resource add up.
    Raises HpcBatchError for a resource that the site does not have.
    """
    found: dict[str, int] = {}
    for name, count in chunk.resources:
        if name not in site.resources:
            raise HpcBatchError(f"this site has no resource {name}")
        if count:
            found[site.resources[name]] = found.get(site.resources[name], 0) + count
    return found


def pod_annotations(chunk: Chunk, site: SiteConfig) -> dict[str, str]:
    """Those that pods with the chunk's accelerators have by the site's configuration, and what they claim; the CPUs
    of a pod that requests fewer than it has.
    """
    found: dict[str, str] = {} if chunk.requested_cpus is None else {HAS_CPUS_ANNOTATION: str(chunk.cpus)}
    if claimed := {name: count for name, count in extended_resources(chunk, site).items() if name.startswith(DEVICES)}:
        found[DEVICES_ANNOTATION] = " ".join(f"{name}={count}" for name, count in claimed.items())
    for name, _ in chunk.resources:
        if is_gpu(name) and (kind := site.kind_of(name)) is not None:
            found |= kind.annotations
    return found


def claimed_by(pod: Mapping[str, Any]) -> dict[str, int]:
    """The devices that a job's pod claims, by the names that `extended_resources` has. Users make no pods."""
    found: dict[str, int] = {}
    for word in (pod["metadata"].get("annotations") or {}).get(DEVICES_ANNOTATION, "").split():
        name, _, count = word.rpartition("=")
        if name.startswith(DEVICES) and count.isdecimal():
            found[name] = int(count)
    return found


def node_selector(chunk: Chunk, queue: QueueConfig, site: SiteConfig) -> dict[str, str]:
    """The labels that a node must have: the queue's, and those of the chunk's node properties and words.
    Raises HpcBatchError for an unknown one, and for two that no node can have together.
    """
    labels: dict[str, str] = {}
    wanted_by: dict[str, str] = {}
    by_words = [(shown_word(name, value), _of_word(name, value, site)) for name, value in chunk.words]
    for wish, wanted in ((f"queue {queue.name}", queue.node_selector), *_properties(chunk, site), *by_words):
        for label, value in wanted.items():
            if labels.get(label, value) != value:
                raise HpcBatchError(
                    f"no node can have both: {wanted_by[label]} needs {label}={labels[label]}, {wish} {label}={value}"
                )
            labels[label] = value
            wanted_by.setdefault(label, wish)
    return labels


def _properties(chunk: Chunk, site: SiteConfig) -> list[tuple[str, Mapping[str, str]]]:
    return [(f"property {name}", _of_property(name, site)) for name in chunk.properties]


def _of_property(name: str, site: SiteConfig) -> Mapping[str, str]:
    labels = site.labels_of(Word.FEATURE, name)
    if labels is None:
        raise HpcBatchError(f"this site has no node property {name}")
    return labels


def shown_word(name: str, value: str) -> str:
    """A word of a layout as users know it."""
    name = name.removeprefix(OTHER_KIND)
    return f"{name}={value}" if value else name


def _of_word(name: str, value: str, site: SiteConfig) -> Mapping[str, str]:
    labels = site.labels_of_word(name, value)
    if labels is None:
        raise HpcBatchError(f"this site has no labels for {shown_word(name, value)}")
    return labels


def node_terms(chunk: Chunk | None, site: SiteConfig, queue: QueueConfig | None = None) -> list[dict[str, Any]]:
    """Kubernetes' nodeSelectorTerms for what a nodeSelector cannot say: one of several sets of properties, properties
    that the node must not have, named nodes, those of the queue. The node must meet one of the terms; none: any node
    will do. None for the chunk is a dedicated launcher's. Raises HpcBatchError for an unknown property, and for a queue
    without nodes.
    """
    always = []
    if queue is not None and queue.nodes is not None:
        if not queue.nodes:
            raise HpcBatchError(f"queue {queue.name} has no nodes")
        always.append(_expression(_HOST, "In", queue.nodes))
    if chunk is None:
        return [{"matchExpressions": always}] if always else []
    if chunk.hosts:
        always.append(_expression(_HOST, "In", chunk.hosts))
    if chunk.excluded_hosts:
        always.append(_expression(_HOST, "NotIn", chunk.excluded_hosts))
    choices = [
        [[_expression(label, "NotIn", [value])] for label, value in _of_property(name, site).items()]
        for name in chunk.lacks
    ]
    if chunk.alternatives:
        choices.append([_all_labels(names, site) for names in chunk.alternatives])
    if math.prod(map(len, choices)) > _MAX_TERMS:
        raise HpcBatchError(f"more than {_MAX_TERMS} kinds of nodes would do")
    terms = ([*always, *(line for part in choice for line in part)] for choice in itertools.product(*choices))
    return [{"matchExpressions": lines} for lines in terms if lines]


def suits(labels: Mapping[str, str], terms: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a node with `labels` meets one of the `node_terms`."""

    def meets(line: Mapping[str, Any]) -> bool:
        return (labels.get(line["key"]) in line["values"]) is (line["operator"] == "In")

    return not terms or any(all(meets(line) for line in term["matchExpressions"]) for term in terms)


def _all_labels(names: Sequence[str], site: SiteConfig) -> list[dict[str, Any]]:
    return [_expression(label, "In", [value]) for name in names for label, value in _of_property(name, site).items()]


def _expression(key: str, operator: str, values: Sequence[str]) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def anti_affinity(job: PlacedJob, *, is_launcher: bool) -> list[dict[str, Any]]:
    """Terms that keep a pod off the nodes of the job's other computing pods (scatter, nodes that are
    named), of other jobs (exclusive)."""
    terms: list[dict[str, Any]] = []
    if job.spec.is_scattered and len(job.pods) > 1 and not is_launcher:
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
    return {"labelSelector": selector, "topologyKey": _HOST}
