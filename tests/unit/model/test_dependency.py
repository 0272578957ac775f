"""Dependencies as text: what a status and the rows of listings hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.conditions import written
from hpcbatch.model.dependency import (
    COMPARED,
    MAX_JOBS,
    MIRROR,
    Clause,
    Dependency,
    DependencyKind,
    JobRef,
    Left,
    Wait,
    left_shown,
    parse_left,
)

K = DependencyKind
REFS = st.builds(JobRef, job_id=st.integers(1, 10**9), index=st.none() | st.integers(0, 10**6))
OF_JOBS = st.sampled_from([kind for kind in K if kind not in COMPARED | {K.ON, K.SINGLETON}])
COMPARISONS = st.builds("{}{}".format, st.sampled_from(["==", "!=", ">=", "<=", ">", "<"]), st.integers(0, 10**6))
WAITS = st.one_of(
    st.builds(Wait, kind=st.sampled_from(sorted(COMPARED)), ref=REFS, compare=COMPARISONS, is_not=st.booleans()),
    st.builds(Wait, kind=OF_JOBS, ref=REFS, delay_s=st.integers(0, 10**6)),
    st.builds(Wait, kind=st.just(K.ON), count=st.integers(1, 10**6)),
    st.just(Wait(kind=K.SINGLETON)),
)


@st.composite
def lefts(draw: st.DrawFn) -> Left:
    wait = draw(WAITS)
    is_whole = wait.ref is not None and wait.ref.index is None
    return Left(wait=wait, has_failed=draw(st.booleans()), is_array=is_whole and draw(st.booleans()))


@given(WAITS)
def test_a_wait_is_its_name(wait: Wait) -> None:
    assert Wait.parse(str(wait)) == wait


@given(st.lists(lefts(), max_size=5), st.booleans())
def test_what_is_left_is_its_text(parts: list[Left], is_any: bool) -> None:
    text = ("?" if is_any else ",").join(map(str, parts))
    assert parse_left(text) == tuple(parts)
    assert left_shown(text, str) == text


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (Left(wait=Wait(kind=K.AFTER_OK, ref=JobRef(job_id=12))), "afterok:12"),
        (Left(wait=Wait(kind=K.AFTER_OK, ref=JobRef(job_id=12)), is_array=True, has_failed=True), "afterok:12[]!"),
        (Left(wait=Wait(kind=K.AFTER, ref=JobRef(job_id=12, index=7), delay_s=300)), "after:12[7]+300"),
        (Left(wait=Wait(kind=K.AFTER_CODE, ref=JobRef(job_id=12), compare=">=5", is_not=True)), "!aftercode:12>=5"),
        (Left(wait=Wait(kind=K.ON, count=2)), "on:2"),
        (Left(wait=Wait(kind=K.SINGLETON)), "singleton"),
    ],
)
def test_text(part: Left, text: str) -> None:
    assert str(part) == text


def test_parts_of_a_dependency() -> None:
    one, two = JobRef(job_id=1), JobRef(job_id=2)
    dependency = Dependency(
        clauses=(
            Clause(kind=K.AFTER_OK, jobs=(one, two)),
            Clause(kind=K.AFTER_OK, jobs=(one,)),
            Clause(kind=K.BEFORE, jobs=(two,)),
            Clause(kind=K.RUN_ONE, jobs=(one,)),
            Clause(kind=K.ON, count=2),
        )
    )
    assert [str(wait) for wait in dependency.waits] == ["afterok:1", "afterok:2", "on:2"]
    assert [str(wait) for wait in dependency.befores] == ["before:2"]
    assert [str(wait) for wait in dependency.rivals] == ["runone:1"]


@pytest.mark.parametrize(
    ("kind", "jobs", "count"),
    [(K.ON, (), 0), (K.ON, (JobRef(job_id=1),), 1), (K.AFTER, (), 0), (K.SINGLETON, (JobRef(job_id=1),), 0)],
)
def test_no_clause(kind: DependencyKind, jobs: tuple[JobRef, ...], count: int) -> None:
    with pytest.raises(HpcBatchError, match="not a dependency"):
        Clause(kind=kind, jobs=jobs, count=count)


@pytest.mark.parametrize(
    ("kind", "jobs", "compare", "is_not"),
    [
        (K.AFTER_CODE, 1, "", False),
        (K.AFTER_CODE, 1, ">=x", False),
        (K.AFTER_OK, 1, ">=5", False),
        (K.AFTER_OK, 2, "", True),
        (K.AFTER_CORR, 1, "", True),
    ],
)
def test_no_clause_of_lsf(kind: DependencyKind, jobs: int, compare: str, *, is_not: bool) -> None:
    with pytest.raises(HpcBatchError, match="not a dependency"):
        Clause(kind=kind, jobs=tuple(JobRef(job_id=n) for n in range(1, jobs + 1)), compare=compare, is_not=is_not)


def test_an_expression_names_each_clause_once() -> None:
    one = Clause(kind=K.AFTER_OK, jobs=(JobRef(job_id=1), JobRef(job_id=2)))
    two = Clause(kind=K.AFTER, jobs=(JobRef(job_id=3),), is_not=True)
    assert written(Dependency(clauses=(one, two), expression="0?1").group) == "(afterok:1,afterok:2)?!after:3"
    assert written(Dependency(clauses=(one, two, two), expression="0,(1?2)").group) == (
        "afterok:1,afterok:2,(!after:3?!after:3)"
    )
    for wrong in ("0", "0,0", "1,0", "0,1,2", "0,1?2", "0,(1", "x,1"):
        with pytest.raises(HpcBatchError, match="not an expression"):
            Dependency(clauses=(one, two), expression=wrong)
    with pytest.raises(HpcBatchError, match="not an expression"):
        Dependency(clauses=(one, two), expression="0,1", is_any=True)


def test_too_many() -> None:
    half = Clause(kind=K.AFTER_OK, jobs=tuple(JobRef(job_id=number) for number in range(1, MAX_JOBS // 2 + 2)))
    Dependency(clauses=(half,))
    with pytest.raises(HpcBatchError, match="at most 5000"):
        Dependency(clauses=(half, half))


def test_each_before_has_its_after() -> None:
    assert {kind for kind in K if kind.startswith("before")} == set(MIRROR)
