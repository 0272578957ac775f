"""The planner's decisions are those of real systems on the same puzzles: `python -m bench.puzzles` recorded them."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.puzzles.answers import Answer, differences, read

DATA = Path(__file__).parent / "data"
SLURM = read(DATA / "slurm.json")[1]


@pytest.mark.parametrize("answer", SLURM, ids=[answer.puzzle.name for answer in SLURM])
def test_as_slurm(answer: Answer) -> None:
    """Its backfilling plans each job that waits."""
    assert list(differences(answer, depth=None)) == []
