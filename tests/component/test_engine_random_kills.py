"""kill -9 of the engine, of what holds its pods or of all its processes at random instants: no job lost, none run twice
that may not be; no object, process, mount, control group or file of a pod left over.

HPCBATCH_KILLS=1000 runs it longer, HPCBATCH_SEED repeats a run.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.component.test_engine_crash import engine_processes, marked
from tests.conformance.site import Site, login_environment
from tests.processes import command_lines
from tests.waiting import wait_for

KILLS = int(os.environ.get("HPCBATCH_KILLS", "12"))
SEED = int(os.environ.get("HPCBATCH_SEED", "7"))
PODS = "pods,vcjob,podgroups,services,networkpolicies,commands"
POD_HOST = "hpcbatch.engine.podhost.main"


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


def kill_some(site: Site, dice: random.Random) -> bool:
    """Whether the engine has to be started again."""
    which = dice.choice(["engine", "pod host", "all"])
    if which == "engine":
        kill_engine(site)
        return True
    lines = command_lines()
    for pid in engine_processes(site):
        if which == "all" or POD_HOST in lines.get(pid, ""):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    if which == "all":
        wait_for("the engine's processes to go", lambda: not engine_processes(site))
    return which == "all"


def is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.slow
@pytest.mark.timeout(120 + KILLS * 10)
def test_random_kills(site: Site) -> None:
    dice = random.Random(SEED)
    began, pids, mark = time.time(), set[int](), f"kept-{os.getpid()}"
    jobs: dict[str, tuple[str, bool]] = {}
    for kill in range(KILLS):
        for number in range(dice.randint(1, 3)):
            name, rerunnable = f"j{kill}.{number}", dice.random() < 0.5
            size = dice.choice(["select=1:ncpus=1:mem=100mb", "select=2:ncpus=1"])
            begun, done = f"echo begun >>{site.work}/{name}", f"echo done >>{site.work}/{name}"
            script = f"setsid bash -c 'exec -a {mark} sleep 600' &\n{begun}; sleep 0.{dice.randint(0, 5)}; {done}\n"
            jobs[site.qsub("-r", "ny"[rerunnable], "-l", size, "-N", name, "-j", "oe", stdin=script)] = name, rerunnable
        if dice.random() < 0.3:
            site.run("qdel", dice.choice(list(jobs)), check=False)
        time.sleep(dice.random())  # the instant of the kill, not a wait for anything
        pids.update(engine_processes(site))
        if kill_some(site, dice):
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
    wait_for("all scripts and keys to go", lambda: not site.run("kubectl", "get", "secrets", "-o", "name").stdout)
    configs = "kubectl", "get", "configmaps", "-o", "name"
    wait_for("all settings to go", lambda: "configmap/job-" not in site.run(*configs).stdout)
    for _ in range(2):  # what had just died when an engine started is cleared away by the next
        pids.update(engine_processes(site))
        site.run("hpcbatch", "down")
        assert not engine_processes(site)
        assert not marked(mark)
        site.run("hpcbatch", "up")
    pids.update(engine_processes(site))
    site.run("hpcbatch", "down")
    state = Path(site.env["HPCBATCH_STATE_DIR"])
    assert not list(state.glob("pods/*"))
    assert str(state) not in Path("/proc/self/mounts").read_text()
    groups = Path("/sys/fs/cgroup").rglob("hpcbatch-*")
    assert not [path for path in groups if path.name in {f"hpcbatch-{pid}" for pid in pids} and made(path) > began]


def made(path: Path) -> float:
    """When a control group was made; 0 if it has gone."""
    try:
        return path.stat().st_ctime
    except FileNotFoundError:
        return 0
