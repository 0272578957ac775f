"""A paragraph on why a job has not started."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.preemption import PreemptMode
from hpcbatch.model.priority import ShortJobs
from hpcbatch.model.record import JobRecord, JobStatus, PastRun, Preempted, Preempting, Victim
from hpcbatch.model.row import JobRow
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy.why import why
from hpcbatch.record.rows import row_of

NOW = datetime(2026, 11, 25, 12, 0, tzinfo=UTC)
SOON = NOW + timedelta(minutes=20)


def row(number: int, reason: Reason = Reason.NONE, state: JobState = JobState.QUEUED, **changes: Any) -> JobRow:
    spec = JobSpec(dialect=Dialect.PBS, name="j", chunks=(Chunk(cpus=2),), server="s")
    status = JobStatus(owner="ann", layout=spec.chunks, state=state, reason=reason)
    record = JobRecord(job_id=number, namespace="ns", object_name="o", spec=spec, status=status, queue="q")
    return row_of(record)._replace(**{"walltime_s": 3600, **changes})


TOP = row(
    3,
    Reason.RESOURCES,
    message="Insufficient amount of resource: ncpus (R: 6 A: 0 T: 6)",
    planned_start=SOON,
    planned_nodes=("n1", "n2"),
)
LINE = [TOP, row(4, Reason.PRIORITY), row(9, Reason.PRIORITY, priority=5), row(1, state=JobState.RUNNING)]


def said(one: JobRow) -> str:
    return why(one, LINE, NOW, UTC)


def test_the_next_one() -> None:
    assert said(TOP) == (
        "Job 3 is number 2 of 3 that wait in queue q, behind 9 of ann (2 CPUs). It waits for nodes. Insufficient "
        "amount of resource: ncpus (R: 6 A: 0 T: 6). By the others' walltimes it is expected to start 2026-11-25 "
        "12:20:00 on n1, n2. It starts sooner if jobs end before their walltimes, and the less it asks for."
    )


def test_one_that_has_room_and_may_not_take_it() -> None:
    assert said(LINE[1]) == (
        "Job 4 is number 3 of 3 that wait in queue q, behind 9 of ann (2 CPUs), 3 of ann (2 CPUs). There is room for "
        "it now, but a job before it would start later if it took that. When it starts is not known yet. With a "
        "walltime of at most 00:19:00 it could start at once."
    )


def test_one_that_was_exchanged_says_whose_place_it_has() -> None:
    """So do the members of an array, which stand where that does."""
    line = [row(3, place_of=7), row(7, place_of=3), row(5)]
    assert why(line[0], line, NOW, UTC).startswith(
        "Job 3 is number 3 of 3 that wait in queue q, in the place of job 7, with which it was exchanged (qorder), "
        "behind 7 of ann (2 CPUs), 5 of ann (2 CPUs). "
    )
    assert why(line[2], line, NOW, UTC).startswith("Job 5 is number 2 of 3 that wait in queue q, behind 7 of ann")
    array, other = row(2, array_indices="0-1", place_of=5), row(5, place_of=2)
    member = row(12, array_id=2, array_index=1)
    assert why(member, [array, other, member], NOW, UTC).startswith(
        "Job 2[1] is number 2 of 2 that wait in queue q, in the place of job 5, with which it was exchanged (qorder), "
        "behind 5 of ann"
    )


def test_one_without_a_walltime() -> None:
    assert "It has no walltime" in said(row(5, Reason.PRIORITY, message="no room", walltime_s=None))


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (row(2, state=JobState.FINISHED), "has ended: Finished."),
        (row(2, Reason.NON_ZERO_EXIT, JobState.FAILED), "has ended: NonZeroExit."),
        (row(2, state=JobState.RUNNING, start_time=NOW, hosts=("n1", "n1")), "has started 2026-11-25 12:00:00 on n1."),
        (
            row(2, Reason.RESOURCES, JobState.SUSPENDED, start_time=NOW, hosts=("n1",), message="it goes on later"),
            "has started 2026-11-25 12:00:00 on n1, and is suspended. It goes on later.",
        ),
        (row(2, Reason.STARTING), "has its nodes, and its pods are being started."),
        (row(2, Reason.HELD_BY_USER, JobState.HELD), "is held by its user"),
        (row(2, Reason.HELD_BY_ADMIN, JobState.HELD), "is held by an operator"),
        (row(2, Reason.DEPENDENCY, JobState.HELD, dependency="afterok:1"), "waits for other jobs: afterok:1."),
        (row(2, Reason.BEGIN_TIME, JobState.WAITING, begin_time=SOON), "begin time 2026-11-25 12:20:00."),
        (row(2, Reason.LICENSES, message="few"), "waits for licences that other jobs hold. few."),
        (
            row(2, Reason.NEVER_FITS, message="too much"),
            "for less, or for other nodes. too much.",
        ),
        (row(2, Reason.RESERVATION, reservation="r"), "waits for its reservation r: that has not begun,"),
        (row(2, Reason.RESERVATION_GONE, reservation="r"), "waits for reservation r, which there is not any more"),
        (row(2, Reason.MAINTENANCE), "Its nodes are reserved for maintenance, and it would still run"),
        (row(2, Reason.RESERVED), "Its nodes are reserved for others, and it would still run"),
        (row(2, Reason.QUEUE_UNAVAILABLE, message="it is closed"), "waits for its queue q. it is closed."),
    ],
)
def test_others(one: JobRow, text: str) -> None:
    assert text in said(one)


@pytest.mark.parametrize("state", list(JobState))
@pytest.mark.parametrize("reason", list(Reason))
def test_something_is_said_of_every_job(state: JobState, reason: Reason) -> None:
    text = said(row(2, reason, state))
    assert text.startswith("Job 2 ") and text.endswith(".") and "  " not in text


def test_who_ends_for_whom() -> None:
    mark = Preempted(by=12, time=NOW, end_time=SOON, mode=PreemptMode.REQUEUE)
    runs = row(1, state=JobState.RUNNING, start_time=NOW)
    chosen = JobStatus(state=JobState.RUNNING, preempted=mark)
    assert why(runs, LINE, NOW, UTC, chosen).endswith(
        " It was chosen to make room for job 12, and is ended 2026-11-25 12:20:00."
    )
    past = PastRun(start_time=NOW, end_time=SOON, lost="it was preempted for job 12")
    again = why(TOP, LINE, NOW, UTC, JobStatus(past_runs=(past,)))
    assert again.endswith(" It ran before, until 2026-11-25 12:20:00: it was preempted for job 12.")
    victims = Preempting(time=NOW, places="0:n1*1", victims=(Victim(job=5, run=1), Victim(job=6, run=2)))
    assert why(TOP, LINE, NOW, UTC, JobStatus(preempting=victims)).endswith(" For it are being preempted: 5, 6.")
    assert why(runs, LINE, NOW, UTC, JobStatus(preempting=victims)).endswith(" For it were preempted: 5, 6.")


def test_where_short_jobs_go_first() -> None:
    short, spec = ShortJobs(walltime_s=30, delay_s=1800), JobSpec(dialect=Dialect.PBS, name="j", server="s")
    status = JobStatus(owner="ann", layout=spec.chunks)
    long = why(LINE[1], LINE, NOW, UTC, status, short=short)
    assert long.endswith(
        "It is not due yet: jobs of at most 00:00:30 go before it until it would start without them, and for no more "
        "than 00:30:00 after that."
    )
    assert "it could start at once" not in long
    small = why(row(5, Reason.RESOURCES, walltime_s=30), LINE, NOW, UTC, status, short=short)
    assert small.endswith(
        "It is short: it starts as soon as there is room for it, unless a job that is due would start too late."
    )
    due = replace(status, due_since=NOW)
    assert why(LINE[1], LINE, NOW, UTC, due, short=short).endswith(
        "It is due since 2026-11-25 12:00:00: only jobs that are due before it go first, and short jobs that end by "
        "2026-11-25 12:30:00."
    )
    assert "due" not in why(row(1, state=JobState.RUNNING), LINE, NOW, UTC, due, short=short)
