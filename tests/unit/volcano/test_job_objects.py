from __future__ import annotations

from typing import Any

import pytest

from hpcbatch.errors import HpcBatchError
from hpcbatch.volcano.amounts import read_amounts, write_amounts
from hpcbatch.volcano.job_objects import build_pod, build_pod_group, controlling_job, pod_group_spec
from hpcbatch.volcano.job_view import go_duration, job_view, parse_go_duration, pod_view


def container(requests: dict[str, str] | None = None, limits: dict[str, str] | None = None) -> dict[str, Any]:
    resources = {key: value for key, value in (("requests", requests), ("limits", limits)) if value}
    return {"name": "main", "image": "x", "resources": resources}


def job(**spec: Any) -> dict[str, Any]:
    """The job that section 3 of the record was made with."""
    master = {
        "name": "mpimaster",
        "replicas": 1,
        "minAvailable": 1,
        "template": {
            "metadata": {"labels": {"pl": "p1"}, "annotations": {"pa": "a1"}},
            "spec": {"containers": [container({"cpu": "100m", "memory": "50Mi"}, {"memory": "200Mi"})]},
        },
    }
    worker = {
        "name": "mpiworker",
        "replicas": 2,
        "minAvailable": 2,
        "template": {"spec": {"containers": [container({"cpu": "100m"})]}},
    }
    return {
        "metadata": {
            "name": "m1",
            "namespace": "rec-vc",
            "uid": "U",
            "creationTimestamp": "2026-11-21T09:58:19Z",
            "labels": {"my-label": "x", "volcano.sh/job-type": "MPI"},
            "annotations": {"my-ann": "y z"},
        },
        "spec": {
            "minAvailable": 3,
            "schedulerName": "volcano",
            "queue": "default",
            "tasks": [master, worker],
            **spec,
        },
    }


def test_pod_metadata() -> None:
    given = job() | {"status": {"version": 2, "retryCount": 1}}
    pod = build_pod(given, given["spec"]["tasks"][0], 0, [])
    assert pod["metadata"]["name"] == "m1-mpimaster-0"
    assert pod["metadata"]["labels"] == {
        "pl": "p1",
        "volcano.sh/job-name": "m1",
        "volcano.sh/job-namespace": "rec-vc",
        "volcano.sh/queue-name": "default",
        "volcano.sh/task-index": "0",
        "volcano.sh/task-spec": "mpimaster",
    }
    assert pod["metadata"]["annotations"] == {
        "pa": "a1",
        "scheduling.k8s.io/group-name": "m1-U",
        "volcano.sh/job-name": "m1",
        "volcano.sh/job-retry-count": "1",
        "volcano.sh/job-version": "2",
        "volcano.sh/queue-name": "default",
        "volcano.sh/task-index": "0",
        "volcano.sh/task-spec": "mpimaster",
        "volcano.sh/template-uid": "m1-mpimaster",
    }
    assert pod["spec"]["schedulerName"] == "volcano"
    owner = controlling_job(pod)
    assert owner is not None
    assert owner["uid"] == "U"


def test_what_else_of_a_job_goes_to_its_pods() -> None:
    given = job(priorityClassName="hi")
    given["metadata"]["annotations"]["volcano.sh/preemptable"] = "true"
    task = given["spec"]["tasks"][1] | {
        "topologyPolicy": "best-effort",
        "partitionPolicy": {"totalPartitions": 1, "partitionSize": 1},
    }
    pod = build_pod(given, task, 1, [])
    assert pod["spec"]["priorityClassName"] == "hi"
    assert pod["metadata"]["annotations"]["volcano.sh/preemptable"] == "true"
    assert pod["metadata"]["annotations"]["volcano.sh/numa-topology-policy"] == "best-effort"
    assert pod["metadata"]["labels"]["volcano.sh/partition-id"] == "1"
    own = task["template"] | {"spec": {**task["template"]["spec"], "priorityClassName": "lo", "schedulerName": "other"}}
    spec = build_pod(given, {**task, "template": own}, 0, [])["spec"]
    assert (spec["priorityClassName"], spec["schedulerName"]) == ("lo", "other")


def test_pod_group() -> None:
    group = build_pod_group(job(), pod_group_spec(job()))
    assert group["metadata"]["name"] == "m1-U"
    assert group["metadata"]["labels"] == {"my-label": "x", "volcano.sh/job-type": "MPI"}
    assert group["metadata"]["annotations"] == {"my-ann": "y z"}
    assert group["status"] == {}
    minimum = group["spec"].pop("minResources")
    assert group["spec"] == {"minMember": 3, "minTaskMember": {"mpimaster": 1, "mpiworker": 2}, "queue": "default"}
    # Recorded; ours also counts the two keys that Volcano leaves out when only a limit is given.
    assert minimum == {
        "count/pods": "3",
        "cpu": "300m",
        "limits.memory": "200Mi",
        "memory": "50Mi",
        "pods": "3",
        "requests.cpu": "300m",
        "requests.memory": "50Mi",
    }


def test_pod_group_without_the_tasks_that_wait() -> None:
    spec = pod_group_spec(job(), ["mpiworker"])
    assert (spec["minMember"], spec["minTaskMember"], spec["minResources"]["cpu"]) == (1, {"mpimaster": 1}, "100m")


def test_pod_group_of_no_replicas() -> None:
    given = job()
    given["spec"] = {**given["spec"], "minAvailable": 0, "tasks": [{"name": "t", "minAvailable": 0, "template": {}}]}
    assert pod_group_spec(given) == {"minResources": {}, "minTaskMember": {"t": 0}, "queue": "default"}


def test_min_resources_take_the_highest_priority_first() -> None:
    given = job(minAvailable=2)
    given["spec"]["tasks"][1]["template"]["spec"]["priorityClassName"] = "hi"
    spec = pod_group_spec(given, (), {"hi": 10}.__getitem__)
    assert spec["minResources"] == {"count/pods": "2", "cpu": "200m", "pods": "2", "requests.cpu": "200m"}


def test_amounts() -> None:
    given = {"cpu": "1500m", "memory": "1536Mi", "nvidia.com/gpu": "2", "requests.cpu": "2", "pods": "3"}
    assert read_amounts(given) == {
        "cpu": 1500,
        "memory": 1536 * 2**20,
        "nvidia.com/gpu": 2,
        "requests.cpu": 2000,
        "pods": 3,
    }
    assert write_amounts(read_amounts(given)) == given


def test_views() -> None:
    given = job(policies=[{"events": ["PodFailed"], "event": "PodEvicted", "action": "AbortJob", "timeout": "1m30s"}])
    view = job_view(given)
    assert (view.phase, view.replicas, view.version, view.since) == ("Pending", 3, 0, None)
    assert view.policies[0].events == {"PodFailed", "PodEvicted"}
    assert view.policies[0].timeout_s == 90
    pod = build_pod(given, given["spec"]["tasks"][1], 1, [])
    pod["metadata"] |= {"uid": "u", "creationTimestamp": "2026-11-21T09:58:19Z"}
    ended = {"exitCode": 3, "finishedAt": "2026-11-21T10:00:00Z"}
    pod["status"] = {"phase": "Failed", "containerStatuses": [{"restartCount": 2, "state": {"terminated": ended}}]}
    seen = pod_view(pod)
    assert (seen.task, seen.index, seen.exit_code, seen.restarts, seen.is_finished) == ("mpiworker", 1, 3, 2, True)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("5s", 5), ("1h30m", 5400), ("-5s", -5), ("1.5s", 1.5), ("100ms", 0.1), ("0", 0), ("1m0.5s", 60.5)],
)
def test_go_durations(text: str, seconds: float) -> None:
    assert parse_go_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["abc", "5", "", "5 s", "s", "1d", "--5s"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(HpcBatchError, match="time: invalid duration"):
        parse_go_duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"), [(12.9, "12s"), (68, "1m8s"), (7205, "2h0m5s"), (3600, "1h0m0s"), (0, "0s")]
)
def test_go_prints(seconds: float, text: str) -> None:
    assert go_duration(seconds) == text
