"""A launch that makes many worlds of one rank is not silent about it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.conformance.site import Site
from tests.mpi.families import Family

pytestmark = [pytest.mark.mpi, pytest.mark.timeout(300)]


def output(site: Site, *submit: str, script: str) -> tuple[str, str]:
    """The job's id, and what it wrote."""
    path = site.script("told.sh", f"#!/bin/bash\ncd {site.work}\n{script}")
    job = (site.qsub if submit[0] == "qsub" else site.sbatch)(*submit[1:], path)
    site.wait_end(job)
    return job, site.read("told.out")


def test_pbsdsh(site: Site, installed: Callable[[str], Family]) -> None:
    family = installed("MPICH 4.3.2")
    family.compile(site.work / "world")
    script = f"{family.module()}pbsdsh -- $PWD/world; pbsdsh -n 1 -- $PWD/world; pbsdsh -- hostname"
    job, text = output(site, "qsub", "-l", "select=3:ncpus=1", "-j", "oe", "-o", "told.out", script=script)
    what = "pbsdsh starts 3 worlds of one rank, not one world of 3 ranks (mpirun makes one)"
    note = f"{site.work}/world is an MPI program: {what}"
    assert text.count(f"hpcbatch: warning: {note}") == 1 and text.count("hpcbatch:") == 1, text
    assert site.attributes(job)["comment"].endswith(f"warning: {note}")


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
    _, text = output(site, "sbatch", "-N", "3", "-o", "told.out", script=script)
    note = f"srun: hpcbatch: ./world is linked to {theirs}, but {installed(mpirun).directory}/bin/mpirun is of {ours}:"
    assert text.count(note) == 1, text
