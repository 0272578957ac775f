"""A dialect that the house has never heard of submits, lists and runs jobs on an engine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hpcbatch.dialects.registry import DIALECTS
from tests import third_dialect
from tests.waiting import wait_for

CHECKOUT = Path(__file__).parents[2]
TINY = "import sys; from tests.third_dialect import main; main(sys.argv[1:])"
HPCBATCH = "from hpcbatch.cli.hpcbatch import main; main()"


class Site:
    """An engine; `knows_it`: its processes, the controller among them, have the dialect's line in the registry."""

    def __init__(self, home: Path, *, knows_it: bool) -> None:
        self.home = home
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "HPCBATCH_STATE_DIR": str(home / "state"),
            "PYTHONPATH": f"{home}:{CHECKOUT}",
        }
        if knows_it:
            (home / "sitecustomize.py").write_text("from tests.third_dialect import register\n\nregister()\n")

    def python(self, *argv: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *argv],
            cwd=self.home,
            env=self.environ,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def tiny(self, *argv: str) -> subprocess.CompletedProcess[str]:
        return self.python("-c", TINY, *argv)


@pytest.fixture
def site(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Site]:
    made = Site(tmp_path, knows_it=getattr(request, "param", True))
    up = made.python("-c", HPCBATCH, "up", "--nodes", "2", "--cpus", "1")
    assert up.returncode == 0, up.stderr
    yield made
    assert made.python("-c", HPCBATCH, "down").returncode == 0


def test_it_submits_lists_and_runs(site: Site) -> None:
    script = '#!/bin/sh\n#TINY nodes 2\necho "job $TINY_JOB on $TINY_NODES"\ncat "$TINY_NODEFILE"\n'
    (site.home / "job").write_text(script)
    assert site.tiny("sub", "job").stdout == "tiny-1\n"
    wait_for("the job's end", lambda: site.tiny("stat").stdout == "tiny-1 job finished\n", 60)
    assert (site.home / "job.1").read_text() == "job 1 on 2\njob-1-mpimaster-0\njob-1-mpiworker-0\n"


def test_its_texts_are_in_the_output(site: Site) -> None:
    (site.home / "job").write_text("#!/bin/sh\n#TINY seconds 1\nsleep 60\n")
    assert site.tiny("sub", "job").returncode == 0
    wait_for("the job's end", lambda: site.tiny("stat").stdout == "tiny-1 job timeout\n", 60)
    assert "tiny: 1 seconds are over\n" in (site.home / "job.1").read_text()


@pytest.mark.parametrize("site", [False], indirect=True)
def test_a_controller_without_it_refuses_its_jobs(site: Site) -> None:
    (site.home / "job").write_text("#!/bin/sh\n")
    refused = site.tiny("sub", "job")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == "tiny: dialect 'tiny' is not known here: expected lsf or pbs or slurm\n"
    assert site.tiny("stat").stdout == ""


def test_its_errors_are_reported_together(tmp_path: Path) -> None:
    (tmp_path / "job").write_text("#TINY nodes none\n#TINY colour red\n")
    answer = Site(tmp_path, knows_it=True).tiny("sub", "job")
    assert answer.returncode == 1
    assert answer.stderr == (
        "tiny: job:1:7: '#TINY nodes none': expected nodes or seconds, and a number above 0\n"
        "job:2:7: '#TINY colour red': expected nodes or seconds, and a number above 0\n"
    )


def test_a_dialect_is_small() -> None:
    assert third_dialect.NAME not in DIALECTS, "only the processes of a Site have it"
    assert len(Path(third_dialect.__file__).read_text().splitlines()) <= 150
