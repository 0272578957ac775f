"""Kubernetes tells of each kind by a watch of its own: a Volcano Job may be known to have ended before its pods are."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from hpcbatch import jobs
from hpcbatch.api.port import Api, Watch, WatchEvent
from hpcbatch.api.resources import BATCHJOBS, NAMESPACES, PODS, Resource
from hpcbatch.controller.controller import Controller
from hpcbatch.controller.identity import GID, HOME, UID, USER
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.site import SiteConfig
from hpcbatch.model.spec import Chunk, JobSpec, Submission
from tests.component.volcano_cluster import NS, running
from tests.waiting import wait_for

REPORT = "exit_code=0\nwalltime_s=1\ncpu_s=1\n"


class LatePods:
    """An Api whose watch of pods tells its first `told` events, and the others never."""

    def __init__(self, api: Api, told: int) -> None:
        self._api, self._told = api, told

    def __getattr__(self, method: str) -> Any:
        return getattr(self._api, method)

    def watch(self, resource: Resource, *args: Any, **options: Any) -> Any:
        watch = self._api.watch(resource, *args, **options)
        return _Late(watch, self._told) if resource is PODS else watch


class _Late:
    def __init__(self, watch: Watch, told: int) -> None:
        self._watch, self._told = watch, told
        self._closed = threading.Event()

    def __iter__(self) -> Iterator[WatchEvent]:
        if self._told:
            for number, event in enumerate(self._watch, start=1):
                yield event
                if number == self._told:
                    break
        self._closed.wait()

    def close(self) -> None:
        self._closed.set()
        self._watch.close()


@pytest.mark.parametrize("told", [0, 1, 2], ids=["pod unknown", "pod without node", "pod not started"])
def test_what_the_pod_reported_counts(told: int) -> None:
    with running(4) as cluster:
        notes = {USER: "alice", UID: "1000", GID: "1000", HOME: "/home/alice"}
        cluster.registry.patch(NAMESPACES, NS, {"metadata": {"annotations": notes}})
        controller = Controller(LatePods(cluster.registry, told), SiteConfig())
        controller.start()
        try:
            spec = JobSpec(dialect=Dialect.PBS, name="j", chunks=(Chunk(count=1, cpus=1, ranks=1),), server="here")
            submission = Submission(spec=spec, script=b"#!/bin/sh\n", environment={})
            name = jobs.submit(cluster.registry, NS, submission).object_name
            pod = "job-1-mpimaster-0"
            wait_for("the pod to run", lambda: cluster.pod_phases("job-1") == {pod: "Running"})
            cluster.kubelet.end(pod, 0, REPORT)
            wait_for("the end", lambda: cluster.registry.get(BATCHJOBS, name, NS)["status"].get("cleaned"))
            status = cluster.registry.get(BATCHJOBS, name, NS)["status"]
        finally:
            controller.stop()
    assert (status["state"], status["exitCode"], status["runCount"]) == ("Finished", 0, 1)
    assert cluster.kubelet.started == [pod]
