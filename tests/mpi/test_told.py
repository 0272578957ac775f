"""A launch that makes many worlds of one rank is not silent about it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.conformance.site import Site
from tests.mpi.families import Family

pytestmark = [pytest.mark.mpi, pytest.mark.timeout(300)]


def output(site: Site, *submit: str, script: str) -> str:
    path = site.script("told.sh", f"#!/bin/bash\ncd {site.work}\n{script}")
    job = (site.qsub if submit[0] == "qsub" else site.sbatch)(*submit[1:], path)
    site.wait_end(job)
    return site.read("told.out")


def test_pbsdsh(site: Site, installed: Callable[[str], Family]) -> None:
    family = installed("MPICH 4.3.2")
    family.compile(site.work / "world")
    script = f"{family.module()}pbsdsh -- $PWD/world; pbsdsh -n 1 -- $PWD/world; pbsdsh -- hostname"
    text = output(site, "qsub", "-l", "select=3:ncpus=1", "-j", "oe", "-o", "told.out", script=script)
    note = "/world is an MPI program: this starts 3 worlds of one rank, not one world of 3 ranks"
    assert text.count(f"pbsdsh: hpcbatch: {site.work}{note}") == 1 and text.count("hpcbatch:") == 1, text


@pytest.mark.parametrize(
    ("mpirun", "program", "ours", "theirs"),
    [
        ("Open MPI 5.0.11", "MPICH 4.3.2", "Open MPI", "MPICH or Intel MPI"),
        ("MPICH 4.3.2", "Open MPI 5.0.11", "MPICH or Intel MPI", "Open MPI"),
    ],
)
def test_another_family(
    mpirun: str, program: str, ours: str, theirs: str, site: Site, installed: Callable[[str], Family]
) -> None:
    installed(program).compile(site.work / "world")
    # the other's mpirun comes first on PATH
    script = f"{installed(program).module()}{installed(mpirun).module()}timeout 30 srun ./world; srun true"
    text = output(site, "sbatch", "-N", "3", "-o", "told.out", script=script)
    note = f"srun: hpcbatch: ./world is linked to {theirs}, but {installed(mpirun).directory}/bin/mpirun is of {ours}:"
    assert text.count(note) == 1 and text.count("hpcbatch:") == 1, text
