"""Jobs that end for others, by the real controller on the in-memory store: what is written when; kills in between."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any

import pytest

from hpcbatch.api.names import SITE_CONFIGMAP, SYSTEM_NAMESPACE
from hpcbatch.api.port import Object
from hpcbatch.api.resources import BATCHJOBS, CONFIGMAPS, NAMESPACES, PODS, QUEUES, SECRETS
from hpcbatch.client.submit import submission_secret
from hpcbatch.controller.controller import Controller
from hpcbatch.controller.guarded import GuardedApi
from hpcbatch.errors import NotFoundError
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.labels import REQUESTS_ANNOTATION
from hpcbatch.model.site import SiteConfig
from hpcbatch.model.spec import JobSpec, Submission
from hpcbatch.record.manifest import to_manifest
from hpcbatch.site.identity import GID, HOME, UID, USER
from tests.component.volcano_cluster import NS, Cluster, running
from tests.thoroughness import in_turn
from tests.waiting import wait_for

REPORT = "exit_code=0\nwalltime_s=1\ncpu_s=1\n"
ONE, TWO = Chunk(cpus=1), Chunk(cpus=2)
HEAD = "apiVersion: hpcbatch.io/v1alpha1\nkind: SiteConfiguration\nimage: x\n"
BY_QUEUE = f"""{HEAD}
queues:
  - {{name: default, default: true}}
  - {{name: express, volcanoQueue: default, priority: 150}}
preemption: {{order: CR}}
"""
_NAMES = count()


def by_tier(mode: str, grace_s: int = 0, exempt_s: int = 0) -> str:
    return f"""{HEAD}
queues:
  - {{name: default, default: true, graceTime: {grace_s}s}}
  - {{name: express, volcanoQueue: default, priorityTier: 9}}
preemption: {{type: partition_prio, mode: {mode}, exemptTime: {exempt_s}s}}
"""


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with running(2, 2) as cluster:
        notes = {USER: "alice", UID: "1000", GID: "1000", HOME: "/home/alice"}
        cluster.registry.patch(NAMESPACES, NS, {"metadata": {"annotations": notes}})
        assert cluster.registry.get(QUEUES, "default")
        yield cluster


@contextmanager
def controlled(cluster: Cluster, site: str, api: Any = None) -> Iterator[Controller]:
    name = {"metadata": {"name": SITE_CONFIGMAP}}
    with suppress(NotFoundError):
        cluster.registry.delete(CONFIGMAPS, SITE_CONFIGMAP, SYSTEM_NAMESPACE)
    configmap = {"apiVersion": "v1", "kind": "ConfigMap", **name, "data": {"site.yaml": site}}
    cluster.registry.create(CONFIGMAPS, configmap, SYSTEM_NAMESPACE)
    controller = Controller(api or cluster.registry, SiteConfig())
    controller.start()
    try:
        yield controller
    finally:
        controller.stop()


def submit(cluster: Cluster, *chunks: Chunk, queue: str = "default", **more: Any) -> str:
    """Returns the BatchJob's name."""
    name = f"pbs-{next(_NAMES)}"
    given = {"walltime_s": 3600, "dialect": Dialect.PBS, **more}
    spec = JobSpec(name="j", chunks=chunks, server="here", queue=queue, **given)
    cluster.registry.create(SECRETS, submission_secret(name, Submission(spec=spec, script=b"", environment={})), NS)
    cluster.registry.create(BATCHJOBS, to_manifest(spec, name=name, submission_secret=name), NS)
    return name


def number(cluster: Cluster, name: str) -> str:
    """The job's, once it has one; else ""."""
    return str(cluster.registry.get(BATCHJOBS, name, NS).get("status", {}).get("jobId", ""))


def put(cluster: Cluster, *chunks: Chunk, queue: str = "default", **more: Any) -> str:
    """Returns the job's number."""
    name = submit(cluster, *chunks, queue=queue, **more)
    return str(wait_for("the number", lambda: number(cluster, name)))


def batchjob(cluster: Cluster, job: str) -> Object:
    found: Object = cluster.registry.list(BATCHJOBS, NS, fields=f"status.jobId={job}").items[0]
    return found


def status(cluster: Cluster, job: str) -> Object:
    found: Object = batchjob(cluster, job)["status"]
    return found


def wait_state(cluster: Cluster, job: str, state: str) -> None:
    wait_for(f"job {job}: {state}", lambda: status(cluster, job)["state"] == state)


def started(cluster: Cluster, job: str) -> int:
    return cluster.kubelet.started.count(f"job-{job}-mpimaster-0")


def test_a_job_of_a_lower_queue_is_queued_again(cluster: Cluster) -> None:
    with controlled(cluster, BY_QUEUE):
        low = []
        for _ in range(2):
            low.append(put(cluster, TWO))
            wait_state(cluster, low[-1], "Running")
        high = put(cluster, TWO, queue="express")
        wait_state(cluster, high, "Running")
        victim = low[1]  # the one that started last
        shown = status(cluster, high)["preempting"]
        assert shown["victims"] == [{"job": int(victim), "run": 1}]
        wait_state(cluster, victim, "Queued")
        (run,) = status(cluster, victim)["pastRuns"]
        assert run["lost"] == f"it was preempted for job {high}"
        assert "preempted" not in status(cluster, victim)
        assert status(cluster, low[0])["state"] == "Running"
        cluster.kubelet.end(f"job-{high}-mpimaster-0", 0, REPORT)
        wait_state(cluster, victim, "Running")
        assert (started(cluster, victim), started(cluster, low[0]), started(cluster, high)) == (2, 1, 1)


def test_one_that_cannot_run_again_goes_on_or_is_cancelled(cluster: Cluster) -> None:
    with controlled(cluster, BY_QUEUE):
        low = put(cluster, TWO, TWO, rerunnable=False)
        wait_state(cluster, low, "Running")
        high = put(cluster, ONE, queue="express")
        wait_for("the reason", lambda: status(cluster, high)["reason"] == "Resources")
        assert "preempting" not in status(cluster, high)
    with controlled(cluster, by_tier("requeue")):
        wait_state(cluster, low, "Failed")
        ended = status(cluster, low)
        assert (ended["reason"], ended["message"]) == ("Preempted", f"it was preempted for job {high}")
        assert ended["preempted"]["by"] == int(high)
        wait_state(cluster, high, "Running")


def test_grace_time(cluster: Cluster) -> None:
    """TERM at once, once; the end when the time is over; the other one starts when the room is free."""
    with controlled(cluster, by_tier("cancel", grace_s=4)):
        low = put(cluster, TWO, TWO)
        wait_state(cluster, low, "Running")
        high = put(cluster, ONE, queue="express")
        wait_for("the mark", lambda: "preempted" in status(cluster, low))
        marked = time.time()
        name = f"job-{low}-mpimaster-0"

        def lines() -> list[str]:
            notes = cluster.registry.get(PODS, name, NS)["metadata"].get("annotations", {})
            return str(notes.get(REQUESTS_ANNOTATION, "")).splitlines()

        wait_for("the signals", lambda: len(lines()) == 2)
        assert [line.split()[2:4] for line in lines()] == [["18", "steps"], ["15", "steps"]]
        assert status(cluster, low)["state"] == "Running"
        assert status(cluster, high)["state"] == "Queued"
        wait_state(cluster, low, "Failed")
        assert time.time() - marked > 2
        wait_state(cluster, high, "Running")


def test_one_that_is_exempt_yet(cluster: Cluster) -> None:
    with controlled(cluster, by_tier("cancel", exempt_s=5)):
        low = put(cluster, TWO, TWO)
        wait_state(cluster, low, "Running")
        high = put(cluster, ONE, queue="express")
        wait_for("the reason", lambda: status(cluster, high)["reason"] == "Resources")
        assert status(cluster, low)["state"] == "Running"
        wait_state(cluster, high, "Running")
        assert status(cluster, low)["state"] == "Failed"


def hurried(cluster: Cluster, site: str, writes: int) -> tuple[list[str], str, list[str]]:
    """Two jobs run, one of a higher queue comes. The next controller may write so often; the one after it finishes.
    Returns the two, the other's number, and its victims.
    """
    with controlled(cluster, site):
        low = [put(cluster, TWO) for _ in range(2)]
        for job in low:
            wait_state(cluster, job, "Running")
    left = writes

    def may_write() -> bool:
        nonlocal left
        left -= 1
        return left >= 0

    name = submit(cluster, TWO, queue="express")
    with controlled(cluster, site, GuardedApi(cluster.registry, may_write)):
        wait_for(
            "the first controller's end", lambda: left < 0 or started(cluster, number(cluster, name)), 60, every_s=0.05
        )
    with controlled(cluster, site):
        high = str(wait_for("its number", lambda: number(cluster, name)))
        wait_state(cluster, high, "Running")
        victims = [str(victim["job"]) for victim in status(cluster, high)["preempting"]["victims"]]
        for job in victims:
            wait_for("the victim's end", lambda job=job: status(cluster, job)["state"] in {"Queued", "Failed"})  # type: ignore[misc]
    return low, high, victims


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("writes", in_turn(range(1, 16)))
def test_whenever_the_controller_is_killed(cluster: Cluster, writes: int) -> None:
    """One of the two has ended once and runs again, the other not at all."""
    low, high, (victim,) = hurried(cluster, BY_QUEUE, writes)
    with controlled(cluster, BY_QUEUE):
        (other,) = [job for job in low if job != victim]
        assert (status(cluster, other)["state"], status(cluster, other)["runCount"]) == ("Running", 1)
        assert "pastRuns" not in status(cluster, other)
        assert len(status(cluster, victim)["pastRuns"]) == 1
        cluster.kubelet.end(f"job-{high}-mpimaster-0", 0, REPORT)
        wait_state(cluster, victim, "Running")
        assert [started(cluster, job) for job in (victim, other, high)] == [2, 1, 1]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("writes", range(2, 16, 3))
def test_whenever_it_is_killed_in_the_grace_time(cluster: Cluster, writes: int) -> None:
    """One of the two is cancelled, with one mark, the other runs on."""
    low, high, (victim,) = hurried(cluster, by_tier("cancel", grace_s=2), writes)
    (other,) = [job for job in low if job != victim]
    ended = status(cluster, victim)
    assert (ended["state"], ended["reason"], ended["preempted"]["by"]) == ("Failed", "Preempted", int(high))
    assert status(cluster, other)["state"] == "Running"
    assert "preempted" not in status(cluster, other)
    assert [started(cluster, job) for job in (victim, other, high)] == [1, 1, 1]
