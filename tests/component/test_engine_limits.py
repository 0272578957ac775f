"""Many jobs, and a full disk: cost stays flat, and nothing is lost or half-done."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.conformance.site import Site, login_environment
from tests.waiting import wait_for


def start(tmp_path: Path, state: Path) -> Site:
    work = tmp_path / "work"
    work.mkdir()
    site = Site(login_environment(state), work)
    site.run("hpcbatch", "up", "--nodes", "3", "--cpus", "2")
    return site


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    site = start(tmp_path, tmp_path / "state")
    yield site
    site.run("hpcbatch", "down", check=False)


def engine_pid(site: Site) -> int:
    return int((Path(site.env["HPCBATCH_STATE_DIR"]) / "pid").read_text())


def memory_mib(pid: int) -> float:
    match = re.search(r"^VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    assert match
    return int(match[1]) / 1024


def run_jobs(site: Site, count: int) -> None:
    def submit(number: int) -> str:
        return site.sbatch("-o", f"out.{number}", "--wrap", f"echo {number}")

    with ThreadPoolExecutor(4) as pool:
        jobs = list(pool.map(submit, range(count)))
    wait_for("all jobs to end", lambda: not site.run("squeue", "-h").stdout, 180)
    assert len(set(jobs)) == count
    states = site.run("squeue", "-h", "-t", "all", "-o", "%i %t").stdout.splitlines()
    assert {line for line in states if line.split()[0] in jobs} == {f"{job} CD" for job in jobs}
    assert [n for n in range(count) if site.read(f"out.{n}") != f"{n}\n"] == []


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_two_hundred_jobs_leave_memory_and_file_handles_flat(site: Site) -> None:
    run_jobs(site, 20)  # what is opened and cached once
    pid = engine_pid(site)
    handles, memory = len(os.listdir(f"/proc/{pid}/fd")), memory_mib(pid)  # noqa: PTH208
    run_jobs(site, 200)
    wait_for("connections to close", lambda: len(os.listdir(f"/proc/{pid}/fd")) <= handles + 3)  # noqa: PTH208
    assert memory_mib(pid) - memory < 25, "200 ended jobs are 200 records, and no more"
    left = site.run("kubectl", "get", "pods,vcjob,podgroups,secrets,configmaps", "-o", "name").stdout
    assert len(left.split()) < 10, left


@pytest.mark.skipif(os.getuid() != 0, reason="only root can mount a small disk to fill")
def test_full_disk_is_one_clear_line_and_loses_nothing(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(disk)], check=True)
    try:
        site = start(tmp_path, disk / "state")
        kept = site.qsub("-h", "-N", "kept", "-j", "oe", stdin="echo kept\n")
        filler = disk / "filler"
        with filler.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space left"):
            while True:
                file.write(b"x" * 4096)
        done = site.run("qsub", "-N", "lost", stdin="true\n" + "# " + "x" * 100_000 + "\n", check=False)
        assert done.returncode != 0
        assert done.stdout == ""
        assert "full" in done.stderr, done.stderr
        assert len(done.stderr.splitlines()) == 1, done.stderr
        assert f"{kept}." in site.run("qstat").stdout
        assert "lost" not in site.run("qstat").stdout
        filler.unlink()
        site.run("qrls", kept)
        assert site.wait_end(kept)["Exit_status"] == 0
        again = site.qsub("-N", "again", "-j", "oe", stdin="true\n")
        assert site.wait_end(again)["Exit_status"] == 0
        site.run("hpcbatch", "down")
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)
