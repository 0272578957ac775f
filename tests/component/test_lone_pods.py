"""Interactive jobs of one pod, with the real controller on the in-memory store, whose one scheduler places all pods."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbatch.api.port import Object
from hpcbatch.api.resources import PODS
from hpcbatch.controller import plan_gate
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.interactive import Interactive
from tests.component.test_plan import cluster, controlled, end, put, status, volcano_job, wait_to_run
from tests.component.volcano_cluster import NS, Cluster
from tests.waiting import wait_for

__all__ = ["cluster"]
SHELL: dict[str, Any] = {"interactive": Interactive.SESSION, "rerunnable": False}


def pod_spec(cluster: Cluster, job: str) -> Object:
    spec: Object = cluster.registry.get(PODS, f"job-{job}-mpimaster-0", NS)["spec"]
    return spec


@pytest.mark.slow
def test_who_places_a_job(cluster: Cluster) -> None:
    with controlled(cluster.registry):
        batch = put(cluster, Chunk(cpus=1))
        wait_to_run(cluster, batch)
        shell = put(cluster, Chunk(cpus=1), **SHELL)
        wait_to_run(cluster, shell)
        gang = put(cluster, Chunk(count=2, cpus=1), **SHELL)
        wait_to_run(cluster, gang)
        made = volcano_job(cluster, shell)
        assert made is not None
        assert made["spec"]["schedulerName"] == "volcano"
        names = [pod_spec(cluster, job)["schedulerName"] for job in (batch, shell, gang)]
        assert names == ["volcano", "default-scheduler", "volcano"]
        for job in (batch, shell, gang):
            end(cluster, job)
            wait_for(f"the end of job {job}", lambda job=job: status(cluster, job)["state"] == "Finished")  # type: ignore[misc]


def test_switched_off(cluster: Cluster) -> None:
    with controlled(cluster.registry, interactive_scheduler="volcano"):
        shell = put(cluster, Chunk(cpus=1), **SHELL)
        wait_to_run(cluster, shell)
        assert pod_spec(cluster, shell)["schedulerName"] == "volcano"


@pytest.mark.parametrize("more", [SHELL, {"rerunnable": True}, {"rerunnable": False}], ids=["shell", "batch", "once"])
def test_a_node_without_room(cluster: Cluster, more: dict[str, Any]) -> None:
    """Whoever has placed the pod: the job runs later, and that is its only run."""
    cluster.kubelet.refusals = 2
    with controlled(cluster.registry):
        job = put(cluster, Chunk(cpus=1), **more)
        wait_to_run(cluster, job)
        end(cluster, job)
        wait_for("its end", lambda: status(cluster, job)["state"] == "Finished")
        assert cluster.kubelet.refusals == 0
        assert status(cluster, job)["runCount"] == 1


def test_no_node_takes_it(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not tried without a pause: each try is a dozen writes, and the reason may stay for hours."""
    for name in ("_BEHIND_S", "_DENIED_S"):  # however slow this machine is
        monkeypatch.setattr(plan_gate, name, 3600.0)
    cluster.kubelet.refusals = 100
    with controlled(cluster.registry):
        job = put(cluster, Chunk(cpus=1))
        wait_for("a few tries", lambda: cluster.kubelet.refusals == 97)
        after = put(cluster, Chunk(cpus=1))
        wait_for("others' turn", lambda: cluster.kubelet.refusals == 94)
        assert [status(cluster, one)["state"] for one in (job, after)] == ["Queued", "Queued"]
        assert "had no room" in status(cluster, job)["message"]
