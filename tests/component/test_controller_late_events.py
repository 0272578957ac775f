"""Kubernetes tells of each kind by a watch of its own: a Volcano Job may be known to have ended before its pods are."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

from hpcbatch.api.port import Api, Object, Watch, WatchEvent
from hpcbatch.api.resources import BATCHJOBS, COMMANDS, NAMESPACES, PODS, VOLCANO_JOBS, Resource
from hpcbatch.client.changes import request_delete
from hpcbatch.client.holds import hold, release
from hpcbatch.client.submit import submit
from hpcbatch.controller.controller import Controller
from hpcbatch.errors import GoneError
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.site import Policy, SiteConfig
from hpcbatch.model.spec import JobSpec, Submission
from hpcbatch.record.batchjob import record_from
from hpcbatch.record.rows import row_of
from hpcbatch.site.identity import GID, HOME, UID, USER
from tests.component.volcano_cluster import NS, Cluster, running
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


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with running(4) as cluster:
        notes = {USER: "alice", UID: "1000", GID: "1000", HOME: "/home/alice"}
        cluster.registry.patch(NAMESPACES, NS, {"metadata": {"annotations": notes}})
        yield cluster


def submitted(api: Api, *, cpus: int) -> str:
    spec = JobSpec(dialect=Dialect.PBS, name="j", chunks=(Chunk(count=1, cpus=cpus, ranks=1),), server="here")
    return submit(api, NS, Submission(spec=spec, script=b"#!/bin/sh\n", environment={})).object_name


@pytest.mark.parametrize("told", [0, 1, 2], ids=["pod unknown", "pod without node", "pod not started"])
def test_what_the_pod_reported_counts(cluster: Cluster, told: int) -> None:
    controller = Controller(LatePods(cluster.registry, told), SiteConfig())
    controller.start()
    try:
        name = submitted(cluster.registry, cpus=1)
        pod = "job-1-mpimaster-0"
        wait_for("the pod to run", lambda: cluster.pod_phases("job-1") == {pod: "Running"})
        cluster.kubelet.end(pod, 0, REPORT)
        wait_for("the end", lambda: cluster.registry.get(BATCHJOBS, name, NS)["status"].get("cleaned"))
        status = cluster.registry.get(BATCHJOBS, name, NS)["status"]
    finally:
        controller.stop()
    assert (status["state"], status["exitCode"], status["runCount"]) == ("Finished", 0, 1)
    assert cluster.kubelet.started == [pod]


class LateRemovals:
    """An Api whose watches tell of no deletion of job 2's Volcano Job before `let_go`, and of its pod before
    `let_pod_go`; `before_deletion` is called before that of its Volcano Job.
    """

    def __init__(self, api: Api, before_deletion: Callable[[], None]) -> None:
        self._api, self._before_deletion = api, before_deletion
        self.let_go, self.let_pod_go = threading.Event(), threading.Event()
        self.is_deleted = threading.Event()

    def __getattr__(self, method: str) -> Any:
        return getattr(self._api, method)

    def delete(self, resource: Resource, name: str, *args: Any, **options: Any) -> None:
        is_first = resource is VOLCANO_JOBS and name == "job-2" and not self.is_deleted.is_set()
        if is_first:
            self._before_deletion()
        self._api.delete(resource, name, *args, **options)
        if is_first:
            self.is_deleted.set()

    def watch(self, resource: Resource, *args: Any, **options: Any) -> Any:
        watch = self._api.watch(resource, *args, **options)
        let_go = {PODS: self.let_pod_go, VOLCANO_JOBS: self.let_go}.get(resource)
        return watch if let_go is None else _LateRemovals(watch, let_go)


class _LateRemovals:
    def __init__(self, watch: Watch, let_go: threading.Event) -> None:
        self._watch, self._let_go = watch, let_go

    def __iter__(self) -> Iterator[WatchEvent]:
        for event in self._watch:
            metadata = event.object["metadata"]
            is_deletion = event.type == "DELETED" or "deletionTimestamp" in metadata
            if is_deletion and metadata["name"].startswith("job-2"):
                self._let_go.wait()
            yield event

    def close(self) -> None:
        self._let_go.set()
        self._watch.close()


@pytest.mark.parametrize("is_pod_later", [False, True], ids=["together", "the pod's end is told later"])
def test_a_volcano_job_that_was_given_up_is_not_taken_for_the_next(cluster: Cluster, is_pod_later: bool) -> None:
    """It is held and released again, and its pod got a node at the last moment."""
    names: list[str] = []
    api, before = cluster.registry, []

    def make_room() -> None:
        # within the handling that gives up: this one and the next, which the release requests, are counted
        before.append(controller.work.handled)
        release(api, row_of(record_from(api.get(BATCHJOBS, names[1], NS))))
        cluster.kubelet.end("job-1-mpimaster-0", 0, REPORT)
        wait_for("the pod to run", lambda: cluster.pod_phases("job-2") == {"job-2-mpimaster-0": "Running"})

    late = LateRemovals(api, make_room)
    controller = Controller(late, SiteConfig(policy=Policy.VOLCANO))  # the second job waits in Volcano
    controller.start()
    try:
        names.append(submitted(api, cpus=4))
        wait_for("the first job to run", lambda: cluster.pod_phases("job-1") == {"job-1-mpimaster-0": "Running"})
        names.append(submitted(api, cpus=4))
        wait_for("the Volcano Job", lambda: len(api.list(VOLCANO_JOBS, NS).items) == 2)
        hold(api, row_of(record_from(api.get(BATCHJOBS, names[1], NS))))
        assert late.is_deleted.wait(60)
        wait_for("the controller to look twice", lambda: controller.work.handled >= before[0] + 2)
        if not is_pod_later:
            late.let_pod_go.set()
        late.let_go.set()
        if is_pod_later:
            # the new pod runs, and the controller has looked at the new Volcano Job beside the pod that is gone
            wait_for("the pod to run again", lambda: cluster.kubelet.started.count("job-2-mpimaster-0") == 2)
            wait_for("its Volcano Job to run", lambda: cluster.phase("job-2") == "Running")
            handled = controller.work.handled
            api.patch(BATCHJOBS, names[1], {"metadata": {"labels": {"look": "again"}}}, NS)
            wait_for("the controller to look", lambda: controller.work.handled > handled)
            assert api.get(BATCHJOBS, names[1], NS)["status"]["state"] == "Queued"
            late.let_pod_go.set()
        wait_for("it to run", lambda: api.get(BATCHJOBS, names[1], NS)["status"]["state"] == "Running")
        cluster.kubelet.end("job-2-mpimaster-0", 0, REPORT)
        wait_for("the end", lambda: api.get(BATCHJOBS, names[1], NS)["status"].get("cleaned"))
    finally:
        controller.stop()
    status = api.get(BATCHJOBS, names[1], NS)["status"]
    assert (status["state"], status["runCount"]) == ("Finished", 1)


class LostWatch:
    """An Api whose first watch of BatchJobs tells of the creation of a record, then of nothing until its job is known
    to have ended; then it breaks, and all that it missed comes with the next list.
    """

    def __init__(self, api: Api) -> None:
        self._api = api
        self.end_is_known = threading.Event()
        self.is_broken = threading.Event()

    def __getattr__(self, method: str) -> Any:
        return getattr(self._api, method)

    def watch(self, resource: Resource, *args: Any, **options: Any) -> Any:
        watch = self._api.watch(resource, *args, **options)
        if resource is VOLCANO_JOBS:
            return _Iterated(watch, self._until_the_end(watch))
        if resource is BATCHJOBS and not self.is_broken.is_set():
            return _Iterated(watch, self._lost(watch))
        return watch

    def _until_the_end(self, watch: Watch) -> Iterator[WatchEvent]:
        for event in watch:
            yield event
            if event.object.get("status", {}).get("state", {}).get("phase") == "Completed":
                self.end_is_known.set()

    def _lost(self, watch: Watch) -> Iterator[WatchEvent]:
        for event in watch:
            yield event
            if event.type == "ADDED":
                self.end_is_known.wait(60)
                self.is_broken.set()
                raise GoneError(410, "Expired", "too old resource version")


class _Iterated:
    def __init__(self, watch: Watch, events: Iterator[WatchEvent]) -> None:
        self._events, self.close = events, watch.close

    def __iter__(self) -> Iterator[WatchEvent]:
        return self._events


def test_a_job_that_ended_before_its_admission_was_told_ends(cluster: Cluster) -> None:
    api = LostWatch(cluster.registry)
    controller = Controller(api, SiteConfig(policy=Policy.VOLCANO))  # the plan would wake it once more
    controller.start()
    try:
        name = submitted(cluster.registry, cpus=1)
        pod = "job-1-mpimaster-0"
        wait_for("the pod to run", lambda: cluster.pod_phases("job-1") == {pod: "Running"})
        cluster.kubelet.end(pod, 0, REPORT)
        wait_for("the end", lambda: cluster.registry.get(BATCHJOBS, name, NS)["status"].get("cleaned"), 30)
    finally:
        api.end_is_known.set()
        controller.stop()
    assert api.is_broken.is_set()


class LostCommand:
    """An Api whose Commands nobody carries out for a second, as where Volcano is killed when it has just taken one."""

    def __init__(self, api: Api) -> None:
        self._api, self.is_lost, self._until = api, threading.Event(), float("inf")

    def __getattr__(self, method: str) -> Any:
        return getattr(self._api, method)

    def create(self, resource: Resource, obj: Object, namespace: str | None = None) -> Object:
        if resource is COMMANDS and not self.is_lost.is_set():
            self._until = time.monotonic() + 1.0
            self.is_lost.set()
        if resource is COMMANDS and time.monotonic() < self._until:
            return obj
        return self._api.create(resource, obj, namespace)


def test_a_lost_command_is_given_again(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hpcbatch.controller.decisions._COMMAND_AGAIN_S", 0.5)
    api = LostCommand(cluster.registry)
    controller = Controller(cast(Api, api), SiteConfig())
    controller.start()
    try:
        name = submitted(cluster.registry, cpus=1)
        wait_for("the job to run", lambda: cluster.registry.get(BATCHJOBS, name, NS)["status"]["state"] == "Running")
        request_delete(cluster.registry, row_of(record_from(cluster.registry.get(BATCHJOBS, name, NS))))
        wait_for("the Command to be lost", api.is_lost.is_set)
        wait_for("the end", lambda: cluster.registry.get(BATCHJOBS, name, NS)["status"]["state"] == "Deleted")
    finally:
        controller.stop()
