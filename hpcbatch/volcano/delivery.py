"""The Volcano Job that renames a job's output files if the job's runner was killed before it could."""

from __future__ import annotations

from typing import Any

from hpcbatch.clone import clone
from hpcbatch.model.site import SiteConfig
from hpcbatch.volcano.pod_needs import DEVICES_ANNOTATION, MASTER_TASK, launcher_resources

Object = dict[str, Any]


def delivery_name(job_name: str) -> str:
    return f"{job_name}-output"


def delivery(volcano_job: Object, site: SiteConfig) -> Object:
    """One pod like the first of `volcano_job`, with the same user, image and volumes; it only renames files."""
    made: Object = clone(volcano_job)
    made["metadata"]["name"] = delivery_name(made["metadata"]["name"])
    task = next(task for task in made["spec"]["tasks"] if task["name"] == MASTER_TASK)
    task["replicas"] = 1
    pod = task["template"]["spec"]
    pod.pop("affinity", None)
    pod.pop("resourceClaims", None)
    (task["template"].get("metadata", {}).get("annotations") or {}).pop(DEVICES_ANNOTATION, None)
    container = pod["containers"][0]
    container["command"] = [*container["command"][:-1], "deliver"]
    container["resources"] = launcher_resources(site)
    made["spec"] |= {"minAvailable": 1, "plugins": {"env": []}, "policies": [], "tasks": [task]}
    return made
