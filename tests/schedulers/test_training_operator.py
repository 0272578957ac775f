"""Jobs of Kubeflow's training operator on the same cluster as hpcbatch's, with Volcano: neither disturbs the other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.cluster import training_operator as operator
from tests.cluster.conftest import Admin
from tests.conformance.site import Site
from tests.schedulers.test_gangs import pods_of
from tests.waiting import wait_for


@pytest.fixture(scope="module", params=["", "volcano"], ids=["default scheduler", "volcano"])
def gang_scheduler(request: pytest.FixtureRequest, admin: Admin) -> Iterator[str]:
    name: str = request.param
    with operator.training_operator(name):
        yield name


@contextmanager
def job(admin: Admin, kind: str, *, count: int) -> Iterator[str]:
    """Each of its pods takes a node whole. Yields its name."""
    cpus = admin.kubectl("get", "node", "node-2", "-o", "jsonpath={.status.allocatable.cpu}").stdout
    name = kind.lower()
    made = operator.job(kind, name, count=count, cpus=cpus)
    admin.kubectl("apply", "-f", "-", stdin=json.dumps(made))
    try:
        yield name
    finally:
        admin.kubectl("delete", kind, name, "-n", "default", "--cascade=foreground")


def its_pods(admin: Admin, name: str) -> list[dict[str, Any]]:
    """Pods of the operator's job."""
    labels = f"training.kubeflow.org/job-name={name}"
    found = admin.kubectl("get", "pods", "-n", "default", "-l", labels, "-o", "json").stdout
    pods: list[dict[str, Any]] = json.loads(found)["items"]
    return pods


def running(admin: Admin, name: str) -> int:
    return sum(pod["status"].get("phase") == "Running" for pod in its_pods(admin, name))


def scheduled_by(admin: Admin, name: str) -> set[str]:
    return {pod["spec"]["schedulerName"] for pod in its_pods(admin, name)}


@pytest.mark.parametrize(("kind", "count"), [("TFJob", 2), ("PyTorchJob", 1)])
def test_what_they_leave_is_used(kind: str, count: int, gang_scheduler: str, admin: Admin, alice: Site) -> None:
    """A job that needs more nodes waits without pods; when theirs has ended it runs."""
    with job(admin, kind, count=count) as theirs:
        wait_for("its pods to run", lambda: running(admin, theirs) == count)
        assert scheduled_by(admin, theirs) == {gang_scheduler or "default-scheduler"}
        wide = alice.sbatch("-N", "3", "-o", "wide", "--wrap", "echo done")
        narrow = alice.sbatch("-N", str(3 - count), "-t", "1", "-o", "narrow", "--wrap", "echo done")
        assert alice.wait_end(narrow, 120)["Exit_status"] == 0
        assert (alice.state(wide), pods_of(alice, wide)) == ("Q", [])
        assert running(admin, theirs) == count
    assert alice.wait_end(wide, 180)["Exit_status"] == 0
    assert alice.read("wide") == alice.read("narrow") == "done\n"


def test_they_wait_for_room(gang_scheduler: str, admin: Admin, alice: Site) -> None:
    """Theirs finds too few nodes. What fits runs beside, and when there is room theirs gets its nodes."""
    first = alice.sbatch("-N", "2", "--wrap", "until [ -e go ]; do sleep 0.2; done")
    wait_for("it to run", lambda: alice.state(first) == "R")
    with job(admin, "TFJob", count=2) as theirs:
        wait_for("its pods", lambda: bool(gang_scheduler) or running(admin, theirs) == 1)
        if gang_scheduler:  # its gang leaves the third node
            group = ("get", "podgroups.scheduling.volcano.sh", theirs, "-n", "default", "-o", "jsonpath={.spec}")
            wait_for("its PodGroup", lambda: admin.kubectl(*group, check=False).stdout)
            assert json.loads(admin.kubectl(*group).stdout)["minMember"] == 2
            narrow = alice.sbatch("-N", "1", "-t", "1", "--wrap", "true")
            assert alice.wait_end(narrow, 120)["Exit_status"] == 0
            assert running(admin, theirs) == 0
        (alice.work / "go").touch()
        assert alice.wait_end(first, 120)["Exit_status"] == 0
        wait_for("theirs to run", lambda: running(admin, theirs) == 2, 120)
