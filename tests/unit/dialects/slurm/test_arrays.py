"""Arrays in squeue, scontrol and scancel against recorded output."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, timedelta
from typing import Any

import pytest

from hpcbatch.dialects.slurm.array_records import ShownJob, shown_array, shown_index, shown_jobs
from hpcbatch.dialects.slurm.ids import id_text
from hpcbatch.dialects.slurm.scancel import chosen_ids, no_match
from hpcbatch.dialects.slurm.scancel import read_options as read_scancel
from hpcbatch.dialects.slurm.scontrol import format_job
from hpcbatch.dialects.slurm.squeue import check_ids, format_queue
from hpcbatch.dialects.slurm.squeue_options import read_options
from hpcbatch.errors import UnknownJobError
from hpcbatch.model.array import Array, ArrayStatus, Membership
from hpcbatch.model.indices import Indices
from hpcbatch.model.record import JobRecord
from hpcbatch.model.row import JobRow
from hpcbatch.model.state import JobState, Reason
from hpcbatch.record.rows import row_of
from tests.unit.dialects.slurm.jobs import ARRAY, NOW, RUNNING, SUBMITTED, record, recorded


def array(job_id: int = 160, limit: int | None = None, reason: Reason = Reason.RESOURCES, **sets: str) -> JobRecord:
    """An array of 0-3 that has begun, whose members stand where `sets` say."""
    status = ArrayStatus(limit=limit, **{name: Indices.parse(text) for name, text in sets.items()})
    return record(
        job_id,
        "arr",
        JobState.RUNNING,
        reason,
        array=Array(indices=Indices.parse("0-3"), limit=limit),
        array_status=status,
        start_time=SUBMITTED,
    )


def member(
    of: JobRecord, index: int, state: JobState = JobState.RUNNING, reason: Reason = Reason.NONE, **status: object
) -> JobRecord:
    if state is JobState.RUNNING:
        status = RUNNING | status
    place = Membership(array_id=of.job_id, array_name=of.object_name, index=index)
    return record(of.job_id + 1 + index, "arr", state, reason, member_of=place, **status)  # type: ignore[arg-type]


BEGUN = array(pending="2-3", active="0-1")
MEMBERS = (member(BEGUN, 0), member(BEGUN, 1))
ROWS = tuple(row_of(job) for job in (BEGUN, *MEMBERS))


def squeue(*argv: str, rows: Sequence[JobRow] = ROWS) -> list[str]:
    options = read_options(argv, {}, "tester")
    check_ids(rows, options)
    return format_queue(rows, options, NOW, UTC).splitlines()


LISTINGS = [
    # recorded
    (
        ["-j", "160", "-o", "%i %t %r %K %F %A"],
        ["160_[2-3] PD Resources 2-3 160 160", "160_1 R None 1 160 162", "160_0 R None 0 160 161"],
    ),
    (
        ["-r", "-j", "160", "-o", "%i %t %r"],
        ["160_2 PD Resources", "160_3 PD Resources", "160_1 R None", "160_0 R None"],
    ),
    # by the source
    (["-o", "%i"], ["160_[2-3]", "160_0", "160_1"]),
    (["-j", "160_1", "-o", "%i"], ["160_1"]),
    (["-j", "160_[1-2]", "-o", "%i"], ["160_[2]", "160_1"]),
    (["-j", "162", "-o", "%i"], ["160_1"]),
    (["-j", "160_9", "-o", "%i"], []),
    (["-t", "R", "-o", "%i"], ["160_0", "160_1"]),
    (["-t", "PD", "-o", "%i"], ["160_[2-3]"]),
    (["-r", "-o", "%i %A %K"], ["160_2 160 2", "160_3 160 3", "160_0 161 0", "160_1 162 1"]),
    (["-S", "i", "-r", "-o", "%i"], ["160_0", "160_1", "160_2", "160_3"]),
    (["-u", "nobody", "-o", "%i"], []),
]


@pytest.mark.parametrize(("argv", "expected"), LISTINGS, ids=[" ".join(case[0]) for case in LISTINGS])
def test_squeue(argv: list[str], expected: list[str]) -> None:
    assert squeue("-h", *argv) == expected


def test_default_listing() -> None:
    assert squeue("-j", "160")[1:] == [
        "         160_[2-3]     debug      arr   tester PD       0:00      1 (Resources)",
        "             160_1     debug      arr   tester  R       0:02      1 vm",
        "             160_0     debug      arr   tester  R       0:02      1 vm",
    ]


def test_members_that_wait_are_shown_with_those_that_have_no_record() -> None:
    of = array(pending="3", active="0-2", limit=2, reason=Reason.PRIORITY)
    rows = [row_of(job) for job in (of, member(of, 0), member(of, 1, JobState.QUEUED, Reason.PRIORITY), member(of, 2))]
    assert squeue("-h", "-o", "%i %t %r", rows=rows) == ["160_[1,3%2] PD Priority", "160_0 R None", "160_2 R None"]
    assert squeue("-h", "-r", "-o", "%i %t %A", rows=rows) == [
        "160_1 PD 162",
        "160_3 PD 160",
        "160_0 R 161",
        "160_2 R 163",
    ]
    renamed = [row._replace(name="new") if row.array_index == 1 else row for row in rows]
    assert squeue("-h", "-t", "PD", "-o", "%i %j", rows=renamed) == ["160_[3%2] arr", "160_1 new"]


@pytest.mark.parametrize(
    ("reason", "shown", "priority"),
    [
        (Reason.ARRAY_LIMIT, "JobArrayTaskLimit", 4294901600),
        (Reason.HELD_BY_USER, "JobHeldUser", 0),
        (Reason.DEPENDENCY, "Dependency", 4294901600),
        (Reason.NONE, "None", 4294901600),
    ],
)
def test_reason_of_what_waits_of_a_begun_array(reason: Reason, shown: str, priority: int) -> None:
    rows = [row_of(array(pending="2-3", active="0-1", reason=reason)), *ROWS[1:]]
    assert squeue("-h", "-t", "PD", "-o", "%i %r %Q", rows=rows) == [f"160_[2-3] {shown} {priority}"]


def test_members_share_the_priority_of_their_array() -> None:
    assert set(squeue("-h", "-o", "%Q")) == {str(4294901760 - 160)}


def test_cancelled_members_that_never_had_a_record() -> None:
    rows = [row_of(array(pending="3", active="0-1", deleted="2")), *ROWS[1:]]
    assert squeue("-h", "-t", "CA", "-o", "%i %T", rows=rows) == ["160_[2] CANCELLED"]
    assert squeue("-h", "-o", "%i", rows=rows) == ["160_[3]", "160_0", "160_1"]


def test_members_held_singly() -> None:
    rows = [row_of(BEGUN)._replace(array_held="1-2"), *ROWS[1:]]
    assert squeue("-h", "-t", "PD", "-o", "%i %r %Q", rows=rows) == [
        "160_[3] Resources 4294901600",
        "160_2 JobHeldUser 0",
    ]
    assert squeue("-h", "-r", "-t", "PD", "-o", "%i %r", rows=rows) == ["160_3 Resources", "160_2 JobHeldUser"]
    with_record = [*rows, row_of(member(BEGUN, 2, JobState.HELD, Reason.HELD_BY_USER))]
    assert squeue("-h", "-t", "PD", "-o", "%i %r", rows=with_record) == ["160_[3] Resources", "160_2 JobHeldUser"]
    held = rows[0]._replace(reason=Reason.HELD_BY_USER)
    assert squeue("-h", "-t", "PD", "-o", "%i %r", rows=[held, *rows[1:]]) == ["160_[2-3] JobHeldUser"]


@pytest.mark.parametrize("text", ["9-3", "x", "1-3:0"])
def test_what_is_no_set_of_indices_ends_no_listing(text: str) -> None:
    rows = [row_of(BEGUN)._replace(array_held=text), *ROWS[1:]]
    assert squeue("-h", "-t", "PD", "-o", "%i", rows=rows) == ["160_[2-3]"]


def test_ended_array() -> None:
    of = array(succeeded="0-3")
    ended: dict[str, Any] = {
        "start_time": SUBMITTED,
        "end_time": NOW - timedelta(seconds=1),
        "hosts": MEMBERS[0].status.hosts,
    }
    of = replace(of, status=replace(of.status, state=JobState.FINISHED, end_time=NOW))
    rows = [row_of(job) for job in (of, *(member(of, i, JobState.FINISHED, **ended) for i in range(4)))]
    assert squeue("-h", "-j", "160", rows=rows) == []
    assert squeue("-h", "-t", "all", "-o", "%i %t", rows=rows) == [f"160_{i} CD" for i in range(4)]


def test_unknown_ids() -> None:
    with pytest.raises(UnknownJobError):
        squeue("-j", "85_1", rows=[row_of(record(85))])
    with pytest.raises(UnknownJobError):
        squeue("-j", "99_1")
    assert squeue("-h", "-j", "99_1,160_0", "-o", "%i") == ["160_0"]


def masked(text: str) -> str:
    text = re.sub(r"Priority=[1-9]\d*", "Priority=P", text)
    text = re.sub(r"LastSchedEval=\S+ Scheduler=\w+", "LastSchedEval", text)
    text = re.sub(r"StartTime=\S+ EndTime=\S+", "StartTime", text)
    return text.replace(",mem=20000M", "").replace(" SchedNodeList=vm", "")


def shown(job: ShownJob, *, one_line: bool = False) -> str:
    return format_job(job.record, NOW, UTC, one_line, group="tester", in_array=job.in_array)


def test_recorded_array() -> None:
    assert masked("".join(map(shown, shown_array(ARRAY, ())))) == masked(recorded("scontrol-93.txt"))


def test_recorded_member_without_a_record() -> None:
    job = shown_index(ARRAY, (), 2)
    assert job is not None
    assert masked(shown(job, one_line=True)) == masked(recorded("scontrol-o-93_2.txt"))
    assert shown_index(ARRAY, (), 9) is None


def heads(jobs: Sequence[ShownJob]) -> list[str]:
    return [shown(job).partition(" JobName")[0] + f" {job.record.status.state}" for job in jobs]


def test_all_of_an_array() -> None:
    assert heads(shown_array(BEGUN, MEMBERS)) == [
        "JobId=160 ArrayJobId=160 ArrayTaskId=2-3 Queued",
        "JobId=162 ArrayJobId=160 ArrayTaskId=1 Running",
        "JobId=161 ArrayJobId=160 ArrayTaskId=0 Running",
    ]
    assert heads(shown_jobs([record(85), BEGUN, *MEMBERS], {})) == [
        "JobId=85 Queued",
        "JobId=160 ArrayJobId=160 ArrayTaskId=2-3 Queued",
        "JobId=161 ArrayJobId=160 ArrayTaskId=0 Running",
        "JobId=162 ArrayJobId=160 ArrayTaskId=1 Running",
    ]
    assert heads(shown_array(BEGUN, MEMBERS, "3"))[:2] == [
        "JobId=160 ArrayJobId=160 ArrayTaskId=2 Queued",
        "JobId=160 ArrayJobId=160 ArrayTaskId=3 Held",
    ]
    limited = array(pending="2-3", active="0-1", limit=2)
    assert heads(shown_array(limited, MEMBERS))[0] == (
        "JobId=160 ArrayJobId=160 ArrayTaskId=2-3%2 ArrayTaskThrottle=2 Queued"
    )


@pytest.mark.parametrize(
    ("index", "state"),
    [(0, JobState.RUNNING), (1, JobState.FINISHED), (3, JobState.HELD)],
)
def test_one_of_an_array(index: int, state: JobState) -> None:
    of = array(pending="3", active="0", succeeded="1", deleted="2")
    job = shown_index(of, MEMBERS[:1], index, "3")
    assert job is not None
    assert (job.record.status.state, job.in_array) == (state, f"ArrayJobId=160 ArrayTaskId={index} ")


def test_a_member_that_was_cancelled_while_it_waited() -> None:
    """Slurm keeps nothing of it; of an array that was cancelled as a whole all."""
    of = array(pending="3", active="0-1", deleted="2")
    assert shown_index(of, MEMBERS, 2) is None
    assert shown_index(of, [member(of, 2, JobState.DELETED)], 2) is None
    started = member(of, 2, JobState.DELETED)
    started = replace(started, status=replace(started.status, start_time=NOW))
    assert shown_index(of, [started], 2) is not None
    whole = replace(of, status=replace(of.status, state=JobState.DELETED, end_time=NOW))
    assert shown_index(whole, (), 2) is not None


def test_array_whose_members_are_forgotten() -> None:
    of = array(succeeded="0-3")
    ended = replace(of, status=replace(of.status, state=JobState.FINISHED, end_time=NOW))
    assert heads(shown_array(ended, ())) == ["JobId=160 ArrayJobId=160 ArrayTaskId=0-3 Finished"]
    cancelled = array(deleted="0-3")
    cancelled = replace(cancelled, status=replace(cancelled.status, state=JobState.DELETED, end_time=NOW))
    assert heads(shown_array(cancelled, ())) == ["JobId=160 ArrayJobId=160 ArrayTaskId=0-3 Deleted"]


CHOSEN = [
    (["--me"], ["160"]),
    (["-t", "PENDING", "160"], ["160_[2-3]"]),
    (["-t", "R"], ["160_[0-1]"]),
    (["-t", "PD", "160_2"], ["160_2"]),
    (["-w", "vm", "160_[1-3]"], ["160_1"]),
    (["-n", "other"], []),
    (["-t", "R", "162"], ["160_1"]),
]


@pytest.mark.parametrize(("argv", "ids"), CHOSEN, ids=[" ".join(case[0]) for case in CHOSEN])
def test_what_scancel_chooses(argv: list[str], ids: list[str]) -> None:
    assert [id_text(one) for one in chosen_ids(ROWS, read_scancel(argv, {}, "tester"))] == ids


def test_ids_that_the_filters_shut_out() -> None:
    found = no_match(ROWS, read_scancel(["-t", "PD", "160_1"], {}, "tester"))
    assert found == ("scancel: error: Kill job error on job id 160_1: Invalid job id specified", 1)
