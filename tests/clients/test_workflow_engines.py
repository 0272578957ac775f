"""Clients that are programs: workflow engines and a test harness."""

from __future__ import annotations

import json
import os
import pwd
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.clients.install import HERE, python_of
from tests.conformance.site import Site
from tests.waiting import wait_for

PROGRAMS = HERE / "programs"
USER = pwd.getpwuid(os.getuid()).pw_name


def command(site: Site, client: str, name: str, *arguments: str) -> tuple[list[str], dict[str, str]]:
    """A program of the client's environment, with that environment's programs first in PATH."""
    bin_ = python_of(client).parent
    return [str(bin_ / name), *arguments], {**site.env, "PATH": f"{bin_}:{site.env['PATH']}"}


def run(site: Site, client: str, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    argv, env = command(site, client, name, *arguments)
    return subprocess.run(argv, cwd=site.work, env=env, capture_output=True, text=True, timeout=400, check=False)


@contextmanager
def started(site: Site, client: str, name: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """That program while it runs; its output is in the file NAME.log."""
    argv, env = command(site, client, name, *arguments)
    with (site.work / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(argv, cwd=site.work, env=env, stdout=log, stderr=subprocess.STDOUT)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


SNAKEMAKE = {
    "slurm": (
        *("--executor", "slurm", "--slurm-init-seconds-before-status-checks", "3"),
        *("--default-resources", f"slurm_account={USER}", "slurm_partition=default"),
    ),
    "pbs": (
        *("--executor", "cluster-generic", "--cluster-generic-submit-cmd"),
        "qsub -q default -l select=1:ncpus={threads}:mem={resources.mem_mb}mb -l walltime=00:05:00 -N {rule}",
        *("--cluster-generic-cancel-cmd", "qdel"),
    ),
}


@pytest.mark.parametrize("system", ["slurm", "pbs"])
def test_snakemake(site: Site, system: str) -> None:
    shutil.copy(PROGRAMS / "Snakefile", site.work)
    common = (
        *SNAKEMAKE[system],
        *("--jobs", "3", "--latency-wait", "20", "--seconds-between-status-checks", "2", "--shared-fs-usage"),
        *("persistence", "input-output", "sources", "source-cache", "storage-local-copies", "software-deployment"),
    )
    done = run(site, "snakemake", "snakemake", "sum.txt", *common)
    assert done.returncode == 0, done.stderr[-4000:]
    assert (site.work / "sum.txt").read_text() == "6\n"

    done = run(site, "snakemake", "snakemake", "bad.txt", *common)
    assert done.returncode == 1
    assert "Error in rule bad" in done.stderr

    def running() -> str:
        return site.run("squeue", "-h", "-t", "R", "-o", "%i").stdout.strip()

    with started(site, "snakemake", "snakemake", "long.txt", *common) as snakemake:
        job = wait_for("a job that runs", running, 120)
        known = re.compile(rf"(?:SLURM|external) jobid '?{job}\b")
        wait_for("its number in the log", lambda: known.search(site.read("snakemake.log")), 60)
        snakemake.send_signal(signal.SIGINT)
        assert snakemake.wait(120) == 1, site.read("snakemake.log")
    site.wait_end(job)
    assert site.run("sacct", "-XnP", "-o", "State", "-j", job).stdout.startswith("CANCELLED")


PLATFORMS = """\
[platforms]
    [[batch]]
        hosts = localhost
        job runner = {system}
        cylc path = {bin}
        install target = localhost
        communication method = poll
        submission polling intervals = PT3S
        execution polling intervals = PT3S
"""


@pytest.mark.parametrize("system", ["slurm", "pbs", "lsf"])
def test_cylc(site: Site, system: str) -> None:
    """Its jobs report by files that the scheduler polls, which is what sites do whose nodes reach no port of it."""
    (site.work / "conf").mkdir()
    (site.work / "conf/global.cylc").write_text(PLATFORMS.format(system=system, bin=python_of("cylc-flow").parent))
    flow = site.work / "flow"
    flow.mkdir()
    shutil.copy(PROGRAMS / "flow.cylc", flow)
    name = f"own-{system}"
    share = Path(site.env["HOME"], "cylc-run", name, "share")
    own = replace(site, env={**site.env, "CYLC_CONF_PATH": str(site.work / "conf")})

    def cylc(*arguments: str) -> None:
        done = run(own, "cylc-flow", "cylc", *arguments)
        assert done.returncode == 0, done.stdout + done.stderr

    def ran(task: str) -> bool:
        assert scheduler.poll() is None, site.read("cylc.log")[-4000:]
        return (share / "ran").exists() and task in (share / "ran").read_text().split()

    cylc("install", "--workflow-name", name, "--no-run-name", str(flow))
    with started(own, "cylc-flow", "cylc", "play", "--no-detach", name) as scheduler:
        wait_for("the message of the running job", lambda: ran("after_message"), 120)
        cylc("kill", f"{name}//1/long")
        assert scheduler.wait(120) == 0, site.read("cylc.log")[-4000:]
    assert set((share / "ran").read_text().split()) == {"after_bad", "after_message", "after_kill"}
    assert (share / "sum").read_text() == "1\n2\n"
    states = dict(line.split("|") for line in site.run("sacct", "-XnP", "-o", "JobName,State").stdout.splitlines())
    assert states[f"bad.1.{name}"] == "FAILED"
    assert states[f"long.1.{name}"].startswith("CANCELLED")


@pytest.mark.parametrize("system", ["slurm", "pbs"])
def test_reframe(site: Site, system: str) -> None:
    done = run(
        site,
        "reframe-hpc",
        "reframe",
        *("-C", str(PROGRAMS / "reframe_settings.py"), "-c", str(PROGRAMS / "reframe_checks.py")),
        *("--system", f"own:{system}", "--report-file", "report.json", "-r"),
    )
    report = json.loads((site.work / "report.json").read_text())
    results = {case["name"]: case["result"] for run_ in report["runs"] for case in run_["testcases"]}
    assert results == {"Hello": "pass", "Wrong": "fail"}, done.stdout[-4000:]
