"""How a run of real.exe or wrf.exe ended: what runner/wrf/wrf.awk, which alone judges it, has answered."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from hpcbatch.errors import HpcBatchError
from hpcbatch.wrf.run import Program

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}_[0-9]{2}[:_][0-9]{2}[:_][0-9]{2}")


@dataclass(frozen=True, slots=True)
class Verdict:
    is_success: bool
    message: str
    """One line: WRF's own last words, or what is missing."""


def read_answer(text: str) -> Verdict:
    """The four lines that wrf.awk prints. What the logs leave unclear is a failure once the run is over.
    Raises HpcBatchError if `text` is anything else.
    """
    match text.splitlines():
        case [("ok" | "failed" | "unclear") as outcome, _, _, message]:
            return Verdict(outcome == "ok", message)
    raise HpcBatchError(f"wrf.awk answered {text[:100]!r}: expected ok, failed or unclear and three lines more")


def with_output(
    verdict: Verdict, program: Program | None, written: Iterable[str], exists: Callable[[str], bool]
) -> Verdict:
    """The verdict where the run's directory can be looked at: without a file that the log tells of, it has failed.

    `written` are the names in the log; where each rank writes a file of its own, these have its number behind.
    """
    if not verdict.is_success or program is Program.REAL or " WRF" not in verdict.message:
        return verdict
    gone = [name for name in first_files(written) if not (exists(name) or exists(f"{name}_0000"))]
    return Verdict(False, f"{verdict.message}, but there is no {gone[0]}, which it says it wrote") if gone else verdict


def first_files(written: Iterable[str]) -> Iterator[str]:
    """The first name of each domain and stream: with several frames a file only that one is the name of a file."""
    seen = set()
    for name in written:
        stream = _DATE.sub("", name)
        if stream not in seen:
            seen.add(stream)
            yield name
