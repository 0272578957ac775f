"""Arrays in qstat against recorded output, and what qdel makes of their members."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.dialects.pbs.array_attributes import member_attributes
from hpcbatch.dialects.pbs.array_requests import check_known, deletable
from hpcbatch.dialects.pbs.errors import PbsError, describe
from hpcbatch.dialects.pbs.ids import row_id
from hpcbatch.dialects.pbs.qstat import format_alternate, format_default
from hpcbatch.dialects.pbs.qstat_full import Attributes, format_full, format_json, full_attributes
from hpcbatch.errors import UnknownJobError
from hpcbatch.model.array import ArrayStatus, Membership
from hpcbatch.model.indices import Indices
from hpcbatch.model.members import indices, is_made_up, rows_of, unended
from hpcbatch.model.record import ExecHost, JobRecord
from hpcbatch.model.row import JobRow
from hpcbatch.model.state import JobState
from hpcbatch.record.rows import row_of

from .jobs import ARRAY, ROWS, STARTED, VARIABLES, record, recorded

WAITING = row_of(ARRAY)
BEGAN = datetime(2026, 11, 21, 2, 59, 30, tzinfo=UTC)
WITH_T = {**{k: v for k, v in VARIABLES.items() if k not in {"PBS_O_QUEUE", "PBS_O_HOST"}}, "T": "2"}


def array(job_id: int = 133, state: JobState = JobState.RUNNING, **sets: str) -> JobRecord:
    """An array of 1-4 whose members stand where `sets` say."""
    found: dict[str, Any] = {name: Indices.parse(text) for name, text in sets.items()}
    status = ArrayStatus(**found)
    return replace(
        ARRAY,
        job_id=job_id,
        object_name=f"job-{job_id}",
        status=replace(ARRAY.status, state=state, array=status, start_time=BEGAN, message=""),
    )


def member(of: JobRecord, index: int, state: JobState = JobState.RUNNING) -> JobRecord:
    """A member with a record of its own."""
    return record(
        of.job_id + index,
        "arr",
        state,
        member_of=Membership(array_id=of.job_id, array_name=of.object_name, index=index),
        hosts=(ExecHost(node="pbs1", pod="p", cpus=1),),
        start_time=BEGAN,
        session_id=14388,
    )


BEGUN = array(pending="2-4", active="1")
RUNNING = member(BEGUN, 1)


def unfolded(of: JobRow, own: dict[int, JobRow] | None = None) -> list[JobRow]:
    return [of, *rows_of(of, own or {})]


def test_array_before_its_first_start() -> None:
    rows = [row for one in ROWS for row in (unfolded(one) if one.array_indices else [one])]
    assert format_default(rows) == recorded("qstat_t.txt")
    assert format_default([WAITING]) == recorded("qstat_J.txt")
    assert format_default(unfolded(WAITING)) == recorded("qstat_t_array.txt")


def test_deleted_member_of_a_living_array_is_expired() -> None:
    rows = unfolded(row_of(array(92, JobState.QUEUED, pending="1-3", deleted="4")))
    assert format_default(rows, living={92}) == recorded("qstat_t_deleted.txt")


def test_begun_array() -> None:
    rows = unfolded(row_of(BEGUN), {1: row_of(RUNNING)})
    assert format_default(rows[:1], living={133}) == recorded("qstat_begun.txt")
    assert format_default(rows, living={133}) == recorded("qstat_t_begun.txt")
    table = format_alternate(rows, server="pbs1", now=BEGAN, nodes=True, one_line=True, living={133}, timezone=UTC)
    assert table == recorded("qstat_tn1_begun.txt").replace("pbs1/1", "pbs1/0")


def test_ended_array() -> None:
    ended = array(106, JobState.FINISHED, succeeded="3-4")
    ended = replace(
        ended,
        spec=replace(
            ended.spec, name="envy", array=ARRAY.spec.array and replace(ARRAY.spec.array, indices=Indices.parse("3-4"))
        ),
    )
    own = {i: row_of(member(ended, i, JobState.FINISHED))._replace(name="envy") for i in (3, 4)}
    assert format_default(unfolded(row_of(ended), own)) == recorded("qstat_xt_ended.txt")


def shown(job: JobRecord, **options: object) -> Attributes:
    return full_attributes(job, WITH_T, STARTED, UTC, **options)  # type: ignore[arg-type]


def test_full_array_is_the_recorded_one() -> None:
    assert format_full("Job Id: 92[].pbs1", shown(ARRAY)) == recorded("qstat_f_array.txt")
    now = datetime.fromtimestamp(1795229698, UTC)
    text = format_json({"92[].pbs1": shown(ARRAY)}, now=now, server="pbs1")
    assert text == recorded("qstat_json_array.txt")


def test_full_member_without_a_record_is_the_recorded_one() -> None:
    row = list(rows_of(WAITING, {}))[1]
    text = format_full(f"Job Id: {row_id(row)}", member_attributes(shown(ARRAY), row, frozenset({92})))
    assert text == recorded("qstat_f_member.txt")


def test_full_begun_array() -> None:
    found = dict(shown(BEGUN, own={1: row_of(RUNNING)}))
    wanted = {
        "job_state": "B",
        "substate": "70",
        "comment": "Job Array Began at Sat Nov 21 at 02:59",
        "array": "True",
        "array_state_count": "Queued:3 Running:1 Exiting:0 Expired:0",
        "array_indices_submitted": "1-4",
        "array_indices_remaining": "2-4",
        "Output_Path": "pbs1:/home/tester/arr.o133.^array_index^",
    }
    assert {name: found[name] for name in wanted} == wanted
    assert not {"Exit_status", "exec_host", "exec_vnode", "session_id", "jobdir"} & found.keys()


def test_full_running_member() -> None:
    found = dict(shown(RUNNING, living={133}))
    wanted = {
        "job_state": "R",
        "exec_vnode": "(pbs1:ncpus=1)",
        "substate": "42",
        "array_id": "133[].pbs1",
        "array_index": "1",
        "Error_Path": "pbs1:/home/tester/arr.e133.1",
        "Output_Path": "pbs1:/home/tester/arr.o133.1",
    }
    assert {name: found[name] for name in wanted} == wanted


@pytest.mark.parametrize(
    ("state", "sets", "exit_status"),
    [(JobState.FINISHED, {"succeeded": "1-4"}, "0"), (JobState.FAILED, {"succeeded": "1-3", "failed": "4"}, "1")],
)
def test_full_ended_array(state: JobState, sets: dict[str, Any], exit_status: str) -> None:
    found = dict(shown(array(state=state, **sets)))
    assert (found["job_state"], found["Exit_status"]) == ("F", exit_status)
    assert found["array_state_count"] == "Queued:0 Running:0 Exiting:0 Expired:0"
    assert found["array_indices_remaining"] == "-"


def test_active_members_that_wait_count_as_queued() -> None:
    found = dict(shown(BEGUN, own={1: row_of(RUNNING)._replace(state=JobState.QUEUED)}))
    assert found["array_state_count"] == "Queued:4 Running:0 Exiting:0 Expired:0"
    assert found["array_indices_remaining"] == "1-4"


def test_percent_of_an_array_is_what_has_ended() -> None:
    rows = unfolded(row_of(array(pending="3", active="2", succeeded="1", deleted="4")))
    text = format_default(rows, percent=True, now=BEGAN, living={133}, header=False)
    assert [line.split()[3] for line in text.splitlines()] == ["50", "100", "--", "--", "100"]


def test_comments_on_members_without_a_record() -> None:
    rows = list(rows_of(row_of(array(pending="4", succeeded="1", failed="2", deleted="3")), {}))
    text = format_alternate(rows, server="pbs1", now=BEGAN, comments=True, header=False)
    assert [line.strip() for line in text.splitlines()[1:6:2]] == [
        "Subjob finished",
        "Subjob failed",
        "Subjob terminated",
    ]


@given(st.lists(st.sampled_from(["pending", "active", "succeeded", "failed", "deleted"]), min_size=1, max_size=40))
def test_every_member_has_one_row(places: list[str]) -> None:
    sets: dict[str, Any] = {
        f"array_{name}": str(Indices.of(i for i, place in enumerate(places) if place == name))
        for name in ("pending", "active", "succeeded", "failed", "deleted")
    }
    row = WAITING._replace(array_indices=str(Indices.of(range(len(places)))), **sets)
    rows = list(rows_of(row, {}))
    assert [one.array_index for one in rows] == list(indices(row)) == list(range(len(places)))
    assert all(
        is_made_up(one) and one.state.is_final == (places[i] not in {"pending", "active"}) for i, one in enumerate(rows)
    )
    assert set(unended(row)) == {i for i, place in enumerate(places) if place in {"pending", "active"}}


LIVING = row_of(array(pending="3-4", active="2", succeeded="1"))


@pytest.mark.parametrize(
    ("wanted", "left"), [("3", "3"), ("2", "2"), ("1-3", "2-3"), ("1-99", "2-4"), ("3-4", "3-4"), ("4-9", "4")]
)
def test_deletable(wanted: str, left: str) -> None:
    assert str(deletable(LIVING, Indices.parse(wanted), {})) == left


EXITING = {2: row_of(RUNNING)._replace(array_index=2, state=JobState.EXITING)}
UNDELETABLE = [
    ("9", "qdel: Invalid request 133[9].pbs1", 156),
    ("1", "qdel: Request invalid for finished array subjob 133[1].pbs1", 55),
    ("2", "qdel: Request invalid for state of job 133[2].pbs1", 168),
    ("7-9", "qdel: Unknown Job Id 133[7-9].pbs1", 153),
]


@pytest.mark.parametrize(("wanted", "text", "code"), UNDELETABLE, ids=[case[0] for case in UNDELETABLE])
def test_undeletable(wanted: str, text: str, code: int) -> None:
    with pytest.raises((PbsError, UnknownJobError)) as caught:
        deletable(LIVING, Indices.parse(wanted), EXITING)
    assert describe(caught.value, "qdel", f"133[{wanted}].pbs1") == (text, code)


def test_members_that_are_ending_are_passed_over_in_a_range() -> None:
    assert str(deletable(LIVING, Indices.parse("1-4"), EXITING)) == "3-4"


def test_unknown_members_cannot_be_shown() -> None:
    check_known(LIVING, Indices.parse("1-4"))
    with pytest.raises(UnknownJobError):
        check_known(LIVING, Indices.parse("4-5"))
