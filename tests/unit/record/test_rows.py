"""Rows of listings: those of the server's table are those of the records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, datetime

import pytest
from hypothesis import given

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.record import JobRecord, JobStatus
from hpcbatch.model.row import COLUMNS, IN_ROW, PRINTED, ROW, Column, JobRow
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState, Reason
from hpcbatch.model.text import is_printable
from hpcbatch.record.batchjob import shown_record
from hpcbatch.record.fields import open_fields
from hpcbatch.record.rows import Rows, are_incomplete, cell_at, row_from_cells, row_of, unreadable
from hpcbatch.record.state import state_of
from tests.job_values import batchjob_of, specs, statuses

PLACES = {column.name: place for place, column in enumerate(COLUMNS)}
PRINTED_PLACES = {column.name: place for place, column in enumerate(PRINTED)}
FORMS = pytest.mark.parametrize("columns", [COLUMNS, PRINTED], ids=["history", "BatchJobs"])


def read(columns: Sequence[Column], obj: Mapping[str, object]) -> JobRow | None:
    places = {column.name: place for place, column in enumerate(columns)}
    return row_from_cells(places, [cell_at(obj, column) for column in columns], "ns", "x")


def test_every_field_of_a_row_is_read_from_one_column() -> None:
    attributes = [attribute for column in COLUMNS for attribute in column.reads]
    assert sorted(attributes) == sorted({*JobRow._fields} - {"namespace", "object_name"})


def test_what_the_record_keeps_for_listings_changes_only_with_its_status() -> None:
    changing = {f".spec.{name}" for name in open_fields()}
    assert not [column.name for column in IN_ROW if any(column.path.startswith(path) for path in changing)]


@FORMS
@given(specs(), statuses())
def test_a_row_of_the_table_is_the_row_of_the_record(
    columns: Sequence[Column], spec: JobSpec, status: JobStatus
) -> None:
    record = JobRecord(job_id=7, namespace="ns", object_name="x", spec=spec, status=status, queue="q")
    row = read(columns, batchjob_of(record))
    assert row == row_of(record)
    assert row is not None
    assert (row.job_id, row.namespace, row.object_name, row.name) == (7, "ns", "x", spec.name)


@given(specs(), statuses())
def test_rows_of_many_are_those_of_each(spec: JobSpec, status: JobStatus) -> None:
    first = JobRecord(job_id=7, namespace="ns", object_name="x", spec=spec, status=status, queue="q")
    records = [
        first,
        replace(first, job_id=8, object_name="y"),
        replace(first, status=replace(status, message="other")),
        replace(first, queue="other"),
        replace(first, namespace="other"),
        first,
    ]
    rows = Rows()
    assert [rows.of(record) for record in records] == [row_of(record) for record in records]


def cells(**found: object) -> JobRow | None:
    return row_from_cells(PLACES, [found.get(column.name) for column in COLUMNS], "ns", "x")


def test_a_job_that_was_not_admitted_has_no_row() -> None:
    assert cells(State="Held", Job="n") is None
    assert cells(Id=7, Job="n") is None


@pytest.mark.parametrize(("state", "shown"), [("Running", "Running"), ("Lost", JobState.QUEUED)])
def test_a_row_that_cannot_be_read_keeps_whose_it_is(state: str, shown: str) -> None:
    row = cells(Id=7, State=state, Dialect="pbs", Job="n", User="alice", Queue="q", Ended="never")
    assert row is not None
    assert (row.job_id, row.state, row.name, row.user, row.queue) == (7, shown, "n", "alice", "q")
    assert row.reason is Reason.BROKEN
    assert row.message.startswith("its record cannot be read: ")
    assert len(row.message) <= 300


@pytest.mark.parametrize("text", ["{", "[]", "7", '{"Walltime": "long"}', '{"Walltime": 1e99}'])
def test_a_row_whose_text_cannot_be_read_keeps_whose_it_is(text: str) -> None:
    found = {"Id": 7, "State": "Running", "Job": "n", "User": "alice", "Row": text, "Message": "fine"}
    row = row_from_cells(PRINTED_PLACES, [found.get(column.name) for column in PRINTED], "ns", "x")
    assert row is not None
    assert (row.job_id, row.state, row.name, row.user) == (7, JobState.RUNNING, "n", "alice")
    assert row.reason is Reason.BROKEN


def test_rows_that_an_older_controller_has_written_are_told_apart() -> None:
    full, older, unadmitted = (
        [found.get(column.name) for column in PRINTED]
        for found in ({"Id": 7, "State": "Running", ROW.name: "{}"}, {"Id": 7, "State": "Running"}, {})
    )
    assert are_incomplete(list(PRINTED_PLACES), [full, older])
    assert not are_incomplete(list(PRINTED_PLACES), [full, unadmitted])
    assert not are_incomplete(list(PLACES), [full, older])


def test_the_state_of_a_batchjob() -> None:
    assert state_of({"status": {"state": "Running"}}) is JobState.RUNNING
    assert state_of({}) is state_of({"status": None}) is JobState.QUEUED


def test_a_broken_record_says_why_in_one_bounded_line() -> None:
    assert unreadable(HpcBatchError("why")) == "its record cannot be read: why"
    assert unreadable(ValueError("why")) == "its record cannot be read: ValueError: why"
    assert len(unreadable(ValueError("x" * 1000))) == 300


HOSTILE = "x\x1b[31m\n99.pbs1\u202e\x9b\r"


def test_what_others_wrote_is_text_on_its_line_in_every_view() -> None:
    """Records that are older than the definition's patterns, and what pods say of themselves."""
    spec = JobSpec(
        dialect=Dialect.SLURM,
        name=HOSTILE,
        account=HOSTILE,
        server=HOSTILE,
        work_dir=HOSTILE,
        script_path=HOSTILE,
        command=(HOSTILE,),
        attributes={HOSTILE: HOSTILE, "qos": HOSTILE},
    )
    status = JobStatus(message=HOSTILE, owner=HOSTILE, submit_time=datetime(2026, 1, 1, tzinfo=UTC))
    record = JobRecord(job_id=7, namespace="ns", object_name="x", spec=spec, status=status, queue=HOSTILE)
    shown = shown_record(batchjob_of(record))
    assert shown.spec.name == shown.spec.server == shown.status.message == "x^[[31m^J99.pbs1??^M"
    assert is_printable("".join(map(str, (*texts(shown), *texts(row_of(shown))))))
    obj = batchjob_of(record)
    assert read(COLUMNS, obj) == read(PRINTED, obj) == row_of(shown)


def texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from texts([*value, *value.values()])
    elif is_dataclass(value):
        yield from texts([getattr(value, field.name) for field in fields(value)])
    elif isinstance(value, list | tuple):
        for item in value:
            yield from texts(item)
