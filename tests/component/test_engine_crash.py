"""The engine is killed, all of it, while jobs wait and run: nothing is lost, doubled or left behind."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.site import Site, login_environment
from tests.processes import command_lines
from tests.waiting import wait_for


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    work = tmp_path / "work"
    work.mkdir()
    site = Site(login_environment(tmp_path / "state"), work)
    site.run("hpcbatch", "up", "--nodes", "2", "--cpus", "1")
    yield site
    site.run("hpcbatch", "down", check=False)


def engine_processes(site: Site) -> list[int]:
    """Every process that belongs to this engine: by its state directory on the command line or in the environment."""
    mark = site.env["HPCBATCH_STATE_DIR"].encode()
    found = []
    for proc in Path("/proc").glob("[0-9]*"):
        try:
            text = (proc / "cmdline").read_bytes() + (proc / "environ").read_bytes()
        except OSError:
            continue
        if mark in text and int(proc.name) != os.getpid():
            found.append(int(proc.name))
    return found


def marked(word: str) -> list[str]:
    """Processes whose command line has `word`."""
    return [line for line in command_lines().values() if word in line]


@pytest.mark.parametrize("which", ["the engine's process", pytest.param("all processes", marks=pytest.mark.slow)])
def test_kill_while_jobs_wait_and_run(site: Site, which: str) -> None:
    mark = f"{os.getpid()}.{abs(hash(which)) % 10**6}"
    body = f"echo ran >>{site.work}/{{name}}; bash -c 'exec -a rank-{mark} sleep 600' & wait\n"
    once = site.qsub("-r", "n", "-N", "once", "-j", "oe", stdin=body.format(name="once"))
    again = site.qsub("-r", "y", "-N", "again", "-j", "oe", stdin=body.format(name="again"))
    for job in (once, again):
        site.wait_state(job, "R")
    waiting = [site.qsub("-N", f"w{n}", "-j", "oe", stdin=f"echo ran >>{site.work}/w{n}\n") for n in range(3)]
    held = site.qsub("-h", "-N", "held", "-j", "oe", stdin="true\n")
    wait_for("both scripts", lambda: (site.work / "once").exists() and (site.work / "again").exists())

    pid = int((Path(site.env["HPCBATCH_STATE_DIR"]) / "pid").read_text())
    for victim in [pid] if which == "the engine's process" else engine_processes(site):
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            continue
    wait_for("the pods' processes to go", lambda: not marked(f"rank-{mark}"))
    wait_for("the engine's processes to go", lambda: not engine_processes(site))
    assert site.env["HPCBATCH_STATE_DIR"] not in Path("/proc/self/mounts").read_text()

    site.run("hpcbatch", "up")
    lost = site.wait_end(once)
    assert "Exit_status" not in lost or lost["Exit_status"] != 0
    assert site.read("once") == "ran\n"
    site.wait_state(again, "R")
    wait_for("the second run", lambda: site.written("again") == "ran\nran\n")
    assert site.attributes(again)["run_count"] == 2
    site.run("qdel", again)
    for n, job in enumerate(waiting):
        assert site.wait_end(job)["Exit_status"] == 0
        assert site.read(f"w{n}") == "ran\n"
    assert site.state(held) == "H"
    fresh = site.qsub("-N", "fresh", "-j", "oe", stdin="true\n")
    assert int(fresh) > int(held)
    assert site.wait_end(fresh)["Exit_status"] == 0


def test_down_ends_running_jobs_and_leaves_no_process(site: Site) -> None:
    mark = f"down-{os.getpid()}"
    job = site.qsub("-N", "long", "-j", "oe", stdin=f"bash -c 'exec -a {mark} sleep 600'\n")
    site.wait_state(job, "R")
    wait_for("the script", lambda: marked(mark))
    site.run("hpcbatch", "down")
    assert not marked(mark)
    assert not engine_processes(site)


def test_second_engine_on_the_same_state_is_refused(site: Site) -> None:
    done = site.run("hpcbatch", "up", check=False)
    assert done.returncode == 1
    assert "already running" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_taken_port_is_one_clear_line(site: Site, tmp_path: Path) -> None:
    port = site.run("kubectl", "config", "view", "-o", "jsonpath={.clusters[0].cluster.server}").stdout.rpartition(":")[
        2
    ]
    other = {"HPCBATCH_STATE_DIR": str(tmp_path / "other")}
    done = site.run("hpcbatch", "up", "--port", port, check=False, env=other)
    assert done.returncode == 1
    assert port in done.stderr
    assert len(done.stderr.splitlines()) == 1
