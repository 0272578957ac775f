"""All rules of `hpcbatch wrf check`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from hpcbatch.typed import Final
from hpcbatch.wrf.finding import Finding, Severity
from hpcbatch.wrf.rules import (
    domains,
    dynamics,
    inputs,
    levels,
    outputs,
    physics,
    programs,
    ranks,
    syntax,
    tables,
    times,
)
from hpcbatch.wrf.run import Run

RULES: Final[tuple[Callable[[Run], Iterable[Finding]], ...]] = (
    syntax.check,
    domains.check,
    ranks.check,
    levels.check,
    physics.check,
    dynamics.check,
    times.check,
    inputs.check,
    tables.check,
    programs.check,
    outputs.check,
)
_ORDER = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.UNKNOWN: 2}


def check(run: Run) -> list[Finding]:
    """Errors first, each once."""
    found = dict.fromkeys(finding for rule in RULES for finding in rule(run))
    return sorted(_without_consequences(run, found), key=lambda finding: _ORDER[finding.severity])


def _without_consequences(run: Run, found: Iterable[Finding]) -> Iterator[Finding]:
    """Leaves out what rules say of keys that were not read.

    That is of a lost group's, and of a value that is missing or of another type after the first word on it.
    """
    named = {name for f in found if f.key.startswith("&") for name in (f.key[1:], syntax.intended(f.key[1:]))}
    lost = named - run.settings.namelist.groups.keys()
    unread = {_place(f): f for f in syntax.check(run) if not f.key.startswith("&")}
    for finding in found:
        if finding.key.partition(".")[0] in lost:
            continue
        first = unread.get(_place(finding)) if finding.value else unread.setdefault(_place(finding), finding)
        if first is None or first == finding:
            yield finding


def _place(finding: Finding) -> tuple[str, str, int | None]:
    return finding.key, finding.value, finding.line


def exit_code(findings: Iterable[Finding]) -> int:
    return 1 if any(finding.severity is Severity.ERROR for finding in findings) else 0
