"""kill -9 of the whole engine while jobs end and move to the history: each is told once, by every command.

HPCBATCH_KILLS=1000 runs it longer, HPCBATCH_SEED repeats a run.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.component.test_engine_random_kills import kill_engine
from tests.conformance.site import Site, login_environment
from tests.waiting import wait_for

KILLS = int(os.environ.get("HPCBATCH_KILLS", "6"))
SEED = int(os.environ.get("HPCBATCH_SEED", "3"))
AT_ONCE = "apiVersion: hpcbatch.io/v1alpha1\nkind: SiteConfiguration\nhistoryMovedAfter: 0\n"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    work = tmp_path / "work"
    work.mkdir()
    site = Site(login_environment(tmp_path / "state"), work)
    site.run("hpcbatch", "up", "--nodes", "2", "--cpus", "2")
    site.run(
        "kubectl",
        "-n",
        "hpcbatch-system",
        "create",
        "configmap",
        "hpcbatch-site",
        f"--from-literal=site.yaml={AT_ONCE}",
    )
    yield site
    site.run("hpcbatch", "down", check=False)


def listed(site: Site) -> list[str]:
    """The numbers that `qstat -x` shows, in its order."""
    return [line.split(".")[0] for line in site.run("qstat", "-x").stdout.splitlines()[2:]]


@pytest.mark.slow
@pytest.mark.timeout(120 + KILLS * 10)
def test_random_kills(site: Site) -> None:
    dice = random.Random(SEED)
    codes: dict[str, int] = {}
    for _ in range(KILLS):
        for _ in range(dice.randint(1, 3)):
            code = dice.randint(0, 3)
            codes[site.qsub("-r", "y", "-o", "/dev/null", "-j", "oe", stdin=f"exit {code}\n")] = code
        time.sleep(dice.random() * 1.5)  # the instant of the kill, not a wait for anything
        kill_engine(site)
        site.run("hpcbatch", "up")
        assert listed(site) == sorted(codes, key=int)
    for job, code in codes.items():
        assert site.wait_end(job, 90)["Exit_status"] == code
    wait_for("all to move", lambda: not site.run("kubectl", "get", "batchjobs", "-o", "name").stdout)
    assert listed(site) == sorted(codes, key=int)
    assert not site.run("qstat").stdout
