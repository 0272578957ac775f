"""A cluster without Volcano (`scheduler: none`): hpcbatch's controller makes the pods, and the default scheduler binds
them one by one. No job ever runs in part.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from hpcbatch.api.port import Object
from hpcbatch.api.resources import (
    BATCHJOBS,
    COMMANDS,
    CONFIGMAPS,
    COSCHEDULING_PODGROUPS,
    EVENTS,
    KOORDINATOR_PODGROUPS,
    NAMESPACES,
    PODGROUPS,
    PODS,
    SECRETS,
    SERVICES,
    VOLCANO_JOBS,
)
from hpcbatch.controller.guarded import GuardedApi
from hpcbatch.errors import ForbiddenError
from hpcbatch.gang.reminder import NOTE
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.labels import REQUESTS_ANNOTATION
from hpcbatch.model.scheduler import Scheduler
from hpcbatch.site.identity import GID, HOME, UID, USER
from hpcbatch.volcano.job_conf import NO_POD, first_pod
from hpcbatch.volcano.pinned import HOST
from tests.component.coscheduling import install_coscheduling, install_koordinator
from tests.component.test_plan import (
    ONE,
    TWO,
    WHOLE,
    controlled,
    end,
    put,
    status,
    volcano_job,
    wait_for_reason,
    wait_to_run,
)
from tests.component.volcano_cluster import NS, ON_TERM, Cluster
from tests.thoroughness import in_turn
from tests.waiting import wait_for

WITHOUT = {"scheduler": Scheduler.NONE}
_STRANGERS = count()


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """Nodes of two CPUs, a kubelet, and a scheduler that has pods of the default scheduler only."""
    cluster = Cluster(2, 2)
    cluster.kubelet.start()
    cluster.scheduler.start()
    notes = {USER: "alice", UID: "1000", GID: "1000", HOME: "/home/alice"}
    cluster.registry.patch(NAMESPACES, NS, {"metadata": {"annotations": notes}})
    yield cluster
    cluster.scheduler.stop()
    cluster.kubelet.stop()


def pods_of(cluster: Cluster, job: str) -> dict[str, Object]:
    return cluster.pods(f"job-{job}")


def nodes_of(cluster: Cluster, job: str) -> list[str]:
    return sorted(pod["spec"].get("nodeName", "") for pod in pods_of(cluster, job).values())


def stranger(cluster: Cluster, node: str, cpus: int) -> str:
    """Somebody else's pod that no plan has seen coming."""
    name = f"stranger-{next(_STRANGERS)}"
    container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": str(cpus)}}}
    spec = {"schedulerName": "nobody", "nodeName": node, "containers": [container]}
    cluster.create(PODS, {"metadata": {"name": name, "namespace": NS}, "spec": spec})
    return name


def test_pods_are_bound_where_they_were_planned(cluster: Cluster) -> None:
    with controlled(cluster.registry, **WITHOUT):
        job = put(cluster, Chunk(cpus=2), Chunk(cpus=1), Chunk(cpus=1))
        wait_to_run(cluster, job)
        made = volcano_job(cluster, job)
        assert made is not None
        assert made["spec"]["schedulerName"] == "default-scheduler"
        notes = made["metadata"]["annotations"]
        assert notes["hpcbatch.io/scheduler"] == "none"
        assert json.loads(notes["hpcbatch.io/pod-nodes"]) == {"mpimaster": "node-0", "mpiworker": "node-1*2"}
        for name, pod in pods_of(cluster, job).items():
            assert pod["spec"]["schedulerName"] == "default-scheduler"
            assert "scheduling.k8s.io/group-name" not in pod["metadata"]["annotations"]
            terms = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
            host = "node-0" if "master" in name else "node-1"
            expected = {"key": HOST, "operator": "In", "values": [host]}
            assert terms["nodeSelectorTerms"] == [{"matchExpressions": [expected]}]
            assert pod["spec"]["nodeName"] == host
        assert cluster.registry.list(PODGROUPS, NS).items == ()
        for kind, name in ((SECRETS, "ssh"), (CONFIGMAPS, "svc")):
            assert cluster.registry.get(kind, f"job-{job}-{name}", NS)
        assert cluster.registry.get(SERVICES, f"job-{job}", NS)
        end(cluster, job)
        wait_for("its end", lambda: status(cluster, job)["state"] == "Finished")
        wait_for("its objects to go", lambda: not left_over(cluster))


def test_coscheduling_gets_a_group_of_the_job(cluster: Cluster) -> None:
    install_coscheduling(cluster)
    site = {"scheduler": Scheduler.COSCHEDULING, "own_scheduler_name": "default-scheduler", "place_timeout_s": 45}
    with controlled(cluster.registry, **site):
        job = put(cluster, WHOLE)
        wait_to_run(cluster, job)
        (group,) = cluster.registry.list(COSCHEDULING_PODGROUPS, NS).items
        assert group["spec"] == {"minMember": 2, "scheduleTimeoutSeconds": 45}
        for pod in pods_of(cluster, job).values():
            assert pod["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] == group["metadata"]["name"]
            assert int(pod["metadata"]["resourceVersion"]) > int(group["metadata"]["resourceVersion"])
        end(cluster, job)
        wait_for("its objects to go", lambda: not left_over(cluster))
        wait_for("its group to go", lambda: not cluster.registry.list(COSCHEDULING_PODGROUPS, NS).items)


def test_koordinator_is_reminded_of_pods_that_it_has_overlooked(cluster: Cluster) -> None:
    """It looks at them at the second reminder here; there is none before all of them are there."""
    install_koordinator(cluster)
    pods_at: list[int] = []

    def note(operation: str, group: Object, _: Object | None) -> None:
        if operation == "UPDATE" and NOTE in group["metadata"]["annotations"]:
            pods_at.append(len(cluster.registry.list(PODS, NS).items))

    cluster.registry.admission[KOORDINATOR_PODGROUPS].validators.append(note)
    with controlled(cluster.registry, scheduler=Scheduler.KOORDINATOR, place_timeout_s=600):
        job = put(cluster, WHOLE)
        wait_for("the second reminder", lambda: len(pods_at) > 1)
        assert set(pods_at) == {2}
        for name, node in zip(sorted(pods_of(cluster, job)), ("node-0", "node-1"), strict=True):
            cluster.registry.bind(NS, name, node)
        wait_to_run(cluster, job)
        end(cluster, job)
        wait_for("its objects to go", lambda: not left_over(cluster))


def test_koordinators_words_on_a_quota_are_shown(cluster: Cluster) -> None:
    install_koordinator(cluster)
    why = "Insufficient quotas, quotaName: default, runtime: cpu:1, used: cpu:1, exceedDimensions: [cpu]"
    said = {"type": "PodScheduled", "status": "False", "message": f"0/2 nodes are available: {why}. preemption: none"}

    def refuse(pod: Object) -> Object:
        return {**pod, "status": {**pod["status"], "conditions": [said]}}

    with controlled(cluster.registry, scheduler=Scheduler.KOORDINATOR, place_timeout_s=600):
        job = put(cluster, ONE)
        (name,) = wait_for("its pod", lambda: pods_of(cluster, job))
        cluster.registry.update(PODS, name, NS, refuse, subresource="status")
        wait_for("the words", lambda: status(cluster, job).get("message") == f"Koordinator: {why}")


def test_a_scheduler_that_is_not_installed_is_said(cluster: Cluster) -> None:
    with controlled(cluster.registry, scheduler=Scheduler.COSCHEDULING, own_scheduler_name="default-scheduler"):
        job = put(cluster, ONE)
        wait_for("the reason", lambda: "the job's PodGroup: " in status(cluster, job).get("message", ""))
        assert pods_of(cluster, job) == {}


def left_over(cluster: Cluster) -> list[str]:
    kinds = (PODS, VOLCANO_JOBS, SERVICES, COMMANDS)
    return [obj["metadata"]["name"] for kind in kinds for obj in cluster.registry.list(kind, NS).items]


def test_a_job_with_some_of_its_nodes_does_not_run_and_is_taken_back_whole(cluster: Cluster) -> None:
    """Between the plan and the scheduler somebody else takes one of the job's two nodes."""
    cluster.scheduler.stop()
    with controlled(cluster.registry, place_timeout_s=4, **WITHOUT):
        job = put(cluster, WHOLE)
        wait_for("its pods", lambda: len(pods_of(cluster, job)) == 2)
        first = volcano_job(cluster, job)
        name = stranger(cluster, "node-1", 2)
        scheduler = type(cluster.scheduler)(cluster.registry)
        scheduler.start()
        try:
            wait_for("one pod to be bound", lambda: nodes_of(cluster, job) == ["", "node-0"])
            wait_for("it to begin", lambda: f"job-{job}-mpimaster-0" in cluster.kubelet.started)
            found = status(cluster, job)
            assert (found["state"], found.get("startTime"), found.get("runCount", 0)) == ("Queued", None, 0)
            wait_for("it to be taken back", lambda: not pods_of(cluster, job))
            assert "has not started it" in status(cluster, job)["message"]
            assert first is not None
            # room again: it runs, once, and the part of it that had begun was no run
            cluster.registry.delete(PODS, name, NS, grace_period_s=0)
            wait_to_run(cluster, job)
            assert status(cluster, job).get("runCount") == 1
            assert nodes_of(cluster, job) == ["node-0", "node-1"]
        finally:
            scheduler.stop()


def test_a_job_of_which_a_node_has_no_room_shows_no_run(cluster: Cluster) -> None:
    """Its first pod runs by then, and is ended before its script has its word."""
    cluster.scheduler.stop()
    states: set[str] = set()
    watch = cluster.registry.feed(BATCHJOBS, lambda event: states.add(event.object.get("status", {}).get("state", "")))
    with controlled(cluster.registry, place_timeout_s=600, **WITHOUT):
        job = put(cluster, WHOLE)
        wait_for("its pods", lambda: len(pods_of(cluster, job)) == 2)
        first = {pod["metadata"]["uid"] for pod in pods_of(cluster, job).values()}
        for name in pods_of(cluster, job):
            cluster.registry.patch(PODS, name, {"metadata": {"annotations": {ON_TERM: "143"}}}, NS)
        watch.start()
        cluster.registry.bind(NS, f"job-{job}-mpimaster-0", "node-0")
        wait_for("its first pod to run", lambda: f"job-{job}-mpimaster-0" in cluster.kubelet.started)
        cluster.kubelet.refusals = 1
        cluster.registry.bind(NS, f"job-{job}-mpiworker-0", "node-1")
        wait_for("why it waits", lambda: "had no room for pod" in status(cluster, job).get("message", ""))
        wait_for(
            "its pods to go", lambda: first.isdisjoint(p["metadata"]["uid"] for p in pods_of(cluster, job).values())
        )
        watch.stop()
        assert states - {""} == {"Queued"}
        scheduler = type(cluster.scheduler)(cluster.registry)
        scheduler.start()
        try:
            wait_to_run(cluster, job)
            found = status(cluster, job)
            assert (found.get("runCount"), found.get("pastRuns", [])) == (1, [])
        finally:
            scheduler.stop()


def test_a_job_is_held_while_it_gets_its_nodes(cluster: Cluster) -> None:
    """Its second pod gets its node when the controller has begun to take it back: no pod has been let start by then."""
    cluster.scheduler.stop()
    words: list[str] = []
    bound: list[str] = []
    watch = cluster.registry.feed(PODS, lambda event: words.append(word(event.object)))

    def bind_the_other(operation: str, conf: Object, _: Object | None) -> None:
        if operation == "UPDATE" and first_pod(conf) == NO_POD:
            for name, pod in pods_of(cluster, job).items():
                if not pod["spec"].get("nodeName"):
                    cluster.registry.bind(NS, name, "node-1")
                    bound.append(name)

    with controlled(cluster.registry, place_timeout_s=600, **WITHOUT):
        job = put(cluster, WHOLE)
        wait_for("its pods", lambda: len(pods_of(cluster, job)) == 2)
        watch.start()
        cluster.registry.bind(NS, f"job-{job}-mpimaster-0", "node-0")
        wait_for("its first pod to run", lambda: f"job-{job}-mpimaster-0" in cluster.kubelet.started)
        cluster.registry.admission[CONFIGMAPS].validators.append(bind_the_other)
        record = next(obj for obj in batchjobs(cluster) if str(obj["status"]["jobId"]) == job)
        cluster.registry.patch(BATCHJOBS, record["metadata"]["name"], {"spec": {"hold": True}}, NS)
        wait_for("the hold", lambda: status(cluster, job)["state"] == "Held")
        wait_for("its pods to go", lambda: not pods_of(cluster, job))
        assert bound == [f"job-{job}-mpiworker-0"]
        assert status(cluster, job).get("runCount", 0) == 0
    watch.stop()
    assert set(words) == {""}


def word(pod: Object) -> str:
    return str(pod["metadata"]["annotations"].get(REQUESTS_ANNOTATION, ""))


def test_a_job_that_is_started_anew_keeps_its_place(cluster: Cluster) -> None:
    """Until its new pods have their nodes, nobody else gets them."""
    with controlled(cluster.registry, place_timeout_s=600, **WITHOUT):
        job = put(cluster, WHOLE)
        wait_to_run(cluster, job)
        before = {pod["metadata"]["uid"] for pod in pods_of(cluster, job).values()}
        cluster.scheduler.stop()
        cluster.registry.delete(PODS, f"job-{job}-mpiworker-0", NS, grace_period_s=0)

        def new_pods() -> list[Object]:
            return [pod for pod in pods_of(cluster, job).values() if pod["metadata"]["uid"] not in before]

        wait_for("its new pods", lambda: len(new_pods()) == 2)
        narrow = put(cluster, ONE, walltime_s=60)
        wait_for_reason(cluster, narrow, "Resources")
        assert volcano_job(cluster, narrow) is None
        assert nodes_of(cluster, job) == ["", ""]
        scheduler = type(cluster.scheduler)(cluster.registry)
        scheduler.start()
        try:
            wait_for("it to run again", lambda: status(cluster, job).get("runCount") == 2)
            end(cluster, job)
            wait_to_run(cluster, narrow)
        finally:
            scheduler.stop()


def test_what_hangs_does_not_keep_others_from_its_place(cluster: Cluster) -> None:
    cluster.scheduler.stop()
    with controlled(cluster.registry, place_timeout_s=1, **WITHOUT):
        job = put(cluster, WHOLE)
        wait_for("its pods", lambda: len(pods_of(cluster, job)) == 2)
        narrow = put(cluster, ONE, walltime_s=60)
        wait_for("the next one's pod", lambda: pods_of(cluster, narrow))


def test_a_job_that_is_deleted_while_some_pods_wait_leaves_nothing(cluster: Cluster) -> None:
    cluster.scheduler.stop()
    with controlled(cluster.registry, place_timeout_s=600, **WITHOUT):
        job = put(cluster, WHOLE)
        wait_for("its pods", lambda: len(pods_of(cluster, job)) == 2)
        stranger(cluster, "node-1", 2)
        scheduler = type(cluster.scheduler)(cluster.registry)
        scheduler.start()
        try:
            wait_for("one pod to begin", lambda: f"job-{job}-mpimaster-0" in cluster.kubelet.started)
            record = next(obj for obj in batchjobs(cluster) if str(obj["status"]["jobId"]) == job)
            cluster.registry.patch(BATCHJOBS, record["metadata"]["name"], {"spec": {"deleteRequested": True}}, NS)
            wait_for("its end", lambda: status(cluster, job)["state"] == "Deleted")
            assert status(cluster, job).get("startTime") is None
            wait_for("its objects to go", lambda: all(name.startswith("stranger") for name in left_over(cluster)))
        finally:
            scheduler.stop()


def batchjobs(cluster: Cluster) -> tuple[Object, ...]:
    return cluster.registry.list(BATCHJOBS, NS).items


def test_why_pods_cannot_be_made_is_said(cluster: Cluster) -> None:
    def refuse(operation: str, pod: Object, _: Object | None) -> None:
        if operation == "CREATE":
            why = "exceeded quota: small, requested: pods=1, used: pods=0, limited: pods=0"
            raise ForbiddenError(403, "Forbidden", f'pods "{pod["metadata"]["name"]}" is forbidden: {why}')

    cluster.registry.admission[PODS].validators.append(refuse)
    with controlled(cluster.registry, **WITHOUT):
        job = put(cluster, TWO)
        wait_for("the reason", lambda: "exceeded quota" in status(cluster, job).get("message", ""))
        assert any(event["reason"] == "FailedCreate" for event in cluster.registry.list(EVENTS, NS).items)


def test_jobs_of_others_are_left_alone(cluster: Cluster) -> None:
    """Volcano Jobs that are not ours, and Commands for them, wait for whoever serves them."""
    with controlled(cluster.registry, **WITHOUT):
        wait_to_run(cluster, put(cluster, ONE))
        container = {"name": "main", "image": "x"}
        spec = {"restartPolicy": "Never", "containers": [container]}
        other = cluster.submit("theirs", {"name": "main", "replicas": 1, "template": {"spec": spec}})
        target = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "theirs"}
        command = {
            "metadata": {"name": "c"},
            "action": "AbortJob",
            "target": target | {"uid": other["metadata"]["uid"]},
        }
        cluster.create(COMMANDS, command)
        wait_to_run(cluster, put(cluster, ONE))
        assert cluster.pods("theirs") == {}
        assert "state" not in cluster.job("theirs").get("status", {})
        assert cluster.registry.get(COMMANDS, "c", NS)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("writes", in_turn(range(1, 60, 5)))
def test_a_gang_runs_once_and_whole_whenever_the_controller_is_killed(cluster: Cluster, writes: int) -> None:
    """The first controller may write so often, from the submission on; the next one goes on."""
    left = writes

    def may_write() -> bool:
        nonlocal left
        left -= 1
        return left >= 0

    def runs(job: str) -> bool:
        return bool(status(cluster, job)["state"] == "Running")

    api: Any = GuardedApi(cluster.registry, may_write)
    with controlled(cluster.registry, **WITHOUT):
        blocker = put(cluster, WHOLE)
        wait_to_run(cluster, blocker)
        job = put(cluster, WHOLE)
    end(cluster, blocker)
    with controlled(api, **WITHOUT):
        wait_for("the first controller's end", lambda: left < 0 or runs(job), 60, every_s=0.05)
    with controlled(cluster.registry, **WITHOUT):
        wait_to_run(cluster, job)
        assert nodes_of(cluster, job) == ["node-0", "node-1"]
        assert status(cluster, job)["runCount"] == 1
    assert len(cluster.kubelet.started) == len(set(cluster.kubelet.started)), "none ran twice"
