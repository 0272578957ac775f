"""Recorded sessions: `$ command words`, what it printed, `(stderr) …`, and `(exit N)`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from hpcbatch.dialects.slurm.errors import SlurmAnswer, describe
from tests.unit.dialects.slurm.jobs import recorded


class Case(NamedTuple):
    line: str
    argv: tuple[str, ...]
    """Without the command's name."""
    stdout: str
    stderr: str
    code: int


def cases(name: str) -> list[object]:
    """Those of a file of recorded outputs, as parameters of a test. Debian's build was recorded: its version has a name
    of its own.
    """
    return [pytest.param(case, id=case.line) for case in _cases(recorded(name).replace("slurm-wlm ", "slurm "))]


def _cases(text: str) -> Iterator[Case]:
    for part in text.split("\n$ ") if text.startswith("$ ") else ():
        line, _, rest = part.removeprefix("$ ").partition("\n")
        body, _, code = rest.rpartition("(exit ")
        lines = body.splitlines(keepends=True)
        stderr = "".join(each.removeprefix("(stderr) ") for each in lines if each.startswith("(stderr) "))
        stdout = "".join(each for each in lines if not each.startswith("(stderr) "))
        yield Case(line, tuple(line.split()[1:]), stdout, stderr, int(code.strip().rstrip(")")))


def check(case: Case, answer: Callable[[tuple[str, ...]], str]) -> None:
    """`answer` returns what goes to standard output, or raises. What hpcbatch adds in its own name does not count."""
    command = case.line.split()[0]
    stdout, stderr, code = "", "", 0
    try:
        stdout = answer(case.argv)
    except SlurmAnswer as told:
        stdout = f"{told.text}\n"
    except Exception as error:  # whatever the command would have described
        stderr, code = describe(error, command)
    lines = f"{stderr}\n".splitlines() if stderr else []
    kept = [line for line in lines if not line.startswith(f"{command}: hpcbatch: ")]
    assert (stdout, kept, code) == (case.stdout, case.stderr.splitlines(), case.code)
