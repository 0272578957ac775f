"""Interactive jobs of one pod beside Volcano: Kubernetes' own scheduler places them, Volcano counts them, and none is
lost where the two give the same room away.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from hpcbatch.units import cpu_milli
from tests.cluster.conftest import Admin
from tests.cluster.site_text import site_with
from tests.conformance.site import Site
from tests.conformance.terminals import Terminal, terminal
from tests.waiting import wait_for

Object = dict[str, Any]
NOBODY = "nobody"
"""A scheduler that there is not."""
SHELLS = {
    "qsub": ("qsub", "-I"),
    "srun": ("srun", "-n1", "--pty", "bash", "--norc", "-i"),
    "salloc": ("salloc", "-n1"),
    "bsub": ("bsub", "-Is", "bash", "--norc", "-i"),
}


def found(admin: Admin, alice: Site, kind: str) -> list[Object]:
    return list(json.loads(admin.kubectl("-n", alice.namespace, "get", kind, "-o", "json").stdout)["items"])


def pod_of_a_shell(admin: Admin, alice: Site) -> Object | None:
    """The only pod there is, once it is made and while it is not being deleted."""
    pods = [pod for pod in found(admin, alice, "pods") if "deletionTimestamp" not in pod["metadata"]]
    return pods[0] if len(pods) == 1 else None


def allocated_milli(admin: Admin) -> int:
    """The CPU that Volcano counts in the Queue, in thousandths."""
    queue = json.loads(admin.kubectl("get", "queues.scheduling.volcano.sh", "default", "-o", "json").stdout)
    return cpu_milli((queue["status"].get("allocated") or {}).get("cpu", "0"))


@contextmanager
def at_a_prompt(alice: Site, *argv: str) -> Iterator[Terminal]:
    with terminal(alice, *argv) as shell:
        assert shell.answer("echo here") == "here\n"
        yield shell


@pytest.fixture(autouse=True)
def _idle(admin: Admin, alice: Site) -> None:
    wait_for("the pods of other cases to go", lambda: not found(admin, alice, "pods"))
    wait_for("the Queue to be empty", lambda: allocated_milli(admin) == 0)


@pytest.mark.parametrize("argv", SHELLS.values(), ids=SHELLS)
def test_placed_by_kubernetes_and_counted_by_volcano(admin: Admin, alice: Site, argv: tuple[str, ...]) -> None:
    with at_a_prompt(alice, *argv) as shell:
        pod = pod_of_a_shell(admin, alice)
        assert pod is not None
        assert (pod["spec"]["schedulerName"], pod["status"]["phase"]) == ("default-scheduler", "Running")
        takes = cpu_milli(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"])
        wait_for("Volcano to count it", lambda: allocated_milli(admin) == takes)
        (group,) = found(admin, alice, "podgroups.scheduling.volcano.sh")
        assert group["status"]["phase"] == "Running", group["status"]
        assert group["status"]["conditions"][-1]["type"] == "Scheduled", group["status"]
        shell.sendline("exit")
        shell.code()
    wait_for("Volcano to count it no more", lambda: allocated_milli(admin) == 0)
    assert not found(admin, alice, "podgroups.scheduling.volcano.sh")


def test_what_volcano_places_all_the_same(admin: Admin, alice: Site) -> None:
    job = alice.qsub(stdin="sleep 600\n")
    alice.wait_state(job, "R")
    pod = pod_of_a_shell(admin, alice)
    assert pod is not None
    assert pod["spec"]["schedulerName"] == "volcano", "nobody waits for a prompt"
    alice.run("qdel", job)
    alice.wait_end(job)
    with at_a_prompt(alice, "qsub", "-I", "-l", "select=2:ncpus=1") as shell:
        assert {pod["spec"]["schedulerName"] for pod in found(admin, alice, "pods")} == {"volcano"}, "a gang"
        shell.sendline("exit")
        shell.code()


def test_a_scheduler_that_does_not_answer(admin: Admin, alice: Site) -> None:
    """Volcano places the job after all."""
    with site_with(admin, interactiveScheduler=NOBODY, placeTimeout="3s"), at_a_prompt(alice, "qsub", "-I") as shell:
        pod = pod_of_a_shell(admin, alice)
        assert pod is not None
        assert pod["spec"]["schedulerName"] == "volcano"
        shell.sendline("exit")
        shell.code()


def test_a_node_that_has_no_room_any_more(admin: Admin, alice: Site) -> None:
    """Two schedulers have given the same room away: the job does not fail, and is made anew for another node."""
    with site_with(admin, interactiveScheduler=NOBODY, placeTimeout="600s"), terminal(alice, "qsub", "-I") as shell:
        job = shell.found(r"qsub: waiting for job (\d+)\.")
        pod = wait_for("the pod", lambda: pod_of_a_shell(admin, alice))
        needed = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        (node,) = needed["nodeSelectorTerms"][0]["matchExpressions"][0]["values"]
        with full_node(admin, node, pod["spec"]["containers"][0]["image"]):
            bind(admin, pod, node)
            wait_for("the node's refusal", lambda: "OutOfcpu" in reasons(admin, pod))
            wait_for("the job to be made anew", lambda: is_planned_elsewhere(admin, alice, node))
            assert alice.state(job) == "Q"


def is_planned_elsewhere(admin: Admin, alice: Site, node: str) -> bool:
    jobs = found(admin, alice, "jobs.batch.volcano.sh")
    notes = [one["metadata"]["annotations"] for one in jobs if "deletionTimestamp" not in one["metadata"]]
    return len(notes) == 1 and node not in notes[0]["hpcbatch.io/planned"]


def reasons(admin: Admin, pod: Object) -> set[str]:
    """Of the pod's events."""
    fields = f"involvedObject.uid={pod['metadata']['uid']}"
    namespace = pod["metadata"]["namespace"]
    events = admin.kubectl("-n", namespace, "get", "events", "--field-selector", fields, "-o", "json").stdout
    return {event["reason"] for event in json.loads(events)["items"]}


@contextmanager
def full_node(admin: Admin, node: str, image: str) -> Iterator[None]:
    """Somebody's pod has all CPUs of the node but a tenth."""
    cpu = json.loads(admin.kubectl("get", "node", node, "-o", "json").stdout)["status"]["allocatable"]["cpu"]
    resources = {"requests": {"cpu": f"{cpu_milli(cpu) - 100}m"}}
    container = {"name": "c", "image": image, "command": ["sleep", "600"], "resources": resources}
    spec = {"nodeName": node, "terminationGracePeriodSeconds": 0, "containers": [container]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "in-the-way"}, "spec": spec}
    admin.kubectl("-n", "default", "create", "-f", "-", stdin=json.dumps(pod))
    try:
        admin.kubectl("-n", "default", "wait", "--for=condition=Ready", "pod/in-the-way", "--timeout=60s")
        yield
    finally:
        admin.kubectl("-n", "default", "delete", "pod", "in-the-way", "--now")


def bind(admin: Admin, pod: Object, node: str) -> None:
    """As a scheduler does that has not seen yet who is there."""
    metadata = {"name": pod["metadata"]["name"], "namespace": pod["metadata"]["namespace"]}
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}
    path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/binding"
    admin.kubectl("create", "--raw", path, "-f", "-", stdin=json.dumps(binding))
