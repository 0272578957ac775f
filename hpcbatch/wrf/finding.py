"""What one rule of `hpcbatch wrf check` found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    ERROR = "error"  # the program would stop, or run without output
    WARNING = "warning"  # it may, or does so in some builds
    UNKNOWN = "unknown"  # could not be looked at


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """`key` is `group.key` of the namelist, the name of a file, or an option of the command."""

    severity: Severity
    key: str
    value: str
    """As it stands in the namelist, or as it was found; "" where there is none."""
    rule: str
    """What was expected, and what the program does otherwise."""
    file: str = "namelist.input"
    line: int | None = None
    """In `file`, from 1; None where the finding has none."""
