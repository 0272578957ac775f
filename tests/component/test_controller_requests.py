"""What the controller asks of the API server: how often for one job, and that deploy/ lets it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from hpcbatch.api.names import SYSTEM_NAMESPACE
from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import BATCHJOBS, NAMESPACES, Resource
from hpcbatch.client import changes
from hpcbatch.client.submit import submit
from hpcbatch.controller.array_members import member_name
from hpcbatch.controller.controller import Controller
from hpcbatch.errors import NotFoundError, RefusedError
from hpcbatch.model.array import Array
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.indices import Indices
from hpcbatch.model.scheduler import Scheduler
from hpcbatch.model.site import SiteConfig
from hpcbatch.model.spec import JobSpec, Submission
from hpcbatch.model.state import JobState
from hpcbatch.record.batchjob import record_from
from hpcbatch.record.rows import row_of
from hpcbatch.site.identity import GID, HOME, UID, USER
from tests.component.coscheduling import install_coscheduling
from tests.component.volcano_cluster import NS, Cluster, running
from tests.waiting import wait_for

RBAC = Path(__file__).parents[2] / "deploy/controller/controller-rbac.yaml"
WITHOUT_VOLCANO = RBAC.parents[1] / "without-volcano"
JOBS = "hpcbatch-controller-jobs"
REPORT = "exit_code=0\nwalltime_s=1\ncpu_s=1\n"


class Call(NamedTuple):
    verb: str
    resource: Resource
    subresource: str
    namespace: str | None
    name: str

    @property
    def path(self) -> str:
        return "/".join(filter(None, (self.resource.plural, self.subresource)))


class Recorder:
    """An Api that keeps what was requested of it."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self.calls: list[Call] = []

    def __getattr__(self, method: str) -> Any:
        verb = {"replace": "update"}.get(method, method)
        call = getattr(self._api, method)

        def record(resource: Resource, *args: Any, **options: Any) -> Any:
            names = [arg for arg in args if isinstance(arg, str)]
            name = names.pop(0) if method in {"get", "patch", "delete"} else ""
            if method == "replace":
                name = args[0]["metadata"]["name"]
            namespace = names[0] if names else options.get("namespace")
            self.calls.append(Call(verb, resource, options.get("subresource", ""), namespace, name))
            return call(resource, *args, **options)

        return record


class Rig(NamedTuple):
    cluster: Cluster
    recorder: Recorder

    def submit(self, *, count: int = 1, **spec: Any) -> str:
        chunk = Chunk(count=count, cpus=1, ranks=1)
        job = JobSpec(dialect=Dialect.PBS, name="j", chunks=(chunk,), server="here", **spec)
        submission = Submission(spec=job, script=b"#!/bin/sh\n", environment={})
        return submit(self.cluster.registry, NS, submission).object_name

    def job(self, name: str) -> Object:
        return self.cluster.registry.get(BATCHJOBS, name, NS)

    def wait_state(self, name: str, state: JobState) -> None:
        def is_so() -> bool:
            try:
                return bool(self.job(name).get("status", {}).get("state") == state.value)
            except NotFoundError:  # a member that has no record yet
                return False

        wait_for(f"{name} {state}", is_so)

    def end(self, name: str) -> None:
        self.wait_state(name, JobState.RUNNING)
        self.cluster.end_pods(f"job-{record_from(self.job(name)).job_id}", REPORT)

    def wait_cleaned(self, name: str) -> None:
        wait_for(f"{name} to be cleaned", lambda: self.job(name)["status"].get("cleaned"))


@pytest.fixture
def rig() -> Iterator[Rig]:
    with running(4, 4) as cluster:
        notes = {USER: "alice", UID: "1000", GID: "1000", HOME: "/home/alice"}
        cluster.registry.patch(NAMESPACES, NS, {"metadata": {"annotations": notes}})
        recorder = Recorder(cluster.registry)
        controller = Controller(recorder, SiteConfig())
        controller.start()
        yield Rig(cluster, recorder)
        controller.stop()


@pytest.fixture(params=[Scheduler.NONE, Scheduler.COSCHEDULING])
def rig_without_volcano(request: pytest.FixtureRequest) -> Iterator[Rig]:
    """The pods are the default scheduler's, whatever it is told beside that."""
    cluster = Cluster(4, 4)
    install_coscheduling(cluster)
    site = SiteConfig(scheduler=request.param, own_scheduler_name="default-scheduler")
    notes = {USER: "alice", UID: "1000", GID: "1000", HOME: "/home/alice"}
    cluster.registry.patch(NAMESPACES, NS, {"metadata": {"annotations": notes}})
    recorder = Recorder(cluster.registry)
    parts = (cluster.kubelet, cluster.scheduler, Controller(recorder, site))
    for part in parts:
        part.start()
    yield Rig(cluster, recorder)
    for part in reversed(parts):
        part.stop()


def test_requests_of_one_job(rig: Rig) -> None:
    first = rig.submit()  # brings what is made once for a namespace: the runner
    rig.end(first)
    rig.wait_cleaned(first)
    rig.cluster.settled()
    before = len(rig.recorder.calls)
    second = rig.submit()
    rig.end(second)
    rig.wait_cleaned(second)
    rig.cluster.settled()
    of_job = rig.recorder.calls[before:]
    counts = Counter(f"{call.verb} {call.path}" for call in of_job)
    # admitted, made, waiting, starting, running, exiting, ended: fewer where two of them come in one look
    assert counts.pop("update batchjobs/status") <= 7
    assert counts.pop("list pods", 0) <= 1  # where the cache lags behind
    # until there is one, or it is clear that there is none any more
    assert counts.pop("get podgroups", 0) <= 5
    assert counts.pop("patch podgroups", 0) <= 1
    assert counts == {
        "get secrets": 1,
        "patch secrets": 1,
        "update configmaps": 1,  # the job's number
        "create configmaps": 1,
        "create jobs": 1,
        "delete jobs": 1,
        "delete configmaps": 1,
        "delete secrets": 1,
        "patch batchjobs/status": 1,
    }


def test_deploy_allows_what_is_asked(rig: Rig) -> None:
    assert denied(rig, rules("ClusterRole", "hpcbatch-controller"), rules("ClusterRole", JOBS)) == set()


def test_deploy_allows_what_is_asked_without_volcano(rig_without_volcano: Rig) -> None:
    everywhere, in_a_users = rules("ClusterRole", "hpcbatch-controller"), rules("ClusterRole", JOBS)
    more = [
        yaml.safe_load((WITHOUT_VOLCANO / f"rights{where}.yaml").read_text()) for where in ("", "-in-user-namespaces")
    ]
    assert denied(rig_without_volcano, everywhere, in_a_users)
    everywhere += [patch["value"] for patch in more[0]]
    in_a_users += [patch["value"] for patch in more[1]]
    assert denied(rig_without_volcano, everywhere, in_a_users, is_done=True) == set()


def denied(rig: Rig, everywhere: list[Object], in_a_users: list[Object], *, is_done: bool = False) -> set[str]:
    """What of the life of some jobs, which may have been lived already, these rules do not allow."""
    if not is_done:
        live(rig)
    by_namespace = {NS: in_a_users, SYSTEM_NAMESPACE: rules("Role", "hpcbatch-controller")}
    assert len({call.resource for call in rig.recorder.calls}) > 8, "the controller was seen at work"
    return {
        f"{call.verb} {call.path} in {call.namespace}"
        for call in rig.recorder.calls
        if not any(allows(rule, call) for rule in everywhere + by_namespace.get(call.namespace or "", []))
    }


def live(rig: Rig) -> None:
    ended, once, gang, deleted, held = (
        rig.submit(),
        rig.submit(rerunnable=False),
        rig.submit(count=3, priority=5),
        rig.submit(),
        rig.submit(hold=True),
    )
    array = rig.submit(array=Array(indices=Indices.parse("1-2")))
    wait_for("its members", lambda: "active" in rig.job(array)["status"]["array"])
    for index in (1, 2):
        rig.end(member_name(array, index))
    rig.wait_cleaned(array)
    asked = rig.submit(array=Array(indices=Indices.parse("1-2")))
    rig.wait_state(member_name(asked, 1), JobState.RUNNING)
    rig.cluster.registry.patch(BATCHJOBS, asked, {"spec": {"deleteRequested": True}}, NS)
    rig.wait_cleaned(asked)
    again = rig.submit()
    rig.wait_state(again, JobState.RUNNING)
    row = row_of(record_from(rig.job(again)))
    asked_again = changes.rerun(rig.cluster.registry, row)
    assert changes.await_rerun(rig.cluster.registry, row, asked_again, timeout_s=20)
    rig.end(again)
    rig.end(ended)
    rig.end(once)
    rig.end(gang)
    rig.wait_state(deleted, JobState.RUNNING)
    rig.cluster.registry.patch(BATCHJOBS, deleted, {"spec": {"deleteRequested": True}}, NS)
    rig.cluster.registry.patch(BATCHJOBS, held, {"spec": {"deleteRequested": True}}, NS)
    for name in (again, ended, once, gang, deleted, held):
        rig.wait_cleaned(name)
    with pytest.raises(RefusedError):
        rig.submit(queue="nowhere")
    rig.cluster.settled()


def rules(kind: str, name: str) -> list[Object]:
    found = [d for d in yaml.safe_load_all(RBAC.read_text()) if (d["kind"], d["metadata"]["name"]) == (kind, name)]
    return list(found[0]["rules"])


def allows(rule: Object, call: Call) -> bool:
    names = rule.get("resourceNames")
    return (
        call.resource.group in rule["apiGroups"]
        and call.path in rule["resources"]
        and call.verb in rule["verbs"]
        and (names is None or call.name in names)
    )
