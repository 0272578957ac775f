"""`scontrol` without a command: requests from standard input, one a line, until exit, quit or its end."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from hpcbatch.cli.common import EndedError, Session, complain
from hpcbatch.cli.slurm.common import describe
from hpcbatch.errors import HpcBatchError

PROMPT = "scontrol: "
_ENDS = {"exit": 2, "quit": 4}
"""Each with the least number of letters that it may be cut down to."""


def requests(session: Session, execute: Callable[[Sequence[str]], int]) -> int:
    """The exit code is that of the last request that failed, 0 where none did."""
    if sys.stdin.isatty():
        import readline  # noqa: F401  input() uses it
    code, last = 0, ""
    while True:
        try:
            line = input(PROMPT).strip()
        except EOFError:
            print()
            return code
        if line == "!!":
            line = last
            print(line)
        last = line
        try:
            words = shlex.split(line)
        except ValueError:
            complain("scontrol: error: a quotation mark is not closed")
            code = 1
            continue
        if not words:
            continue
        if any(len(words[0]) >= least and word.startswith(words[0].lower()) for word, least in _ENDS.items()):
            return code
        session.now = datetime.now(UTC).astimezone(session.zone)
        code = _answer(session, words, execute) or code
        sys.stdout.flush()


def _answer(session: Session, words: Sequence[str], execute: Callable[[Sequence[str]], int]) -> int:
    try:
        return execute(words)
    except EndedError as ended:
        complain(ended.text)
        return ended.code
    except HpcBatchError as error:
        text, code = describe("scontrol", session)(error)
        complain(text)
        return code
