"""The plan carried out by the real controller on the in-memory store: kills, lost nodes, jobs that Volcano does not
start, other people's pods.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest

from hpcbatch.api.port import Object
from hpcbatch.api.resources import BATCHJOBS, CONFIGMAPS, NAMESPACES, NODES, PODS, SECRETS, VOLCANO_JOBS
from hpcbatch.client.submit import submission_secret
from hpcbatch.controller.controller import Controller
from hpcbatch.controller.guarded import GuardedApi
from hpcbatch.errors import InvalidError
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.labels import PLANNED_ANNOTATION
from hpcbatch.model.site import Policy, SiteConfig
from hpcbatch.model.spec import JobSpec, Submission
from hpcbatch.record.manifest import to_manifest
from hpcbatch.site.identity import GID, HOME, UID, USER
from tests.component.volcano_cluster import NS, Cluster, running
from tests.thoroughness import in_turn
from tests.waiting import wait_for

REPORT = "exit_code=0\nwalltime_s=1\ncpu_s=1\n"
_NAMES = count()


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with running(2, 2) as cluster:
        notes = {USER: "alice", UID: "1000", GID: "1000", HOME: "/home/alice"}
        cluster.registry.patch(NAMESPACES, NS, {"metadata": {"annotations": notes}})
        yield cluster


@contextmanager
def controlled(api: Any, **site: Any) -> Iterator[Controller]:
    controller = Controller(api, SiteConfig(**site))
    controller.start()
    try:
        yield controller
    finally:
        controller.stop()


def put(cluster: Cluster, *chunks: Chunk, walltime_s: int | None = 3600, **more: Any) -> str:
    """Submit, and wait until it has its number, which is returned."""
    return number(cluster, submitted(cluster, *chunks, walltime_s=walltime_s, **more))


def submitted(cluster: Cluster, *chunks: Chunk, walltime_s: int | None = 3600, **more: Any) -> str:
    """The name of the record."""
    name = f"pbs-{next(_NAMES)}"
    spec = JobSpec(dialect=Dialect.PBS, name="j", chunks=chunks, server="here", walltime_s=walltime_s, **more)
    cluster.registry.create(SECRETS, submission_secret(name, Submission(spec=spec, script=b"", environment={})), NS)
    cluster.registry.create(BATCHJOBS, to_manifest(spec, name=name, submission_secret=name), NS)
    return name


def number(cluster: Cluster, name: str) -> str:
    wait_for("the number", lambda: "jobId" in cluster.registry.get(BATCHJOBS, name, NS).get("status", {}))
    return str(cluster.registry.get(BATCHJOBS, name, NS)["status"]["jobId"])


def status(cluster: Cluster, job: str) -> Object:
    found: Object = cluster.registry.list(BATCHJOBS, NS, fields=f"status.jobId={job}").items[0]["status"]
    return found


def is_shown(cluster: Cluster, job: str, state: str, reason: str) -> bool:
    found = status(cluster, job)
    return (found["state"], found["reason"]) == (state, reason)


def wait_for_reason(cluster: Cluster, job: str, reason: str) -> None:
    wait_for(f"job {job}: {reason}", lambda: is_shown(cluster, job, "Queued", reason))


def wait_to_run(cluster: Cluster, *jobs: str) -> None:
    for job in jobs:
        wait_for(f"job {job} to run", lambda job=job: status(cluster, job)["state"] == "Running")  # type: ignore[misc]


def end(cluster: Cluster, job: str) -> None:
    cluster.kubelet.end(f"job-{job}-mpimaster-0", 0, REPORT)


def volcano_job(cluster: Cluster, job: str) -> Object | None:
    return next(
        (one for one in cluster.registry.list(VOLCANO_JOBS, NS).items if one["metadata"]["name"] == f"job-{job}"), None
    )


ONE, TWO = Chunk(cpus=1), Chunk(cpus=2)
WHOLE = Chunk(count=2, cpus=2)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("writes", in_turn(range(1, 40, 3)))
def test_the_order_stays_whenever_the_controller_is_killed(cluster: Cluster, writes: int) -> None:
    """Four narrow jobs run, a wide one waits, three narrow ones come later. The next controller may write so often."""
    with controlled(cluster.registry):
        first = [put(cluster, ONE) for _ in range(4)]
        wait_to_run(cluster, *first)
        wide = put(cluster, WHOLE)
        later = [put(cluster, ONE, walltime_s=7200) for _ in range(3)]
        wait_for_reason(cluster, wide, "Resources")
        for job in later:
            wait_for_reason(cluster, job, "Priority")
    left = writes

    def may_write() -> bool:
        nonlocal left
        left -= 1
        return left >= 0

    def has_run(job: str) -> bool:
        return any(pod.startswith(f"job-{job}-") for pod in cluster.kubelet.started)

    for job in first:
        end(cluster, job)
    with controlled(GuardedApi(cluster.registry, may_write)):
        wait_for("the first controller's end", lambda: left < 0 or has_run(wide), 60, every_s=0.05)
    with controlled(cluster.registry):
        wait_to_run(cluster, wide)
        assert not any(has_run(job) for job in later)
        end(cluster, wide)
        wait_to_run(cluster, *later)
    assert len(cluster.kubelet.started) == len(set(cluster.kubelet.started)), "none ran twice"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("writes", range(1, 9))
def test_a_shorter_walltime_is_that_of_the_run_whenever_the_controller_is_killed(cluster: Cluster, writes: int) -> None:
    """A job with a range fits before the planned start with less than its walltime."""
    with controlled(cluster.registry):
        long = put(cluster, TWO, walltime_s=600)
        wait_to_run(cluster, long)
        wide = put(cluster, WHOLE)
        wait_for_reason(cluster, wide, "Resources")
    left = writes

    def may_write() -> bool:
        nonlocal left
        left -= 1
        return left >= 0

    ranged = submitted(cluster, ONE, walltime_s=3600, min_walltime_s=60)
    with controlled(GuardedApi(cluster.registry, may_write)):
        wait_for("the first controller's end", lambda: left < 0 or bool(cluster.kubelet.started[1:]), 60, every_s=0.05)
    with controlled(cluster.registry):
        job = number(cluster, ranged)
        wait_to_run(cluster, job)
    shown = status(cluster, job)
    given_s = shown["walltimeSeconds"]
    assert 60 <= given_s < 600
    assert shown["fullWalltimeSeconds"] == 3600
    made = volcano_job(cluster, job)
    assert made is not None
    confs = {one["metadata"]["name"]: one["data"] for one in cluster.registry.list(CONFIGMAPS, NS).items}
    read = [str(data) for name, data in confs.items() if f"'{name}'" in str(made) and "walltime_s=" in str(data)]
    assert len(read) == 1 and f"walltime_s='{given_s}'" in read[0].replace("\\", "")


def test_the_planned_start_is_shown_and_withdrawn(cluster: Cluster) -> None:
    with controlled(cluster.registry):
        long = put(cluster, TWO, walltime_s=600)
        wait_to_run(cluster, long)
        wide = put(cluster, WHOLE)
        wait_for("the planned start", lambda: "plannedStart" in status(cluster, wide))
        assert status(cluster, wide)["plannedNodes"] == "node-0,node-1"
        end(cluster, long)
        wait_to_run(cluster, wide)
        assert not {"plannedStart", "plannedNodes"} & status(cluster, wide).keys()


def test_a_held_job_makes_room_for_others(cluster: Cluster) -> None:
    with controlled(cluster.registry):
        wait_to_run(cluster, put(cluster, TWO))
        wide, narrow = put(cluster, WHOLE), put(cluster, ONE, walltime_s=7200)
        wait_for_reason(cluster, narrow, "Priority")
        name = cluster.registry.list(BATCHJOBS, NS, fields=f"status.jobId={wide}").items[0]["metadata"]["name"]
        cluster.registry.patch(BATCHJOBS, name, {"spec": {"hold": True}}, NS)
        wait_to_run(cluster, narrow)


def test_other_peoples_pods_are_left_alone(cluster: Cluster) -> None:
    foreign = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web"},
        "spec": {
            "nodeName": "node-0",
            "containers": [{"name": "c", "image": "web", "resources": {"requests": {"cpu": "1500m"}}}],
        },
    }
    cluster.registry.create(PODS, foreign, NS)
    with controlled(cluster.registry):
        wide = put(cluster, Chunk(count=2, cpus=2))
        wait_for("the reason", lambda: status(cluster, wide)["reason"] in {"Resources", "NeverFits"})
        narrow = put(cluster, TWO)
        wait_to_run(cluster, narrow)
        assert volcano_job(cluster, wide) is None
        end(cluster, narrow)
        cluster.registry.delete(PODS, "web", NS, grace_period_s=0)
        wait_to_run(cluster, wide)


def test_a_new_node_and_a_closed_one(cluster: Cluster) -> None:
    cluster.registry.patch(NODES, "node-1", {"spec": {"unschedulable": True}})
    with controlled(cluster.registry):
        wide = put(cluster, WHOLE)
        wait_for("the reason", lambda: status(cluster, wide)["reason"] in {"Resources", "NeverFits"})
        cluster.add_node("node-2", 2)
        wait_to_run(cluster, wide)
        found = volcano_job(cluster, wide)
        assert found is not None
        assert found["metadata"]["annotations"][PLANNED_ANNOTATION] == "0:node-0*1 0:node-2*1"


def test_what_volcano_does_not_start_is_planned_anew(cluster: Cluster) -> None:
    cluster.scheduler.stop()
    with controlled(cluster.registry, place_timeout_s=1):
        stuck = put(cluster, WHOLE)
        wait_for("its Volcano Job", lambda: volcano_job(cluster, stuck) is not None)
        narrow = put(cluster, ONE, walltime_s=60)
        wait_for("the next one's Volcano Job", lambda: volcano_job(cluster, narrow) is not None)
        wait_for("its Volcano Job to go", lambda: volcano_job(cluster, stuck) is None)
        assert "Volcano has not started it" in status(cluster, stuck)["message"]


def test_a_refused_volcano_job_keeps_nobody_from_running(cluster: Cluster) -> None:
    class Refusing:
        def __getattr__(self, name: str) -> Any:
            return getattr(cluster.registry, name)

        def create(self, resource: Any, obj: Any, namespace: str | None = None) -> Object:
            if resource is VOLCANO_JOBS and obj["metadata"]["name"] == refused_name():
                raise InvalidError(422, "Invalid", "a policy forbids it")
            return cluster.registry.create(resource, obj, namespace)

    def refused_name() -> str:
        return "job-1"

    with controlled(Refusing()):
        wide = put(cluster, WHOLE)
        assert wide == "1"
        wait_for("the refusal", lambda: status(cluster, wide).get("message") == "a policy forbids it")
        wait_to_run(cluster, put(cluster, TWO), put(cluster, TWO))


def test_volcano_alone(cluster: Cluster) -> None:
    with controlled(cluster.registry, policy=Policy.VOLCANO):
        wait_to_run(cluster, put(cluster, TWO))
        wide, narrow = put(cluster, WHOLE), put(cluster, ONE, walltime_s=7200)
        wait_to_run(cluster, narrow)
        assert volcano_job(cluster, wide) is not None
