"""Whether the namelist can be read at all: lost slashes, unknown keys, values of another type."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from hpcbatch.wrf.finding import Finding, Severity
from hpcbatch.wrf.keys import KEYS, type_of
from hpcbatch.wrf.namelist import Entry
from hpcbatch.wrf.run import Program, Run

_KIND = {"integer": "an integer", "real": "a number", "logical": ".true. or .false.", "character": "text"}
_STOP = "WRF stops with `ERROR reading namelist {}`"
_REQUIRED = {
    "time_control": "",
    "domains": "",
    "physics": "its schemes must be chosen, or a physics_suite",
    "dynamics": "diff_opt and km_opt must be set",
    "namelist_quilt": "",
}
"""For each group whether more is to be said than that WRF stops."""


def check(run: Run) -> Iterator[Finding]:
    namelist = run.settings.namelist
    for problem in namelist.problems:
        stop = f"; {_STOP.format(problem.group)}" if problem.group else ""
        yield Finding(
            severity=Severity.ERROR,
            key=f"&{problem.group}",
            value=problem.seen,
            rule=f"expected {problem.expected}{stop}",
            line=problem.line,
        )
    for group in namelist.groups.values():
        if group.name not in KEYS:
            meant = intended(group.name)
            yield Finding(
                severity=Severity.ERROR if meant else Severity.WARNING,
                key=f"&{group.name}",
                value="",
                line=group.line,
                rule=f"WRF 4.7 reads no such group{f': did you mean &{meant}? Its keys are not read' if meant else ''}",
            )
            continue
        for entry in group.entries:
            yield from _entry(group.name, entry)
    misspelt = {intended(name) for name in namelist.groups if name not in KEYS}
    for required, why in _REQUIRED.items():
        if (
            required in namelist.groups
            or required in misspelt
            or (required, run.program) == ("namelist_quilt", Program.REAL)
        ):
            continue
        rule = f"the group is missing; {why or _STOP.format(required)}"
        yield Finding(severity=Severity.ERROR, key=f"&{required}", value="", rule=rule)


def intended(group: str) -> str:
    """The group that was probably meant; "" where none is like it."""
    return next(iter(get_close_matches(group, list(KEYS), n=1, cutoff=0.8)), "")


def _entry(group: str, entry: Entry) -> Iterator[Finding]:
    where = f"{group}.{entry.key}"
    kind = type_of(group, entry.key)
    if kind is None:
        yield _unknown(group, entry)
        return
    wrong = next((value for value in entry.values if value is not None and not value.fits(kind)), None)
    if wrong is not None:
        rule = f"expected {_KIND[kind]}; {_STOP.format(group)}"
        yield Finding(severity=Severity.ERROR, key=where, value=str(wrong), rule=rule, line=entry.line)


def _unknown(group: str, entry: Entry) -> Finding:
    """A likely slip is an error; what may be a key of another version or of a site's own build is a warning."""
    homes = [f"&{name}" for name in KEYS if type_of(name, entry.key)]
    hint = f"; it belongs to {' and '.join(homes)}" if homes else _did_you_mean(entry.key, KEYS[group])
    return Finding(
        severity=Severity.ERROR if hint else Severity.WARNING,
        key=f"{group}.{entry.key}",
        line=entry.line,
        value=", ".join("" if value is None else str(value) for value in entry.values),
        rule=f"WRF 4.7 has no such key in &{group}{hint}; where a build does not know it, {_STOP.format(group)}",
    )


def _did_you_mean(name: str, known: Iterable[str]) -> str:
    close = get_close_matches(name, list(known), n=1, cutoff=0.8)
    return f": did you mean {close[0]}?" if close else ""
