from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.errors import HpcBatchError, NotSupportedError, UnknownJobError
from hpcbatch.pbs.errors import PbsError, describe
from hpcbatch.pbs.ids import format_id, full_id, is_id, parse_id


@pytest.mark.parametrize(
    "operand", ["12", " 12", "12.pbs1", "12.pbs1.site", "12.pbs1@pbs1", "12@PBS1.site", "12.pbs1:15001"]
)
def test_ids(operand: str) -> None:
    assert parse_id(operand, "pbs1") == 12


@pytest.mark.parametrize("operand", ["abc", "", "-1", "12a", "12.", "12[", "12.a b", "1" * 13, "12@", "12[x]"])
def test_malformed_ids(operand: str) -> None:
    with pytest.raises(PbsError) as caught:
        parse_id(operand)
    assert describe(caught.value, "qdel") == (f"qdel: illegally formed job identifier: {operand}", 1)


@pytest.mark.parametrize("operand", ["12[]", "12[3].pbs1", "12[1-9:2]"])
def test_arrays_are_not_there_yet(operand: str) -> None:
    with pytest.raises(NotSupportedError):
        parse_id(operand)


@pytest.mark.parametrize("operand", ["12.other", "12.pbs1@other"])
def test_job_of_another_server_is_not_ours(operand: str) -> None:
    with pytest.raises(UnknownJobError):
        parse_id(operand, "pbs1")
    assert parse_id(operand) == 12


def test_what_qstat_takes_for_an_id() -> None:
    assert is_id("12.x")
    assert not is_id("workq")
    assert not is_id("@server")
    assert not is_id("")


def test_full_id() -> None:
    assert [full_id(text, "pbs1") for text in ("12", "12.pbs1", "12@pbs1", "12[].pbs1@h")] == [
        "12.pbs1", "12.pbs1", "12.pbs1", "12[].pbs1",
    ]  # fmt: skip


@given(st.integers(0, 10**12 - 1))
def test_id_that_is_printed_is_read(number: int) -> None:
    assert parse_id(format_id(number, "pbs1.site"), "pbs1") == number


@given(st.text())
def test_any_text_is_an_id_or_an_error(text: str) -> None:
    try:
        parse_id(text, "pbs1")
    except HpcBatchError:
        pass
