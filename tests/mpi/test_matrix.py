"""Every line by which people launch MPI programs, with every family, over three pods: it does what docs/mpi.md says.

All lines of a table's column run in one job, and several such jobs side by side. What differs from the page is told
for the whole column at once.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tests.conformance.rigs import EngineRig
from tests.conformance.site import Site
from tests.mpi.families import FAMILIES, Family
from tests.mpi.outcome import COLOUR, exit_outcome, outcome
from tests.mpi.table import Table, read_tables

pytestmark = [pytest.mark.mpi, pytest.mark.timeout(1200)]

TABLES = read_tables()
Column = tuple[dict[str, str], Site]
"""What has become of each line of a table with one family, and where the outputs are."""
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


@pytest.fixture(scope="module")
def columns(
    request: pytest.FixtureRequest,
    engine: EngineRig,
    installed: Callable[[str], Family],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[dict[tuple[str, str], Future[Column]]]:
    """What becomes of each column that is to be tested, by table and family."""
    chosen = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    wanted = [(params["table"], params["title"]) for params in chosen if "table" in params]
    # what hangs does so while others run
    wanted.sort(key=lambda column: "hangs" not in column[0].cells.values())
    pool = ThreadPoolExecutor((os.cpu_count() or 1) + 1)
    yield {
        (table.submit, title): pool.submit(
            run_lines, table, installed(title), engine.site(tmp_path_factory.mktemp("column"))
        )
        for table, title in wanted
    }
    pool.shutdown(wait=False, cancel_futures=True)  # what is left ends with the engine


@pytest.mark.parametrize("title", [family.title for family in FAMILIES])
@pytest.mark.parametrize("table", TABLES, ids=[table.submit for table in TABLES])
def test_launch_lines(table: Table, title: str, columns: dict[tuple[str, str], Future[Column]]) -> None:
    found, site = columns[table.submit, title].result()
    expected = {line: table.cells[line, title] for line in table.lines}
    print({line: found[line] for line in table.lines})
    wrong = [
        f"{line}\n  found    {found[line]}\n  docs/mpi {expected[line]}\n{site.read(f'out.{number}')[-2000:]}"
        for number, line in enumerate(table.lines)
        if found[line] not in expected[line].split(" or ")
    ]
    assert not wrong, "\n".join(wrong)


def run_lines(table: Table, family: Family, site: Site) -> Column:
    """All lines of the table in one job."""
    family.compile(site.work / "world")
    calls = "".join(
        f"line {number} {family.tries} {family.limit_s} {shlex.quote(line)}\n"
        for number, line in enumerate(table.lines)
    )
    variables = f"export COLOUR='{COLOUR}' OMP_NUM_THREADS=${{OMP_NUM_THREADS:-$SLURM_CPUS_PER_TASK}}"
    text = f"#!/bin/bash\ncd {site.work}\n{variables}\n{family.module()}{LINES}{calls}"
    script = site.script("lines.sh", text)
    command, *options = table.submit.split()
    job = (site.qsub if command == "qsub" else site.sbatch)(*options, script)
    record = site.wait_end(job, 1000)
    assert record["Exit_status"] == 0, record
    ranks = next((ranks for request, ranks in RANKS.items() if request in options), (2, 2, 2))
    results = {}
    for number, line in enumerate(table.lines):
        text, code = site.read(f"out.{number}"), int(site.read(f"code.{number}"))
        failing = line.split()[-3:-2] in (["abort"], ["exit"], ["kill"], ["end"])
        results[line] = exit_outcome(code) if failing else outcome(text, code, list(zip(HOSTS, ranks, strict=True)))
    return results, site
