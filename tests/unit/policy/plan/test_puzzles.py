"""The planner's decisions are those of real systems on the same puzzles: `python -m bench.puzzles` recorded them."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.puzzles.answers import Answer, differences, read

DATA = Path(__file__).parent / "data"
SLURM, OPENPBS = (read(DATA / f"{name}.json")[1] for name in ("slurm", "openpbs"))
EXPLAINED = {"dice-6": [4, 7, 8]}
"""The jobs that start at other times. OpenPBS keeps particular nodes for the first job that waits, one that is free now
and one of two that will be; job 7 could run on the first beside it (docs/design.md).
"""


@pytest.mark.parametrize("answer", SLURM, ids=[answer.puzzle.name for answer in SLURM])
def test_as_slurm(answer: Answer) -> None:
    """Its backfilling plans each job that waits."""
    assert list(differences(answer, depth=None)) == []


@pytest.mark.parametrize("answer", OPENPBS, ids=[answer.puzzle.name for answer in OPENPBS])
def test_as_openpbs(answer: Answer) -> None:
    """With strict_ordering and backfill_depth 1."""
    numbers = [number for number, _, _ in differences(answer, depth=1)]
    assert numbers == EXPLAINED.get(answer.puzzle.name, [])
