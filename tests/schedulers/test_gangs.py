"""Jobs whose pods another gang scheduler binds (docs/without-volcano.md): MPI over ssh, output, all or none, faults."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.cluster import controllers, daemons, gang_schedulers
from tests.cluster.conftest import Admin
from tests.cluster.without_volcano import without_volcano
from tests.conformance.site import Site
from tests.conformance.test_mpi import ranks_by_host, ring_in
from tests.waiting import wait_for

_NODE = "node-2"


@pytest.fixture(scope="module", params=sorted(gang_schedulers.STARTED))
def scheduler(request: pytest.FixtureRequest, admin: Admin) -> Iterator[str]:
    """The name of the process that gives pods their nodes."""
    name: str = request.param
    with gang_schedulers.STARTED[name]() as process, without_volcano(admin, name, placeTimeout="10s"):
        yield process


def pods_of(site: Site, job: str) -> list[dict[str, Any]]:
    found = site.kubectl("get", "pods", "-l", f"hpcbatch.io/job-id={job}", "-o", "json").stdout
    made: list[dict[str, Any]] = json.loads(found)["items"]
    return made


@pytest.mark.usefixtures("scheduler")
def test_mpi_over_three_nodes(alice: Site) -> None:
    ring_in(alice)
    pbs, slurm = alice.qsub("ring.pbs"), alice.sbatch("ring.slurm")
    for job, output in ((pbs, f"ring.o{pbs}"), (slurm, f"ring.{slurm}.out")):
        record = alice.wait_end(job, 180)
        text = alice.read(output)
        assert record["Exit_status"] == 0, text
        assert sorted(ranks_by_host(text).values()) == [[0, 1], [2, 3], [4, 5]]


@contextmanager
def stranger(admin: Admin) -> Iterator[None]:
    """Somebody else's pod, which takes a node whole, and comes by no scheduler."""
    cpus = admin.kubectl("get", "node", _NODE, "-o", "jsonpath={.status.allocatable.cpu}").stdout
    container = {"name": "main", "image": "localhost/pause:1", "resources": {"requests": {"cpu": cpus}}}
    spec = {"nodeName": _NODE, "containers": [container], "terminationGracePeriodSeconds": 1}
    made = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "stranger", "namespace": "default"}, "spec": spec}
    admin.kubectl("apply", "-f", "-", stdin=json.dumps(made))
    try:
        yield
    finally:
        admin.kubectl("delete", "pod", "stranger", "-n", "default", "--wait=true")


def test_all_nodes_or_none(scheduler: str, admin: Admin, alice: Site) -> None:
    """While the scheduler sleeps, somebody takes one of the nodes of a job that needs all. It is taken back whole
    without having run, and runs when there is room.
    """
    daemons.send(daemons.pid(scheduler), signal.SIGSTOP)
    job = alice.sbatch("-N", "3", "-o", "out", "--wrap", "echo ran >> runs")
    try:
        wait_for("its pods", lambda: len(pods_of(alice, job)) == 3)
        first = {pod["metadata"]["uid"] for pod in pods_of(alice, job)}
        with stranger(admin):
            daemons.send(daemons.pid(scheduler), signal.SIGCONT)
            wait_for("the job to be taken back", lambda: while_it_waits(alice, job).isdisjoint(first))
            assert not (alice.work / "runs").exists()
    finally:
        daemons.send(daemons.pid(scheduler), signal.SIGCONT)
    assert alice.wait_end(job, 180)["Exit_status"] == 0
    assert alice.read("runs") == "ran\n"
    # Kubernetes' own scheduler, which Kueue uses, gives each pod a node by itself
    assert scheduler == "kube-scheduler" or given_nodes(admin, alice, first) in {0, len(first)}, "bound in part"


def while_it_waits(site: Site, job: str) -> set[str]:
    """Uids of the job's pods; it has not run."""
    assert site.state(job) in {"Q", "H"}
    return {pod["metadata"]["uid"] for pod in pods_of(site, job)}


def given_nodes(admin: Admin, site: Site, uids: set[str]) -> int:
    """How many of these pods have had a node. Their scheduler may have known nothing of the stranger when it woke: then
    all have one, and a node refuses its pod.
    """
    told = admin.kubectl("get", "events", "-n", site.namespace, "--field-selector", "reason=Scheduled", "-o", "json")
    return len({event["involvedObject"]["uid"] for event in json.loads(told.stdout)["items"]} & uids)


@pytest.mark.usefixtures("scheduler")
def test_faults(alice: Site) -> None:
    """The controller is killed, and a pod of the running job is deleted: it runs again, to its end."""
    script = "echo begun >> runs; [ $(grep -c begun runs) -gt 1 ] || sleep 600"
    options = ("-l", "select=2:ncpus=1", "-l", "place=scatter", "-o", "out", "-e", "err")
    job = alice.qsub(*options, stdin=f"cd {alice.work}; {script}\n")
    wait_for("its script", (alice.work / "runs").exists)
    controllers.kill_leader()
    alice.kubectl("delete", "pod", f"job-{job}-mpiworker-0")
    assert alice.wait_end(job, 180)["Exit_status"] == 0
    assert alice.read("runs") == "begun\nbegun\n"


@contextmanager
def job_of_another_kind(admin: Admin) -> Iterator[None]:
    """A Job of Kubernetes, whose pod takes a node whole by the default scheduler."""
    cpus = admin.kubectl("get", "node", _NODE, "-o", "jsonpath={.status.allocatable.cpu}").stdout
    container = {"name": "main", "image": "localhost/pause:1", "resources": {"requests": {"cpu": cpus}}}
    spec = {"containers": [container], "restartPolicy": "Never", "nodeSelector": {"kubernetes.io/hostname": _NODE}}
    template = {"spec": {**spec, "terminationGracePeriodSeconds": 1}}
    meta = {"name": "other", "namespace": "default"}
    made = {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {"template": template}}
    admin.kubectl("apply", "-f", "-", stdin=json.dumps(made))
    ready = ("get", "job", "other", "-n", "default", "-o", "jsonpath={.status.ready}")
    try:
        wait_for("its pod", lambda: admin.kubectl(*ready).stdout == "1")
        yield
    finally:
        admin.kubectl("delete", "job", "other", "-n", "default", "--cascade=foreground")


@pytest.mark.usefixtures("scheduler")
def test_beside_jobs_of_other_kinds(admin: Admin, alice: Site) -> None:
    """What is left of the cluster is used, and what needs more waits for its end."""
    with job_of_another_kind(admin):
        wide = alice.sbatch("-N", "3", "-o", "wide", "--wrap", "echo done")
        narrow = alice.sbatch("-N", "2", "-t", "1", "-o", "narrow", "--wrap", "echo done")
        assert alice.wait_end(narrow, 120)["Exit_status"] == 0
        assert (alice.state(wide), pods_of(alice, wide)) == ("Q", [])
    assert alice.wait_end(wide, 180)["Exit_status"] == 0
    assert alice.read("wide") == alice.read("narrow") == "done\n"
