"""Dependencies and how far they are satisfied, in a BatchJob and back."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.model.dependency import (
    COMPARED,
    DEPENDENCY,
    Clause,
    Dependency,
    DependencyKind,
    DependencyProgress,
    JobRef,
)
from hpcbatch.model.record import JobStatus
from hpcbatch.record.batchjob import status_from_json, status_to_json

REFS = st.builds(JobRef, job_id=st.integers(1, 10**9), index=st.none() | st.integers(0, 10**6))
CLAUSES = st.one_of(
    st.builds(
        Clause,
        kind=st.sampled_from(sorted(set(DependencyKind) - COMPARED - {DependencyKind.ON, DependencyKind.SINGLETON})),
        jobs=st.lists(REFS, min_size=1, max_size=3).map(tuple),
        delay_s=st.integers(0, 10**6),
    ),
    st.builds(
        Clause,
        kind=st.sampled_from(sorted(COMPARED)),
        jobs=REFS.map(lambda ref: (ref,)),
        compare=st.sampled_from(["==0", ">=5", "!=12"]),
        is_not=st.booleans(),
    ),
    st.builds(Clause, kind=st.just(DependencyKind.ON), count=st.integers(1, 100)),
    st.just(Clause(kind=DependencyKind.SINGLETON)),
)
NAMES = st.lists(st.sampled_from(["afterok:1", "beforeany:2", "singleton"]), max_size=2).map(tuple)


@given(
    st.builds(
        Dependency,
        clauses=st.lists(CLAUSES, min_size=1, max_size=3).map(tuple),
        is_any=st.booleans(),
        kill_if_never=st.none() | st.booleans(),
    )
)
def test_dependency(dependency: Dependency) -> None:
    assert DEPENDENCY.from_json(DEPENDENCY.to_json(dependency)) == dependency
    places = "?".join(map(str, range(len(dependency.clauses))))
    nested = replace(dependency, is_any=False, expression=f"({places})")
    assert DEPENDENCY.from_json(DEPENDENCY.to_json(nested)) == nested


@given(
    st.builds(DependencyProgress, met=NAMES, joined=NAMES, left=st.sampled_from(["", "afterok:3!"]), followers=NAMES)
)
def test_progress(progress: DependencyProgress) -> None:
    status = JobStatus(dependency=progress)
    assert status_from_json(status_to_json(status), None) == status
