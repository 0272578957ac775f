from __future__ import annotations

import re
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.wrf.lines import known_lines
from hpcbatch.wrf.log import Log, progress, read, witness
from hpcbatch.wrf.run import Program
from tests.unit.wrf.logs import (
    CFL,
    END,
    FIRST_FRAME,
    HEAD,
    NAMELIST_ERROR,
    NEST_STEPS,
    REAL,
    REAL_HEAD,
    SEGV,
    STEPS,
    TOO_MANY_RANKS,
    fatal,
)

START, FINISH = datetime(2024, 1, 15, 12), datetime(2024, 1, 15, 13)
GOOD = HEAD + FIRST_FRAME + STEPS + END


def test_a_run_of_wrf() -> None:
    log = read(HEAD + FIRST_FRAME + STEPS)
    assert (log.program, log.grid, log.time_step_s, log.start) == (Program.WRF, (2, 2), 60.0, START)
    assert not log.is_over
    found = progress(log, START, FINISH)
    assert found.percent == pytest.approx(100 * 4 / 60)
    assert found.time == datetime(2024, 1, 15, 12, 4)
    (domain,) = found.domains
    assert domain.steps == 4
    assert [domain.mean_s, domain.median_s] == pytest.approx([0.3, 0.2])
    # 2.9 s of steps, the frame, the boundary and wrfinput for four minutes; fifty-six are left
    assert found.eta_s == pytest.approx((2.9 + 0.5 + 0.5 + 0.03985) * 14)


def test_only_domain_1_counts_for_percent() -> None:
    found = progress(read(HEAD + FIRST_FRAME + NEST_STEPS), START, FINISH)
    assert found.percent == pytest.approx(100 / 60)
    assert found.time == datetime(2024, 1, 15, 12, 1)
    assert [(each.domain, each.steps) for each in found.domains] == [(1, 1), (2, 4)]
    assert found.domains[1].time == datetime(2024, 1, 15, 12, 1, 20)


def test_a_run_of_real() -> None:
    found = progress(read(REAL_HEAD), START, FINISH, 2)
    assert (found.program, found.percent, found.loops, found.loops_total, found.eta_s) == (
        Program.REAL,
        50.0,
        1,
        2,
        2.0,
    )
    done = progress(read(REAL), START, FINISH, 2)
    assert (done.percent, done.eta_s) == (100.0, None)


@pytest.mark.parametrize(
    ("start", "end", "percent"),
    [(None, None, None), (START, None, None), (START, START, None), (None, FINISH, 100 * 4 / 60)],
)
def test_without_a_namelist(start: datetime | None, end: datetime | None, percent: float | None) -> None:
    found = progress(read(HEAD + STEPS), start, end)
    assert found.percent == (None if percent is None else pytest.approx(percent))
    assert (found.eta_s is None) == (percent is None)


def test_an_empty_log() -> None:
    found = progress(Log(), START, FINISH)
    assert (found.program, found.percent, found.time, found.eta_s) == (None, 0.0, None, None)


@given(st.lists(st.integers(0, 40), max_size=60))
def test_parts_make_the_same_log(sizes: list[int]) -> None:
    text = TOO_MANY_RANKS + GOOD
    log, at = Log(), 0
    for size in sizes:
        log.feed(text[at : at + size])
        at += size
    log.feed(text[at:])
    assert log.finish() == read(text)


@given(st.text(max_size=300), st.sampled_from(["", END, "\n" + "x" * 2000]))
def test_any_text_can_be_read(text: str, end: str) -> None:
    log = read(text + end)
    assert not log.is_success or "SUCCESS COMPLETE" in text + end
    progress(log, START, FINISH)


@pytest.mark.parametrize(
    ("text", "is_over", "is_end_logged"),
    [
        (HEAD + STEPS, False, False),
        (GOOD, True, True),
        (REAL, True, True),
        (HEAD + SEGV, True, True),
        (HEAD + "forrtl: severe (174): SIGSEGV, segmentation fault occurred\n", True, True),
        (NAMELIST_ERROR, True, True),
        (HEAD + fatal("why").rsplit("---", 1)[0].rsplit("\n", 1)[0], False, True),
        (HEAD + fatal("why").split("why")[0], False, False),
        (CFL, False, False),
    ],
    ids=["goes on", "wrf", "real", "crash", "crash of Intel", "fatal", "fatal goes on", "fatal begins", "cfl"],
)
def test_the_end(text: str, is_over: bool, is_end_logged: bool) -> None:
    log = read(text)
    assert (log.is_over, log.is_end_logged) == (is_over, is_end_logged)


BROKEN_OFF = HEAD + FIRST_FRAME + STEPS[: len(STEPS) // 2]


@pytest.mark.parametrize(
    ("error", "out", "is_out"),
    [
        (BROKEN_OFF, GOOD, True),
        ("", GOOD, True),
        (GOOD, BROKEN_OFF, False),
        (BROKEN_OFF, HEAD + FIRST_FRAME + fatal("no wrfbdy"), True),
        (HEAD + SEGV, GOOD, False),
        (BROKEN_OFF, HEAD + FIRST_FRAME + STEPS, True),
        (BROKEN_OFF, REAL, False),
    ],
    ids=["error breaks off", "empty", "out breaks off", "fatal in out", "crash", "both silent", "another program's"],
)
def test_which_log_of_rank_0_is_followed(error: str, out: str, is_out: bool) -> None:
    logs = read(error), read(out)
    assert witness(*logs) is logs[is_out]


def test_the_table_of_lines() -> None:
    """An expression means the same to awk and to Python only without what one of them lacks."""
    lines = known_lines()
    assert {"step", "timing", "loop", "success", "fatal", "rule", "crash", "real", "wrf", "grid"} < lines.keys()
    for line in lines.values():
        assert not re.search(r"[{}]|\\[^t().]|\(\?|\[\[:|[*+?]\?", line.pattern), line.pattern
