"""What hpcbatch itself makes of one job, taken from the cluster and made independent of any record.

So the same objects can be created by kubectl: what they cost then, Kubernetes and Volcano cost, and not the controller.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence

from bench.cluster.rig import Cluster, Object
from hpcbatch.api.names import SCRIPT_KEY
from hpcbatch.api.resources import BATCHJOBS, CONFIGMAPS, SECRETS, VOLCANO_JOBS
from hpcbatch.model.labels import JOB_ID_LABEL
from hpcbatch.volcano.job_names import job_name
from tests.cluster.state import kubectl
from tests.waiting import wait_for

LABEL = "hpcbatch-bench"
"""On every object that is not the controller's."""


class Made:
    """Secret, ConfigMap and Volcano Job of a one-core `true` in the user's namespace."""

    def __init__(self, cluster: Cluster, options: Sequence[str], script: str) -> None:
        # one that lives until it has been read; its script is replaced afterwards
        self._number = cluster.submit(cluster.submission(*options, script="#!/bin/sh\nsleep 300\n"))
        self._objects = self._read(cluster)
        self._objects[0]["data"][SCRIPT_KEY] = base64.b64encode(script.encode()).decode()
        cluster.site.run("qdel", str(self._number))
        wait_for(f"the end of job {self._number}", lambda: not self._jobs(cluster), 60)

    def _jobs(self, cluster: Cluster) -> tuple[Object, ...]:
        return cluster.api.list(VOLCANO_JOBS, cluster.site.namespace, labels=f"{JOB_ID_LABEL}={self._number}").items

    def _read(self, cluster: Cluster) -> list[Object]:
        namespace, name = cluster.site.namespace, job_name(self._number)
        (job,) = wait_for(f"the Volcano Job {name}", lambda: self._jobs(cluster))
        records = cluster.api.list(BATCHJOBS, namespace).items
        record = next(r for r in records if r.get("status", {}).get("jobId") == str(self._number))
        return [
            _bare(cluster.api.get(SECRETS, record["spec"]["submissionSecret"], namespace)),
            _bare(cluster.api.get(CONFIGMAPS, f"{name}-conf", namespace)),
            _bare(job),
        ]

    @property
    def image(self) -> str:
        template = self._objects[-1]["spec"]["tasks"][0]["template"]
        return str(template["spec"]["containers"][0]["image"])

    def objects(self, name: str) -> list[Object]:
        """The same under other names: `name` in the place of `job-12` everywhere, and a Secret of that name."""
        text = json.dumps(self._objects).replace(self._objects[0]["metadata"]["name"], name)
        renamed: list[Object] = json.loads(text.replace(job_name(self._number), name))
        return renamed

    @staticmethod
    def remove(cluster: Cluster) -> None:
        kinds = "jobs.batch.volcano.sh,configmaps,secrets"
        kubectl("-n", cluster.site.namespace, "delete", kinds, "-l", f"{LABEL}=yes", limit_s=600)


def _bare(obj: Object) -> Object:
    """Without what the API server keeps, and without that by which the controller would take it for its own."""
    metadata = {"name": obj["metadata"]["name"], "namespace": obj["metadata"]["namespace"], "labels": {LABEL: "yes"}}
    kept = {key: value for key, value in obj.items() if key not in {"metadata", "status"}}
    for task in kept.get("spec", {}).get("tasks", ()):
        labels = task["template"].get("metadata", {}).get("labels", {})
        labels.pop(JOB_ID_LABEL, None)
    return {**kept, "metadata": metadata}
