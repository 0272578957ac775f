"""The main job: ranks over three pods, each naming its own."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.conformance.site import Site
from tests.conformance.volcano_site import Volcano

pytestmark = pytest.mark.alone

EXAMPLES = Path(__file__).parents[2] / "examples/mpi"


@pytest.fixture
def ring(site: Site) -> Site:
    return ring_in(site)


def ring_in(site: Site) -> Site:
    """The example, copied and compiled as the README says."""
    for name in ("ring.c", "ring.pbs", "ring.slurm"):
        shutil.copy(EXAMPLES / name, site.work)
    site.run("mpicc", "-o", "ring", "ring.c")
    return site


def ranks_by_host(text: str) -> dict[str, list[int]]:
    hosts: dict[str, list[int]] = {}
    for rank, host in re.findall(r"^rank (\d+) of 6 on (\S+)$", text, re.MULTILINE):
        hosts.setdefault(host, []).append(int(rank))
    return {host: sorted(ranks) for host, ranks in hosts.items()}


def test_ring_pbs(ring: Site) -> None:
    job = ring.qsub("ring.pbs")
    record = ring.wait_end(job)
    text = ring.read(f"ring.o{job}")
    assert record["Exit_status"] == 0, text
    assert sorted(ranks_by_host(text).values()) == [[0, 1], [2, 3], [4, 5]]
    assert f"job {job}.{ring.server} on 3 hosts" in text


def test_ring_slurm(ring: Site) -> None:
    job = ring.sbatch("ring.slurm")
    record = ring.wait_end(job)
    text = ring.read(f"ring.{job}.out")
    assert record["Exit_status"] == 0, text
    assert sorted(ranks_by_host(text).values()) == [[0, 1], [2, 3], [4, 5]]


def test_a_failing_rank_fails_the_job(ring: Site) -> None:
    job = ring.qsub("-l", "select=3:ncpus=1:mpiprocs=1", "-N", "bad", "-j", "oe", stdin="mpirun sh -c 'exit 5'\n")
    assert ring.wait_end(job)["Exit_status"] == 5


COMPONENTS = """#!/bin/sh
#SBATCH -n 1 -o het.out -e het.out
#SBATCH hetjob
#SBATCH -n 2
for groups in 0,1 1; do srun --het-group=$groups ./ring || exit; done
srun -n 1 ./ring : -n 2 ./ring
"""


@pytest.mark.slow
def test_components_of_a_heterogeneous_job_are_one_world(ring: Site) -> None:
    job = ring.sbatch(stdin=COMPONENTS)
    record = ring.wait_end(job)
    assert record["Exit_status"] == 0, ring.read("het.out")
    assert re.findall(r"token is back after (\d) ranks", ring.read("het.out")) == ["3", "2", "3"]


def test_environment_and_limits_reach_every_rank(ring: Site) -> None:
    text = "export COLOUR='deep blue'; mpirun sh -c 'echo \"$COLOUR $PBS_JOBNAME $(hostname)\"'\n"
    job = ring.qsub("-l", "select=3:ncpus=1:mpiprocs=1", "-N", "far", stdin=text)
    ring.wait_end(job)
    lines = ring.read(f"far.o{job}").splitlines()
    assert len(lines) == 3, lines
    assert all(line.startswith("deep blue far job-") for line in lines), lines


def test_programs_that_are_over_at_once(ring: Site) -> None:
    """Open MPI 5 as it is misses the end of some (openpmix/prrte#1839), and waits for ever."""
    text = "for i in 1 2 3 4 5; do timeout 20 mpirun true || exit; done\n"
    job = ring.qsub("-l", "select=3:ncpus=2:mpiprocs=2", "-j", "oe", stdin=text)
    assert ring.wait_end(job)["Exit_status"] == 0


def test_daemons_of_open_mpi_5_share_no_directory(ring: Site) -> None:
    """Named after a process id, which is the same in many pods; those of the engine have the host's /tmp in common."""
    text = "#!/bin/sh\n#SBATCH -N 3 -o where.out -e where.err\nmpirun --version | head -n 1\n"
    text += "echo $PRTE_MCA_prte_tmpdir_base\nmpirun printenv PMIX_SERVER_TMPDIR\n"
    assert ring.wait_end(ring.sbatch(stdin=text))["Exit_status"] == 0
    version, wanted, *used = ring.read("where.out").splitlines()
    if not version.startswith("mpirun (Open MPI) 5"):
        pytest.skip(f"the jobs have {version}, whose daemons are others")
    assert len(used) == 3
    assert all(directory.startswith(f"{wanted}/") for directory in used), (wanted, used)


def test_hand_written_volcano_job(volcano: Volcano) -> None:
    volcano.kubectl("apply", "-f", str(EXAMPLES / "volcano-job.yaml"))
    volcano.wait_phase("mpi-hello", "Completed")
    log = volcano.logs("mpi-hello-mpimaster-0")
    assert len({line for line in log.split() if line.startswith("mpi-hello-mpiworker-")}) >= 2, log
