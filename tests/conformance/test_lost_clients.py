"""Interactive jobs whose command is killed before it is connected with them: no node is held for nobody."""

from __future__ import annotations

import signal
from dataclasses import replace

import pytest

from tests.conformance.site import Site
from tests.conformance.terminals import terminal
from tests.waiting import wait_for

gives_up = pytest.mark.slow  # the pod does, after a minute

HELD = (
    ("qsub", "-I", "-h"),
    ("srun", "--hold", "--pty", "sh"),
    ("srun", "--hold", "touch", "ran"),
    ("bsub", "-Is", "-H", "sh"),
    ("bsub", "-I", "-H", "touch ran"),
)
SAYS = {
    "qsub": r"qsub: waiting for job (\d+)\.",
    "srun": r"srun: job (\d+) queued",
    "bsub": r"Job <(\d+)> is submitted",
}
LIMIT_S = 120


def killed(site: Site, *argv: str) -> str:
    """The job of a command that is killed as soon as it waits for it."""
    with terminal(site, *argv) as client:
        job = client.found(SAYS[argv[0]])
        client.kill(signal.SIGKILL)
        client.wait()
    return job


@gives_up
def test_killed_while_the_job_waits(site: Site) -> None:
    jobs = [killed(site, *argv) for argv in HELD]
    site.run("scontrol", "release", ",".join(jobs))
    for job in jobs:
        record = site.wait_end(job, LIMIT_S)
        assert (record["Exit_status"], record["resources_used"]["walltime"] > "00:00:50") == (-1, True), record
        assert "was not connected with it within 60 s" in site.run("hpcbatch", "why", job).stdout
    assert not (site.work / "ran").exists()


def test_its_walltime_counts_where_nobody_is(site: Site) -> None:
    job = killed(site, "qsub", "-I", "-h", "-l", "walltime=5")
    site.run("qrls", job)
    record = site.wait_end(job)
    assert (record["Exit_status"], record["resources_used"]["walltime"] < "00:00:30") == (-29, True), record


@gives_up
def test_a_session_ends_whose_end_nobody_would_tell(site: Site) -> None:
    """The command was killed between its two connections: played by another client, which has only one."""
    job = killed(site, "qsub", "-I", "-h")
    site.run("qrls", job)
    wait_for("the job", lambda: site.state(job) == "R")
    admin = replace(site, enter=(), env=site.admin_env or site.env)
    with terminal(admin, "kubectl", "-n", site.namespace, "attach", "-it", f"job-{job}-mpimaster-0") as shell:
        shell.expect_exact("If you don't see a command prompt, try pressing enter.")
        shell.sendline("")
        assert shell.answer("echo $PBS_ENVIRONMENT") == "PBS_INTERACTIVE\n"
        record = site.wait_end(job, LIMIT_S)
    assert "00:00:50" < record["resources_used"]["walltime"] < "00:02:00"
