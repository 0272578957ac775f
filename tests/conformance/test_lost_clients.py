"""Interactive jobs whose command is killed before it is connected with them: no node is held for nobody."""

from __future__ import annotations

import signal
from dataclasses import replace

import pytest

from tests.conformance.site import Site
from tests.conformance.terminals import terminal
from tests.waiting import wait_for

gives_up = pytest.mark.slow  # the pod does, after a minute

WAITS = {
    ("qsub", "-I", "-h"): r"qsub: waiting for job (\d+)\.",
    ("srun", "--hold", "--pty", "sh"): r"srun: job (\d+) queued",
    ("srun", "--hold", "touch", "ran"): r"srun: job (\d+) queued",
    ("bsub", "-Is", "-H", "sh"): r"Job <(\d+)> is submitted",
    ("bsub", "-I", "-H", "touch ran"): r"Job <(\d+)> is submitted",
}
LIMIT_S = 120


@gives_up
def test_killed_while_the_job_waits(site: Site) -> None:
    jobs = []
    for argv, says in WAITS.items():
        with terminal(site, *argv) as client:
            jobs.append(client.found(says))
            client.kill(signal.SIGKILL)
            client.wait()
    site.run("scontrol", "release", ",".join(jobs))
    for job in jobs:
        record = site.wait_end(job, LIMIT_S)
        assert (record["Exit_status"], record["resources_used"]["walltime"] > "00:00:50") == (-1, True), record
        assert "was not connected with it within 60 s" in site.run("hpcbatch", "why", job).stdout
    assert not (site.work / "ran").exists()


def test_its_walltime_counts_where_nobody_is(site: Site) -> None:
    with terminal(site, "qsub", "-I", "-h", "-l", "walltime=5") as client:
        job = client.found(r"qsub: waiting for job (\d+)\.")
        client.kill(signal.SIGKILL)
        client.wait()
    site.run("qrls", job)
    record = site.wait_end(job)
    assert (record["Exit_status"], record["resources_used"]["walltime"] < "00:00:30") == (-29, True), record


@gives_up
def test_a_session_ends_whose_end_nobody_would_tell(site: Site) -> None:
    """The command was killed between its two connections: played by another client, which has only one."""
    with terminal(site, "qsub", "-I", "-h") as client:
        job = client.found(r"qsub: waiting for job (\d+)\.")
        client.kill(signal.SIGKILL)
        client.wait()
    site.run("qrls", job)
    wait_for("the job", lambda: site.state(job) == "R")
    admin = replace(site, enter=(), env=site.admin_env or site.env)
    with terminal(admin, "kubectl", "-n", site.namespace, "attach", "-it", f"job-{job}-mpimaster-0") as shell:
        shell.expect_exact("If you don't see a command prompt, try pressing enter.")
        shell.sendline("")
        assert shell.answer("echo $PBS_ENVIRONMENT") == "PBS_INTERACTIVE\n"
        record = site.wait_end(job, LIMIT_S)
    assert "00:00:50" < record["resources_used"]["walltime"] < "00:02:00"
