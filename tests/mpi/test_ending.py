"""What ends a job, or the launcher in it, ends all ranks on all hosts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conformance.site import Site
from tests.mpi.families import FAMILIES, Family
from tests.waiting import wait_for

pytestmark = [pytest.mark.mpi, pytest.mark.timeout(300)]

# mpiexec, as Intel MPI's mpirun is a shell script that passes no signal on (docs/mpi.md).
SCRIPT = """#!/bin/bash
cd {work}
{module}
mkdir begun
mpiexec ./world wait "$PWD/begun" >out 2>&1 &
until [ "$(ls begun | wc -l)" -eq 6 ]; do sleep 0.2; done
touch ready
{then}
wait
"""


def processes_of(program: Path) -> list[int]:
    """Those of the machine that run this program: the engine's pods are processes here."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "exe").readlink() == program:
                found.append(int(entry.name))
        except OSError:
            continue  # it has ended, or is not ours
    return found


def start(site: Site, family: Family, then: str) -> tuple[str, Path]:
    """The job, once all its ranks run; and the program."""
    program = site.work / "world"
    family.compile(program)
    text = SCRIPT.format(work=site.work, module=family.module(), then=then)
    job = site.qsub("-l", "select=3:ncpus=2:mpiprocs=2", "-j", "oe", "-o", "job.out", site.script("wait.sh", text))
    wait_for("all ranks have begun", (site.work / "ready").exists, 60)
    return job, program


@pytest.mark.parametrize("title", [family.title for family in FAMILIES])
def test_deleting_the_job_leaves_no_rank(title: str, site: Site, installed: Callable[[str], Family]) -> None:
    job, program = start(site, installed(title), "")
    assert len(processes_of(program)) == 6
    site.run("qdel", job)
    assert site.wait_end(job)["job_state"] == "F"
    wait_for("no rank is left", lambda: not processes_of(program), 10)


@pytest.mark.parametrize("title", [family.title for family in FAMILIES])
def test_ending_the_launcher_leaves_no_rank(title: str, site: Site, installed: Callable[[str], Family]) -> None:
    """The job goes on: nothing else tidies up."""
    job, program = start(site, installed(title), "kill -TERM $!\nwhile [ ! -e enough ]; do sleep 0.2; done")
    wait_for("no rank is left", lambda: not processes_of(program), 20)
    assert site.state(job) == "R"
    (site.work / "enough").touch()
    site.wait_end(job)
