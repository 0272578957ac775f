"""Suspended jobs leave their CPUs to others, by the real controller on the in-memory store; kills in between."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from hpcbatch.api.port import Object
from hpcbatch.api.resources import BATCHJOBS, NAMESPACES, PODS
from hpcbatch.controller.guarded import GuardedApi
from hpcbatch.controller.pod_cpus import NONE_HERE
from hpcbatch.errors import NotFoundError
from hpcbatch.model.labels import REQUESTS_ANNOTATION
from hpcbatch.site.identity import GID, HOME, UID, USER
from tests.component.test_preemption import (
    BY_QUEUE,
    REPORT,
    TWO,
    batchjob,
    by_tier,
    controlled,
    number,
    put,
    started,
    status,
    submit,
    wait_state,
)
from tests.component.volcano_cluster import NS, Cluster, running
from tests.thoroughness import in_turn
from tests.waiting import wait_for


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with running(1, 2) as cluster:
        notes = {USER: "alice", UID: "1000", GID: "1000", HOME: "/home/alice"}
        cluster.registry.patch(NAMESPACES, NS, {"metadata": {"annotations": notes}})
        yield cluster


def suspend(cluster: Cluster, job: str, *, is_suspended: bool = True) -> None:
    spec = {"suspended": is_suspended, "suspendedRun": 1 if is_suspended else None}
    cluster.registry.patch(BATCHJOBS, batchjob(cluster, job)["metadata"]["name"], {"spec": spec}, NS)


def pod_of(cluster: Cluster, job: str) -> Object:
    return cluster.registry.get(PODS, f"job-{job}-mpimaster-0", NS)


def cpus(cluster: Cluster, job: str) -> str:
    """What its pod requests of CPU."""
    return str(pod_of(cluster, job)["spec"]["containers"][0]["resources"]["requests"]["cpu"])


def is_stopped(cluster: Cluster, job: str) -> bool:
    """Whether its runner is told to stop it."""
    notes = pod_of(cluster, job)["metadata"].get("annotations", {})
    return "suspend" in str(notes.get(REQUESTS_ANNOTATION, "")).splitlines()


def end(cluster: Cluster, job: str) -> None:
    cluster.kubelet.end(f"job-{job}-mpimaster-0", 0, REPORT)


def has(cluster: Cluster, job: str, **wanted: Any) -> None:
    wait_for(f"job {job}: {wanted}", lambda: wanted.items() <= status(cluster, job).items())


def test_a_lower_tier_is_suspended_and_goes_on(cluster: Cluster) -> None:
    """Before the other job runs the CPUs are free; afterwards the victim, which was never ended, goes on."""
    with controlled(cluster, by_tier("suspend")):
        low = put(cluster, TWO)
        wait_state(cluster, low, "Running")
        high = put(cluster, TWO, queue="express")
        wait_state(cluster, high, "Running")
        assert (cpus(cluster, low), is_stopped(cluster, low)) == ("0", True)
        found = status(cluster, low)
        assert (found["state"], found["preempted"]["mode"], found["preempted"]["by"]) == (
            "Suspended",
            "suspend",
            int(high),
        )
        assert status(cluster, high)["preempting"]["victims"] == [{"job": int(low), "run": 1}]
        has(cluster, low, reason="Resources")
        end(cluster, high)
        wait_state(cluster, low, "Running")
        assert (cpus(cluster, low), is_stopped(cluster, low)) == ("2", False)
        assert "preempted" not in status(cluster, low)
        assert status(cluster, low)["suspensions"][0]["resumed"]
        again = put(cluster, TWO, queue="express")
        wait_state(cluster, again, "Running")
        assert status(cluster, low)["state"] == "Suspended"
        end(cluster, again)
        wait_state(cluster, low, "Running")
        assert (started(cluster, low), status(cluster, low)["runCount"]) == (1, 1)


def test_who_goes_on_keeps_the_order(cluster: Cluster) -> None:
    """One that came later does not start before it; one of a higher queue does."""
    with controlled(cluster, BY_QUEUE):
        first = put(cluster, TWO)
        wait_state(cluster, first, "Running")
        suspend(cluster, first)
        second = put(cluster, TWO)
        wait_state(cluster, second, "Running")
        suspend(cluster, first, is_suspended=False)
        has(cluster, first, state="Suspended", reason="Resources", freesCpus=True)
        third, express = put(cluster, TWO), put(cluster, TWO, queue="express", rerunnable=False)
        wait_for("the express job ends another", lambda: status(cluster, express)["state"] == "Running")
        assert status(cluster, first)["state"] == "Suspended"
        end(cluster, express)
        wait_state(cluster, first, "Running")
        assert status(cluster, third)["state"] == "Queued"
        assert started(cluster, third) == 0
        end(cluster, first)
        wait_for("others start", lambda: started(cluster, third) + started(cluster, second) > 1)


def test_one_that_is_resumed_at_once(cluster: Cluster) -> None:
    with controlled(cluster, BY_QUEUE):
        job = put(cluster, TWO)
        wait_state(cluster, job, "Running")
        for _ in range(2):
            suspend(cluster, job)
            wait_state(cluster, job, "Suspended")
            suspend(cluster, job, is_suspended=False)
            wait_state(cluster, job, "Running")
        assert (cpus(cluster, job), is_stopped(cluster, job)) == ("2", False)


class WithoutResize:
    """The API of a cluster before 1.33."""

    def __init__(self, api: Any) -> None:
        self._api = api

    def __getattr__(self, name: str) -> Any:
        return getattr(self._api, name)

    def patch(self, *given: Any, subresource: str = "", **more: Any) -> Any:
        if subresource == "resize":
            raise NotFoundError(404, "NotFound", "the server could not find the requested resource")
        return self._api.patch(*given, subresource=subresource, **more)


def test_where_pods_are_not_resized(cluster: Cluster) -> None:
    """The job is stopped, and says that its CPUs stay taken; nobody is suspended for another."""
    with controlled(cluster, by_tier("suspend"), WithoutResize(cluster.registry)):
        low = put(cluster, TWO)
        wait_state(cluster, low, "Running")
        suspend(cluster, low)
        has(cluster, low, state="Suspended", message=f"its CPUs stay taken: {NONE_HERE}")
        assert "freesCpus" not in status(cluster, low)
        other = put(cluster, TWO)
        wait_for("the reason", lambda: status(cluster, other)["reason"] == "Resources")
        suspend(cluster, low, is_suspended=False)
        wait_state(cluster, low, "Running")
        assert cpus(cluster, low) == "2"
        high = put(cluster, TWO, queue="express")
        wait_state(cluster, high, "Running")
        assert status(cluster, low)["pastRuns"][0]["lost"] == f"it was preempted for job {high}"


def test_where_that_shows_only_then(cluster: Cluster) -> None:
    """The victim is queued again."""
    with controlled(cluster, by_tier("suspend"), WithoutResize(cluster.registry)):
        low = put(cluster, TWO)
        wait_state(cluster, low, "Running")
        high = put(cluster, TWO, queue="express")
        wait_state(cluster, high, "Running")
        assert status(cluster, low)["state"] in {"Queued", "Waiting"}
        assert status(cluster, low)["pastRuns"][0]["lost"] == f"it was preempted for job {high}"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("writes", in_turn(range(1, 14)))
def test_whenever_the_controller_is_killed(cluster: Cluster, writes: int) -> None:
    """The next controller may write so often; the one after it finishes: nothing is ended, nothing runs twice."""
    site = by_tier("suspend")
    with controlled(cluster, site):
        low = put(cluster, TWO)
        wait_state(cluster, low, "Running")
    left = writes

    def may_write() -> bool:
        nonlocal left
        left -= 1
        return left >= 0

    with controlled(cluster, site, GuardedApi(cluster.registry, may_write)):
        high = submit(cluster, TWO, queue="express")
        wait_for("its end", lambda: left < 0 or started(cluster, number(cluster, high)), 60, every_s=0.05)
    with controlled(cluster, site):
        taker = str(wait_for("its number", lambda: number(cluster, high)))
        wait_state(cluster, taker, "Running")
        has(cluster, low, state="Suspended", reason="Resources")
        assert cpus(cluster, low) == "0"
    left = writes
    end(cluster, taker)
    with controlled(cluster, site, GuardedApi(cluster.registry, may_write)):
        wait_for("its end", lambda: left < 0 or status(cluster, low)["state"] == "Running", 60, every_s=0.05)
    with controlled(cluster, site):
        wait_state(cluster, low, "Running")
        wait_for("its CPUs", lambda: cpus(cluster, low) == "2" and not is_stopped(cluster, low))
        assert (started(cluster, low), status(cluster, low)["runCount"]) == (1, 1)
