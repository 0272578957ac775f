"""kill -9 of the whole engine at random instants: no job lost, none run twice that may not be, nothing left over.

HPCBATCH_KILLS=1000 runs it longer, HPCBATCH_SEED repeats a run.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.site import Site, login_environment
from tests.waiting import wait_for

KILLS = int(os.environ.get("HPCBATCH_KILLS", "12"))
SEED = int(os.environ.get("HPCBATCH_SEED", "7"))
PODS = "pods,vcjob,podgroups,services"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    work = tmp_path / "work"
    work.mkdir()
    site = Site(login_environment(tmp_path / "state"), work)
    site.run("hpcbatch", "up", "--nodes", "2", "--cpus", "2")
    yield site
    site.run("hpcbatch", "down", check=False)


def kill_engine(site: Site) -> None:
    pid = int((Path(site.env["HPCBATCH_STATE_DIR"]) / "pid").read_text())
    process = os.pidfd_open(pid)
    signal.pidfd_send_signal(process, signal.SIGKILL)
    wait_for("the engine to be gone", lambda: not Path(f"/proc/{pid}").exists() or is_zombie(pid))
    os.close(process)


def is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.timeout(120 + KILLS * 10)
def test_random_kills(site: Site) -> None:
    dice = random.Random(SEED)
    jobs: dict[str, tuple[str, bool]] = {}
    for kill in range(KILLS):
        for number in range(dice.randint(1, 3)):
            name, rerunnable = f"j{kill}.{number}", dice.random() < 0.5
            size = dice.choice(["select=1:ncpus=1", "select=2:ncpus=1"])
            script = f"echo begun >>{site.work}/{name}; sleep 0.{dice.randint(0, 5)}; echo done >>{site.work}/{name}\n"
            jobs[site.qsub("-r", "ny"[rerunnable], "-l", size, "-N", name, "-j", "oe", stdin=script)] = name, rerunnable
        if dice.random() < 0.3:
            site.run("qdel", dice.choice(list(jobs)), check=False)
        time.sleep(dice.random())  # the instant of the kill, not a wait for anything
        kill_engine(site)
        site.run("hpcbatch", "up")
    assert len(jobs) == len(set(jobs)), "a number was given twice"
    for job, (name, rerunnable) in jobs.items():
        record = site.wait_end(job, 90)
        path = site.work / name
        lines = path.read_text().split() if path.exists() else []
        told = f"job {job} ({name}, rerunnable: {rerunnable}): {lines}, {record.get('comment')}"
        if not rerunnable:
            assert lines.count("begun") <= 1, told
        if record.get("Exit_status") == 0 and record["substate"] == 92:
            assert lines[-1:] == ["done"], told
        elif record["substate"] != 91:
            assert not rerunnable, told
            assert lines.count("done") == 0 or record.get("Exit_status") != 0, told
    wait_for("all objects to go", lambda: not site.run("kubectl", "get", PODS, "-o", "name").stdout)
    secrets = ("kubectl", "get", "secrets", "--field-selector", "type=hpcbatch.io/submission", "-o", "name")
    wait_for("all scripts to go", lambda: not site.run(*secrets).stdout)
