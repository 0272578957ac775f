"""scontrol show assoc_mgr: all that was recorded of a database with one account and one user."""

from __future__ import annotations

import re

import pytest

from hpcbatch.dialects.slurm.assoc_mgr import format_state, read_words
from hpcbatch.dialects.slurm.associations import directory
from hpcbatch.dialects.slurm.scontrol_command import read_command
from tests.unit.dialects.slurm.test_sacctmgr import jobs
from tests.unit.dialects.slurm.transcripts import Case, cases, check

UIDS = {"root": 0, "tester": 1001}
FOUND = directory(jobs(("tester", "phys")))


def answer(argv: tuple[str, ...]) -> str:
    command = read_command(argv, {})
    return format_state(FOUND, read_words(command.words), "real", UIDS.get, one_line=command.one_line)


@pytest.mark.parametrize("case", cases("assoc_mgr.txt"))
def test_recorded(case: Case) -> None:
    """But for the numbers that slurmdbd had given away before."""
    stdout = masked(case.stdout)
    check(case._replace(stdout=stdout), lambda argv: masked(answer(argv)))


def masked(text: str) -> str:
    return re.sub(r"\b(ID|Lft)=\d+", r"\1=N", text)
