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
}


@pytest.mark.parametrize(("text", "shown"), EXPRESSIONS.items())
def test_expression(text: str, shown: str) -> None:
    assert format_dependency(read(text)) == shown


UNMET = [
    "!done(1)",
    "done(1) && (done(2) || done(3))",
    "exit(1, 3)",
    "numdone(1, >3)",
    "external(x, y)",
    "ended(1[*])",
    "done(wave*) || done(1)",
]


@pytest.mark.parametrize("text", UNMET)
def test_what_a_job_cannot_wait_for_is_refused(text: str) -> None:
    with pytest.raises(DependUnmetError, match="not supported here"):
        read(text)


@pytest.mark.parametrize(
    "text", ["", "done(", "done()", "done(1) done(2)", "done(1) &&", "&", "done(nobody)", "(" * 60]
)
def test_what_is_none_is_refused(text: str) -> None:
    with pytest.raises(DependSyntaxError):
        read(text)


def test_names_are_left_out_where_nobody_can_be_asked() -> None:
    assert parse_dependency("done(prep)", None, kill_if_never=False) is None
