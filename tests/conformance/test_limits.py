"""What a job asks for its processes: input, limits, nice, CPU time, CPUs of their own; steps of its components."""

from __future__ import annotations

import re

import pytest

from tests.conformance.site import Site

LIMITS = "ulimit -f; echo $(($(nice) - $(cut -d ' ' -f 19 /proc/1/stat)))"
"""Blocks of a file, and how much nicer than the pod's first process."""


def test_standard_input(site: Site) -> None:
    site.script("in.txt", "one\ntwo\n")
    job = site.sbatch("-i", "in.txt", "-o", "out", "--wrap", "cat")
    assert site.wait_end(job)["Exit_status"] == 0
    assert site.read("out") == "one\ntwo\n"


def test_standard_input_that_is_not_there(site: Site) -> None:
    job = site.sbatch("-i", "nothing-%j", "-o", "out", "--wrap", "echo ran")
    assert site.wait_end(job)["Exit_status"] == 1
    path = site.work / f"nothing-{job}"
    assert site.read("out") == f"slurmstepd: error: Could not open stdin file {path}: No such file or directory\n"
    assert site.run("squeue", "-h", "-t", "all", "-j", job, "-o", "%T").stdout == "FAILED\n"


def test_limits_on_all_hosts(site: Site) -> None:
    site.script("limits.sh", LIMITS)
    text = "for host in $(sort -u $PBS_NODEFILE); do ssh $host sh $PBS_O_WORKDIR/limits.sh; done\n"
    asked = "select=2:ncpus=1,file=10mb,nice=5,pcput=1000"
    job = site.qsub("-l", asked, "-j", "oe", "-o", "out", stdin=text)
    record = site.wait_end(job)
    assert record["Exit_status"] == 0, site.read("out")
    lines = site.read("out").splitlines()
    assert lines[0::2] in (["20480"] * 2, ["10240"] * 2), "blocks of 512 bytes, or of 1024"
    assert lines[1::2] == ["5"] * 2


def test_limits_of_the_script(site: Site) -> None:
    job = site.qsub(
        "-l", "ncpus=1,pvmem=2gb,pcput=100", "-j", "oe", "-o", "out", stdin="grep -E 'address|cpu' /proc/self/limits\n"
    )
    assert site.wait_end(job)["Exit_status"] == 0
    found = dict(re.findall(r"^Max (.*?) +(\d+)", site.read("out"), re.MULTILINE))
    assert found == {"cpu time": "100", "address space": str(2 << 30)}


@pytest.mark.slow
def test_cpu_time_of_all_hosts_together(site: Site) -> None:
    """Each uses less than the limit."""
    burn = "pbsdsh -- timeout 60 sh -c 'while :; do :; done'\n"
    job = site.qsub("-l", "select=2:ncpus=1,cput=4", "-j", "oe", "-o", "out", stdin=burn)
    record = site.wait_end(job)
    assert record["Exit_status"] == -28
    assert record["comment"].endswith(" and exceeded resource cput")
    assert re.search(r"^=>> PBS: job killed: cput \d+ exceeded limit 4$", site.read("out"), re.MULTILINE)


def test_a_time_limit_between_two(site: Site) -> None:
    """The job waits as long as the lesser limit leaves until its deadline, and ends by that."""
    asked = ("--begin=now+1hour", "--deadline=now+2hours", "-t", "3:00:00")
    whole = "sbatch: error: Batch job submission failed: "
    for refused, why in (
        (asked, "Requested time limit is invalid (missing or exceeds some limit)"),
        ((*asked, "--time-min=1:01:00"), "Invalid time-min specification (exceeds job's time or other limits)"),
        (("-t", "10", "--time-min=11"), "Invalid time-min specification (exceeds job's time or other limits)"),
    ):
        answer = site.run("sbatch", *refused, "--wrap", "true", check=False)
        assert (answer.returncode, answer.stdout) == (1, "")
        assert answer.stderr.endswith(f"{whole}{why}\n")
    job = site.sbatch(*asked, "--time-min=10", "--wrap", "true")
    assert "TimeLimit=03:00:00 TimeMin=00:10:00" in site.run("scontrol", "show", "job", job).stdout
    site.run("scontrol", "update", f"JobId={job}", "TimeMin=20", "StartTime=now")
    site.wait_end(job)
    shown = site.run("scontrol", "show", "job", job).stdout
    assert re.search("TimeLimit=(02:00|01:59):00 TimeMin=00:20:00", shown), shown


SHOW = "sh -c 'taskset -cp $$ | sed \"s/.*: //\"'"


@pytest.mark.parametrize("options", [("--hint=nomultithread",), ("--threads-per-core=1",), ()], ids=" ".join)
def test_ranks_on_cpus_of_their_own(site: Site, options: tuple[str, ...]) -> None:
    """Where the pod's CPUs are its own; elsewhere nothing is bound, which is said."""
    bind = "" if options else "--cpu-bind=threads"
    script = site.script("bind.sh", f"#!/bin/sh\nnproc\nsrun -n2 --mpi=none {bind} {SHOW}\n")
    job = site.sbatch("-N1", "-n2", "--exclusive", "-o", "out", "-e", "err", *options, script)
    assert site.wait_end(job)["Exit_status"] == 0, site.read("err")
    seen, *cpus = site.read("out").splitlines()
    if "tasks are not bound to CPUs: " in site.read("err"):
        assert cpus[0] == cpus[1]
        pytest.skip(f"NOT TESTED: {site.read('err').strip()}")
    assert len(set(cpus)) == 2 and all(cpu.isdigit() for cpu in cpus), f"{cpus} of {seen}"


def test_binding_as_slurm_prints_it(site: Site) -> None:
    script = site.script("bind.sh", "#!/bin/sh\nsrun -n1 --mpi=none --cpu-bind=verbose,none true\n")
    job = site.sbatch("-n1", "-o", "out", script)
    assert site.wait_end(job)["Exit_status"] == 0
    assert re.fullmatch(r"cpu-bind=NONE - job-\d+-\S+, task  0  0 \[\d+\]: mask 0x[0-9a-f]+\n", site.read("out"))


WHOLE = """#!/bin/sh
echo $SLURM_CPUS_ON_NODE $SLURM_JOB_CPUS_PER_NODE
srun -n $SLURM_CPUS_ON_NODE --mpi=none hostname | wc -l
"""


def test_an_exclusive_job_has_all_cpus_of_its_node(site: Site) -> None:
    sizes = {int(line) for line in site.run("sinfo", "-h", "-N", "-o", "%c").stdout.split()}
    job = site.sbatch("-N1", "--exclusive", "--mem-per-cpu=10", "-o", "out", site.script("whole.sh", WHOLE))
    assert site.wait_end(job)["Exit_status"] == 0, site.read("out")
    least = min(sizes)
    assert site.read("out").split() == [str(least)] * 3
    asked = site.run("sacct", "-X", "-n", "-P", "-j", job, "-o", "ReqCPUS,AllocCPUS,ReqMem").stdout
    assert asked == f"1|{least}|{10 * least}M\n"


COMPONENTS = """#!/bin/sh
#SBATCH -n 1 -o out
#SBATCH hetjob
#SBATCH -N 2 --ntasks-per-node=1
echo $SLURM_HET_SIZE $SLURM_NNODES $SLURM_JOB_NUM_NODES_HET_GROUP_0 $SLURM_JOB_NUM_NODES_HET_GROUP_1
srun --mpi=none hostname
srun --mpi=none --het-group=1 hostname | sort -u | wc -l
srun --mpi=none --het-group=0,1 sh -c 'echo $SLURM_NTASKS' | sort | uniq -c
srun --mpi=none -l sh -c 'echo first' : -n2 sh -c 'echo second' | sort
"""


def test_components_start_together(site: Site) -> None:
    job = site.sbatch(site.script("het.sh", COMPONENTS))
    assert site.wait_end(job)["Exit_status"] == 0, site.read("out")
    sizes, first, *rest = site.read("out").splitlines()
    assert sizes == "2 1 1 2"
    assert first == f"job-{job}-mpimaster-0"
    assert [line.split() for line in rest] == [["2"], ["3", "3"], ["0:", "first"], ["1:", "second"], ["2:", "second"]]
