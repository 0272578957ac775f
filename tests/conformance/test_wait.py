"""`qsub -W block=true` and `sbatch --wait`: the job's end, and its exit code as their own."""

from __future__ import annotations

import os
import re
import subprocess
import threading
from collections.abc import Callable

import pytest

from tests.conformance.site import Site
from tests.waiting import wait_for

ENDS = [
    ("true\n", [], 0),
    ("exit 3\n", [], 3),
    ("kill -9 $$\n", [], 9),  # 256 + 9, of which a process keeps 8 bits
    ("sleep 600\n", ["-l", "walltime=1"], 227),  # -29
]


@pytest.mark.parametrize(("script", "options", "code"), ENDS, ids=["ok", "code", "signal", "walltime"])
def test_qsub_exits_as_the_job_did(site: Site, script: str, options: list[str], code: int) -> None:
    done = site.run("qsub", "-W", "block=true", "-j", "oe", *options, stdin=script, check=False)
    assert re.fullmatch(r"\d+\.[\w.-]+\n", done.stdout)
    assert (done.returncode, done.stderr) == (code, "")
    assert site.state(done.stdout.split(".")[0]) == "F"


SLURM_ENDS = [
    ("true", [], 0),
    ("exit 3", [], 3),
    ("kill -9 $$", [], 1),
    ("true", ["-o", "/nosuchdir/x"], 1),
    ("exit $SLURM_ARRAY_TASK_ID", ["--array=2,0,4,1"], 4),
]


@pytest.mark.parametrize(("script", "options", "code"), SLURM_ENDS, ids=["ok", "code", "signal", "output", "array"])
def test_sbatch_exits_as_the_job_did(site: Site, script: str, options: list[str], code: int) -> None:
    options = options if "-o" in options else [*options, "-o", "/dev/null"]
    done = site.run("sbatch", "--wait", *options, "--parsable", "--wrap", script, check=False)
    assert re.fullmatch(r"\d+\n", done.stdout)
    assert (done.returncode, done.stderr) == (code, "")


def test_qsub_of_an_array_exits_with_0_or_1(site: Site) -> None:
    good = site.run("qsub", "-W", "block=true", "-J", "1-2", "-o", "/dev/null", "-j", "oe", stdin="true\n", check=False)
    assert (good.returncode, good.stderr) == (0, "")
    script = "[ $PBS_ARRAY_INDEX = 1 ] || exit 5\n"
    bad = site.run("qsub", "-W", "block=true", "-J", "1-2", "-o", "/dev/null", "-j", "oe", stdin=script, check=False)
    assert (bad.returncode, bad.stderr) == (1, "")


def waiting(site: Site, *argv: str, stdin: str = "") -> tuple[Callable[[], subprocess.CompletedProcess[str]], str]:
    """Start a command that submits and waits; returns what ends with it, and the number of its job."""
    results: list[subprocess.CompletedProcess[str]] = []
    before = set(site.run("squeue", "-h", "--me", "-o", "%i").stdout.split())
    thread = threading.Thread(target=lambda: results.append(site.run(*argv, stdin=stdin, check=False)))
    thread.start()

    def submitted() -> str:
        return next(iter(set(site.run("squeue", "-h", "--me", "-o", "%i").stdout.split()) - before), "")

    job = wait_for("the job", submitted)

    def end() -> subprocess.CompletedProcess[str]:
        thread.join(60)
        return results[0]

    return end, job


def test_qsub_of_a_job_that_is_deleted(site: Site) -> None:
    for options, state in ((["-h"], "H"), ([], "R")):
        end, job = waiting(site, "qsub", "-W", "block=true", "-j", "oe", *options, stdin="sleep 600\n")
        site.wait_state(job, state)
        site.run("qdel", job)
        done = end()
        assert done.returncode == 3
        assert re.fullmatch(
            rf"qsub: {job}\.[\w.-]+ Job to be deleted at request of {site.env['USER']}@\S+\n", done.stderr
        )
        site.wait_end(job)


def test_sbatch_of_a_job_that_is_cancelled(site: Site) -> None:
    end, job = waiting(site, "sbatch", "--wait", "-o", "/dev/null", "--wrap", "sleep 600")
    site.wait_state(job, "R")
    site.run("scancel", job)
    assert (end().returncode, end().stderr) == (1, "")
    end, job = waiting(site, "sbatch", "--wait", "-H", "-o", "/dev/null", "--wrap", "true")
    site.run("scancel", job)
    assert (end().returncode, end().stderr) == (0, "")


def when_submitted(site: Site, then: str, *argv: str) -> subprocess.CompletedProcess[str]:
    """Start a command that submits and waits, do `then` when it has printed the id; returns what it answered."""
    script = (
        'then=$1; shift; "$@" >out & until [ -s out ]; do sleep 0.1; done; eval "$then"; wait $!; code=$?; cat out; '
        "exit $code"
    )
    return site.run("sh", "-c", script, "sh", then, *argv, check=False)


def test_an_interrupted_qsub_deletes_its_job(site: Site) -> None:
    done = when_submitted(site, "kill -TERM $!", "qsub", "-W", "block=true", site.script("long.sh", "sleep 600\n"))
    assert done.returncode == 2
    number = done.stdout.split(".")[0]
    shown = done.stdout.splitlines()[0]
    assert done.stdout == f"{shown}\nJob {shown} is being deleted\n"
    assert done.stderr == f"qsub: wait for job {shown} interrupted by signal 15\n"
    assert site.wait_end(number)["substate"] == 91


def test_nohup_qsub_waits_on_when_the_terminal_goes_away(site: Site) -> None:
    script = site.script("short.sh", "sleep 3; exit 7\n")
    done = when_submitted(site, "kill -HUP $!", "nohup", "qsub", "-W", "block=true", "-j", "oe", script)
    assert done.returncode == 7
    assert site.state(done.stdout.split(".")[0]) == "F"


def test_an_interrupted_sbatch_leaves_its_job_alone(site: Site) -> None:
    command = ("sbatch", "--wait", "--parsable", "-o", "/dev/null", "--wrap", "sleep 600")
    job = when_submitted(site, "kill -TERM $!", *command).stdout.strip()
    site.wait_state(job, "R")
    site.run("scancel", job)


def test_the_record_goes_away_meanwhile(site: Site) -> None:
    end, job = waiting(site, "qsub", "-W", "block=true", "-h", "-j", "oe", stdin="true\n")
    site.kubectl("delete", "batchjobs", "--field-selector", f"status.jobId={job}")
    assert end().returncode == 3


def test_the_environment_asks_to_wait(site: Site) -> None:
    done = site.run("sbatch", "-o", "/dev/null", "--wrap", "exit 6", env={"SBATCH_WAIT": "1"}, check=False)
    assert done.returncode == 6


def test_no_wait_without_a_cluster(site: Site) -> None:
    dead = {"KUBECONFIG": "", "HOME": str(site.work), "HPCBATCH_STATE_DIR": os.fspath(site.work / "none")}
    done = site.run("sbatch", "--wait", "--wrap", "true", check=False, env=dead)
    assert done.returncode == 1
    assert "Unable to contact slurm controller" in done.stderr
