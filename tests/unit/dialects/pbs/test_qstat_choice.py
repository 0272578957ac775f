"""Which jobs qstat shows."""

from __future__ import annotations

import pytest

from hpcbatch.dialects.pbs.qstat_choice import chosen, living, unfolded
from hpcbatch.dialects.pbs.qstat_options import QstatOptions
from hpcbatch.dialects.pbs.qstat_queues import count_by_queue
from hpcbatch.model.row import JobRow
from hpcbatch.model.state import JobState
from hpcbatch.record.rows import row_of
from tests.unit.dialects.pbs.jobs import record


def job(number: int, state: JobState = JobState.QUEUED, **fields: object) -> JobRow:
    return row_of(record(number, state=state))._replace(**fields)  # type: ignore[arg-type]


QUEUED, RUNS, ENDED = job(1), job(2, JobState.RUNNING, user="eve"), job(3, JobState.FINISHED)
ARRAY = job(4, JobState.RUNNING, array_indices="0-2", array_pending="2", array_active="1", array_succeeded="0")
MEMBER = job(5, JobState.RUNNING, array_id=4, array_index=1)
OVER = job(6, JobState.FINISHED, array_indices="0-1", array_succeeded="0-1")
ALL = [QUEUED, RUNS, ENDED, ARRAY, MEMBER, OVER]


@pytest.mark.parametrize(
    ("options", "numbers"),
    [
        (QstatOptions(), [1, 2, 3, 4, 5, 6]),
        (QstatOptions(users=("eve",)), [2]),
        (QstatOptions(not_running=True), [1]),
        (QstatOptions(running=True), [2, 5]),
        (QstatOptions(finished=True), [3, 6]),
        (QstatOptions(arrays_only=True), [4, 5, 6]),
    ],
    ids=["all", "user", "i", "r", "H", "J"],
)
def test_chosen(options: QstatOptions, numbers: list[int]) -> None:
    assert [row.job_id for row in chosen(ALL, options)] == numbers


@pytest.mark.parametrize(
    ("options", "is_filtered", "shown"),
    [
        (QstatOptions(), False, [(1, None), (2, None), (3, None), (4, None), (6, None)]),
        (QstatOptions(subjobs=True), False, [(1, None), (2, None), (4, None), (4, 0), (5, 1), (4, 2)]),
        (QstatOptions(subjobs=True), True, [(1, None), (2, None), (4, 0), (5, 1), (4, 2)]),
        (
            QstatOptions(subjobs=True, history=True),
            True,
            [(1, None), (2, None), (3, None), (4, 0), (5, 1), (4, 2), (6, 0), (6, 1)],
        ),
    ],
    ids=["plain", "t", "t-filtered", "tx-filtered"],
)
def test_unfolded(options: QstatOptions, is_filtered: bool, shown: list[tuple[int, int | None]]) -> None:
    assert [(row.job_id, row.array_index) for row in unfolded(ALL, options, is_filtered=is_filtered)] == shown


def test_living_arrays() -> None:
    assert living(ALL) == {4}


def test_queues_are_counted_as_long_as_they_are_known_or_used() -> None:
    counts = count_by_queue([QUEUED, RUNS._replace(queue="gone")], ["workq", "empty"])
    assert sorted(counts) == ["empty", "gone", "workq"]
    assert counts["empty"] == count_by_queue([], ["q"])["q"]
