"""Signals to running jobs, suspension, and time limits: what reaches which processes, in all pods."""

from __future__ import annotations

import json
import re
import subprocess
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest

from tests.conformance.site import BIN, Site
from tests.waiting import wait_for

# Two pods; in each a process that has left the script's session and group, and writes what it gets to its own file.
DAEMON = """
for word in USR1 USR2; do trap "echo $word >>$1.got" $word; done
trap "echo TERM >>$1.got; END" TERM
echo on >>$1.got
while :; do echo >>$1.beats; sleep 0.2; done
"""
TWO_PODS = """#!/bin/sh
trap 'echo script USR1' USR1
trap 'echo script USR2' USR2
(setsid sh daemon.sh master </dev/null >/dev/null 2>&1 &)
for host in $(scontrol show hostnames 2>/dev/null || echo $SLURM_JOB_NODELIST | tr , ' '); do
  [ $host = $(hostname) ] || ssh $host "cd $PWD && (setsid sh daemon.sh worker </dev/null >/dev/null 2>&1 &)"
done
echo ready
while :; do sleep 0.1; done
"""
# The same two as what tasks of a step leave behind, and a process that the script has started by itself.
TWO_TASKS = """#!/bin/sh
trap 'echo script USR1' USR1
trap 'echo script USR2' USR2
sh daemon.sh own &
srun --mpi=none sh -c 'd=master; [ $SLURM_PROCID = 0 ] || d=worker
setsid sh daemon.sh $d </dev/null >/dev/null 2>&1 & sleep 1000' &
until [ -s own.got ]; do sleep 0.1; done
echo ready
while :; do sleep 0.1; done
"""


def record(site: Site, job: str) -> dict[str, Any]:
    """The job's BatchJob."""
    items = json.loads(site.kubectl("get", "batchjobs", "-o", "json").stdout)["items"]
    return next(item for item in items if item.get("status", {}).get("jobId") == job)


def start(site: Site, *options: str, ignores_term: bool = False, script: str = TWO_PODS) -> str:
    """Start the job of two pods; returns its number when all of it runs."""
    site.script("daemon.sh", DAEMON.replace("END", ":" if ignores_term else "exit"))
    site.script("job.sh", script)
    job = site.sbatch("-N", "2", "-o", "out", *options, "job.sh")
    wait_for("the job in both pods", lambda: all("on" in site.written(f"{part}.got") for part in ("master", "worker")))
    wait_for("the script", lambda: "ready" in site.written("out"))
    site.wait_state(job, "R")  # known a moment later
    return job


def has_begun(site: Site, output: str) -> bool:
    return "ready" in site.written(output)


def has_run(site: Site, times: int) -> bool:
    return len(site.written("runs")) == times


def beats(site: Site) -> list[int]:
    return [len(site.written(f"{part}.beats")) for part in ("master", "worker")]


def is_still(site: Site) -> bool:
    before = beats(site)
    try:
        wait_for("a beat", lambda: beats(site) != before, 2)
    except AssertionError:
        return True
    return False


def as_admin(site: Site, *argv: str) -> subprocess.CompletedProcess[str]:
    """A command of one who may change everybody's jobs."""
    return subprocess.run(
        [str(BIN / argv[0]), *argv[1:]],
        cwd=site.work,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**(site.admin_env or site.env)},
    )


def test_qsig_reaches_the_script_and_what_it_started(site: Site) -> None:
    script = (
        "sh -c 'trap \"echo child\" USR1; echo ready; while :; do sleep 0.1; done' &\n"
        "trap 'echo script' USR1\nwhile :; do wait; done\n"
    )
    job = site.qsub("-N", "two", "-j", "oe", stdin=script)
    wait_for("the job", lambda: "ready" in site.written(site.running_output(job)))
    site.wait_state(job, "R")  # known a moment later
    answer = site.run("qsig", "-s", "USR1", job)
    assert (answer.stdout, answer.stderr) == ("", "")
    wait_for("both", lambda: {"child", "script"} <= set(site.written(site.running_output(job)).split()))
    site.run("qsig", job)
    ended = site.wait_end(job)
    assert ended["Exit_status"] == 271


def test_signals_of_scancel(site: Site) -> None:
    """To the tasks of steps, to the script's shell, to all; in every pod."""
    job = start(site, script=TWO_TASKS)
    assert site.run("scancel", "-s", "USR1", job).stderr == ""
    wait_for("the signal", lambda: all("USR1" in site.written(f"{part}.got") for part in ("master", "worker")))
    assert "script" not in site.written("out") and "USR1" not in site.written("own.got")
    site.run("scancel", "-b", "-s", "USR2", job)
    wait_for("the signal", lambda: "script USR2" in site.written("out"))
    assert "USR2" not in site.written("master.got") + site.written("worker.got") + site.written("own.got")
    site.run("scancel", "--full", "--signal=12", job)
    wait_for("the signal", lambda: all("USR2" in site.written(f"{part}.got") for part in ("master", "worker", "own")))
    wait_for("the signal", lambda: site.written("out").count("script USR2") == 2)
    site.run("scancel", job)
    site.wait_end(job)
    assert site.written("worker.got").count("USR1") == 1, "a signal is sent once"
    assert is_still(site)


@pytest.mark.parametrize("how", ["scancel", pytest.param("--signal", marks=pytest.mark.slow)])
def test_a_step_whose_tasks_handle_a_signal_ends_well(site: Site, how: str) -> None:
    """Of both ways in which srun starts tasks, once each, in both pods; no part of srun takes it for an order."""
    task = 'trap "echo got $SLURM_PROCID; exit 0" USR1; echo on >>on.$0.$SLURM_PROCID; while :; do sleep 0.1; done'
    script = f"#!/bin/sh\nsrun -n2 sh -c '{task}' mpi & one=$!\nsrun -n2 --mpi=none sh -c '{task}' none & two=$!\n"
    script += "wait $one; echo code $?\nwait $two; echo code $?\n"
    options = ["--time=00:01:00", "--signal=USR1@40"] if how == "--signal" else []
    job = site.sbatch("-N", "2", "--ntasks-per-node=2", "-o", "out", "-e", "err", *options, stdin=script)
    if how == "scancel":
        wait_for("the tasks", lambda: len(list(site.work.glob("on.*"))) == 4, 60)
        site.wait_state(job, "R")
        site.run("scancel", "-s", "USR1", job)
    assert site.wait_end(job, limit_s=120)["Exit_status"] == 0
    assert sorted(site.written("out").splitlines()) == ["code 0"] * 2 + ["got 0"] * 2 + ["got 1"] * 2
    assert "Terminat" not in site.written("err")


def test_a_job_in_srun_is_cancelled_at_once(site: Site) -> None:
    """Not after the kill delay, ten seconds here. Commands may take long on a busy machine."""
    job = site.sbatch("-N", "2", "-o", "out", stdin="#!/bin/sh\nsrun --mpi=none sh -c 'echo ready; exec sleep 300'\n")
    wait_for("the tasks", lambda: site.written("out").count("ready") == 2)
    site.wait_state(job, "R")
    site.run("scancel", job)
    site.wait_end(job)
    told = re.search(r" CANCELLED AT (\S+)", site.written("out"))
    assert told, site.written("out")
    ended = site.run("sacct", "-X", "-n", "-P", "-j", job, "-o", "end").stdout.strip()
    assert datetime.fromisoformat(ended) - datetime.fromisoformat(told[1]) < timedelta(seconds=8)


def test_jobs_that_do_not_run_get_no_signals(site: Site) -> None:
    held = site.qsub("-h", stdin="true\n")
    full = f"{held}.{site.server}"
    refused = site.run("qsig", "-s", "USR1", held, check=False)
    assert (refused.returncode, refused.stderr) == (168, f"qsig: Request invalid for state of job {full}\n")
    unknown = site.run("qsig", "-s", "FOO", held, check=False)
    assert (unknown.returncode, unknown.stderr) == (165, f"qsig: Unknown/illegal signal name {full}\n")
    later = site.run("scancel", "-s", "USR1", held, check=False)
    text = f"scancel: error: Kill job error on job id {held}: Job can not be altered now, try again later\n"
    assert (later.returncode, later.stderr) == (1, text)
    site.run("qdel", held)
    site.wait_end(held)
    over = site.run("qsig", held, check=False)
    assert (over.returncode, over.stderr) == (35, f"qsig: Job has finished {full}\n")
    assert site.run("scancel", "-s", "USR1", held).stderr == ""
    gone = site.run("qsig", "999999", check=False)
    assert (gone.returncode, gone.stderr) == (153, f"qsig: Unknown Job Id 999999.{site.server}\n")


def test_suspended_and_resumed(site: Site) -> None:
    job = start(site, "--time=00:05:00")
    if site.enter:
        refused = site.run("qsig", "-s", "suspend", job, check=False)
        assert (refused.returncode, refused.stderr) == (159, f"qsig: Unauthorized Request  {job}.{site.server}\n")
    assert as_admin(site, "qsig", "-s", "suspend", job).stderr == ""
    assert site.state(job) == "S"
    assert site.run("squeue", "-h", "-j", job, "-o", "%t %T").stdout == "S SUSPENDED\n"
    wait_for("all pods to stop", lambda: is_still(site))
    assert as_admin(site, "qsig", "-s", "suspend", job).returncode == 168
    before = beats(site)
    assert as_admin(site, "qsig", "-s", "resume", job).stderr == ""
    wait_for("all pods to go on", lambda: all(now > then for now, then in zip(beats(site), before, strict=True)))
    assert site.state(job) == "R"
    site.run("scancel", job)
    site.wait_end(job)


@pytest.mark.slow
def test_a_suspended_job_that_is_requeued_runs(site: Site) -> None:
    """Also by its owner, who may not resume it; and it can be suspended again."""
    job = site.sbatch("-o", "/dev/null", "--wrap", "echo >>runs; sleep 300")

    def is_running(run: int) -> bool:
        return site.attributes(job).get("run_count") == run and site.state(job) == "R"

    for run in range(1, 3):
        wait_for("the run", partial(has_run, site, run))
        wait_for("its state", partial(is_running, run))
        assert as_admin(site, "scontrol", "suspend", job).stderr == ""
        assert site.state(job) == "S"
        if run == 1:
            site.run("scontrol", "requeue", job)
            site.start_again_now(job)
    assert as_admin(site, "scontrol", "resume", job).stderr == ""
    site.wait_state(job, "R")
    site.run("scancel", job)
    site.wait_end(job)


@pytest.mark.slow
def test_nothing_outlives_the_walltime(site: Site) -> None:
    """Neither in the first pod nor in others, although it has left the script's session and ignores TERM."""
    job = start(site, "--time=00:05:00", ignores_term=True)
    site.run("qalter", "-l", "walltime=00:00:06", job)
    ended = site.wait_end(job)
    assert ended["Exit_status"] == -29
    assert slurm_state(site, job) == "TIMEOUT"
    assert is_still(site)
    assert all("TERM" in site.written(f"{part}.got") for part in ("master", "worker"))
    when = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"
    line = rf"slurmstepd: error: \*\*\* JOB {job} ON \S+ CANCELLED AT {when} DUE TO TIME LIMIT \*\*\*"
    assert re.search(line, site.written("out"))


@pytest.mark.slow
def test_a_script_that_stops_what_keeps_its_time(site: Site) -> None:
    """All processes in the pod but its own, the runner's too: the controller ends the job a little later."""
    script = """#!/bin/sh
i=0
while [ $i -lt 1200 ]; do
  i=$((i + 1))
  for process in /proc/[0-9]*; do
    [ ${process#/proc/} = $$ ] || kill -STOP ${process#/proc/} 2>/dev/null
  done
  [ $i -gt 1 ] || echo ready
  sleep 0.5 & wait
done
"""
    job = site.qsub("-l", "walltime=5", stdin=script)  # Slurm's limits are whole minutes
    wait_for("the script", partial(has_begun, site, site.running_output(job)))
    ended = site.wait_end(job, 150)
    assert ended["Exit_status"] == -29
    assert slurm_state(site, job) == "TIMEOUT"


def slurm_state(site: Site, job: str) -> str:
    return site.run("squeue", "-h", "-t", "all", "-j", job, "-o", "%T").stdout.strip()


@pytest.mark.slow
def test_walltime_that_grows(site: Site) -> None:
    """To more than was left. The request has half a minute to come, on a busy machine too."""
    script = f"echo ready\nuntil [ -e {site.work}/go ]; do sleep 0.1; done\n"
    job = site.qsub("-N", "long", "-l", "walltime=00:00:30", stdin=script)
    wait_for("long", partial(has_begun, site, site.running_output(job)))
    site.wait_state(job, "R")
    as_admin(site, "qalter", "-l", "walltime=00:10:00", job)
    wait_for("the first limit to pass", lambda: site.attributes(job)["resources_used"]["walltime"] > "00:00:35")
    (site.work / "go").touch()
    assert site.wait_end(job)["Exit_status"] == 0


def test_walltime_that_shrinks(site: Site) -> None:
    """To less than has passed."""
    short = site.qsub("-N", "short", "-l", "walltime=01:00:00", stdin="echo ready\nsleep 300\n")
    wait_for("short", partial(has_begun, site, site.running_output(short)))
    site.run("qalter", "-l", "walltime=1", short)
    assert site.wait_end(short)["Exit_status"] == -29
    assert re.match(r"=>> PBS: job killed: walltime \d+ exceeded limit 1\n", site.written(f"short.e{short}"))


def test_warning_before_the_walltime(site: Site) -> None:
    script = "#!/bin/sh\ntrap 'echo warned; exit 4' USR1\necho ready\nwhile :; do sleep 0.1; done\n"
    job = site.sbatch("-o", "out", "--time=00:01:00", "--signal=B:USR1@55", stdin=script)
    ended = site.wait_end(job)
    assert site.written("out") == "ready\nwarned\n"
    assert ended["Exit_status"] == 4
    refused = site.run("sbatch", "--signal=FOO", "--wrap", "true", check=False)
    assert (refused.returncode, refused.stderr) == (255, "sbatch: error: Invalid --signal specification\n")
