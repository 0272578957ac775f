"""What Kueue does to the pods of its groups: a finalizer keeps a deleted one until all of the group are over."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from hpcbatch.api.informer import Informer
from hpcbatch.api.port import Object, WatchEvent
from hpcbatch.api.resources import PODS
from hpcbatch.model.scheduler import Scheduler
from hpcbatch.volcano.gangs.kueue import GROUP_NAME
from tests.component.test_plan import WHOLE, controlled, put, wait_to_run
from tests.component.test_without_volcano import cluster, pods_of
from tests.component.volcano_cluster import NS, ON_TERM, Cluster
from tests.waiting import wait_for

__all__ = ["cluster"]

_FINALIZERS = {"metadata": {"finalizers": ["kueue.x-k8s.io/managed"]}}


@contextmanager
def play_kueue(cluster: Cluster) -> Iterator[None]:
    """It lets go of pods whose whole group has ended."""

    def look(_: WatchEvent) -> None:
        groups: dict[str, list[Object]] = defaultdict(list)
        for pod in cluster.registry.list(PODS, NS).items:
            groups[pod["metadata"].get("labels", {}).get(GROUP_NAME, "")].append(pod)
        for pods in groups.values():
            if all(pod["status"].get("phase") in {"Succeeded", "Failed"} for pod in pods):
                for pod in pods:
                    if pod["metadata"].get("finalizers"):
                        nothing: Object = {"metadata": {"finalizers": []}}
                        cluster.registry.patch(PODS, pod["metadata"]["name"], nothing, NS)

    informer = Informer(cluster.registry, PODS, on_event=look)
    informer.start()
    try:
        yield
    finally:
        informer.stop()


def uids(cluster: Cluster, job: str) -> set[str]:
    return {pod["metadata"]["uid"] for pod in pods_of(cluster, job).values()}


@pytest.mark.parametrize("code", [0, 143])
def test_a_job_runs_again_when_a_pod_of_it_is_deleted(cluster: Cluster, code: int) -> None:
    with controlled(cluster.registry, scheduler=Scheduler.KUEUE):
        job = put(cluster, WHOLE)
        wait_to_run(cluster, job)
        first = uids(cluster, job)
        for name in pods_of(cluster, job):
            cluster.registry.patch(PODS, name, {"metadata": {"annotations": {ON_TERM: str(code)}}}, NS)
            cluster.registry.patch(PODS, name, _FINALIZERS, NS)
        with play_kueue(cluster):
            cluster.registry.delete(PODS, f"job-{job}-mpiworker-0", NS, grace_period_s=1)
            wait_for("other pods", lambda: len(uids(cluster, job)) == 2 and uids(cluster, job).isdisjoint(first))
