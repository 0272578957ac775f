"""The program itself: in the run directory, and allowed to run."""

from __future__ import annotations

from collections.abc import Iterator

from hpcbatch.wrf.finding import Finding, Severity
from hpcbatch.wrf.run import Run


def check(run: Run) -> Iterator[Finding]:
    problem = run.directory.program_problem(run.exe)
    if problem == "missing":
        # scripts may link it there first, or start it by another path
        rule = f"no ./{run.exe} can be started here: link or copy it from WRF's run directory, unless the script does"
        yield Finding(severity=Severity.WARNING, key=run.exe, value=problem, file=run.exe, rule=rule)
    elif problem:
        rule = "the launcher cannot start it"
        yield Finding(severity=Severity.ERROR, key=run.exe, value=problem, file=run.exe, rule=rule)
