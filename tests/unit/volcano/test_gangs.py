"""What the pods and the groups of a job look like for each scheduler."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.scheduler import USUAL_NAME, Scheduler
from hpcbatch.model.site import SiteConfig
from hpcbatch.volcano.gangs.chosen import SCHEDULER, scheduler_of
from hpcbatch.volcano.gangs.facts import PLACE_TIMEOUT
from hpcbatch.volcano.gangs.planned_nodes import POD_NODES, with_pod_nodes
from hpcbatch.volcano.gangs.registry import GANGS, gang_of, handed_over
from hpcbatch.volcano.job_objects import build_pod
from hpcbatch.volcano.pinned import HOST


def template() -> dict[str, Any]:
    return {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "x"}]}}


def job() -> dict[str, Any]:
    """As the template gives it, of four pods."""
    tasks = [
        {"name": "mpimaster", "replicas": 1, "template": template()},
        {"name": "mpiworker", "replicas": 3, "template": template()},
    ]
    spec = {"schedulerName": "volcano", "queue": "cpu", "minAvailable": 4, "plugins": {"svc": []}, "tasks": tasks}
    meta = {"name": "job-7", "namespace": "alice", "labels": {"hpcbatch.io/job-id": "7"}, "annotations": {"a": "b"}}
    return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": meta, "spec": spec}


def made(scheduler: Scheduler, **site: Any) -> dict[str, Any]:
    """The Volcano Job as the API has it."""
    found = handed_over(job(), SiteConfig(scheduler=scheduler, **site))
    return {**found, "metadata": {**found["metadata"], "uid": "u-1"}}


def pod_of(volcano_job: dict[str, Any], task: int, index: int) -> dict[str, Any]:
    gang = gang_of(volcano_job)
    assert gang is not None
    return gang.pod(build_pod(volcano_job, volcano_job["spec"]["tasks"][task], index, []), volcano_job)


def test_every_scheduler_is_there() -> None:
    assert GANGS.keys() == USUAL_NAME.keys() == set(Scheduler)


def test_volcano_gets_the_job_as_it_is() -> None:
    given = job()
    before = copy.deepcopy(given)
    assert handed_over(given, SiteConfig()) is given
    assert given == before
    assert scheduler_of(given) is Scheduler.VOLCANO
    assert gang_of(given) is None


@pytest.mark.parametrize("scheduler", [one for one in Scheduler if not one.makes_pods])
def test_a_job_says_who_gets_its_pods(scheduler: Scheduler) -> None:
    given = job()
    before = copy.deepcopy(given)
    found = handed_over(given, SiteConfig(scheduler=scheduler))
    assert given == before
    assert found["metadata"]["annotations"] == {"a": "b", SCHEDULER: scheduler.value, PLACE_TIMEOUT: "30"}
    assert scheduler_of(found) is scheduler
    assert gang_of(found) is GANGS[scheduler]
    assert found["spec"]["schedulerName"] == USUAL_NAME[scheduler]
    # Volcano's webhook would fill this in
    assert [task["minAvailable"] for task in found["spec"]["tasks"]] == [1, 3]
    assert handed_over(job(), SiteConfig(scheduler=scheduler, own_scheduler_name="x"))["spec"]["schedulerName"] == "x"


def test_a_bad_job_is_refused_without_volcanos_webhook() -> None:
    given = job()
    given["spec"]["minAvailable"] = 5
    with pytest.raises(HpcBatchError, match=r"^no valid Volcano Job: job 'minAvailable' should not"):
        handed_over(given, SiteConfig(scheduler=Scheduler.NONE))


def test_what_is_unknown_is_volcanos() -> None:
    given = job()
    given["metadata"]["annotations"][SCHEDULER] = "another"
    assert gang_of(given) is None


@pytest.mark.parametrize(
    ("task", "index", "hosts"),
    [(0, 0, ["n1"]), (1, 0, ["n2"]), (1, 1, ["n2"]), (1, 2, None)],
    ids=["master", "first worker", "second worker", "one that was not planned"],
)
def test_none_keeps_each_pod_to_its_node(task: int, index: int, hosts: list[str] | None) -> None:
    planned = with_pod_nodes(made(Scheduler.NONE), {"mpimaster": ["n1"], "mpiworker": ["n2", "n2", ""]})
    assert json.loads(planned["metadata"]["annotations"][POD_NODES]) == {"mpimaster": "n1", "mpiworker": "n2*2 -"}
    pod = pod_of(planned, task, index)
    assert pod["spec"]["schedulerName"] == "default-scheduler"
    assert "scheduling.k8s.io/group-name" not in pod["metadata"]["annotations"]
    affinity = pod["spec"].get("affinity")
    if hosts is None:
        assert affinity is None
        return
    terms = affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert terms == [{"matchExpressions": [{"key": HOST, "operator": "In", "values": hosts}]}]


def test_none_without_a_plan_leaves_pods_free() -> None:
    assert "affinity" not in pod_of(made(Scheduler.NONE), 1, 0)["spec"]
    assert GANGS[Scheduler.NONE].group_api == ""


def test_coscheduling() -> None:
    found = made(Scheduler.COSCHEDULING, place_timeout_s=45)
    gang = GANGS[Scheduler.COSCHEDULING]
    group = gang.group(found, (), lambda _: 0)
    owner = group["metadata"].pop("ownerReferences")
    again = {"pod-group.scheduling.sigs.k8s.io/match-policy": "waiting-and-running"}
    assert [(one["kind"], one["uid"], one["controller"]) for one in owner] == [("Job", "u-1", True)]
    assert group == {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "job-7-u", "namespace": "alice", "labels": {"hpcbatch.io/job-id": "7"} | again},
        "spec": {"minMember": 4, "scheduleTimeoutSeconds": 45},
    }
    assert gang.group_name(found) == "job-7-u"
    pod = pod_of(found, 1, 2)
    assert told(pod) == {
        "scheduling.x-k8s.io/pod-group": "job-7-u",
        "pod-group.scheduling.sigs.k8s.io/name": "job-7-u",
        "pod-group.scheduling.sigs.k8s.io/min-available": "4",
        **again,
    }
    assert pod["spec"]["schedulerName"] == "scheduler-plugins-scheduler"
    assert "affinity" not in pod["spec"]


def test_koordinator() -> None:
    found = made(Scheduler.KOORDINATOR, place_timeout_s=45)
    notes = {
        "gang.scheduling.koordinator.sh/name": "job-7-u",
        "gang.scheduling.koordinator.sh/min-available": "4",
        "gang.scheduling.koordinator.sh/total-number": "4",
        "gang.scheduling.koordinator.sh/mode": "Strict",
        "gang.scheduling.koordinator.sh/waiting-time": "45s",
        "gang.scheduling.koordinator.sh/groups": '["alice/job-7-u"]',
        "gang.scheduling.koordinator.sh/match-policy": "waiting-and-running",
    }
    group = GANGS[Scheduler.KOORDINATOR].group(found, (), lambda _: 0)
    assert (group["apiVersion"], group["metadata"]["name"]) == ("scheduling.sigs.k8s.io/v1alpha1", "job-7-u")
    assert group["metadata"]["annotations"] == notes
    assert group["spec"] == {"minMember": 4, "scheduleTimeoutSeconds": 45}
    assert [one["uid"] for one in group["metadata"]["ownerReferences"]] == ["u-1"]
    pod = pod_of(found, 0, 0)
    assert told(pod) == {"pod-group.scheduling.sigs.k8s.io": "job-7-u", **notes}
    assert pod["spec"]["schedulerName"] == "koord-scheduler"


def test_kueue() -> None:
    pod = pod_of(with_pod_nodes(made(Scheduler.KUEUE), {"mpimaster": ["n1"]}), 0, 0)
    assert told(pod) == {
        "kueue.x-k8s.io/queue-name": "cpu",
        "kueue.x-k8s.io/pod-group-name": "job-7-u",
        "kueue.x-k8s.io/pod-group-total-count": "4",
        "kueue.x-k8s.io/retriable-in-group": "false",
        "kueue.x-k8s.io/role-hash": "mpimaster",
    }
    assert pod["spec"]["schedulerName"] == "default-scheduler"
    assert "n1" in json.dumps(pod["spec"]["affinity"])
    again = pod_of({**made(Scheduler.KUEUE), "status": {"retryCount": 1}}, 0, 0)
    assert told(again)["kueue.x-k8s.io/pod-group-name"] == "job-7-u-1", "the group of the run before is over"


def test_kueue_takes_eight_kinds_of_pods() -> None:
    given = job()
    given["spec"]["tasks"] = [{**given["spec"]["tasks"][0], "name": f"t{each}"} for each in range(8)]
    site = SiteConfig(scheduler=Scheduler.KUEUE)
    assert len(handed_over(copy.deepcopy(given), site)["spec"]["tasks"]) == 8
    given["spec"]["tasks"].append({**given["spec"]["tasks"][0], "name": "more"})
    with pytest.raises(HpcBatchError, match=r"no group of more than 8 kinds of pods; by its chunks the job has 9"):
        handed_over(given, site)


def told(pod: dict[str, Any]) -> dict[str, str]:
    """The labels and annotations that are no others'."""
    meta = pod["metadata"]
    both: dict[str, str] = meta["labels"] | meta["annotations"]
    assert "scheduling.k8s.io/group-name" not in both
    return {key: value for key, value in both.items() if not key.startswith(("volcano.sh/", "hpcbatch.io/"))}
