from __future__ import annotations

import pytest

from hpcbatch.dialects.slurm.array_answers import check_answers
from hpcbatch.dialects.slurm.errors import NOT_PENDING, ArrayError, SlurmUsageError, describe_change
from hpcbatch.errors import HpcBatchError, NotSupportedError, RefusedError
from hpcbatch.model.indices import Indices
from hpcbatch.model.refusal import RefusalCode

STARTED = RefusedError(RefusalCode.STARTED, "chunks")


def said(*answers: tuple[str, Exception | None]) -> str:
    with pytest.raises(ArrayError) as raised:
        check_answers(12, [(Indices.parse(text), error) for text, error in answers])
    text, code = describe_change(raised.value, "12")
    assert code == 1
    return text


def test_nothing_is_said_where_all_is_done() -> None:
    check_answers(12, [])
    check_answers(12, [(Indices.parse("1-9"), None), (Indices.parse("10"), None)])


def test_a_line_for_all_that_were_answered_alike() -> None:
    assert said(("5-9", None), ("1", STARTED), ("3", SlurmUsageError(NOT_PENDING)), ("2", None)) == (
        "12_2,5-9: No error\n12_1,3: Job is no longer pending execution"
    )
    assert said(("1-4", STARTED)) == "12_1-4: Job is no longer pending execution"


def test_more_is_said_once_and_first() -> None:
    unknown = RefusedError(RefusalCode.UNKNOWN_RESOURCE, "fpga")
    assert said(("1", unknown), ("2-3", None), ("7", unknown)) == (
        "scontrol: error: there is no generic resource fpga\n"
        "12_1,7: Invalid generic resource (gres) specification\n12_2-3: No error"
    )


def test_long_ids_are_cut() -> None:
    """Seen: `80520_31-33,71-74,91,96,113,115-11...: Job has already finished`."""
    assert said(("31-33,71-74,91,96,113,115-119,200", STARTED)).startswith("12_31-33,71-74,91,96,113,115-11...: ")


@pytest.mark.parametrize("error", [NotSupportedError("no"), SlurmUsageError("scontrol: error: no")])
def test_what_slurm_has_no_words_for(error: HpcBatchError) -> None:
    with pytest.raises(type(error)) as raised:
        check_answers(12, [(Indices.parse("1"), None), (Indices.parse("2"), error)])
    assert raised.value is error
