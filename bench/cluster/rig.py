"""The running cluster as the benchmarks use it: alice at the login node, and a namespace for raw Volcano Jobs."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from hpcbatch.api import kubeconfig
from hpcbatch.api.client import HttpApi
from hpcbatch.api.resources import BATCHJOBS, VOLCANO_JOBS, Resource
from hpcbatch.client.submit import submit
from hpcbatch.dialects.pbs.submit import read_submission
from hpcbatch.model.spec import Submission
from tests.cluster.state import ADMIN_CONF, SERVER, kubectl
from tests.conformance.rigs import ClusterRig
from tests.conformance.site import Site
from tests.waiting import wait_for

Object = dict[str, Any]
RAW = "bench-raw"
"""The namespace of the Volcano Jobs that hpcbatch is compared with."""


@dataclass(frozen=True)
class Cluster:
    site: Site
    """alice, in an empty directory of her home."""
    api: HttpApi
    """As admin."""

    def kubectl(self, *argv: str, stdin: str = "") -> str:
        """As admin, in the namespace of the raw jobs."""
        return kubectl("-n", RAW, *argv, stdin=stdin, limit_s=600)

    @cached_property
    def alice(self) -> HttpApi:
        """As alice."""
        return HttpApi(kubeconfig.load({"KUBECONFIG": self.site.env["KUBECONFIG"]}))

    def submission(self, *options: str, script: str = "#!/bin/sh\ntrue\n") -> Submission:
        """What her `qsub` would send."""
        return read_submission(
            options,
            script=lambda path: (path, script.encode()),
            environ=self.site.env,
            cwd=str(self.site.work),
            host="login",
            user=self.site.env["USER"],
            server=SERVER,
            now=datetime.now(UTC),
        ).submission

    def submit(self, submission: Submission) -> int:
        """As a program that knows hpcbatch's modules does it, without starting a command. Returns the number."""
        return submit(self.alice, self.site.namespace, submission).job_id

    def purge(self, resource: Resource, namespace: str, kept: Sequence[str] = ()) -> None:
        """Delete all objects of a kind but those `kept`, by name, and wait until they are gone."""
        for obj in self.api.list(resource, namespace).items:
            if obj["metadata"]["name"] not in kept:
                self.api.delete(resource, obj["metadata"]["name"], namespace)

        def left() -> set[str]:
            return {obj["metadata"]["name"] for obj in self.api.list(resource, namespace).items} - set(kept)

        wait_for(f"the end of {resource.plural} in {namespace}", lambda: not left(), 600)


@contextmanager
def cluster() -> Iterator[Cluster]:
    """What a benchmark makes is gone afterwards: jobs, records, namespace; alice's other jobs stay."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        site = ClusterRig().site(Path(name))
    api = HttpApi(kubeconfig.load({"KUBECONFIG": str(ADMIN_CONF)}), response_timeout_s=60)
    bench = Cluster(site, api)
    before = [obj["metadata"]["name"] for obj in api.list(BATCHJOBS, site.namespace).items]
    kubectl("delete", "namespace", RAW, "--ignore-not-found", limit_s=600)  # of a benchmark that was killed
    kubectl("create", "namespace", RAW)
    try:
        yield bench
    finally:
        bench.purge(VOLCANO_JOBS, RAW)
        bench.purge(BATCHJOBS, site.namespace, before)
        kubectl("delete", "namespace", RAW, limit_s=600)
        shutil.rmtree(site.work)


def plainest(image: str, cpu: str = "1") -> Object:
    """The Volcano Job of one `true` that somebody would write by hand. It has no name: the API gives it one."""
    container = {"name": "main", "image": image, "command": ["true"], "resources": {"requests": {"cpu": cpu}}}
    pod = {"restartPolicy": "Never", "containers": [container]}
    return {
        "apiVersion": VOLCANO_JOBS.api_version,
        "kind": "Job",
        "metadata": {"generateName": "bare-"},
        "spec": {
            "minAvailable": 1,
            "schedulerName": "volcano",
            "tasks": [{"name": "t", "replicas": 1, "template": {"spec": pod}}],
        },
    }


def as_list(objects: Sequence[Object]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
