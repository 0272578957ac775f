"""-w: what a job waits for."""

from __future__ import annotations

import pytest

from hpcbatch.dialects.lsf.depend import DependSyntaxError, DependUnmetError, format_dependency, parse_dependency
from hpcbatch.model.dependency import Dependency
from tests.unit.dialects.lsf.submit_parts import NAMED


def read(text: str) -> Dependency:
    found = parse_dependency(text, lambda name: NAMED.get(name, []), kill_if_never=False)
    assert found is not None
    return found


EXPRESSIONS = {
    "12": "done(12)",
    "done(12)": "done(12)",
    "ended( 12 )": "ended(12)",
    'done("prep")': "done(7)",
    "done(wave*)": "done(8) && done(9)",
    "exit(12)": "exit(12)",
    "exit(12, !=0)": "exit(12)",
    "exit(12,>0)": "exit(12)",
    "started(12)": "started(12)",
    "post_done(12)": "done(12)",
    "numended(12, *)": "ended(12)",
    "done(12[3])": "done(12[3])",
    "done(12[2-3])": "done(12[2]) && done(12[3])",
    "done(12[*])": "done(12[*])",
    "done(prep[*])": "done(7[*])",
    "done(1) && ended(2) && exit(3)": "done(1) && ended(2) && exit(3)",
    "done(1) || exit(2)": "done(1) || exit(2)",
    "(done(1) && (done(2)))": "done(1) && done(2)",
    "done(1) && (done(2) || (exit(3)))": "done(1) && (done(2) || exit(3))",
    "done(1) && done(2) || exit(3)": "(done(1) && done(2)) || exit(3)",
    "done(wave*) || done(1)": "(done(8) && done(9)) || done(1)",
    "done(12[2-3]) || done(1)": "(done(12[2]) && done(12[3])) || done(1)",
    "exit(12, 3) && exit(12,<5)": "exit(12, 3) && exit(12, <5)",
    "numdone(12, >3)": "numdone(12, >3)",
    "numexit(12, 1) || numended(12, ==007)": "numexit(12, 1) || numended(12, 7)",
    "numrun(1, 3) && numpend(1,<=2)": "numrun(1, 3) && numpend(1, <=2)",
    "numhold(1,!=0) || numstart(1, >3)": "numhold(1, !=0) || numstart(1, >3)",
    "numexit(1, *) || numrun(1,*)": "numexit(1, *) || numrun(1, *)",
    "numstart(1, *)": "started(1)",
    "!done(1)": "!done(1)",
    "!!done(1)": "done(1)",
    "!(done(1) && !exit(2))": "!done(1) || exit(2)",
    "!(done(1) || ended(2)) && started(3)": "!done(1) && !ended(2) && started(3)",
    "!ended(wave*)": "!ended(8) || !ended(9)",
    "done(12[*]) && (done(1) || done(2))": "done(12[*]) && (done(1) || done(2))",
    "done(1) && (ended(2) || exit(3,>5)) && !started(wave*)": (
        "done(1) && (ended(2) || exit(3, >5)) && (!started(8) || !started(9))"
    ),
}


@pytest.mark.parametrize(("text", "shown"), EXPRESSIONS.items())
def test_expression(text: str, shown: str) -> None:
    found = read(text)
    assert format_dependency(found) == shown
    assert read(shown).group == found.group


UNMET = [
    "external(x, y)",
    "ended(1[*])",
    "!done(1[*])",
    "done(1) || done(2[*])",
    " && ".join(f"(done({n}) || done(0))" for n in range(501)),
]


@pytest.mark.parametrize("text", UNMET)
def test_what_a_job_cannot_wait_for_is_refused(text: str) -> None:
    with pytest.raises(DependUnmetError, match="not supported here"):
        read(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "done(",
        "done()",
        "done(1) done(2)",
        "done(1) &&",
        "&",
        "done(nobody)",
        "(" * 60,
        "!" * 60,
        "!",
        "numdone(1[2],3)",
    ],
)
def test_what_is_none_is_refused(text: str) -> None:
    with pytest.raises(DependSyntaxError):
        read(text)


def test_names_are_left_out_where_nobody_can_be_asked() -> None:
    assert parse_dependency("done(prep)", None, kill_if_never=False) is None
