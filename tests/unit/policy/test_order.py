"""Two waiting jobs change places."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.model.row import JobRow
from hpcbatch.policy.order import exchanged, weight_of
from tests.unit.dialects.pbs.jobs import ROWS

WEIGHT = st.integers(-1024, 1023)


def row(number: int, priority: int, nice: int = 0) -> JobRow:
    return ROWS[0]._replace(job_id=number, priority=priority, nice=nice)


def first(one: JobRow, other: JobRow, weights: dict[int, int]) -> int:
    return min((one, other), key=lambda job: (-weights[job.job_id], job.job_id)).job_id


@given(WEIGHT, WEIGHT)
def test_whoever_was_behind_is_in_front(one: int, other: int) -> None:
    jobs = row(1, one), row(2, other)
    before = {job.job_id: weight_of(job) for job in jobs}
    after = exchanged(*jobs)
    assert first(*jobs, before) != first(*jobs, after)
    assert set(after.values()) <= set(range(-1024, 1024))
    assert exchanged(*reversed(jobs)) == after
    if one != other:
        assert after == {1: other, 2: one}
    elif one > -1024:
        assert max(after.values()) == one  # nobody overtakes others


def test_nice_counts() -> None:
    assert exchanged(row(1, 10, nice=10), row(2, 5)) == {1: 5, 2: 0}
