"""`scontrol`, `sacctmgr` and `sreport` without a command: requests from standard input, one a line, until exit, quit or
its end.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from hpcbatch.cli.common import EndedError, Session, complain
from hpcbatch.cli.slurm.common import describe
from hpcbatch.errors import HpcBatchError

_ENDS: Mapping[str, Mapping[str, int]] = {
    "sacctmgr": {"exit": 4, "quit": 4, "\\q": 2},
    "scontrol": {"exit": 2, "quit": 4},
    "sreport": {"exit": 1, "quit": 4, "\\q": 2},
}
"""Each with the least number of letters that it may be cut down to."""


def requests_after(
    session: Session,
    command: str,
    options: Sequence[str],
    execute: Callable[[Session, Sequence[str]], int],
    kept_options: Callable[[Sequence[str], Sequence[str]], Sequence[str]],
) -> int:
    """As `requests`, each with the command line's options before it. `kept_options`: those after a request, which may
    change them.
    """

    def answer(words: Sequence[str]) -> int:
        nonlocal options
        code = execute(session, [*options, *words])
        options = kept_options(options, words)
        return code

    return requests(session, command, answer)


def requests(session: Session, command: str, execute: Callable[[Sequence[str]], int]) -> int:
    """The exit code is that of the last request that failed, 0 where none did."""
    is_terminal = sys.stdin.isatty()
    if is_terminal:
        import readline  # noqa: F401  input() uses it
    code, last = 0, ""
    while True:
        line = _next(f"{command}: ", is_terminal=is_terminal)
        if line is None:
            print()
            return code
        if line == "!!":
            line = last
            print(line)
        last = line
        try:
            words = shlex.split(line)
        except ValueError:
            complain(f"{command}: error: a quotation mark is not closed")
            code = 1
            continue
        if not words:
            continue
        given = words[0].lower()
        if any(len(given) >= least and word.startswith(given) for word, least in _ENDS[command].items()):
            return code
        session.now = datetime.now(UTC).astimezone(session.zone)
        code = _answer(session, command, words, execute) or code
        sys.stdout.flush()


def read_line() -> str:
    """The next line of standard input, with its end; "" where there is none. Nothing behind it is read: that is for
    who reads next, a request's question or the prompt.
    """
    try:
        descriptor = sys.stdin.fileno()
    except OSError:  # no file is behind it
        return sys.stdin.readline()
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(descriptor, 1)):
        line += byte
    return os.fsdecode(line)


def _next(prompt: str, *, is_terminal: bool) -> str | None:
    if is_terminal:
        try:
            return input(prompt).strip()
        except EOFError:
            return None
    print(prompt, end="", flush=True)
    line = read_line()
    return line.strip() if line else None


def _answer(session: Session, command: str, words: Sequence[str], execute: Callable[[Sequence[str]], int]) -> int:
    try:
        return execute(words)
    except EndedError as ended:
        complain(ended.text)
        return ended.code
    except HpcBatchError as error:
        text, code = describe(command, session)(error)
        complain(text)
        return code
