"""HTCondor's BLAHP: the scripts by which a grid universe submits to Slurm and PBS, watches, holds and cancels."""

from __future__ import annotations

import os
import pwd
import re
import shutil
from pathlib import Path

import pytest

from tests.conformance.site import BIN, Site
from tests.waiting import wait_for

INSTALLED = Path("/usr/libexec/blahp")
ENVIRONMENT = "HPCBATCH_BLAHP"
IDLE, RUNNING, COMPLETED, HELD = 1, 2, 4, 5
LATER = {"slurm": "--begin=now+1hour", "pbs": "-a 12312359"}
CACHE = {"slurm": "slurm_cache", "pbs": "qstat_cache"}
USER = pwd.getpwuid(os.getuid()).pw_name


def scripts() -> Path:
    """The folder of HTCondor's package, or of the sources that the variable names."""
    given = os.environ.get(ENVIRONMENT)
    folder = Path(given) if given else INSTALLED
    if not (folder / "slurm_submit.sh").exists():
        pytest.skip(f"no registry has BLAHP: {ENVIRONMENT} names src/blahp/src/scripts of HTCondor's sources")
    return folder


class Blahp:
    """Those scripts as the blahpd calls them, with a configuration that names the folder of the commands."""

    def __init__(self, site: Site, system: str) -> None:
        self._site, self._system, self._folder = site, system, scripts()
        config = site.script(
            "blah.config",
            f"supported_lrms={system}\n{system}_binpath={BIN}\npbs_pro=yes\npbs_nologaccess=yes\n"
            f"blah_shared_directories=/\nblah_run_in_workdir=yes\nblah_libexec_directory={self._folder}\n",
        )
        self._env = {"BLAHPD_CONFIG_LOCATION": config}

    def run(self, action: str, *arguments: str) -> str:
        script = str(self._folder / f"{self._system}_{action}.sh")
        return self._site.run("/bin/bash", script, *arguments, env=self._env).stdout

    def submit(self, *command: str, output: str = "/dev/null", extra: str = "") -> str:
        options = ["-w", f"{self._site.work}/", "-q", "default", "-m", "300", "-t", "300", "-S", "1", "-o", output]
        if extra:
            options += ["-a", extra]
        answer = self.run("submit", "-c", command[0], *options, "--", *command[1:])
        found = re.search(rf"^BLAHP_JOBID_PREFIX({self._system}/\d{{8}}/\d+)$", answer, re.M)
        assert found, answer
        return found[1]

    def status(self, job: str) -> dict[str, str]:
        """A job's attributes. What the script keeps for a minute of an earlier look is taken away first."""
        shutil.rmtree(f"/var/tmp/{CACHE[self._system]}_{USER}", ignore_errors=True)
        answer = self.run("status", "-w", job)
        assert answer.startswith("0["), answer
        return {name: value.strip(' "') for name, value in re.findall(r"(\w+)=([^;]*);", answer)}

    def wait_for(self, job: str, status: int) -> dict[str, str]:
        def reached() -> dict[str, str] | None:
            found = self.status(job)
            return found if found.get("JobStatus") == str(status) else None

        return wait_for(f"{job} with JobStatus {status}", reached, 90)


@pytest.fixture(params=["slurm", "pbs"])
def system(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def blahp(site: Site, system: str) -> Blahp:
    return Blahp(site, system)


def test_jobs_end_well_fail_and_are_cancelled(blahp: Blahp, site: Site, system: str) -> None:
    good = blahp.submit("/bin/echo", "hello", output="good.out")
    bad, long = blahp.submit("/bin/false"), blahp.submit("/bin/sleep", "600")
    assert blahp.wait_for(good, COMPLETED)["ExitCode"] == "0"
    assert site.read("good.out") == "hello\n"
    # Of PBS it reads Exit_status and then overwrites it with 0.
    assert blahp.wait_for(bad, COMPLETED)["ExitCode"] == {"slurm": "1", "pbs": "0"}[system]
    assert site.attributes(bad.rpartition("/")[2])["Exit_status"] == 1
    assert blahp.wait_for(long, RUNNING)["BatchJobId"] == long.rpartition("/")[2]
    assert blahp.run("cancel", long).split() == ["0", "No\\", "error"]
    # A job that qstat -x calls finished, or squeue does not list, has ended, to BLAHP, however it did.
    blahp.wait_for(long, COMPLETED)
    assert site.run("sacct", "-XnP", "-o", "State", "-j", long.rpartition("/")[2]).stdout.startswith("CANCELLED")


def test_a_waiting_job_is_held_and_released(blahp: Blahp, system: str) -> None:
    job = blahp.submit("/bin/sleep", "600", extra=LATER[system])
    waits = blahp.status(job).get("JobStatus")
    assert waits == {"slurm": str(IDLE), "pbs": None}[system], "BLAHP knows no state W of PBS"
    blahp.run("hold", job)
    blahp.wait_for(job, {"slurm": IDLE, "pbs": HELD}[system])
    blahp.run("resume", job)
    assert blahp.status(job).get("JobStatus") == waits
    blahp.run("cancel", job)
