"""All rules of `hpcbatch wrf check`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from hpcbatch.wrf.finding import Finding, Severity
from hpcbatch.wrf.rules import domains, inputs, levels, outputs, physics, ranks, syntax, tables, times
from hpcbatch.wrf.run import Run

RULES: Final[tuple[Callable[[Run], Iterable[Finding]], ...]] = (
    syntax.check,
    domains.check,
    ranks.check,
    levels.check,
    physics.check,
    times.check,
    inputs.check,
    tables.check,
    outputs.check,
)
_ORDER = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.UNKNOWN: 2}


def check(run: Run) -> list[Finding]:
    """Errors first, each once."""
    found = dict.fromkeys(finding for rule in RULES for finding in rule(run))
    return sorted(found, key=lambda finding: _ORDER[finding.severity])


def exit_code(findings: Iterable[Finding]) -> int:
    return 1 if any(finding.severity is Severity.ERROR for finding in findings) else 0
