"""`scheduler: none` on a real cluster: Volcano's controllers and scheduler are stopped, and the default scheduler binds
what hpcbatch's controller makes. docs/without-volcano.md.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster import controllers
from tests.cluster.conftest import Admin
from tests.cluster.without_volcano import without_volcano
from tests.conformance.site import Site
from tests.conformance.test_mpi import ranks_by_host, ring_in
from tests.waiting import wait_for


@pytest.fixture
def scheduler_none(admin: Admin) -> Iterator[None]:
    with without_volcano(admin, "none"):
        yield


@pytest.mark.usefixtures("scheduler_none")
def test_mpi_over_three_nodes(alice: Site) -> None:
    ring_in(alice)
    pbs, slurm = alice.qsub("ring.pbs"), alice.sbatch("ring.slurm")
    for job, output in ((pbs, f"ring.o{pbs}"), (slurm, f"ring.{slurm}.out")):
        record = alice.wait_end(job)
        text = alice.read(output)
        assert record["Exit_status"] == 0, text
        assert sorted(ranks_by_host(text).values()) == [[0, 1], [2, 3], [4, 5]]


@pytest.mark.usefixtures("scheduler_none")
def test_a_job_goes_on_when_the_controller_is_killed(alice: Site) -> None:
    job = alice.sbatch("-N", "2", "-o", "out", "--wrap", "sleep 20; echo done")
    alice.wait_state(job, "R")
    controllers.kill_leader()
    assert alice.wait_end(job, 120)["Exit_status"] == 0
    assert alice.read("out") == "done\n"


@pytest.mark.usefixtures("scheduler_none")
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
