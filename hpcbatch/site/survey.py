"""Scripts counted by what a site does with them, and what is missing for them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hpcbatch.dataclass import dataclass, field
from hpcbatch.model.outcome import Fate
from hpcbatch.typed import Any, NamedTuple

MODULE = "module"
IMAGE = "image"


class Gap(NamedTuple):
    """One thing that a script asks for and does not get."""

    kind: str
    """`queue`, `module`, `image`, `option`, `error`, or a Word's value: `resource`, `feature` …"""
    name: str
    fate: Fate | None
    """IGNORED or REFUSED; None of modules, which only matter when the job runs."""
    why: str = ""
    needle: str = ""
    """What stands in the script, to find its line; "": the name."""
    line: int | None = None
    amount: int = 1
    """Of licences, how many the script asks for."""


@dataclass(slots=True)
class Missing:
    """A gap of any number of scripts."""

    kind: str
    name: str
    why: str
    example: str
    """`path:line` of the first script."""
    scripts: int = 0
    refused: int = 0
    """Of these, the scripts that are refused for it."""
    alone: int = 0
    """Of these, the scripts that nothing else refuses."""
    amount: int = 1
    """The most that a script asks for."""

    @property
    def fate(self) -> str:
        return "missing" if self.kind == MODULE else "refused" if self.refused else "ignored"


@dataclass(slots=True)
class Count:
    """Scripts of one dialect."""

    scripts: int = 0
    as_they_are: int = 0
    ignored: int = 0
    """They run, but something in them has no effect."""
    refused: int = 0


@dataclass(slots=True)
class Survey:
    counts: dict[str, Count] = field(default_factory=dict)
    missing: dict[tuple[str, str], Missing] = field(default_factory=dict)
    skipped: int = 0
    """Files that are no scripts of a batch system."""
    unreadable: list[str] = field(default_factory=list)
    """Each with the reason."""

    def add(self, path: str, dialect: str, script: bytes, gaps: Iterable[Gap]) -> None:
        """Count a script; of equal gaps it has, the first."""
        found: dict[tuple[str, str], Gap] = {}
        for gap in gaps:
            known = found.setdefault((gap.kind, gap.name), gap)
            if gap.fate is Fate.REFUSED and known.fate is not Fate.REFUSED:
                found[gap.kind, gap.name] = gap
        refusals = [key for key, gap in found.items() if gap.fate is Fate.REFUSED]
        count = self.counts.setdefault(dialect, Count())
        count.scripts += 1
        if refusals:
            count.refused += 1
        elif any(gap.fate is Fate.IGNORED for gap in found.values()):
            count.ignored += 1
        else:
            count.as_they_are += 1
        for key, gap in found.items():
            missing = self.missing.get(key)
            if missing is None:
                line = gap.line or line_of(script, gap.needle or gap.name)
                place = path if line is None else f"{path}:{line}"
                missing = self.missing[key] = Missing(gap.kind, gap.name, gap.why, place)
            missing.amount = max(missing.amount, gap.amount)
            missing.scripts += 1
            missing.refused += gap.fate is Fate.REFUSED
            missing.alone += refusals == [key]

    def ranked(self) -> list[Missing]:
        """What is missing: first what refuses most scripts, then what is ignored in most, at last modules."""
        return sorted(
            self.missing.values(),
            key=lambda each: (each.kind == MODULE, -each.refused, -each.scripts, each.kind, each.name),
        )

    def total(self) -> Count:
        every = self.counts.values()
        return Count(
            scripts=sum(each.scripts for each in every),
            as_they_are=sum(each.as_they_are for each in every),
            ignored=sum(each.ignored for each in every),
            refused=sum(each.refused for each in every),
        )


def line_of(script: bytes, needle: str) -> int | None:
    """The first line from 1 that begins with `#` and holds the text, or else the first that holds it at all."""
    wanted = needle.encode("utf-8", "surrogateescape")
    at = -1
    while wanted and (at := script.find(wanted, at + 1)) >= 0:
        if script[script.rfind(b"\n", 0, at) + 1 : at].lstrip().startswith(b"#"):
            break
    if at < 0:
        at = script.find(wanted) if wanted else -1
    return None if at < 0 else script.count(b"\n", 0, at) + 1


def as_json(survey: Survey, remedies: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    """The same for programs. Keys stay as they are."""
    return {
        "scripts": survey.total().scripts,
        "skipped": survey.skipped,
        "unreadable": survey.unreadable,
        "dialects": {
            name: {
                "scripts": count.scripts,
                "as_they_are": count.as_they_are,
                "ignored": count.ignored,
                "refused": count.refused,
            }
            for name, count in sorted(survey.counts.items())
        },
        "missing": [
            {
                "kind": each.kind,
                "name": each.name,
                "fate": each.fate,
                "why": each.why,
                "scripts": each.scripts,
                "refused": each.refused,
                "alone": each.alone,
                "example": each.example,
                "settled_by": remedies.get((each.kind, each.name), ""),
            }
            for each in survey.ranked()
        ],
    }
