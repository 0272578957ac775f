"""Jobs that are queued again after their end: `scontrol requeue`, `requeuehold`, State=SpecialExit, of arrays too."""

from __future__ import annotations

import pytest

from tests.conformance.site import Site
from tests.waiting import wait_for

RUN = 'echo ${SLURM_RESTART_COUNT:-0} >>runs; [ -n "$SLURM_RESTART_COUNT" ]'
"""Fails in its first run."""


def says(site: Site, *argv: str) -> tuple[int, str]:
    done = site.run(*argv, check=False)
    return done.returncode, done.stdout + done.stderr


def squeue(site: Site, job: str, form: str = "%t %r") -> str:
    return site.run("squeue", "-h", "-r", "-t", "all", "-j", job, "-o", form).stdout.rstrip("\n")


def test_a_job_that_has_ended(site: Site) -> None:
    """It waits for two minutes, as in Slurm, unless told to start, with its script and environment."""
    job = site.sbatch("-o", "/dev/null", "--wrap", RUN)
    site.wait_end(job)
    assert squeue(site, job, "%t") == "F"
    assert says(site, "scontrol", "requeue", job) == (0, "")
    assert squeue(site, job) == "PD BeginTime"
    shown = site.run("scontrol", "show", "job", job).stdout
    assert "JobState=PENDING Reason=BeginTime" in shown
    assert "Restarts=1 " in shown
    assert "ExitCode=0:0" in shown
    assert site.run("sacct", "-X", "-n", "-P", "-j", job, "-o", "State").stdout == "PENDING\n"
    pending = (1, f"Job is pending execution for job {job}\n")
    assert says(site, "scontrol", "requeue", job) == pending
    site.start_again_now(job)
    site.wait_end(job)
    wait_for("its second end", lambda: squeue(site, job, "%t") == "CD")
    assert site.read("runs").split() == ["0", "1"]


def test_a_job_that_was_cancelled(site: Site) -> None:
    job = site.sbatch("-o", "/dev/null", "--wrap", f"{RUN} || sleep 600")
    site.wait_state(job, "R")
    wait_for("its first run", (site.work / "runs").exists)
    site.run("scancel", job)
    site.wait_end(job)
    assert says(site, "scontrol", "requeue", job) == (0, "")
    site.start_again_now(job)
    wait_for("its second end", lambda: squeue(site, job, "%t") == "CD")
    assert site.read("runs").split() == ["0", "1"]


def test_held_and_marked(site: Site) -> None:
    job = site.sbatch("-o", "/dev/null", "--wrap", RUN)
    site.wait_end(job)
    assert says(site, "scontrol", "requeuehold", job) == (0, "")
    assert squeue(site, job) == "PD JobHeldUser"
    assert "Priority=0 " in site.run("scontrol", "show", "job", job).stdout
    site.run("scancel", job)
    site.wait_end(job)
    assert says(site, "scontrol", "requeuehold", "State=SpecialExit", job) == (0, "")
    assert squeue(site, job) == "SE JobHeldUser"
    shown = site.run("scontrol", "show", "job", job).stdout
    assert "JobState=SPECIAL_EXIT Reason=JobHeldUser" in shown
    assert says(site, "scontrol", "release", job) == (0, "")
    site.start_again_now(job)
    site.wait_end(job)
    assert squeue(site, job, "%t") == "CD"


def test_a_running_job_is_marked(site: Site) -> None:
    job = site.sbatch("-o", "/dev/null", "--wrap", "sleep 600")
    site.wait_state(job, "R")
    assert says(site, "scontrol", "requeue", "State=SE", job) == (0, "")
    wait_for("the mark", lambda: squeue(site, job) == "SE JobHeldUser")
    site.run("scancel", job)
    site.wait_end(job)


def test_what_may_not_run_again(site: Site) -> None:
    once = site.sbatch("--no-requeue", "-o", "/dev/null", "--wrap", "true")
    pbs = site.qsub("-j", "oe", "-o", "out", stdin="true\n")
    site.wait_end(once)
    site.wait_end(pbs)
    disabled = (1, f"Requested operation is presently disabled for job {once}\n")
    assert says(site, "scontrol", "requeue", once) == disabled
    code, text = says(site, "scontrol", "requeue", pbs)
    assert code == 1
    assert text.endswith(f" for job {pbs}\n")
    assert squeue(site, once, "%t") == squeue(site, pbs, "%t") == "CD"
    assert says(site, "scontrol", "requeue", "incomplete") == (1, "no job id given for keyword:requeue\n")


def wait_states(site: Site, job: str, states: str) -> None:
    form = ("squeue", "-h", "-r", "-t", "all", "-S", "i", "-j", job, "-o", "%t")
    wait_for(f"its members: {states}", lambda: site.run(*form).stdout.split() == states.split())


@pytest.mark.slow
def test_members_of_an_array(site: Site) -> None:
    """One of an array that goes on, and one of an array that was over: it goes on again."""
    text = '#!/bin/sh\n[ $SLURM_ARRAY_TASK_ID = 2 ] || [ -n "$SLURM_RESTART_COUNT" ] || [ ! -e wait ] || sleep 600\n'
    (site.work / "wait").touch()
    job = site.sbatch("--array=1-3", "-o", "/dev/null", stdin=text)
    wait_for("the second member", lambda: squeue(site, f"{job}_2", "%t") == "CD")
    wait_for("the others", lambda: squeue(site, job, "%t").split().count("R") == 2)
    assert says(site, "scontrol", "requeue", f"{job}_2") == (0, "")
    assert squeue(site, f"{job}_2") == "PD BeginTime"
    assert says(site, "scontrol", "requeue", "incomplete", job) == (0, "")
    for index in (1, 2, 3):
        site.start_again_now(f"{job}_{index}")
    wait_states(site, job, "CD CD CD")
    assert says(site, "scontrol", "requeuehold", f"{job}_3") == (0, "")
    assert squeue(site, f"{job}_3") == "PD JobHeldUser"
    assert job in site.run("squeue", "-h", "-o", "%F").stdout.split()
    assert says(site, "scontrol", "release", f"{job}_3") == (0, "")
    site.start_again_now(f"{job}_3")
    wait_states(site, job, "CD CD CD")


def test_members_that_were_cancelled(site: Site) -> None:
    text = '#!/bin/sh\n[ -n "$SLURM_RESTART_COUNT" ] || sleep 600\n'
    job = site.sbatch("--array=1-2", "-o", "/dev/null", stdin=text)
    wait_for("its members", lambda: squeue(site, job, "%t").split() == ["R", "R"])
    site.run("scancel", f"{job}_1")
    wait_for("its end", lambda: squeue(site, f"{job}_1", "%t") == "CA")
    assert says(site, "scontrol", "requeue", f"{job}_1") == (0, "")
    site.start_again_now(f"{job}_1")
    wait_for("its second end", lambda: squeue(site, f"{job}_1", "%t") == "CD")
    site.run("scancel", job)
    wait_states(site, job, "CD CA")
    assert says(site, "scontrol", "requeue", f"{job}_2") == (0, "")
    site.start_again_now(f"{job}_2")
    wait_states(site, job, "CD CD")
