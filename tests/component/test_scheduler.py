"""Who gets nodes and who waits, on the registry with a kubelet that only plays."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hpcbatch.api.resources import EVENTS, NODES, PODGROUPS, PODS, PRIORITY_CLASSES, QUEUES
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.engine.registry.store import Store
from hpcbatch.engine.volcano.scheduler import Scheduler
from tests.component.volcano_cluster import ENDS_WITH, NS, Cluster, running, task
from tests.waiting import wait_for


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with running(2, 2, 2) as made:
        yield made


def group_phase(cluster: Cluster, job: str) -> str:
    group = cluster.group(job)
    return "" if group is None else str((group.get("status") or {}).get("phase", ""))


def group_events(cluster: Cluster, job: str) -> list[str]:
    return [
        event["message"]
        for event in cluster.registry.list(EVENTS, NS).items
        if event["involvedObject"]["kind"] == "PodGroup" and event["involvedObject"]["name"].startswith(f"{job}-")
    ]


def condition(cluster: Cluster, job: str, kind: str) -> str:
    for entry in ((cluster.group(job) or {}).get("status") or {}).get("conditions") or ():
        if entry["type"] == kind:
            return str(entry.get("message", "set"))
    return ""


def test_two_gangs_with_room_for_one(cluster: Cluster) -> None:
    cluster.submit("g1", task("t", 3, cpu="1500m"))
    cluster.submit("g2", task("t", 3, cpu="1500m"))
    cluster.wait_phase("g1", "Running")
    cluster.settled()
    assert (group_phase(cluster, "g2"), cluster.pods("g2")) == ("Pending", {})
    assert "queue resource quota insufficient: insufficient cpu" in group_events(cluster, "g2")
    for index in range(3):
        cluster.kubelet.end(f"g1-t-{index}", 0)
    cluster.wait_phase("g2", "Running")
    assert {pod["spec"]["nodeName"] for pod in cluster.pods("g2").values()} == {"node-0", "node-1", "node-2"}


def test_what_fits_passes_what_never_does(cluster: Cluster) -> None:
    cluster.submit("huge", task("t", 100))
    cluster.submit("wide", task("t", cpu="3"))
    cluster.submit("small", task("t"))
    cluster.wait_phase("small", "Running")
    cluster.settled()
    assert "resource in cluster is overused: overused cpu" in group_events(cluster, "huge")
    assert cluster.pods("huge") == {}
    assert condition(cluster, "wide", "Unschedulable") == (
        "1/1 tasks in gang unschedulable: pod group is not ready, 1 Pending, 1 minAvailable; Pending: 1 Unschedulable. "
        "Origin reason is wide-t-0: 0/3 nodes are unavailable: 3 Insufficient cpu."
    )
    pod = next(c for c in cluster.pods("wide")["wide-t-0"]["status"]["conditions"] if c["type"] == "PodScheduled")
    assert (pod["reason"], pod["message"]) == ("Unschedulable", "0/3 nodes are unavailable: 3 Insufficient cpu.")


def test_a_gang_that_is_split_by_the_nodes_sizes_waits_whole(cluster: Cluster) -> None:
    cluster.submit("g", task("t", 4, cpu="1200m"))
    reason = "Pending: 1 Unschedulable, 3 Schedulable"  # not at once: a session may have seen only some of the pods
    cluster.wait("the reason", lambda: reason in condition(cluster, "g", "Unschedulable"))
    cluster.settled()
    assert not any(pod["spec"].get("nodeName") for pod in cluster.pods("g").values())
    cluster.add_node("node-3", 2)
    cluster.wait_phase("g", "Running")


def test_queue_capability(cluster: Cluster) -> None:
    cluster.create(QUEUES, {"metadata": {"name": "small"}, "spec": {"capability": {"cpu": "1"}}})
    cluster.submit("one", task("t", cpu="700m"), queue="small")
    cluster.wait_phase("one", "Running")
    cluster.submit("two", task("t", cpu="700m"), queue="small")
    cluster.submit("other", task("t", cpu="700m"))
    cluster.wait_phase("other", "Running")
    cluster.settled()
    assert group_phase(cluster, "two") == "Pending"
    cluster.wait(
        "the queue's status",
        lambda: (
            cluster.registry.get(QUEUES, "small")["status"]["allocated"] == {"cpu": "700m", "memory": "0", "pods": "1"}
        ),
    )
    cluster.kubelet.end("one-t-0", 0)
    cluster.wait_phase("two", "Running")


def test_priority_then_order_of_creation(cluster: Cluster) -> None:
    for name, value in (("hi", 1000), ("lo", 10)):
        cluster.create(PRIORITY_CLASSES, {"metadata": {"name": name}, "value": value})
    cluster.submit("first", task("t", 3, cpu="2"))
    cluster.wait_phase("first", "Running")
    cluster.submit("lo", task("t", 3, cpu="2", notes={ENDS_WITH: "0"}), priorityClassName="lo")
    for name in ("none1", "none2"):
        cluster.submit(name, task("t", 3, cpu="2", notes={ENDS_WITH: "0"}))
    cluster.submit("hi", task("t", 3, cpu="2", notes={ENDS_WITH: "0"}), priorityClassName="hi")
    cluster.settled()
    for index in range(3):
        cluster.kubelet.end(f"first-t-{index}", 0)
    for name in ("hi", "lo", "none1", "none2"):
        cluster.wait_phase(name, "Completed")
    order = list(dict.fromkeys(name.partition("-")[0] for name in cluster.kubelet.started))
    assert order == ["first", "hi", "lo", "none1", "none2"]


def test_anti_affinity_spreads_and_never_doubles(cluster: Cluster) -> None:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"volcano.sh/job-name": "a"}}}
    rule = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    cluster.submit("a", task("t", 4, cpu="100m", pod={"affinity": rule}))
    # an earlier session may have seen only some of the pods
    reason = "3 node(s) didn't match pod anti-affinity rules"
    cluster.wait("the reason", lambda: reason in condition(cluster, "a", "Unschedulable"))
    cluster.add_node("node-3", 1)
    cluster.wait_phase("a", "Running")
    assert len({pod["spec"]["nodeName"] for pod in cluster.pods("a").values()}) == 4


def test_cordoned_nodes_are_left_alone(cluster: Cluster) -> None:
    for name in ("node-0", "node-1"):
        cluster.registry.patch(NODES, name, {"spec": {"unschedulable": True}})
    cluster.settled()
    cluster.submit("two", task("t", 2))
    cluster.wait_phase("two", "Running")
    assert {pod["spec"]["nodeName"] for pod in cluster.pods("two").values()} == {"node-2"}


@pytest.mark.parametrize("scheduler", ["", "volcano"])
def test_plain_pods(cluster: Cluster, scheduler: str) -> None:
    container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": "1"}}}
    spec = {"containers": [container]} | ({"schedulerName": scheduler} if scheduler else {})
    cluster.create(PODS, {"metadata": {"name": "p"}, "spec": spec})
    cluster.wait("it to run", lambda: cluster.pods()["p"]["status"]["phase"] == "Running")
    cluster.settled()
    groups = cluster.registry.list(PODGROUPS, NS).items
    if not scheduler:
        assert groups == ()
        return
    pod = cluster.pods()["p"]
    (group,) = groups
    assert group["metadata"]["name"] == f"podgroup-{pod['metadata']['uid']}"
    assert pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"] == group["metadata"]["name"]
    assert group["spec"]["minMember"] == 1
    assert group["status"]["phase"] == "Running"


def test_a_lost_member_makes_the_group_unknown(cluster: Cluster) -> None:
    cluster.submit("g", task("t", 2))
    cluster.wait_phase("g", "Running")
    cluster.kubelet.end("g-t-0", 1)
    cluster.wait("Unknown", lambda: group_phase(cluster, "g") == "Unknown")
    assert condition(cluster, "g", "Unschedulable") == (
        "1/2 tasks in gang unschedulable: pod group is not ready, 1 Failed, 1 Running, 2 minAvailable"
    )


@pytest.mark.slow
def test_many_jobs_run_once_each_in_the_order_of_their_creation() -> None:
    count = 200
    with running(2, 2, 2) as cluster:
        names = [f"j-{index}" for index in range(count)]
        for name in names:
            cluster.submit(name, task("t", notes={ENDS_WITH: "0"}))
        for name in names:
            cluster.wait_phase(name, "Completed")
        started = [int(name.split("-")[1]) for name in cluster.kubelet.started]
        assert sorted(started) == list(range(count)), "each once"
        # Those that have room together, or whose pods are made at one time, may start in any order among themselves.
        assert max(abs(place - index) for place, index in enumerate(started)) <= 50
        cluster.settled()
        assert cluster.registry.list(PODGROUPS, NS).items == ()


def test_after_a_restart_nothing_is_placed_twice(tmp_path: Path) -> None:
    path = str(tmp_path / "store.db")
    first = Cluster(2, store=Store(path))
    first.start()
    first.submit("a", task("t", cpu="2"))
    first.submit("b", task("t", cpu="2"))
    first.wait_phase("a", "Running")
    first.settled()
    first.stop()
    first.registry.store.close()
    with running(store=Store(path)) as second:
        second.settled()
        assert (second.phase("a"), second.phase("b")) == ("Running", "Pending")
        second.kubelet.end("a-t-0", 0)
        second.wait_phase("b", "Running")


def test_what_ends_while_nothing_waits_is_no_session_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    sessions: list[Scheduler] = []
    session = Scheduler._session

    def counted(scheduler: Scheduler) -> float:
        sessions.append(scheduler)
        return session(scheduler)

    monkeypatch.setattr(Scheduler, "_session", counted)
    with running(2, 2, 2) as cluster:
        for name in (f"j{number}" for number in range(15)):
            cluster.submit(name, task("t", notes={ENDS_WITH: "0"}))
            cluster.wait_phase(name, "Completed")
    assert len(sessions) <= 15 * 3 + 5, "its group, its pods, and what has ended before: at most half a second later"


def test_counters_follow_although_nothing_waits(cluster: Cluster) -> None:
    cluster.submit("g", task("t", 3))
    cluster.wait_phase("g", "Running")
    cluster.wait("the running ones", lambda: (cluster.group("g") or {})["status"].get("running") == 3)
    cluster.kubelet.end("g-t-0", 0)
    cluster.wait("the one that ended", lambda: (cluster.group("g") or {})["status"].get("succeeded") == 1)


class Laborious(Scheduler):
    """Each session takes long and brings about the next."""

    SESSION_S = 0.02

    def __init__(self, registry: Registry) -> None:
        super().__init__(registry)
        self.sessions = 0

    def _session(self) -> float:
        end = time.thread_time() + self.SESSION_S
        while time.thread_time() < end:
            pass
        self.sessions += 1
        self._has_changed(is_urgent=True)
        return 60


def test_long_sessions_leave_the_cpu_to_others(cluster: Cluster) -> None:
    scheduler = Laborious(cluster.registry)
    began = time.monotonic()
    scheduler.start()
    wait_for("some sessions", lambda: scheduler.sessions >= 10)
    count, spent_s = scheduler.sessions, time.monotonic() - began
    scheduler.stop()
    assert count * scheduler.SESSION_S <= 0.4 * spent_s
