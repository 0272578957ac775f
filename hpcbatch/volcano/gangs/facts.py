"""What schedulers for gangs want to know of a Volcano Job."""

from __future__ import annotations

from hpcbatch.typed import Final
from hpcbatch.volcano.gangs.port import Object
from hpcbatch.volcano.plugins.base import owner_reference

PLACE_TIMEOUT: Final = "hpcbatch.io/place-timeout"
"""Annotation of a Volcano Job: how many seconds its scheduler may hold nodes for it before it has them all."""


def size(job: Object) -> int:
    """How many pods it has."""
    return sum(int(task.get("replicas", 0)) for task in job["spec"]["tasks"])


def least(job: Object) -> int:
    """How many of them start together."""
    return int(job["spec"].get("minAvailable", 0)) or size(job)


def place_timeout_s(job: Object) -> int:
    return int((job["metadata"].get("annotations") or {}).get(PLACE_TIMEOUT, "60"))


def gang_name(job: Object) -> str:
    """Of its group, in its namespace. A job that is made anew is another group."""
    return f"{job['metadata']['name']}-{job['metadata']['uid'].partition('-')[0]}"


def pod_group(job: Object, api: str, **metadata: dict[str, str]) -> Object:
    """A PodGroup of the kind that scheduler-plugins has made: all of the job's pods that start together, or none."""
    meta = job["metadata"]
    named = {"name": gang_name(job), "namespace": meta["namespace"], "ownerReferences": [owner_reference(job)]}
    return {
        "apiVersion": api,
        "kind": "PodGroup",
        "metadata": {**named, **metadata},
        "spec": {"minMember": least(job), "scheduleTimeoutSeconds": place_timeout_s(job)},
    }


def labelled(pod: Object, labels: dict[str, str], annotations: dict[str, str]) -> Object:
    meta = pod["metadata"]
    both = {"labels": {**meta["labels"], **labels}, "annotations": {**meta["annotations"], **annotations}}
    return {**pod, "metadata": {**meta, **both}}
