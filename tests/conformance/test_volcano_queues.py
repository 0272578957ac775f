"""Volcano Queues: who may use them, what fits, gangs, the order of jobs, opening and closing, what they count."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from tests.conformance.volcano_site import WORKER, Object, Volcano, job, queue, task
from tests.waiting import wait_for

pytestmark = pytest.mark.alone

QUOTA = "queue resource quota insufficient: insufficient cpu"


@dataclass(frozen=True)
class Queues:
    """The names of this run's queues: they have no namespace, and others may be at work."""

    volcano: Volcano
    suffix: str

    def name(self, word: str) -> str:
        return f"try-{word}-{self.suffix}"

    def get(self, word: str) -> Object:
        return self.volcano.get("queue", self.name(word))

    def wait_state(self, word: str, state: str) -> None:
        self.wait(f"{word} to be {state}", word, lambda found: found.get("state") == state)

    def wait(self, what: str, word: str, condition: Callable[[Object], bool]) -> Object:
        """The queue's status, as soon as `condition` holds of it."""

        def reached() -> Object:
            status: Object = self.get(word).get("status", {})
            return status if condition(status) else {}

        return wait_for(f"queue {what}", reached, 60, every_s=0.2)

    def command(self, word: str, action: str) -> None:
        """As vcctl makes it, in the namespace default."""
        uid = self.get(word)["metadata"]["uid"]
        target = {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "Queue",
            "name": self.name(word),
            "uid": uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }
        command = {
            "apiVersion": "bus.volcano.sh/v1alpha1",
            "kind": "Command",
            "action": action,
            "target": target,
            "metadata": {"generateName": f"{self.name(word)}-", "namespace": "default", "ownerReferences": [target]},
        }
        self.volcano.run("kubectl", "create", "-f", "-", stdin=json.dumps(command))


@pytest.fixture(scope="module")
def queues(volcano: Volcano) -> Iterator[Queues]:
    made = Queues(volcano, secrets.token_hex(2))
    try:
        make_queues(made)
        make_jobs(made)
        yield made
    finally:
        volcano.kubectl("delete", "vcjob", "--all", "--wait=false")
        for words in (("child",), ("small", "parent", "shut", "used", "idle", "order", "gangs")):
            names = [made.name(word) for word in words]
            volcano.run("kubectl", "delete", "queue", *names, "--ignore-not-found", "--wait=false")
        volcano.run("kubectl", "delete", "priorityclass", made.name("high"), "--ignore-not-found")


def make_queues(made: Queues) -> None:
    one_cpu = {"capability": {"cpu": "1"}}
    priority = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": made.name("high")},
        "value": 1000,
    }
    made.volcano.create(
        *(queue(made.name(word), **one_cpu) for word in ("small", "parent", "order", "gangs")),
        queue(made.name("shut")),
        queue(made.name("used")),
        queue(made.name("idle"), reclaimable=False),
        priority,
    )
    made.volcano.create(queue(made.name("child"), parent=made.name("parent")))
    for word in ("shut", "child"):
        made.wait_state(word, "Open")
    made.command("shut", "CloseQueue")
    made.wait_state("shut", "Closed")


def make_jobs(made: Queues) -> None:
    """Those of the second table come when those of the first run, and find no room; but for `beside`."""

    def create(*rows: tuple[str, str, int, str]) -> None:
        jobs = [
            job(name, task("a", WORKER, replicas, cpu=cpu), queue=made.name(word)) for name, word, replicas, cpu in rows
        ]
        for made_job in jobs:
            if made_job["metadata"]["name"] == "high":
                made_job["spec"]["priorityClassName"] = made.name("high")
        made.volcano.create(*jobs)

    create(
        ("first", "small", 1, "800m"),
        ("never", "small", 1, "1500m"),
        ("below", "child", 1, "800m"),
        ("user", "used", 2, "50m"),
        ("gang", "gangs", 3, "300m"),
        ("blocker", "order", 1, "800m"),
    )
    for name in ("first", "below", "user", "gang", "blocker"):
        made.volcano.wait_phase(name, "Running")
    create(
        ("second", "small", 1, "800m"),
        ("beside", "small", 1, "100m"),
        ("gang-2", "gangs", 3, "300m"),
        ("low", "order", 1, "900m"),
        ("high", "order", 1, "900m"),
    )


def test_defaults(queues: Queues) -> None:
    spec = queues.get("used")["spec"]
    assert spec == {"weight": 1, "reclaimable": True, "dequeueStrategy": "traverse", "parent": "root"} | (
        {"guarantee": {}} if "guarantee" in spec else {}
    )
    assert queues.get("idle")["spec"]["reclaimable"] is False


def test_a_closed_queue_refuses(queues: Queues) -> None:
    name = queues.name("shut")
    said = queues.volcano.refusals("jobs", {"x": job("x", task("a", "true"), queue=name)})["x"]
    assert said == (
        'admission webhook "validatejob.volcano.sh" denied the request: can only submit job to queue with state '
        f"`Open`, queue `{name}` status is `Closed`;"
    )
    queues.command("shut", "OpenQueue")
    queues.wait_state("shut", "Open")
    assert queues.volcano.refusals("jobs", {"x": job("x", task("a", "true"), queue=name)})["x"] == ""


def test_a_queue_with_children_refuses(queues: Queues) -> None:
    name = queues.name("parent")
    said = queues.volcano.refusals("jobs", {"x": job("x", task("a", "true"), queue=name)})["x"]
    assert said == (
        'admission webhook "validatejob.volcano.sh" denied the request: can only submit job to leaf queue, queue '
        f"`{name}` has 1 child queues;"
    )


def test_closing_a_queue_in_use(queues: Queues) -> None:
    """What runs in it runs on; it is Closed when the last of it has gone."""
    queues.command("used", "CloseQueue")
    queues.wait_state("used", "Closing")
    queues.volcano.wait_pods("user", {"a-0": "Running", "a-1": "Running"})
    queues.volcano.kubectl("delete", "vcjob", "user")
    queues.wait_state("used", "Closed")
    queues.volcano.wait_pods("user", {})


def test_deleting(queues: Queues) -> None:
    webhook = 'Error from server: admission webhook "validatequeue.volcano.sh" denied the request: '
    for name in ("default", "root"):
        done = queues.volcano.run("kubectl", "delete", "queue", name, check=False)
        assert (done.returncode, done.stderr) == (1, f"{webhook}`{name}` queue can not be deleted\n")
    parent, child = queues.name("parent"), queues.name("child")
    done = queues.volcano.run("kubectl", "delete", "queue", parent, check=False)
    assert done.stderr == f"{webhook}queue {parent} can not be deleted because it has 1 child queues: {child}\n"
    queues.volcano.run("kubectl", "delete", "queue", queues.name("idle"))
    gone = queues.volcano.run("kubectl", "get", "queue", queues.name("idle"), check=False)
    assert (
        gone.stderr == f'Error from server (NotFound): queues.scheduling.volcano.sh "{queues.name("idle")}" not found\n'
    )


@pytest.mark.parametrize("name", ["second", "never", "gang-2"])
def test_what_a_queue_has_no_room_for(queues: Queues, name: str) -> None:
    """No pod of it is made, nor of a gang of which two pods would fit; the reason is an event on its PodGroup."""
    volcano = queues.volcano
    group = volcano.wait_group(name, "to wait", lambda g: g.get("status", {}).get("phase") == "Pending")
    assert "conditions" not in group["status"]
    wait_event(queues, name, f"Normal Unschedulable {QUOTA}")
    assert volcano.pods(name) == {}
    members = group["spec"]["minMember"]
    text = f"0/0 tasks in gang unschedulable: pod group is not ready, {members} minAvailable"
    wait_event(queues, name, f"Warning Unschedulable {text}")
    assert volcano.job(name)["status"].keys() == {"state", "minAvailable", "conditions"}


def wait_event(queues: Queues, name: str, text: str) -> None:
    uid = queues.volcano.job(name)["metadata"]["uid"]
    queues.volcano.wait_event(f"{name}-{uid}", "PodGroup", text)


def test_what_fits_passes_what_does_not(queues: Queues) -> None:
    queues.volcano.wait_phase("beside", "Running")
    assert queues.volcano.phase("second") == "Pending"


def test_what_it_holds(queues: Queues) -> None:
    def is_counted(status: Object) -> bool:
        return {"cpu": "900m", "pods": "3"}.items() <= (status.get("allocated") or {}).items()

    status = queues.wait("gangs to count", "gangs", is_counted)
    assert (status["state"], status["reservation"]) == ("Open", {})
    above = queues.wait("parent to count its child's", "parent", lambda s: s.get("allocated", {}).get("pods") == "1")
    assert above["allocated"]["cpu"] == "800m"


def test_a_gang_starts_when_there_is_room_for_all_of_it(queues: Queues) -> None:
    volcano = queues.volcano
    volcano.wait_group("gang-2", "to wait", lambda g: g.get("status", {}).get("phase") == "Pending")
    volcano.kubectl("delete", "vcjob", "gang")
    volcano.wait_pods("gang-2", {"a-0": "Running", "a-1": "Running", "a-2": "Running"})


def test_priority_goes_first(queues: Queues) -> None:
    volcano = queues.volcano
    for name in ("low", "high"):
        volcano.wait_group(name, "to wait", lambda g: g.get("status", {}).get("phase") == "Pending")
    assert volcano.job("high")["spec"]["priorityClassName"] == queues.name("high")
    volcano.kubectl("delete", "vcjob", "blocker")
    volcano.wait_phase("high", "Running")
    assert volcano.pods("high")["a-0"]["spec"]["priority"] == 1000
    assert volcano.pods("low") == {}
    volcano.kubectl("delete", "vcjob", "high")
    volcano.wait_phase("low", "Running")


def test_more_than_the_cluster_has(queues: Queues) -> None:
    volcano = queues.volcano
    volcano.create(job("absurd", task("a", "true", cpu="1000")))
    volcano.wait_group("absurd", "to wait", lambda g: g.get("status", {}).get("phase") == "Pending")
    wait_event(queues, "absurd", "Normal Unschedulable resource in cluster is overused: overused cpu")
    assert volcano.pods("absurd") == {}


def test_closing_a_parent_closes_its_children(queues: Queues) -> None:
    note = "volcano.sh/closed-by-parent"
    queues.command("parent", "CloseQueue")
    queues.wait("child to close", "child", lambda s: s.get("state") in {"Closing", "Closed"})
    assert queues.get("child")["metadata"]["annotations"][note] == "true"
    queues.command("parent", "OpenQueue")
    queues.wait_state("child", "Open")
    assert queues.get("child")["metadata"]["annotations"][note] == "false"
