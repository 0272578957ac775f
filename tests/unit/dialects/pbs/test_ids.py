from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.dialects.pbs.errors import PbsError, describe
from hpcbatch.dialects.pbs.ids import format_id, full_id, is_id, parse_id, row_id
from hpcbatch.errors import HpcBatchError, UnknownJobError
from hpcbatch.model.named import NamedJob
from hpcbatch.model.row import JobRow
from tests.unit.dialects.pbs.jobs import ROWS


@pytest.mark.parametrize(
    "operand", ["12", " 12", "12.pbs1", "12.pbs1.site", "12.pbs1@pbs1", "12@PBS1.site", "12.pbs1:15001"]
)
def test_ids(operand: str) -> None:
    assert parse_id(operand, "pbs1") == NamedJob(12)


@pytest.mark.parametrize("operand", ["abc", "", "-1", "12a", "12.", "12[", "12.a b", "1" * 13, "12@", "12[x]"])
def test_malformed_ids(operand: str) -> None:
    with pytest.raises(PbsError) as caught:
        parse_id(operand)
    assert describe(caught.value, "qdel") == (f"qdel: illegally formed job identifier: {operand}", 1)


@pytest.mark.parametrize(
    ("operand", "members"),
    [
        ("12[]", ""),
        ("12[].pbs1@pbs1", ""),
        ("12[3].pbs1", "3"),
        ("12[0]", "0"),
        ("12[1-9:2]", "1-9:2"),
        ("12[1-9:3].pbs1", "1-7:3"),
        ("12[4-4]", "4"),
        ("12[1-999999999]", "1-999999999"),
    ],
)
def test_ids_of_arrays(operand: str, members: str) -> None:
    found = parse_id(operand, "pbs1")
    assert (found.number, found.is_array) == (12, True)
    assert members == ("" if found.members is None else str(found.members))


@pytest.mark.parametrize("operand", ["12[3-]", "12[-3]", "12[9-3]", "12[1-9:0]", "12[1:2]", "12[:]", "12[1-2-3].pbs1"])
def test_brackets_that_hold_no_range(operand: str) -> None:
    with pytest.raises(PbsError) as caught:
        parse_id(operand, "pbs1")
    assert describe(caught.value, "qdel") == (f"qdel: Invalid request {full_id(operand, 'pbs1')}", 156)


@pytest.mark.parametrize(
    ("row", "shown"),
    [
        (ROWS[0], "85.pbs1"),
        (ROWS[0]._replace(array_indices="1-4"), "85[].pbs1"),
        (ROWS[0]._replace(array_id=92, array_index=0), "92[0].pbs1"),
    ],
    ids=["job", "array", "member"],
)
def test_shown_ids(row: JobRow, shown: str) -> None:
    assert row_id(row) == shown
    assert row_id(row._replace(server="pbs1.site"), is_short=True) == shown
    assert row_id(row._replace(server="pbs1.site")) == f"{shown}.site"


@pytest.mark.parametrize("operand", ["12.other", "12.pbs1@other"])
def test_job_of_another_server_is_not_ours(operand: str) -> None:
    with pytest.raises(UnknownJobError):
        parse_id(operand, "pbs1")
    assert parse_id(operand).number == 12


def test_what_qstat_takes_for_an_id() -> None:
    assert is_id("12.x")
    assert not is_id("workq")
    assert not is_id("@server")
    assert not is_id("")


def test_full_id() -> None:
    assert [full_id(text, "pbs1") for text in ("12", "12.pbs1", "12@pbs1", "12[].pbs1@h")] == [
        "12.pbs1",
        "12.pbs1",
        "12.pbs1",
        "12[].pbs1",
    ]


@given(st.integers(0, 10**12 - 1))
def test_id_that_is_printed_is_read(number: int) -> None:
    assert parse_id(format_id(number, "pbs1.site"), "pbs1") == NamedJob(number)


@given(st.text())
def test_any_text_is_an_id_or_an_error(text: str) -> None:
    try:
        parse_id(text, "pbs1")
    except HpcBatchError:
        pass
