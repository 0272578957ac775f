"""MPI launches that went wrong without a word, and honest ones, of which nothing is said: test_runner_worlds.py too."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.site import Site

pytestmark = pytest.mark.alone

# It stays long enough to be looked at.
WORLD_C = """\
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  printf("rank %d of %d\\n", rank, size);
  fflush(stdout);
  sleep(5);
  MPI_Finalize();
  return 0;
}
"""
# Tells its ranks what MPICH's launcher would. The image need not have one.
OTHER_MPIEXEC = """\
#!/bin/sh
for rank in 0 1 2; do PMI_RANK=$rank PMI_SIZE=3 MPI_LOCALNRANKS=1 MPI_LOCALRANKID=0 "$@" & done
wait
"""
ALONE = "hpcbatch: warning: MPI ran on job-{}-mpimaster-0 alone (2 ranks), though the job has 3 hosts\n"


def submit(site: Site, name: str, script: str, *options: str) -> str:
    select = () if options else ("-l", "select=3:ncpus=1:mpiprocs=2")
    return site.qsub(*select, *options, "-N", name, stdin=f"cd $PBS_O_WORKDIR\n{script}\n")


def ended(site: Site, name: str, job: str) -> tuple[dict[str, Any], str]:
    return site.wait_end(job, 120), site.read(f"{name}.e{job}")


@pytest.mark.slow
def test_told(site: Site) -> None:
    (site.work / "world.c").write_text(WORLD_C)
    site.run("mpicc", "-o", "world", "world.c")
    site.script("mpiexec", OTHER_MPIEXEC)
    (site.work / "mpiexec").chmod(0o755)
    alone = submit(site, "alone", "ssh $(tail -n 1 $PBS_NODEFILE) true; mpirun -np 2 ./world; exit 3")
    apart = submit(site, "apart", "./mpiexec ./world")
    script = "#!/bin/sh\nmpirun -np 2 sleep 4\n"
    slurm = site.sbatch("-N", "3", "--ntasks-per-node=2", "-o", "slurm.out", stdin=script)

    record, text = ended(site, "alone", alone)
    assert record["Exit_status"] == 3, "a warning changes no exit code"
    assert text.count("hpcbatch:") == 1 and text.endswith(ALONE.format(alone)), text
    assert record["comment"].endswith(f" and failed: {ALONE.format(alone)[10:-1]}")

    record, text = ended(site, "apart", apart)
    why = (
        "warning: the 3 ranks of world are 3 MPI worlds of one rank: "
        "it is linked to Open MPI, the mpirun that started them is MPICH's or Intel MPI's"
    )
    assert record["Exit_status"] == 0
    assert site.read(f"apart.o{apart}") == "rank 0 of 1\n" * 3, text
    assert text.count("hpcbatch:") == 1 and f"hpcbatch: {why}\n" in text, text
    assert record["comment"].endswith(f" and finished: {why}")

    site.wait_end(slurm, 120)
    assert site.read("slurm.out").endswith(ALONE.format(slurm))
    shown = site.run("scontrol", "show", "job", slurm).stdout
    assert f" SystemComment={ALONE.format(slurm)[10:-1]} \n" in shown, shown


def test_ranks_that_die_at_once(site: Site) -> None:
    """Nobody has seen them: the program's library and the launcher say why."""
    (site.work / "library.c").write_text("int MPI_Something(void) { return 7; }\n")
    (site.work / "dying.c").write_text("int MPI_Something(void);\nint main(void) { return MPI_Something(); }\n")
    library = str(site.work / "libmpi.so.12")
    site.run("cc", "-shared", "-Wl,-soname,libmpi.so.12", "-o", library, "library.c")
    site.run("cc", "-o", "dying", "dying.c", library, f"-Wl,-rpath,{site.work}")
    job = submit(site, "dying", "mpirun ./dying")
    record, text = ended(site, "dying", job)
    assert record["Exit_status"] != 0
    warning = f"warning: ./dying is linked to MPICH or Intel MPI ({library}), the mpirun that started it is Open MPI "
    assert text.count("hpcbatch:") == 1 and text.splitlines()[-1].startswith(f"hpcbatch: {warning}"), text
    assert f" and failed: {warning}" in record["comment"]


HONEST = {
    "spread": "mpirun sleep 3",
    "spreadlater": "mpirun -np 2 sleep 3; mpirun -np 6 sleep 3",
    "serial": "mpirun -np 1 sleep 3; sleep 1",
    "tasks": "pbsdsh -- sleep 3",
    # one small world on each host
    "ensemble": 'for host in $(sort -u $PBS_NODEFILE); do ssh $host "mpirun --host $host:2 -np 2 sleep 4" & done; wait',
}


@pytest.mark.slow
def test_honest(site: Site) -> None:
    jobs = {name: submit(site, name, script) for name, script in HONEST.items()}
    jobs["onehost"] = submit(site, "onehost", "mpirun -np 2 sleep 3", "-l", "select=1:ncpus=1:mpiprocs=2")
    late = submit(site, "late", "mpirun sleep 60", "-l", "select=3:ncpus=1:mpiprocs=2,walltime=6")
    for name, job in jobs.items():
        record, text = ended(site, name, job)
        assert record["Exit_status"] == 0, text
        assert "hpcbatch: " not in text, (name, text)
        assert record["comment"].endswith(" and finished"), record["comment"]
    record, text = ended(site, "late", late)
    assert "hpcbatch: " not in text
    assert record["comment"].endswith(" and exceeded resource walltime"), record["comment"]
