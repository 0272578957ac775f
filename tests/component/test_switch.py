"""`hpcbatch up`, `status` and `down`: what they say of the jobs, and where nothing runs."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.site import BIN, Site, login_environment


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    env = login_environment(tmp_path / "state")
    work = tmp_path / "work"
    work.mkdir()
    yield Site(env, work)
    subprocess.run([str(BIN / "hpcbatch"), "down"], env=env, check=True, timeout=60)


def test_down_tells_what_becomes_of_running_jobs(site: Site) -> None:
    site.run("hpcbatch", "up", "--nodes", "2", "--cpus", "2")
    assert "jobs     0 running" in site.run("hpcbatch", "status").stdout
    again = site.qsub("-o", "/dev/null", "-j", "oe", stdin="[ -e second ] || { touch second; sleep 600; }\n")
    once = site.qsub("-r", "n", "-o", "/dev/null", "-j", "oe", stdin="sleep 600\n")
    site.sbatch("-H", "-o", "/dev/null", "--wrap", "true")
    for job in (again, once):
        site.wait_state(job, "R")
    assert site.run("hpcbatch", "down").stdout == (
        "hpcbatch is down: 2 running jobs ended, 1 of them queued again for the next `hpcbatch up`, "
        "1 not, which may not run twice\n"
    )
    asked = site.run("hpcbatch", "status", check=False)
    assert asked.returncode == 3
    first, second = asked.stdout.splitlines()
    assert first == "engine   not running: `hpcbatch up` starts it"
    assert second.startswith("cluster  nothing answers at https://127.0.0.1:")
    assert "hpcbatch status" not in second
    assert site.run("hpcbatch", "down").stdout == "hpcbatch was not running\n"
    site.run("hpcbatch", "up")
    assert site.wait_end(again)["run_count"] == 2
    assert site.wait_end(once)["Exit_status"] != 0
    assert site.run("hpcbatch", "down").stdout == "hpcbatch is down\n"
