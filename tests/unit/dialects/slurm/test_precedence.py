"""scontrol top, and which updates bring a job forward."""

from __future__ import annotations

import pytest

from hpcbatch.dialects.slurm import states
from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.dialects.slurm.precedence import brings_forward, is_lowered, priority_before
from hpcbatch.dialects.slurm.update import RELEASE, read_update
from hpcbatch.model.row import JobRow
from hpcbatch.model.state import JobState
from tests.unit.dialects.slurm.jobs import record, row


def job(
    number: int, state: JobState = JobState.QUEUED, *, priority: int = 0, nice: int = 0, user: str = "bo"
) -> JobRow:
    return row(record(number, state=state))._replace(priority=priority, nice=nice, user=user)


def shown(one: JobRow) -> int:
    return states.priority(states.own_number(one), JobState.QUEUED, one.priority - one.nice)


@pytest.mark.parametrize(
    "others",
    [
        [],
        [job(11), job(13)],
        [job(11, priority=50), job(13, priority=50)],
        [job(11, nice=-7)],
        [job(40, priority=3, nice=1), job(2, priority=9, nice=5)],
    ],
    ids=["alone", "equal", "higher", "nice", "mixed"],
)
@pytest.mark.parametrize("nice", [-3, 0, 4])
def test_first_of_its_user(others: list[JobRow], nice: int) -> None:
    mine = job(12, nice=nice)
    least = priority_before(mine, [*others, mine])
    raised = mine._replace(priority=max(mine.priority, least + nice))
    for other in others:
        assert raised.priority - raised.nice > other.priority - other.nice
        assert shown(raised) > shown(other)


@pytest.mark.parametrize(
    "other",
    [
        job(11, priority=90, user="eve"),
        job(11, priority=90)._replace(queue="long"),
        job(11, JobState.RUNNING, priority=90),
    ],
    ids=["user", "partition", "running"],
)
def test_others_do_not_count(other: JobRow) -> None:
    assert priority_before(job(12), [other, job(12)]) == 0


def test_one_that_runs_is_not_moved() -> None:
    with pytest.raises(SlurmUsageError):
        priority_before(job(12, JobState.RUNNING), [])


@pytest.mark.parametrize(
    ("words", "nice", "forward", "lowered"),
    [
        (("Name=x",), 0, False, False),
        (("Priority=0",), 0, False, False),
        ((f"Priority={RELEASE}",), 0, False, False),
        (("Nice=10",), 0, False, False),
        (("Nice=-1",), 0, True, False),
        (("Nice=-1",), -5, False, False),
        (("Priority=1",), 0, True, True),
        (("Priority=4294967000",), 0, True, False),
        (("Priority=1", "Nice=-1"), 0, True, False),
    ],
    ids=["name", "hold", "release", "nice", "less-nice", "nicer-than-before", "lower", "higher", "lower-but-less-nice"],
)
def test_rights(words: tuple[str, ...], nice: int, forward: bool, lowered: bool) -> None:
    update, mine = read_update(["JobId=12", *words]), job(12, nice=nice)
    assert brings_forward(update, mine) is forward
    assert (forward and is_lowered(update, mine)) is lowered
