"""What one look at the cluster found, in the words that an admin reads."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from hpcbatch.errors import ApiError

_CANNOT = re.compile(r'cannot (\S+) resource "([^"]+)" in API group "[^"]*" (.+)', re.DOTALL)


class Level(StrEnum):
    OK = "ok"
    WARNING = "warning"  # jobs run, but something is weaker or slower than it could be
    ERROR = "error"  # jobs do not run, or not safely
    UNKNOWN = "unknown"  # could not be looked at
    SKIPPED = "skipped"  # does not apply here, or makes no sense after an error before


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One line of the report. `check` is a heading of docs/check.md."""

    check: str
    level: Level
    subject: str
    seen: str
    mend: str = ""
    """The command or step that mends it; several lines allowed, empty where nothing is to be done."""


@dataclass(frozen=True, slots=True)
class Reporter:
    """Makes the findings of one check."""

    check: str

    def ok(self, subject: str, seen: str) -> Finding:
        return Finding(check=self.check, level=Level.OK, subject=subject, seen=seen)

    def warning(self, subject: str, seen: str, mend: str) -> Finding:
        return Finding(check=self.check, level=Level.WARNING, subject=subject, seen=seen, mend=mend)

    def error(self, subject: str, seen: str, mend: str) -> Finding:
        return Finding(check=self.check, level=Level.ERROR, subject=subject, seen=seen, mend=mend)

    def unknown(self, subject: str, seen: str, mend: str = "") -> Finding:
        return Finding(check=self.check, level=Level.UNKNOWN, subject=subject, seen=seen, mend=mend)

    def skipped(self, subject: str, seen: str) -> Finding:
        return Finding(check=self.check, level=Level.SKIPPED, subject=subject, seen=seen)


def forbidden_words(error: ApiError) -> str:
    """`you may not list pods at the cluster scope`: a Forbidden answer without the parts that only a machine needs."""
    match = _CANNOT.search(error.message)
    if match is None:
        return f"refused: {one_line(error.message)}"
    verb = "read" if match[1] in {"get", "list", "watch"} else match[1]
    return f"you may not {verb} {match[2]} {one_line(match[3])}"


def one_line(text: str, limit: int = 300) -> str:
    """Text of others as one line of at most `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
