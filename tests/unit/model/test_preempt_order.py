"""PBS's preempt_order: which methods hold for a job that has run so long."""

from __future__ import annotations

import pytest

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.preempt_order import borders_s, methods_of

BANDS = "SCR 80 SC 50 S"


@pytest.mark.parametrize(
    ("text", "walltime_s", "ran_s", "methods"),
    [
        ("SCR", 1000, 0, "SCR"),
        ("SCR", 1000, 5000, "SCR"),
        (BANDS, 1000, 0, "SCR"),
        (BANDS, 1000, 190, "SCR"),  # 81 % are left
        (BANDS, 1000, 191, "SC"),
        (BANDS, 1000, 490, "SC"),
        (BANDS, 1000, 491, "S"),
        (BANDS, 1000, 5000, "S"),
        (BANDS, None, 5000, "SCR"),
        ("S 50 R 80 D", 1000, 200, "S"),
        ("S 50 R 80 D", 1000, 600, "D"),  # no per cent is from 81 to 50
    ],
)
def test_methods(text: str, walltime_s: int | None, ran_s: int, methods: str) -> None:
    assert methods_of(text, walltime_s, ran_s) == methods


def test_borders() -> None:
    assert borders_s(BANDS, 1000) == (191, 491)
    assert borders_s("SCR", 1000) == borders_s(BANDS, None) == ()
    assert borders_s("S 100 R", 1000) == (0,)
    for border_s in borders_s(BANDS, 1000):
        assert methods_of(BANDS, 1000, border_s) != methods_of(BANDS, 1000, border_s - 1)


@pytest.mark.parametrize("text", ["", "scr", "SS", "X", "80 S", "S 80 50", "S 8x R", "S -1 R", " ".join(["S 1"] * 21)])
def test_what_pbs_would_not_take(text: str) -> None:
    with pytest.raises(HpcBatchError):
        methods_of(text, 1, 0)
