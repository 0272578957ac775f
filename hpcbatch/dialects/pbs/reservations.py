"""pbs_rstat: its command line, and what a server without reservations says."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hpcbatch.dialects.pbs import options, usage
from hpcbatch.dialects.pbs.errors import PbsUsageError

_ID = re.compile(r"[RSM]?[0-9]+(\.[\w.:-]+)?(@[\w.:-]+)?", re.ASCII)


def parse_rstat(argv: Sequence[str]) -> tuple[str, ...]:
    """The reservations that are requested; none: all. PbsUsageError (exit 1) for an option that is none."""
    parsed = options.getopt(options.words(argv), options.PBS_RSTAT)
    if parsed.errors:
        raise PbsUsageError("\n".join(parsed.errors), usage.PBS_RSTAT, code=1)
    return tuple(word.text for word in parsed.operands)


def answer(name: str) -> tuple[str, int]:
    """What is said of a reservation, and the exit code: the real one ends with 0 after an id that it does not know."""
    if _ID.fullmatch(name):
        return "Unknown Reservation Id", 0
    return f"illegally formed reservation identifier: {name}", 1
