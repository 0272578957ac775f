"""Koordinator's quotas on top of hpcbatch's plan: docs/without-volcano.md#koordinator."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.cluster.conftest import Admin
from tests.cluster.gang_schedulers import koordinator
from tests.cluster.without_volcano import without_volcano
from tests.conformance.site import Site
from tests.waiting import wait_for


@pytest.fixture(scope="module", autouse=True)
def scheduler(admin: Admin) -> Iterator[None]:
    with koordinator(), without_volcano(admin, "koordinator", placeTimeout="20s"):
        yield


@contextmanager
def quota(admin: Admin, namespace: str, cpus: str) -> Iterator[None]:
    """All pods of the namespace together."""
    size = {"cpu": cpus}
    made = {
        "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
        "kind": "ElasticQuota",
        "metadata": {"name": namespace, "namespace": namespace},
        "spec": {"max": size, "min": size},
    }
    admin.kubectl("apply", "-f", "-", stdin=json.dumps(made))
    try:
        yield
    finally:
        admin.kubectl("delete", "elasticquotas.scheduling.sigs.k8s.io", namespace, "-n", namespace)


def says_why(site: Site, job: str) -> bool:
    """Both commands that show why it waits."""
    why = "Koordinator: Insufficient quotas"
    return (
        why in site.attributes(job).get("comment", "") and why in site.run("squeue", "-h", "-j", job, "-o", "%R").stdout
    )


def test_jobs_wait_for_quota(admin: Admin, alice: Site) -> None:
    """The first takes all of it."""
    with quota(admin, alice.namespace, "1"):
        first = alice.sbatch("--wrap", "until [ -e go ]; do sleep 0.2; done")
        wait_for("it to run", lambda: alice.state(first) == "R")
        second = alice.sbatch("-o", "out", "--wrap", "echo done")
        wait_for("why it waits", lambda: says_why(alice, second))
        (alice.work / "go").touch()
        assert alice.wait_end(first, 120)["Exit_status"] == 0
        assert alice.wait_end(second, 180)["Exit_status"] == 0
        assert alice.read("out") == "done\n"
