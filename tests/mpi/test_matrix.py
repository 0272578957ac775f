"""Every line by which people launch MPI programs, with every family, over three pods: it does what docs/mpi.md says.

All lines of one job run in one job. What differs from the page is told for the whole column at once.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable

import pytest

from tests.conformance.site import Site
from tests.mpi.families import FAMILIES, Family
from tests.mpi.outcome import COLOUR, exit_outcome, outcome
from tests.mpi.table import Table, read_tables

pytestmark = [pytest.mark.mpi, pytest.mark.timeout(900)]

TABLES = read_tables()
HOSTS = ("mpimaster-0", "mpiworker-0", "mpiworker-1")
RANKS = {"select=1:ncpus=2:mpiprocs=1+2:ncpus=4:mpiprocs=3:ompthreads=2": (1, 3, 3)}
"""Of each host, where these are not two on each."""

# The script's own shell may be any; `timeout` would else take a line's words for its own.
LINES = """
line() { # NUMBER TRIES LIMIT LINE
  tries=$2
  while :; do
    timeout -k 3 "$3" sh -c "$4" >"out.$1" 2>&1 </dev/null
    code=$?
    tries=$((tries - 1))
    [ $code -eq 124 ] && [ $tries -gt 0 ] || break
  done
  echo $code >"code.$1"
}
"""


def test_the_page_has_every_family() -> None:
    assert len(TABLES) == 4
    for table in TABLES:
        assert table.families == [family.title for family in FAMILIES]


@pytest.mark.parametrize("title", [family.title for family in FAMILIES])
@pytest.mark.parametrize("table", TABLES, ids=[table.submit for table in TABLES])
def test_launch_lines(table: Table, title: str, site: Site, installed: Callable[[str], Family]) -> None:
    family = installed(title)
    family.compile(site.work / "world")
    found = run_lines(table, family, site)
    expected = {line: table.cells[line, title] for line in table.lines}
    print({line: found[line] for line in table.lines})
    wrong = [
        f"{line}\n  found    {found[line]}\n  docs/mpi {expected[line]}\n{site.read(f'out.{number}')[-2000:]}"
        for number, line in enumerate(table.lines)
        if found[line] not in expected[line].split(" or ")
    ]
    assert not wrong, "\n".join(wrong)


def run_lines(table: Table, family: Family, site: Site) -> dict[str, str]:
    """All lines of the table in one job; what has become of each."""
    calls = "".join(
        f"line {number} {family.tries} {family.limit_s} {shlex.quote(line)}\n"
        for number, line in enumerate(table.lines)
    )
    variables = f"export COLOUR='{COLOUR}' OMP_NUM_THREADS=${{OMP_NUM_THREADS:-$SLURM_CPUS_PER_TASK}}"
    text = f"#!/bin/bash\ncd {site.work}\n{variables}\n{family.module()}{LINES}{calls}"
    script = site.script("lines.sh", text)
    command, *options = table.submit.split()
    job = (site.qsub if command == "qsub" else site.sbatch)(*options, script)
    record = site.wait_end(job, 800)
    assert record["Exit_status"] == 0, record
    ranks = next((ranks for request, ranks in RANKS.items() if request in options), (2, 2, 2))
    results = {}
    for number, line in enumerate(table.lines):
        text, code = site.read(f"out.{number}"), int(site.read(f"code.{number}"))
        failing = line.split()[-3:-2] in (["abort"], ["exit"], ["kill"], ["end"])
        results[line] = exit_outcome(code) if failing else outcome(text, code, list(zip(HOSTS, ranks, strict=True)))
    return results
