"""PBS's job_sort_formula."""

from __future__ import annotations

import pytest

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.formula import evaluate

NAMES = {"ncpus": 4.0, "walltime": 3600.0, "eligible_time": 60.0}


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("ncpus", 4),
        ("ncpus*10 + walltime/3600", 41),
        ("2+3*4-1", 13),
        ("(2+3)*4", 20),
        ("-2**2", -4),
        ("2**-1", 0.5),
        ("2**3**2", 512),
        ("7//2 + 7%4", 6),
        ("1e2 + .5", 100.5),
        ("max(ncpus, 2, 9) - min(1, 2)", 8),
        ("pow(ncpus, 0.5)", 2),
        ("sqrt(16) + ceil(1.2) + floor(1.8) + abs(-3)", 10),
        ("--3", 3),
        ("walltime/(ncpus-4)", 0),
        ("sqrt(-1)", 0),
        ("9**9**9", 0),
        ("1e400", 0),
    ],
)
def test_value(formula: str, value: float) -> None:
    assert evaluate(formula, NAMES) == value


@pytest.mark.parametrize(
    ("formula", "why"),
    [
        ("", "column 1: something is missing at the end"),
        ("1 +", "column 4: something is missing at the end"),
        ("(1", "column 3: something is missing"),
        ("1 2", "column 3: '2' is not expected here"),
        ("nosuch*2", "column 1: there is no 'nosuch'; there are eligible_time, ncpus, walltime"),
        ("__import__('os')", "is no part of a formula"),
        ("ncpus.real", "is no part of a formula"),
        ("sqrt(1, 2)", "sqrt takes 1 values"),
        ("max(1)", "max takes two or more values"),
        ("(" * 60 + "1" + ")" * 60, "nested too deeply"),
        ("1+" * 600 + "1", "too long"),
    ],
)
def test_what_is_no_formula(formula: str, why: str) -> None:
    with pytest.raises(HpcBatchError) as error:
        evaluate(formula, NAMES)
    assert why in str(error.value)
