"""Whose only pod Kubernetes' own scheduler may place, beside Volcano."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from hpcbatch.policy.lone_pod import given_to, has_room, is_given_away, is_plain, is_plain_node

Object = dict[str, Any]


def volcano_job(
    *, replicas: int = 1, pod: Object | None = None, task: Object | None = None, cpu: str = "1", **spec: Any
) -> Object:
    """As hpcbatch's template makes one; `pod` is more of its pod, `task` of its task."""
    container = {"name": "main", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}, "limits": {"memory": "1Gi"}}}
    template = {"metadata": {"labels": {"hpcbatch.io/job-id": "7"}}, "spec": {"containers": [container], **(pod or {})}}
    made = {"name": "mpimaster", "replicas": replicas, "template": template, **(task or {})}
    labels = {"hpcbatch.io/job-id": "7", "volcano.sh/job-type": "MPI"}
    metadata = {"name": "job-7", "labels": labels, "annotations": {"hpcbatch.io/planned": "0:n0*1"}}
    return {"metadata": metadata, "spec": {"schedulerName": "volcano", "queue": "q", "tasks": [made], **spec}}


def asks_for(resource: str, side: str = "requests") -> Object:
    return {"containers": [{"name": "main", "resources": {side: {resource: "1"}}}]}


PLAIN = [
    pytest.param(volcano_job(), True, id="cpu and memory"),
    pytest.param(volcano_job(pod=asks_for("nvidia.com/gpu")), True, id="whole devices"),
    pytest.param(volcano_job(pod={"nodeSelector": {"volcano.sh/role": "compute"}}), True, id="label of nodes"),
    pytest.param(volcano_job(task={"topologyPolicy": "none"}), True, id="no policy for NUMA"),
    pytest.param(volcano_job(replicas=2), False, id="a gang"),
    pytest.param(volcano_job(tasks=[*volcano_job()["spec"]["tasks"] * 2]), False, id="a launcher beside it"),
    pytest.param(volcano_job(networkTopology={"mode": "hard"}), False, id="HyperNodes"),
    pytest.param(volcano_job(task={"topologyPolicy": "single-numa-node"}), False, id="policy for NUMA"),
    pytest.param(volcano_job(task={"partitionPolicy": {"totalPartitions": 1}}), False, id="partitions"),
    pytest.param(volcano_job(pod=asks_for("volcano.sh/vgpu-number")), False, id="shared devices"),
    pytest.param(volcano_job(pod=asks_for("volcano.sh/vgpu-memory", "limits")), False, id="shared, as a limit"),
    pytest.param(volcano_job(pod={"resourceClaims": [{"name": "devices"}]}), False, id="claims"),
    pytest.param(volcano_job(pod={"schedulerName": "own"}), False, id="the template names a scheduler"),
    pytest.param(
        volcano_job(task={"template": {"metadata": {"annotations": {"volcano.sh/vgpu-mode": "mig"}}, "spec": {}}}),
        False,
        id="annotation of the pod",
    ),
]


@pytest.mark.parametrize(("job", "answer"), PLAIN)
def test_job(job: Object, answer: bool) -> None:
    assert is_plain(job) is answer


@pytest.mark.parametrize("kind", ["labels", "annotations"])
def test_what_a_template_of_the_site_says_to_volcano(kind: str) -> None:
    job = volcano_job()
    job["metadata"][kind] |= {"scheduling.volcano.sh/queue-name": "other"}
    assert not is_plain(job)


@pytest.mark.parametrize(
    ("label", "answer"),
    [
        ("kubernetes.io/hostname", True),
        ("volcano.sh/role", True),
        ("volcano.sh/revocable-zone", False),
        ("volcano.sh/nodegroup-name", False),
        ("volcano.sh/oversubscription", False),
    ],
)
def test_node(label: str, answer: bool) -> None:
    assert is_plain_node({"kubernetes.io/os": "linux", label: "x"}) is answer


ROOT = {"guarantee": {"resource": {"cpu": "0"}}, "deserved": {"cpu": "0", "memory": "0"}, "weight": 1}
"""As Volcano makes it."""


def queues(allocated: str = "0", others: Object | None = None, **spec: Any) -> dict[str, Object]:
    """`q` with that spec, of whose CPUs so many are taken, and more queues' specs by name."""
    found: dict[str, Object] = {
        "root": {"spec": ROOT, "status": {"state": "Open", "allocated": {"cpu": "8"}}},
        "q": {"spec": {"parent": "root", "guarantee": {}, **spec}, "status": {"allocated": {"cpu": allocated}}},
    }
    return found | {name: {"spec": spec} for name, spec in (others or {}).items()}


ABOVE = {"above": {"capability": {"cpu": "1500m"}}}
ROOM = [
    pytest.param(queues(), "2", True, id="nothing said"),
    pytest.param(queues(weight=3), "2", True, id="a weight"),
    pytest.param(queues("2", capability={"cpu": "4"}), "2", True, id="to the last CPU"),
    pytest.param(queues("2500m", capability={"cpu": "4"}), "2", False, id="more than is left"),
    pytest.param(queues(capability={"memory": "1Gi"}), "2", True, id="to the last byte"),
    pytest.param(queues(capability={"memory": "1000Mi"}), "2", False, id="memory"),
    pytest.param(queues(capability={"pods": "0"}), "2", False, id="pods"),
    pytest.param(queues(capability={"nvidia.com/gpu": "1"}), "2", True, id="of what it does not want"),
    pytest.param(queues(parent="above", others=ABOVE), "1", True, id="queue above"),
    pytest.param(queues(parent="above", others=ABOVE), "2", False, id="more than the queue above has"),
    pytest.param(queues(parent="gone"), "1", False, id="no queue above"),
    pytest.param(queues(parent="q"), "1", False, id="a circle"),
    pytest.param(queues(affinity={"nodeGroupAffinity": {}}), "1", False, id="node groups"),
    pytest.param(queues(deserved={"cpu": "1"}), "1", False, id="deserved"),
    pytest.param(queues(others={"x": {"guarantee": {"resource": {"cpu": "1"}}}}), "1", False, id="kept for another"),
    pytest.param({}, "1", False, id="no queue"),
    pytest.param({"q": {"spec": {}}}, "1", True, id="a Volcano without hierarchy"),
]


@pytest.mark.parametrize(("known", "cpu", "answer"), ROOM)
def test_queue(known: dict[str, Object], cpu: str, answer: bool) -> None:
    assert has_room(volcano_job(cpu=cpu), known) is answer


def test_the_pod_is_given_away_and_the_job_is_not() -> None:
    job = volcano_job()
    before = deepcopy(job)
    made = given_to(job, "default-scheduler")
    assert job == before
    assert made["spec"]["schedulerName"] == "volcano"
    assert made["spec"]["tasks"][0]["template"]["spec"]["schedulerName"] == "default-scheduler"
    assert (is_given_away(job), is_given_away(made)) == (False, True)
