"""What became of one option or directive of a submission: `explain` and the survey are made of these."""

from __future__ import annotations

from enum import StrEnum

from hpcbatch.errors import place
from hpcbatch.typed import NamedTuple


class Fate(StrEnum):
    HONOURED = "honoured"  # it has the effect that it has on the real system
    TRANSLATED = "translated"  # it becomes something else, which does as much
    KEPT = "kept"  # shown again, without any other effect here or on most real systems
    IGNORED = "ignored"  # no effect here: told at submission, an error with --strict
    REFUSED = "refused"  # the job cannot be submitted like this


class Outcome(NamedTuple):
    option: str
    """As it was given: `--ntasks=4`, `-l walltime=1:00:00`; of a list one part."""
    fate: Fate
    meaning: str
    """What it becomes, what was kept, or why it is ignored or refused: one line of plain English."""
    source: str = "command line"
    """The script's name, the name of an environment variable, or the command line."""
    line: int | None = None
    column: int | None = None

    @property
    def where(self) -> str:
        return place(self.source, self.line, self.column)
