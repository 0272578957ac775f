"""The states of a job from submission to its record, in both dialects, with the real systems' texts and exit codes."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.conformance.site import Site
from tests.waiting import wait_for


def test_pbs_job_ends_well(site: Site) -> None:
    job = site.qsub("-N", "good", "-l", "walltime=00:10:00", stdin="echo out; echo err >&2\n")
    record = site.wait_end(job)
    assert record["Exit_status"] == 0
    assert record["comment"].endswith("and finished")
    assert site.read(f"good.o{job}") == "out\n"
    assert site.read(f"good.e{job}") == "err\n"
    assert (site.work / f"good.o{job}").stat().st_mode & 0o777 == 0o600


def test_slurm_job_ends_well(site: Site) -> None:
    job = site.sbatch("-J", "good", "-o", "%x.%j.txt", "--wrap", "echo out; echo err >&2")
    site.wait_end(job)
    assert site.read(f"good.{job}.txt") == "out\nerr\n"
    shown = site.run("scontrol", "show", "job", job).stdout
    assert "JobState=COMPLETED Reason=None" in shown
    assert "ExitCode=0:0" in shown


@pytest.mark.parametrize(
    ("end", "status", "slurm"),
    [
        ("exit 255", 255, "255:0"),  # others: test_failures.py
        *(pytest.param(*row, marks=pytest.mark.slow) for row in (("exit 3", 3, "3:0"), ("kill -9 $$", 265, "0:9"))),
    ],
)
def test_exit_code_is_told_truly(site: Site, end: str, status: int, slurm: str) -> None:
    pbs_job = site.qsub("-N", "bad", "-j", "oe", stdin=end + "\n")
    slurm_job = site.sbatch("-o", "/dev/null", "--wrap", end)
    assert site.wait_end(pbs_job)["Exit_status"] == status
    site.wait_end(slurm_job)
    shown = site.run("scontrol", "show", "job", slurm_job).stdout
    assert f"ExitCode={slurm}" in shown
    assert "JobState=FAILED" in shown


def test_finished_and_unknown_ids(site: Site) -> None:
    job = site.qsub("-N", "short", "-j", "oe", stdin="true\n")
    site.wait_end(job)
    full = f"{job}.{site.server}"
    gone = site.run("qstat", job, check=False)
    assert gone.returncode == 35
    assert gone.stderr == f"qstat: {full} Job has finished, use -x or -H to obtain historical job information\n"
    unknown = site.run("qstat", "999999", check=False)
    assert (unknown.returncode, unknown.stderr) == (153, f"qstat: Unknown Job Id 999999.{site.server}\n")
    assert site.run("qdel", job, check=False).returncode == 35
    assert site.run("qdel", "999999", check=False).returncode == 153
    assert site.run("qstat", "abc", check=False).returncode == 170
    assert site.run("qdel", "abc", check=False).stderr == "qdel: illegally formed job identifier: abc\n"
    assert site.run("squeue", "-h", "-j", job).stdout == ""
    none = site.run("squeue", "-j", "999999", check=False)
    assert (none.returncode, none.stderr) == (1, "slurm_load_jobs error: Invalid job id specified\n")
    assert site.run("scontrol", "show", "job", "999999", check=False).returncode == 1
    assert site.run("scancel", "999999").stderr == ""


def test_qdel_of_a_running_job(site: Site) -> None:
    script = "trap 'echo caught; exit 9' TERM\necho begun\nwhile :; do sleep 0.1; done\n"
    job = site.qsub("-N", "long", "-j", "oe", stdin=script)
    site.wait_state(job, "R")
    wait_for("the script", lambda: "begun" in site.written(site.running_output(job)))
    assert not (site.work / f"long.o{job}").exists(), "clients take it for the end"
    assert site.run("qdel", job).stdout == ""
    record = site.wait_end(job)
    assert record["substate"] == 91
    assert "caught" in site.read(f"long.o{job}")
    assert record["Exit_status"] == 9
    assert site.run("squeue", "-h", "-t", "all", "-j", job, "-o", "%t").stdout == "CA\n"


def test_qdel_of_a_waiting_job_leaves_no_exit_status(site: Site) -> None:
    job = site.qsub("-h", "-N", "never", stdin="echo never\n")
    site.run("qdel", job)
    record = site.wait_end(job)
    assert "Exit_status" not in record
    assert record["substate"] == 91
    assert not (site.work / f"never.o{job}").exists()


def test_hold_and_release(site: Site) -> None:
    pbs_job = site.qsub("-h", "-N", "held", "-j", "oe", stdin="true\n")
    slurm_job = site.sbatch("--hold", "-o", "/dev/null", "--wrap", "true")
    assert site.state(pbs_job) == "H"
    assert site.attributes(pbs_job)["Hold_Types"] == "u"
    assert site.run("squeue", "-h", "-j", slurm_job, "-o", "%t %r").stdout == "PD JobHeldUser\n"
    site.run("qrls", pbs_job)
    site.run("scontrol", "release", slurm_job)
    assert site.wait_end(pbs_job)["Exit_status"] == 0
    assert site.wait_end(slurm_job)["Exit_status"] == 0


@pytest.mark.alone
def test_a_waiting_job_can_be_held(site: Site) -> None:
    blocker = site.sbatch("-N", "3", "--ntasks-per-node=2", "-o", "/dev/null", "--wrap", "sleep 600")
    site.wait_state(blocker, "R")
    job = site.qsub("-l", "select=1:ncpus=2", "-N", "later", "-j", "oe", stdin="true\n")
    site.wait_state(job, "Q")
    site.run("qhold", job)
    site.wait_state(job, "H")
    site.run("scancel", blocker)
    site.wait_end(blocker)
    assert site.state(job) == "H"
    site.run("qrls", job)
    assert site.wait_end(job)["Exit_status"] == 0


def test_walltime(site: Site) -> None:
    pbs_job = site.qsub("-l", "walltime=1", "-N", "slow", stdin="sleep 600\n")
    record = site.wait_end(pbs_job)
    assert record["Exit_status"] == -29
    assert "exceeded resource walltime" in record["comment"]
    assert re.search(r"=>> PBS: job killed: walltime \d+ exceeded limit 1\n", site.read(f"slow.e{pbs_job}"))


def test_begin_time(site: Site) -> None:
    job = site.sbatch("--begin=now+1hour", "-o", "/dev/null", "--wrap", "true")
    assert site.state(job) == "W"
    assert site.run("squeue", "-h", "-j", job, "-o", "%t %r").stdout == "PD BeginTime\n"
    site.run("scancel", job)
    site.wait_end(job)


def test_output_cannot_be_written(site: Site) -> None:
    slurm_job = site.sbatch("-o", "/nosuchdir/x.out", "--wrap", "echo hi")
    site.wait_end(slurm_job)
    shown = site.run("scontrol", "show", "job", slurm_job).stdout
    assert "JobState=FAILED" in shown
    assert "ExitCode=0:53" in shown
    pbs_job = site.qsub("-o", "/nosuchdir/x.out", stdin="echo hi\n")
    assert "nosuchdir" in json.dumps(site.wait_end(pbs_job)["comment"])


def test_twenty_at_once_get_twenty_numbers(site: Site) -> None:
    with ThreadPoolExecutor(10) as pool:
        jobs = list(pool.map(lambda n: site.qsub("-N", f"n{n}", "-j", "oe", stdin=f"echo {n}\n"), range(20)))
    assert len(set(jobs)) == 20
    for n, job in enumerate(jobs):
        assert site.wait_end(job)["Exit_status"] == 0
        assert site.read(f"n{n}.o{job}") == f"{n}\n"


def test_only_the_record_is_left_of_an_ended_job(site: Site) -> None:
    job = site.qsub("-l", "select=3:ncpus=1", "-N", "clean", "-j", "oe", stdin="true\n")
    site.wait_end(job)

    def left() -> str:
        kinds = "pods,services,networkpolicies,jobs.batch.volcano.sh,podgroups"
        names = site.kubectl("get", kinds, "-o", "name").stdout.split()
        names += site.kubectl("get", "secrets,configmaps", "-o", "name").stdout.split()
        return "\n".join(name for name in names if f"job-{job}" in name or "submission" in name)

    wait_for("the job's objects to go", lambda: not left())
    records = site.kubectl("get", "batchjobs", "--field-selector", f"status.jobId={job}", "-o", "name").stdout
    assert len(records.split()) == 1


@pytest.mark.alone
def test_a_job_that_runs_again_waits_as_if_it_had_not_run(site: Site) -> None:
    job = site.qsub("-r", "y", "-l", "select=1:ncpus=2", "-N", "again", "-j", "oe", stdin="sleep 600\n")
    site.wait_state(job, "R")
    blocker = site.qsub("-p", "900", "-l", "select=3:ncpus=2", "-N", "first", stdin="sleep 600\n")
    site.kubectl("delete", "pod", f"job-{job}-mpimaster-0", "--wait=false")
    site.wait_state(blocker, "R")
    site.wait_state(job, "Q")
    wait_for("the reason", lambda: "Not Running: " in site.run("qstat", "-s", job).stdout)
    assert " Q   -- " in site.run("qstat", "-a", job).stdout
    assert "stime" not in site.attributes(job)
    site.run("scancel", blocker)
    site.wait_state(job, "R")
    assert site.attributes(job)["run_count"] == 2
    site.run("qdel", job)
    site.wait_end(job)
