"""Two waiting jobs change places."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.model.record import JobRecord, OrderPlace
from hpcbatch.model.row import JobRow
from hpcbatch.policy.order import exchanged, exchanged_place, weight_of
from tests.unit.dialects.pbs.jobs import ROWS
from tests.unit.policy.test_planned import job

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


def _rank(record: JobRecord) -> float:
    order = record.status.order
    return {1: 10.0, 2: 4.5, 3: 7.0}[record.job_id] + (0.0 if order is None else order.shift_millis / 1000)


def _placed(record: JobRecord, place: OrderPlace) -> JobRecord:
    return replace(record, status=replace(record.status, order=place))


@pytest.mark.parametrize("is_seen", [True, False], ids=["the other is seen as it is now", "as it was"])
def test_exchanged_twice(is_seen: bool) -> None:
    jobs = {number: job(number) for number in (1, 2, 3)}
    for request_id, (one, other) in (("a", (1, 2)), ("b", (2, 3)), ("c", (2, 3))):
        first = _placed(jobs[one], exchanged_place(jobs[one], jobs[other], request_id, _rank))
        seen = first if is_seen else jobs[one]
        jobs[other] = _placed(jobs[other], exchanged_place(jobs[other], seen, request_id, _rank))
        jobs[one] = first
    orders = [one.status.order or OrderPlace() for one in jobs.values()]
    assert [_rank(one) for one in jobs.values()] == [4.5, 10.0, 7.0]
    assert [order.number for order in orders] == [2, 1, 3]


def test_nice_counts() -> None:
    assert exchanged(row(1, 10, nice=10), row(2, 5)) == {1: 5, 2: 0}
