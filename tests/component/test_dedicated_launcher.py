"""A site whose jobs are started from a small pod of their own: the script is there, the ranks are on the workers."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.site import BIN, Site, login_environment
from tests.conformance.test_mpi import EXAMPLES, ranks_by_host

SITE = """\
apiVersion: hpcbatch.io/v1alpha1
kind: SiteConfiguration
launcher: dedicated
launcherCPU: 100m
"""


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    env = login_environment(tmp_path_factory.mktemp("engine"))
    file = tmp_path_factory.mktemp("site") / "site.yaml"
    file.write_text(SITE)
    up = [str(BIN / "hpcbatch"), "up", "--nodes", "3", "--cpus", "3", "--mem", "4Gi", "--site", str(file)]
    subprocess.run(up, env=env, check=True, timeout=60)
    yield env
    subprocess.run([str(BIN / "hpcbatch"), "down"], env=env, check=True, timeout=60)


@pytest.fixture
def site(env: dict[str, str], tmp_path: Path) -> Site:
    site = Site(env, tmp_path)
    for name in ("ring.c", "ring.pbs", "ring.slurm"):
        shutil.copy(EXAMPLES / name, site.work)
    site.run("mpicc", "-o", "ring", "ring.c")
    return site


def test_ring(site: Site) -> None:
    """The job scatters three chunks over three nodes, which leaves the launcher no node of its own."""
    pbs, slurm = site.qsub("ring.pbs"), site.sbatch("ring.slurm")
    records = site.wait_end(pbs), site.wait_end(slurm)
    for record, name in zip(records, (f"ring.o{pbs}", f"ring.{slurm}.out"), strict=True):
        text = site.read(name)
        assert record["Exit_status"] == 0, text
        ranks = ranks_by_host(text)
        assert sorted(ranks.values()) == [[0, 1], [2, 3], [4, 5]]
        assert all("-mpiworker-" in host for host in ranks)
        assert record["exec_host"].count("/") == 3, "the launcher computes nothing"


def test_one_chunk(site: Site) -> None:
    script = "#!/bin/sh\nhostname; sort -u $PBS_NODEFILE; echo $PBS_NUM_NODES; mpirun sh -c 'sleep 0.5; hostname'\n"
    job = site.qsub("-l", "select=1:ncpus=2:mpiprocs=1", "-N", "one", "-j", "oe", stdin=script)
    assert site.wait_end(job)["Exit_status"] == 0
    worker = f"job-{job}-mpiworker-0"
    assert site.read(f"one.o{job}").split() == [f"job-{job}-mpimaster-0", worker, "1", worker]


@pytest.mark.slow
def test_ranks_on_one_host_alone_are_told(site: Site) -> None:
    """They are looked at on the first host, which is not where the script runs."""
    script = "#!/bin/sh\nmpirun -np 2 sleep 4\n"
    alone = site.qsub("-l", "select=2:ncpus=1:mpiprocs=2", "-N", "alone", "-j", "oe", stdin=script)
    spread = site.sbatch("-N", "2", "--ntasks-per-node=1", "-o", "spread", stdin=script)
    told = f"warning: MPI ran on job-{alone}-mpiworker-0 alone (2 ranks), though the job has 2 hosts"
    assert site.wait_end(alone)["comment"].endswith(f" and finished: {told}")
    assert site.read(f"alone.o{alone}").endswith(f"hpcbatch: {told}\n")
    assert site.wait_end(spread)["comment"].endswith(" and finished")


def test_slurm_knows_the_workers(site: Site) -> None:
    script = "#!/bin/sh\nhostname; echo $SLURM_JOB_NODELIST $SLURM_JOB_NUM_NODES $SLURM_TASKS_PER_NODE\n"
    job = site.sbatch("-N", "2", "--ntasks-per-node=2", "-o", "out", stdin=script)
    assert site.wait_end(job)["Exit_status"] == 0
    assert site.read("out").split() == [f"job-{job}-mpimaster-0", f"job-{job}-mpiworker-[0-1]", "2", "2(x2)"]


def test_a_job_that_leaves_no_room_for_its_launcher(site: Site) -> None:
    job = site.qsub("-l", "select=3:ncpus=3", stdin="true\n")
    site.wait_state(job, "Q")
    try:
        text = "Insufficient amount of resource: ncpus (R: 9.1 A: 9 T: 9)"
        assert text in site.attributes(job)["comment"]
    finally:
        site.run("qdel", job)
