from __future__ import annotations

import pytest

from hpcbatch.errors import HpcBatchError
from hpcbatch.wrf.run import Program
from hpcbatch.wrf.verdict import Verdict, first_files, read_answer, with_output

GOOD = Verdict(True, "wrf: SUCCESS COMPLETE WRF")
FRAME = "wrfout_d01_2024-01-15_12:00:00"


@pytest.mark.parametrize(("outcome", "is_success"), [("ok", True), ("failed", False), ("unclear", False)])
def test_answers(outcome: str, is_success: bool) -> None:
    assert read_answer(f"{outcome}\nwrf 4\nnode-1\nsome words\n") == Verdict(is_success, "some words")


@pytest.mark.parametrize("text", ["", "ok\n", "ok\nwrf 4\nnode-1\n", "fine\nwrf 4\nnode-1\nwords\n"])
def test_what_is_no_answer(text: str) -> None:
    with pytest.raises(HpcBatchError, match=r"wrf\.awk answered .*: expected ok, failed or unclear"):
        read_answer(text)


def test_a_file_that_is_not_there() -> None:
    gone = with_output(GOOD, Program.WRF, [FRAME], lambda name: False)
    assert gone == Verdict(False, f"{GOOD.message}, but there is no {FRAME}, which it says it wrote")
    for there in (FRAME, f"{FRAME}_0000"):
        assert with_output(GOOD, Program.WRF, [FRAME], {there}.__contains__) == GOOD
    assert with_output(GOOD, Program.REAL, [FRAME], lambda name: False) == GOOD
    ideal = Verdict(True, "SUCCESS COMPLETE IDEAL INIT")
    assert with_output(ideal, None, [FRAME], lambda name: False) == ideal
    failed = Verdict(False, "no SUCCESS line")
    assert with_output(failed, Program.WRF, [FRAME], lambda name: False) == failed


def test_frames_in_one_file_have_the_name_of_the_first() -> None:
    names = [
        "wrfout_d01_2024-01-15_12:00:00",
        "wrfout_d02_2024-01-15_12:00:00",
        "wrfout_d01_2024-01-15_12:30:00",
        "auxhist2_d01_2024-01-15_12_00_00",
        "auxhist2_d01_2024-01-15_12_30_00",
    ]
    assert list(first_files(names)) == [names[0], names[1], names[3]]
