"""A site whose jobs are started from a small pod of their own: it has no rank, whatever the library."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conformance.rigs import EngineRig
from tests.conformance.site import Site
from tests.mpi.conftest import engine_with
from tests.mpi.families import FAMILIES, Family
from tests.mpi.outcome import COLOUR, THREADS, outcome

pytestmark = [pytest.mark.mpi, pytest.mark.timeout(300)]

SITE = "apiVersion: hpcbatch.io/v1alpha1\nkind: SiteConfiguration\nlauncher: dedicated\n"
HOSTS = (("mpiworker-0", 1), ("mpiworker2-0", 3), ("mpiworker2-1", 3))
LINES = ("mpirun ./world", "mpirun -np 7 -machinefile $PBS_NODEFILE ./world", "ibrun ./world")


@pytest.fixture(scope="module")
def dedicated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineRig]:
    site = tmp_path_factory.mktemp("site") / "site.yaml"
    site.write_text(SITE)
    with engine_with(tmp_path_factory.mktemp("dedicated"), "--site", str(site)) as rig:
        yield rig


@pytest.mark.parametrize("title", [family.title for family in FAMILIES])
def test_the_launcher_has_no_rank(
    title: str, dedicated: EngineRig, installed: Callable[[str], Family], tmp_path: Path
) -> None:
    family, site = installed(title), dedicated.site(tmp_path)
    family.compile(site.work / "world")
    launches = "".join(
        f"for try in $(seq {family.tries}); do\n"
        f"  timeout -k 3 {family.limit_s} {line} >out.{number} 2>&1; echo $? >code.{number}\n"
        f"  [ $(cat code.{number}) -eq 124 ] || break\ndone\n"
        for number, line in enumerate(LINES)
    )
    text = f"#!/bin/bash\ncd {site.work}\nexport COLOUR='{COLOUR}'\n{family.module()}{launches}hostname >launcher\n"
    request = f"select=1:ncpus=2:mpiprocs=1:ompthreads={THREADS}+2:ncpus=4:mpiprocs=3:ompthreads={THREADS}"
    job = site.qsub("-l", request, site.script("lines.sh", text))
    assert site.wait_end(job, 250)["Exit_status"] == 0
    assert site.read("launcher").strip() == f"job-{job}-mpimaster-0"
    found = {line: told(site, number) for number, line in enumerate(LINES)}
    assert found == dict.fromkeys(LINES, "yes"), [site.read(f"out.{number}") for number in range(len(LINES))]


def told(site: Site, number: int) -> str:
    return outcome(site.read(f"out.{number}"), int(site.read(f"code.{number}")), HOSTS)
