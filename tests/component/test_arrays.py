"""Arrays under the real controller on the in-memory store: kills between any two requests, cost, who is a member."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import count
from typing import Any

import pytest

from hpcbatch.api.port import Object
from hpcbatch.api.resources import BATCHJOBS, NAMESPACES, SECRETS, Resource
from hpcbatch.client.submit import submission_secret
from hpcbatch.controller.array_members import member_name
from hpcbatch.controller.controller import Controller
from hpcbatch.controller.guarded import GuardedApi
from hpcbatch.errors import ForbiddenError, NotFoundError
from hpcbatch.model.array import Array, ArrayStatus
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dependency import DEPENDENCY, Clause, Dependency, DependencyKind, JobRef
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.indices import Indices
from hpcbatch.model.site import SiteConfig
from hpcbatch.model.spec import JobSpec, Submission
from hpcbatch.model.state import JobState
from hpcbatch.record.batchjob import record_from
from hpcbatch.record.manifest import to_manifest
from hpcbatch.site.identity import GID, HOME, UID, USER
from tests.component.test_controller_requests import Recorder
from tests.component.volcano_cluster import NS, Cluster, running
from tests.thoroughness import in_turn
from tests.waiting import wait_for

REPORT = "exit_code=0\nwalltime_s=1\ncpu_s=1\n"
FAILURE = "exit_code=3\nwalltime_s=1\ncpu_s=1\nreason=NonZeroExit\n"
_NUMBERS = count()


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with running(4, 4) as cluster:
        notes = {USER: "alice", UID: "1000", GID: "1000", HOME: "/home/alice"}
        cluster.registry.patch(NAMESPACES, NS, {"metadata": {"annotations": notes}})
        yield cluster


@contextmanager
def controlled(api: Any) -> Iterator[Controller]:
    controller = Controller(api, SiteConfig())
    controller.start()
    try:
        yield controller
    finally:
        controller.stop()


def put(cluster: Cluster, indices: str, limit: int | None = None, **more: Any) -> str:
    """Submit, and do not wait for the answer. The name of the array's record."""
    name = f"pbs-a{next(_NUMBERS)}"
    array = Array(indices=Indices.parse(indices), limit=limit, text=indices)
    spec = JobSpec(dialect=Dialect.PBS, name="a", chunks=(Chunk(),), server="here", array=array, **more)
    submission = Submission(spec=spec, script=b"#!/bin/sh\n", environment={})
    cluster.registry.create(SECRETS, submission_secret(name, submission), NS)
    cluster.registry.create(BATCHJOBS, to_manifest(spec, name=name, submission_secret=name), NS)
    return name


def get(cluster: Cluster, name: str) -> Object:
    return cluster.registry.get(BATCHJOBS, name, NS)


def places(cluster: Cluster, name: str) -> ArrayStatus:
    return record_from(get(cluster, name)).status.array or ArrayStatus()


def members(cluster: Cluster, name: str) -> dict[int, Object]:
    found = [obj for obj in cluster.registry.list(BATCHJOBS, NS).items if "memberOf" in obj["spec"]]
    return {o["spec"]["memberOf"]["index"]: o for o in found if o["spec"]["memberOf"]["arrayName"] == name}


def in_state(cluster: Cluster, name: str, state: JobState) -> set[int]:
    """The members whose records say so."""
    return {index for index, obj in members(cluster, name).items() if obj.get("status", {}).get("state") == state.value}


def waiting_for(cluster: Cluster, name: str) -> set[str]:
    """The reasons of the members that wait, when there are such."""
    found = [obj["status"] for obj in members(cluster, name).values() if obj.get("status", {}).get("jobId")]
    return {status["reason"] for status in found if status["state"] == "Queued"} or {"none waits"}


def end_pods(cluster: Cluster, fails: Callable[[str], bool] = lambda _: False) -> None:
    """Let every pod that runs now come to its end."""
    for name, pod in cluster.pods().items():
        if pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]:
            bad = fails(name)
            try:
                cluster.kubelet.end(name, 3 if bad else 0, FAILURE if bad else REPORT)
            except NotFoundError:
                continue


def run_to_the_end(cluster: Cluster, name: str) -> Object:
    def is_over() -> bool:
        end_pods(cluster)
        return bool(get(cluster, name).get("status", {}).get("cleaned"))

    wait_for(f"array {name} to end", is_over, 60, every_s=0.05)
    return get(cluster, name)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("writes", in_turn(range(1, 58, 2)))
def test_a_kill_between_any_two_requests(cluster: Cluster, writes: int) -> None:
    """The first controller may write so often; then it is gone, and another goes on."""
    name = put(cluster, "1-3,9", 2)
    if writes % 4 == 1:
        cluster.registry.patch(BATCHJOBS, name, {"spec": {"arrayRequest": {"own": "9"}}}, NS)
    left = writes

    def may_write() -> bool:
        nonlocal left
        left -= 1
        return left >= 0

    with controlled(GuardedApi(cluster.registry, may_write)):

        def is_dead_or_done() -> bool:
            end_pods(cluster)
            return left < 0 or bool(get(cluster, name).get("status", {}).get("cleaned"))

        wait_for("the first controller's end", is_dead_or_done, 60, every_s=0.05)
    with controlled(cluster.registry):
        ended = run_to_the_end(cluster, name)
    assert ended["status"]["state"] == JobState.FINISHED
    assert ended["status"]["array"] == {"succeeded": "1-3,9", "limit": 2}
    started = Counter(cluster.kubelet.started)
    assert len(started) == 4, "each member once"
    assert set(started.values()) == {1}
    records = members(cluster, name)
    assert sorted(records) == [1, 2, 3, 9]
    numbers = [obj["status"]["jobId"] for obj in records.values()]
    assert len(set(numbers)) == 4
    assert len([obj for obj in records.values() if obj["spec"]["memberOf"].get("keepsNumber")]) == 1
    assert {obj["status"]["state"] for obj in records.values()} == {"Finished"}
    assert cluster.registry.list(SECRETS, NS, fields="type=hpcbatch.io/submission").items == ()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("writes", range(2, 30, 4))
@pytest.mark.slow
def test_a_kill_while_it_is_deleted(cluster: Cluster, writes: int) -> None:
    name = put(cluster, "1-5")
    with controlled(cluster.registry):
        wait_for("all to run", lambda: len(cluster.kubelet.started) == 5)
        cluster.settled()
    cluster.registry.patch(BATCHJOBS, name, {"spec": {"deleteRequested": True}}, NS)
    left = writes

    def may_write() -> bool:
        nonlocal left
        left -= 1
        return left >= 0

    def is_done() -> bool:
        return bool(get(cluster, name).get("status", {}).get("cleaned"))

    with controlled(GuardedApi(cluster.registry, may_write)):
        wait_for("the first controller's end", lambda: left < 0 or is_done(), 60, every_s=0.05)
    with controlled(cluster.registry):
        wait_for("the array to end", is_done, 60, every_s=0.05)
        wait_for(
            "its members to be cleaned up",
            lambda: all(obj["status"].get("cleaned") for obj in members(cluster, name).values()),
        )
    assert get(cluster, name)["status"]["state"] == JobState.DELETED
    assert places(cluster, name) == ArrayStatus(deleted=Indices.parse("1-5"))
    assert len(cluster.kubelet.started) == 5
    wait_for("the pods to go", lambda: not cluster.pods())
    assert cluster.registry.list(SECRETS, NS, fields="type=hpcbatch.io/submission").items == ()


def test_the_limit_and_the_end(cluster: Cluster) -> None:
    with controlled(cluster.registry):
        name = put(cluster, "0-8:2", 2)
        most = 0

        def is_over() -> bool:
            nonlocal most
            alive = [pod for pod in cluster.pods().values() if pod["status"].get("phase") in {"Pending", "Running"}]
            most = max(most, len(alive))
            end_pods(cluster, fails=lambda pod: pod == failing())
            return bool(get(cluster, name).get("status", {}).get("cleaned"))

        def failing() -> str:
            number = members(cluster, name)[4].get("status", {}).get("jobId") if 4 in members(cluster, name) else None
            return f"job-{number}-mpimaster-0"

        wait_for("the array to end", is_over, 60, every_s=0.05)
        status = get(cluster, name)["status"]
    assert (status["state"], status["exitCode"]) == ("Failed", 1)
    assert status["array"] == {"succeeded": "0,2,6,8", "failed": "4", "limit": 2}
    assert most <= 2


def test_each_member_costs_the_same(cluster: Cluster) -> None:
    recorder = Recorder(cluster.registry)
    with controlled(recorder):
        run_to_the_end(cluster, put(cluster, "1-2"))  # what is made once
        costs = []
        for size in (10, 40):
            before = len(recorder.calls)
            run_to_the_end(cluster, put(cluster, f"1-{size}"))
            cluster.settled()
            costs.append((len(recorder.calls) - before) / size)
    assert costs[1] < costs[0] * 1.3
    assert not [call for call in recorder.calls if call.verb == "list" and call.namespace and "batchjobs" in call.path]


def test_only_a_few_have_a_record(cluster: Cluster) -> None:
    with controlled(cluster.registry):
        name = put(cluster, "1-100000", hold=True)
        wait_for("its admission", lambda: get(cluster, name).get("status", {}).get("jobId"))
        assert get(cluster, name)["status"]["array"] == {"pending": "1-100000"}
        cluster.registry.patch(BATCHJOBS, name, {"spec": {"hold": False}}, NS)
        wait_for("the first to run", lambda: len(cluster.kubelet.started) == 8)
        cluster.settled()
        assert len(members(cluster, name)) < 30
        cluster.registry.patch(BATCHJOBS, name, {"spec": {"deleteRequested": True}}, NS)
        run_to_the_end(cluster, name)
        status = get(cluster, name)["status"]
    assert (status["state"], status["exitCode"]) == ("Deleted", 1)
    assert Indices.parse(status["array"]["deleted"]) | Indices.parse(
        status["array"].get("succeeded", "")
    ) == Indices.parse("1-100000")


def test_who_comes_behind_others_that_wait_says_so_from_the_start(cluster: Cluster) -> None:
    with controlled(cluster.registry):
        name = put(cluster, "1-100")
        wait_for("the reasons of the first", lambda: waiting_for(cluster, name) <= {"Priority", "Resources"})
        known, version = members(cluster, name), cluster.registry.list(BATCHJOBS, NS).resource_version
        with closing(cluster.registry.watch(BATCHJOBS, NS, resource_version=version, timeout_s=60)) as watch:
            cluster.kubelet.end(next(iter(cluster.pods())), 0, REPORT)
            new = (o for event in watch if (o := event.object)["spec"].get("memberOf", {}).get("index", 0) not in known)
            first = next(o for o in new if "memberOf" in o["spec"] and o.get("status"))
        assert first["status"]["reason"] == "Priority"
        cluster.registry.patch(BATCHJOBS, name, {"spec": {"deleteRequested": True}}, NS)
        run_to_the_end(cluster, name)


def test_requests_for_members(cluster: Cluster) -> None:
    def states() -> dict[int, str]:
        return {index: obj.get("status", {}).get("state", "") for index, obj in members(cluster, name).items()}

    def running() -> list[int]:
        return [index for index, state in states().items() if state == "Running"]

    with controlled(cluster.registry):
        name = put(cluster, "1-20")
        wait_for("eight to run", lambda: len(running()) == 8)
        wait_for("records of those that are held", lambda: len(states()) >= 12)  # without one they stay pending
        first, *_ = began = sorted(running())
        held = {index for index in range(1, 13) if index not in began}  # those that run are not
        cluster.registry.patch(BATCHJOBS, name, {"spec": {"arrayRequest": {"held": "1-12"}}}, NS)
        wait_for("the waiting ones to be held", lambda: all(states().get(index) == "Held" for index in held))
        cluster.registry.patch(BATCHJOBS, name, {"spec": {"arrayRequest": {"deleted": f"{first},19-20"}}}, NS)
        wait_for("one to be deleted", lambda: first in places(cluster, name).deleted)

        def only_held_are_left() -> bool:
            end_pods(cluster)
            array = places(cluster, name)
            return set(array.pending | array.active) == held

        wait_for("all others to end", only_held_are_left, 60, every_s=0.05)
        assert record_from(get(cluster, name)).status.state is JobState.RUNNING
        cluster.registry.patch(BATCHJOBS, name, {"spec": {"arrayRequest": {"held": ""}}}, NS)
        run_to_the_end(cluster, name)
        array = places(cluster, name)
    assert array.deleted == Indices.of([first, 19, 20])
    assert len(array.succeeded) == 17
    assert all(
        f"job-{members(cluster, name)[i]['status']['jobId']}-mpimaster-0" in cluster.kubelet.started for i in held
    )


def test_a_member_whose_record_is_removed_is_not_run_again(cluster: Cluster) -> None:
    with controlled(cluster.registry):
        name = put(cluster, "1-2")
        wait_for("both to run", lambda: len(cluster.kubelet.started) == 2)
        cluster.registry.delete(BATCHJOBS, member_name(name, 2), NS)
        run_to_the_end(cluster, name)
        assert places(cluster, name) == ArrayStatus(succeeded=Indices.of([1]), deleted=Indices.of([2]))
    assert len(cluster.kubelet.started) == 2


class Quota:
    """An Api that lets only so many BatchJobs be made."""

    def __init__(self, api: Any, most: int) -> None:
        self._api, self._left = api, most

    def __getattr__(self, method: str) -> Any:
        return getattr(self._api, method)

    def create(self, resource: Resource, obj: Object, namespace: str | None = None) -> Object:
        if resource is BATCHJOBS:
            if not self._left:
                raise ForbiddenError(403, "Forbidden", "exceeded quota: jobs")
            self._left -= 1
        created: Object = self._api.create(resource, obj, namespace)
        return created


def test_a_quota_is_told(cluster: Cluster) -> None:
    with controlled(Quota(cluster.registry, 3)):
        name = put(cluster, "1-9")
        wait_for("three to run", lambda: len(cluster.kubelet.started) == 3)
        cluster.settled()
        status = get(cluster, name)["status"]
    assert status["array"] == {"active": "1-3", "pending": "4-9"}
    assert (status["reason"], status["message"]) == ("Resources", "exceeded quota: jobs")


def test_nobody_makes_himself_a_member(cluster: Cluster) -> None:
    with controlled(cluster.registry):
        name = put(cluster, "1-2", hold=True)
        number = int(wait_for("its admission", lambda: get(cluster, name).get("status", {}).get("jobId")))
        array = get(cluster, name)
        spec = {k: v for k, v in array["spec"].items() if k not in {"array", "hold"}}
        spec["memberOf"] = {"arrayId": number, "arrayName": name, "index": 1}
        owner = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "name": name,
            "uid": array["metadata"]["uid"],
            "controller": True,
        }
        for forged, owners in (("pbs-forged", []), (member_name(name, 1), []), (member_name(name, 2), [owner])):
            manifest = {"apiVersion": "hpcbatch.io/v1alpha1", "kind": "BatchJob", "spec": spec}
            cluster.registry.create(BATCHJOBS, manifest | {"metadata": {"name": forged, "ownerReferences": owners}}, NS)
        wait_for("the forged ones to go", lambda: not members(cluster, name))
        assert places(cluster, name) == ArrayStatus(pending=Indices.parse("1-2"))
    assert cluster.kubelet.started == []


def test_an_alteration_reaches_all_that_have_not_started(cluster: Cluster) -> None:
    with controlled(cluster.registry):
        name = put(cluster, "1-20")
        wait_for("eight to run", lambda: len(cluster.kubelet.started) == 8)
        cluster.settled()
        began = in_state(cluster, name, JobState.RUNNING)
        alteration = {"id": "a1", "fields": {"walltimeSeconds": 77, "name": "other", "arrayLimit": 9}}
        cluster.registry.patch(BATCHJOBS, name, {"spec": {"alteration": alteration}}, NS)
        wait_for("the answer", lambda: get(cluster, name)["status"].get("answered") == {"id": "a1"})
        run_to_the_end(cluster, name)
        records = {index: record_from(obj) for index, obj in members(cluster, name).items()}
    assert {index for index, record in records.items() if record.status.walltime_s == 77} == set(records) - began
    assert {record.spec.name for index, record in records.items() if index not in began} == {"other"}
    assert places(cluster, name).limit == 9


def test_members_with_an_early_record_wait_their_turn(cluster: Cluster) -> None:
    with controlled(cluster.registry):
        name = put(cluster, "1-6", 2)
        wait_for("two to run", lambda: len(cluster.kubelet.started) == 2)
        cluster.registry.patch(BATCHJOBS, name, {"spec": {"arrayRequest": {"own": "1,5-6"}}}, NS)
        wait_for(
            "them to have a number",
            lambda: all("jobId" in members(cluster, name).get(i, {}).get("status", {}) for i in (5, 6)),
        )
        assert [members(cluster, name)[i]["spec"].get("hold") for i in (5, 6)] == [True, True]
        cluster.registry.patch(
            BATCHJOBS, f"{name}-6", {"spec": {"alteration": {"id": "b", "fields": {"name": "six"}}}}, NS
        )
        cluster.registry.patch(BATCHJOBS, name, {"spec": {"alteration": {"id": "a", "fields": {"account": "x"}}}}, NS)
        cluster.settled()
        assert len(cluster.kubelet.started) == 2
        run_to_the_end(cluster, name)
        six = record_from(members(cluster, name)[6]).spec
    assert (six.name, six.account) == ("six", "x")
    assert len(cluster.kubelet.started) == 6
    assert str(places(cluster, name).succeeded) == "1-6"


def test_a_dependency_that_comes_late_holds_those_that_have_a_record(cluster: Cluster) -> None:
    with controlled(cluster.registry):
        first, name = put(cluster, "1-2", hold=True), put(cluster, "1-20")
        wait_for("eight to run", lambda: len(in_state(cluster, name, JobState.RUNNING)) == 8)
        waiting = in_state(cluster, name, JobState.QUEUED)
        assert waiting
        clause = Clause(
            kind=DependencyKind.AFTER_OK, jobs=(JobRef(job_id=int(get(cluster, first)["status"]["jobId"])),)
        )
        fields = {"dependency": DEPENDENCY.to_json(Dependency(clauses=(clause,)))}
        cluster.registry.patch(BATCHJOBS, name, {"spec": {"alteration": {"id": "a1", "fields": fields}}}, NS)
        wait_for("them to be held", lambda: all(members(cluster, name)[i]["spec"].get("hold") for i in waiting))
        end_pods(cluster)
        wait_for("eight to end", lambda: len(places(cluster, name).succeeded) == 8)
        cluster.settled()
        assert len(cluster.kubelet.started) == 8
        cluster.registry.patch(BATCHJOBS, first, {"spec": {"hold": False}}, NS)
        run_to_the_end(cluster, first)
        run_to_the_end(cluster, name)
    assert str(places(cluster, name).succeeded) == "1-20"


def test_requests_to_the_whole_array_reach_those_that_run(cluster: Cluster) -> None:
    with controlled(cluster.registry):
        name = put(cluster, "1-3")
        wait_for("three to run", lambda: len(cluster.kubelet.started) == 3)
        cluster.settled()  # what has not started yet gets no signal
        request = {"id": "s1", "signal": 10, "scope": "all"}
        cluster.registry.patch(BATCHJOBS, name, {"spec": {"signalRequest": request}}, NS)
        wait_for("the answer", lambda: get(cluster, name)["status"].get("signalled") == "s1")
        wait_for(
            "the members' answers",
            lambda: {obj["status"].get("signalled") for obj in members(cluster, name).values()} == {"s1"},
        )
        cluster.registry.patch(BATCHJOBS, name, {"spec": {"rerunRequest": {"id": "r1"}}}, NS)
        wait_for("three to run again", lambda: len(cluster.kubelet.started) == 6)
        run_to_the_end(cluster, name)
    assert str(places(cluster, name).succeeded) == "1-3"


def test_a_hold_of_the_array_holds_those_that_wait(cluster: Cluster) -> None:
    with controlled(cluster.registry):
        name = put(cluster, "1-20")
        wait_for("eight to run", lambda: len(cluster.kubelet.started) == 8)
        cluster.registry.patch(BATCHJOBS, name, {"spec": {"hold": True}}, NS)

        def states() -> set[str]:
            return {obj.get("status", {}).get("state", "") for obj in members(cluster, name).values()}

        wait_for("the others to be held", lambda: states() == {"Running", "Held"})

        def only_held_are_left() -> bool:
            end_pods(cluster)
            return len(places(cluster, name).succeeded) == 8 and states() == {"Finished", "Held"}

        wait_for("all that ran to end", only_held_are_left, every_s=0.05)
        cluster.registry.patch(BATCHJOBS, name, {"spec": {"hold": False}}, NS)
        run_to_the_end(cluster, name)
    assert str(places(cluster, name).succeeded) == "1-20"
