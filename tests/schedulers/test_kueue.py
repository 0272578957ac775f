"""Kueue's quota on top of hpcbatch's plan: docs/without-volcano.md#kueue."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.cluster.conftest import Admin
from tests.cluster.kueue import QUOTA, kueue
from tests.cluster.without_volcano import without_volcano
from tests.conformance.site import Site
from tests.schedulers.test_gangs import pods_of
from tests.waiting import wait_for


@pytest.fixture(scope="module", autouse=True)
def scheduler(admin: Admin) -> Iterator[None]:
    with kueue(), without_volcano(admin, "kueue", placeTimeout="20s"):
        yield


@contextmanager
def quota(admin: Admin, cpus: str) -> Iterator[None]:
    path = "/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota"

    def put(value: str) -> None:
        change = json.dumps([{"op": "replace", "path": path, "value": value}])
        admin.kubectl("patch", "clusterqueue", "cluster", "--type=json", "-p", change)

    put(cpus)
    try:
        yield
    finally:
        put(QUOTA["cpu"])


def says_why(site: Site, job: str) -> bool:
    """Both commands that show why it waits."""
    why = "Kueue: couldn't assign flavors"
    return (
        why in site.attributes(job).get("comment", "") and why in site.run("squeue", "-h", "-j", job, "-o", "%R").stdout
    )


def test_jobs_wait_for_quota(admin: Admin, alice: Site) -> None:
    """One is deleted while it waits: nothing of it is left. The other runs when there is quota."""
    with quota(admin, "1"):
        first, second = (alice.sbatch("-N", "2", "-o", f"out{each}", "--wrap", "hostname") for each in (1, 2))
        wait_for("why they wait", lambda: says_why(alice, first) or says_why(alice, second))
        waiting = first if says_why(alice, first) else second
        alice.run("scancel", waiting)
        alice.wait_end(waiting)
        wait_for("its pods to go", lambda: not pods_of(alice, waiting))
    runs = {first: 1, second: 2}
    left = second if waiting == first else first
    assert alice.wait_end(left, 180)["Exit_status"] == 0
    assert len(alice.read(f"out{runs[left]}").split()) == 1
