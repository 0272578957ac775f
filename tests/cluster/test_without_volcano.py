"""`scheduler: none` on a real cluster: Volcano's controllers and scheduler are stopped, and the default scheduler binds
what hpcbatch's controller makes. docs/without-volcano.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from hpcbatch.api.names import IN_FORCE_CONFIGMAP
from tests.cluster import controllers, daemons
from tests.cluster.conftest import Admin
from tests.cluster.install import SITE
from tests.cluster.state import CHECKOUT
from tests.conformance.site import Site
from tests.conformance.test_mpi import ranks_by_host, ring_in
from tests.waiting import wait_for

NAMESPACE = ("-n", "hpcbatch-system")
VOLCANO = ("vc-controller-manager", "vc-scheduler")


def apply(admin: Admin, objects: list[dict[str, Any]]) -> None:
    admin.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))


def rights(admin: Admin, folder: str) -> list[dict[str, Any]]:
    """Those of a folder; the definitions are Volcano's here."""
    made = yaml.safe_load_all(admin.kubectl("kustomize", str(CHECKOUT / folder)).stdout)
    return [each for each in made if each["apiVersion"].startswith("rbac.authorization.k8s.io/")]


def put_site(admin: Admin, text: str) -> None:
    data = json.dumps({"data": {"site.yaml": text}})
    admin.kubectl(*NAMESPACE, "patch", "configmap", "hpcbatch-site", "--type=merge", "-p", data)
    in_force = ("get", "configmap", IN_FORCE_CONFIGMAP, "-o", "json")
    wait_for(
        "the configuration in force",
        lambda: json.loads(admin.kubectl(*NAMESPACE, *in_force).stdout)["data"].get("site.yaml") == text,
    )


@pytest.fixture
def without_volcano(admin: Admin) -> Iterator[None]:
    apply(admin, rights(admin, "deploy/without-volcano"))
    put_site(admin, SITE.read_text() + "scheduler: none\n")
    for name in VOLCANO:
        daemons.kill(name)
    yield
    for name in VOLCANO:
        daemons.restart(name)
    put_site(admin, SITE.read_text())
    apply(admin, rights(admin, "deploy/controller"))


@pytest.mark.usefixtures("without_volcano")
def test_mpi_over_three_nodes(alice: Site) -> None:
    ring_in(alice)
    pbs, slurm = alice.qsub("ring.pbs"), alice.sbatch("ring.slurm")
    for job, output in ((pbs, f"ring.o{pbs}"), (slurm, f"ring.{slurm}.out")):
        record = alice.wait_end(job)
        text = alice.read(output)
        assert record["Exit_status"] == 0, text
        assert sorted(ranks_by_host(text).values()) == [[0, 1], [2, 3], [4, 5]]


@pytest.mark.usefixtures("without_volcano")
def test_a_job_goes_on_when_the_controller_is_killed(alice: Site) -> None:
    job = alice.sbatch("-N", "2", "-o", "out", "--wrap", "sleep 20; echo done")
    alice.wait_state(job, "R")
    controllers.kill_leader()
    assert alice.wait_end(job, 120)["Exit_status"] == 0
    assert alice.read("out") == "done\n"


@pytest.mark.usefixtures("without_volcano")
def test_a_deleted_job_leaves_nothing(admin: Admin, alice: Site) -> None:
    job = alice.sbatch("-N", "3", "-o", "out", "--wrap", "sleep 600")
    alice.wait_state(job, "R")
    alice.run("scancel", job)
    alice.wait_end(job)
    kinds = "jobs.batch.volcano.sh,pods,services,networkpolicies,secrets"

    def left_over() -> list[str]:
        found = admin.kubectl("get", kinds, "-A", "-o", "name").stdout.split()
        return [name for name in found if name.rpartition("/")[2].startswith(f"job-{job}")]

    wait_for("its objects to go", lambda: not left_over())
