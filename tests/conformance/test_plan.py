"""Who runs next: a wide job is not overtaken for ever, and what fits before its planned start runs meanwhile."""

from __future__ import annotations

import re
import time

import pytest

from tests.conformance.site import Site
from tests.waiting import wait_for

pytestmark = pytest.mark.alone

QUIET = ("-o", "/dev/null", "-j", "oe")
WIDE = ("-l", "select=3:ncpus=2", "-l", "place=scatter")


def one_cpu(site: Site, walltime: str, script: str, *options: str) -> str:
    return site.qsub("-l", f"select=1:ncpus=1,walltime={walltime}", *QUIET, *options, stdin=script)


def reason(site: Site, job: str) -> str:
    return site.run("squeue", "-h", "-j", job, "-o", "%t %r").stdout.strip()


def volcano_job(site: Site, job: str) -> str:
    found = site.kubectl("get", "jobs.batch.volcano.sh", "-l", f"hpcbatch.io/job-id={job}", "-o", "name")
    return found.stdout.strip()


@pytest.mark.slow
def test_a_wide_job_starts_before_narrow_ones_that_come_later(site: Site) -> None:
    first = [one_cpu(site, "20:00", "sleep 600\n") for _ in range(6)]
    for job in first:
        site.wait_state(job, "R")
    note = f"echo NAME $(date +%s) >>{site.work}/order\n"
    wide = site.qsub(*WIDE, "-l", "walltime=2:00", *QUIET, stdin=note.replace("NAME", "wide"))
    later = [one_cpu(site, "30:00", note.replace("NAME", "later")) for _ in range(24)]
    wait_for("the wide job's reason", lambda: reason(site, wide) == "PD Resources")
    for job in (later[0], later[-1]):
        wait_for("a later job's reason", lambda job=job: reason(site, job) == "PD Priority")  # type: ignore[misc]
    site.run("qdel", *first[:3])
    for job in first[:3]:
        site.wait_end(job)
    assert {reason(site, job) for job in later} == {"PD Priority"}, "there is room for them, but not for so long"
    assert volcano_job(site, later[0]) == ""
    site.run("qdel", *first[3:])
    for job in first[3:]:
        site.wait_end(job)
    freed = time.time()
    for job in (wide, *later):
        assert site.wait_end(job, limit_s=180)["Exit_status"] == 0
    order = [line.split() for line in site.read("order").splitlines()]
    assert [name for name, _ in order] == ["wide"] + ["later"] * 24
    assert int(order[0][1]) - freed < 60


@pytest.mark.slow
def test_what_fits_before_a_planned_start_runs(site: Site) -> None:
    first = [one_cpu(site, "20:00", "sleep 600\n") for _ in range(4)]
    for job in first:
        site.wait_state(job, "R")
    began = time.time()
    wide = site.qsub(*WIDE, "-l", "walltime=2:00", *QUIET, stdin="true\n")
    wait_for("the wide job's reason", lambda: reason(site, wide) == "PD Resources")
    long = one_cpu(site, "1:00:00", "true\n")
    short = one_cpu(site, "1:00", "true\n")
    assert site.wait_end(short)["Exit_status"] == 0
    wait_for("the long job's reason", lambda: reason(site, long) == "PD Priority")
    assert site.attributes(long)["comment"] == "Not Running: Job would conflict with reservation or top job"
    assert volcano_job(site, long) == ""

    shown = wait_for("the planned start", lambda: "N/A" not in (text := starts(site, wide)) and text)
    start, nodes = shown.split()
    assert began + 1000 < time.mktime(time.strptime(start, "%Y-%m-%dT%H:%M:%S")) < began + 1500
    found = site.run("scontrol", "show", "job", wide).stdout
    assert f"StartTime={start} " in found
    assert f"SchedNodeList={nodes}\n" in found
    behind = wait_for("when the long one may start", lambda: "N/A" not in (text := starts(site, long)) and text)
    assert behind.split()[0] > start
    told = site.run("hpcbatch", "why", long).stdout
    assert re.search(
        rf"behind {wide} of \S+ \(6 CPUs\)\. There is room for it now, but .* it could start at once\.", told
    ), told
    estimated = site.attributes(wide)["estimated"]
    assert len(estimated["exec_vnode"].split("+")) == 3
    assert time.mktime(time.strptime(estimated["start_time"])) == time.mktime(time.strptime(start, "%Y-%m-%dT%H:%M:%S"))
    line = next(line for line in site.run("qstat", "-T").stdout.splitlines() if line.startswith(f"{wide}."))
    assert re.search(r" Q (\d\d:\d\d|[A-Z][a-z] \d\d)$", line), line
    soon = time.strftime("%Y%m%d%H%M", time.localtime(began + 60))
    assert f"{wide}.{site.server}" in site.run("qselect", f"-tt.gt.{soon}").stdout.split()

    assert foreseen(site, "-n", "1", "-t", "60") > start
    assert foreseen(site, "-n", "1", "-t", "1") < start
    refused = site.run("sbatch", "--test-only", "-N", "99", "--wrap", "true", check=False)
    assert refused.returncode == 1
    assert refused.stderr == "allocation failure: Requested node configuration is not available\n"

    site.run("qdel", *first)
    assert site.wait_end(wide)["Exit_status"] == 0
    assert site.wait_end(long)["Exit_status"] == 0


def foreseen(site: Site, *options: str) -> str:
    """When sbatch --test-only says that the job would start."""
    told = site.run("sbatch", "--test-only", *options, "--wrap", "true").stderr
    words = r"sbatch: Job \d+ to start at (\S+) using 1 processors on nodes \S+ in partition \S+\n"
    found = re.fullmatch(words, told)
    assert found is not None, told
    return found[1]


def starts(site: Site, job: str) -> str:
    return site.run("squeue", "--start", "-h", "-j", job, "-o", "%S %Y").stdout.strip()


@pytest.mark.slow
def test_a_job_with_a_range_starts_with_less(site: Site) -> None:
    """Both dialects: between its walltimes the job gets what is left until the planned start, and no more."""
    first = [one_cpu(site, "2:00", "sleep 600\n") for _ in range(4)]
    for job in first:
        site.wait_state(job, "R")
    wide = site.qsub(*WIDE, "-l", "walltime=2:00", *QUIET, stdin="true\n")
    wait_for("the wide job's reason", lambda: reason(site, wide) == "PD Resources")
    slurm = site.sbatch("-n", "1", "-t", "60", "--time-min=0:15", "-o", "/dev/null", "--wrap", "sleep 600")
    pbs = site.qsub("-l", "min_walltime=15,max_walltime=1:00:00", *QUIET, stdin="sleep 600\n")
    stays = site.sbatch("-n", "1", "-t", "60", "--time-min=30", "-o", "/dev/null", "--wrap", "true")
    for job in (slurm, pbs):
        site.wait_state(job, "R")
    given = site.run("squeue", "-h", "-j", slurm, "-o", "%l").stdout.strip()
    assert re.fullmatch(r"[012]:\d\d", given), given
    assert re.fullmatch(r"00:0[012]:\d\d", site.attributes(pbs)["Resource_List"]["walltime"])
    assert reason(site, stays) == "PD Priority"
    assert site.run("squeue", "-h", "-j", stays, "-o", "%l").stdout == "1:00:00\n"
    site.wait_end(slurm, limit_s=240)
    shown = site.run("sacct", "-n", "-P", "-X", "-j", slurm, "-o", "State,Timelimit").stdout
    assert shown == f"TIMEOUT|00:0{given}\n"
    assert site.wait_end(pbs, limit_s=240)["Exit_status"] == -29
    assert site.wait_end(wide, limit_s=180)["Exit_status"] == 0
    site.wait_end(stays, limit_s=180)


def test_what_runs_meanwhile_keeps_off_the_planned_nodes(site: Site) -> None:
    """One node is full for 20 minutes, one half full for 40, one free. Two whole nodes are planned for the end of the
    20 minutes: so the free one is kept, and what runs longer goes beside the job on the second.
    """
    full = site.qsub("-l", "select=1:ncpus=2,walltime=20:00", *QUIET, stdin="sleep 600\n")
    half = one_cpu(site, "40:00", "sleep 600\n")
    for job in (full, half):
        site.wait_state(job, "R")
    top = site.qsub("-l", "select=2:ncpus=2,walltime=2:00", "-l", "place=scatter", *QUIET, stdin="true\n")
    wait_for("the planned start", lambda: "N/A" not in starts(site, top))
    beside = one_cpu(site, "1:00:00", "sleep 600\n")
    too_long = one_cpu(site, "1:00:00", "true\n")
    site.wait_state(beside, "R")
    where = {job: site.attributes(job)["exec_host"].split("/")[0] for job in (full, half, beside)}
    assert where[beside] == where[half] != where[full]
    wait_for("the reason", lambda: reason(site, too_long) == "PD Priority")
    assert volcano_job(site, too_long) == ""
    site.run("qdel", full)
    assert site.wait_end(top)["Exit_status"] == 0
    assert site.wait_end(too_long)["Exit_status"] == 0
    site.run("qdel", half, beside)
