from __future__ import annotations

import re
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.wrf.log import Log, first_files, judge, progress, read
from hpcbatch.wrf.run import Program
from tests.unit.wrf.logs import (
    CFL,
    END,
    FIRST_FRAME,
    HEAD,
    NAMELIST_ERROR,
    NEST_STEPS,
    NOT_OPENED,
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
    assert (domain.steps, domain.mean_s, domain.median_s) == (4, pytest.approx(0.3), pytest.approx(0.2))
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
    assert judge({"rsl.error.0000": REAL}).is_success


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
    verdict = judge({"rsl.error.0000": text + end})
    assert not verdict.is_success or "SUCCESS COMPLETE" in text + end
    assert verdict.message.isprintable()
    assert 0 < len(verdict.message) <= 500
    progress(read(text), START, FINISH)


FAILED: dict[str, tuple[dict[str, str], str, str]] = {
    "no log": ({}, "", "no rsl.error.0000"),
    "empty": ({"rsl.error.0000": ""}, "", "the file is empty"),
    "too many ranks": (
        {"rsl.error.0000": TOO_MANY_RANKS},
        "",
        "size is too small for this many processors.*e_we =.*e_sn = 52, nproc_y = 6.*cell width in y-direction = 8",
    ),
    "namelist": ({"rsl.error.0000": NAMELIST_ERROR}, "", "ERROR while reading namelist domains.*time_stepp = 60"),
    "no wrfbdy": (
        {
            "rsl.error.0000": HEAD
            + FIRST_FRAME
            + fatal(" med_latbound_in: error opening wrfbdy_d01 for reading. IERR =        -1021")
        },
        "",
        "^med_latbound_in: error opening wrfbdy_d01 for reading. IERR = -1021$",
    ),
    "time step": (
        {
            "rsl.error.0000": HEAD
            + "The time step is probably too large for this grid distance, reduce it.\n"
            + fatal("--- ERROR: Time step too large")
        },
        "",
        "^The time step is probably too large for this grid distance, reduce it. / --- ERROR: Time step too large$",
    ),
    "no namelist": (
        {"rsl.error.0000": "Fortran runtime error: Cannot open file 'namelist.input': No such file or directory\n"},
        "",
        "^Fortran runtime error: Cannot open file 'namelist.input'",
    ),
    "fatal on another rank only": (
        {"rsl.error.0000": HEAD, "rsl.error.0003": fatal(" CLWRF: 'CAMtr_volume_mixing_ratio' does not exist")},
        "",
        "^CLWRF: 'CAMtr_volume_mixing_ratio' does not exist .rsl.error.0003.$",
    ),
    "segmentation fault": ({"rsl.error.0000": HEAD + SEGV}, "", "^Program received signal SIGSEGV"),
    "segmentation fault of Intel": (
        {"rsl.error.0000": HEAD + "forrtl: severe (174): SIGSEGV, segmentation fault occurred\n"},
        "",
        "^forrtl: severe .174.: SIGSEGV",
    ),
    "segmentation fault of another rank": (
        {"rsl.error.0000": HEAD, "rsl.error.0003": HEAD + SEGV}, "", "SIGSEGV.*.rsl.error.0003."
    ),
    "cfl, then a segmentation fault": (
        {"rsl.error.0000": CFL + SEGV}, "", "SIGSEGV.*before that: d01 .* 782 points exceeded v_cfl = 2 in domain d01"
    ),
    "cfl, then nothing": ({"rsl.error.0000": CFL}, "", "no SUCCESS line, stopped after 2024-01-15_12:04:00.*v_cfl"),
    "killed": (
        {"rsl.error.0000": HEAD + FIRST_FRAME + STEPS},
        "",
        "no SUCCESS line, stopped after 2024-01-15_12:04:00.*last line",
    ),
    "killed, as the launcher tells": (
        {"rsl.error.0000": HEAD + FIRST_FRAME + STEPS},
        "mpirun noticed that process rank 1 with PID 0 on node n exited on signal 15 (Terminated).\n",
        "^SIGTERM on rank 1, stopped after",
    ),
    "output that could not be opened": (
        {"rsl.error.0000": NOT_OPENED},
        "",
        "SUCCESS.*but: error opening nodir/wrfout_d01_2024-01-15_12:00:00 for writing",
    ),
    "no output": ({"rsl.error.0000": HEAD + STEPS + END}, "", "SUCCESS.*but it wrote no wrfout"),
}  # fmt: skip


@pytest.mark.parametrize("case", FAILED)
def test_failures(case: str) -> None:
    texts, launcher, message = FAILED[case]
    verdict = judge(texts, launcher=launcher)
    assert not verdict.is_success
    assert re.search(message, verdict.message), verdict.message


def test_success() -> None:
    assert judge({"rsl.error.0000": GOOD}).is_success
    assert judge({"rsl.error.0000": GOOD}, exists={"wrfout_d01_2024-01-15_12:00:00"}.__contains__).is_success
    one_a_rank = {"wrfout_d01_2024-01-15_12:00:00_0000"}
    assert judge({"rsl.error.0000": GOOD}, exists=one_a_rank.__contains__).is_success
    assert judge({"rsl.error.0000": HEAD + STEPS + END}, wants_history=False).is_success


BROKEN_OFF = HEAD + FIRST_FRAME + STEPS[: len(STEPS) // 2]


@pytest.mark.parametrize(
    ("error", "out", "is_success", "message"),
    [
        (BROKEN_OFF, GOOD, True, "SUCCESS"),
        ("", GOOD, True, "SUCCESS"),
        (GOOD, BROKEN_OFF, True, "SUCCESS"),
        (BROKEN_OFF, HEAD + FIRST_FRAME + fatal("no wrfbdy"), False, "^no wrfbdy$"),
        (HEAD + SEGV, GOOD, False, "SIGSEGV"),
        (BROKEN_OFF, HEAD + FIRST_FRAME + STEPS, False, "no SUCCESS line, stopped after 2024-01-15_12:04:00"),
        (BROKEN_OFF, REAL, False, "no SUCCESS line"),
    ],
    ids=["error breaks off", "empty", "out breaks off", "fatal in out", "crash", "both silent", "another program's"],
)
def test_both_logs_of_rank_0_are_heard(error: str, out: str, is_success: bool, message: str) -> None:
    verdict = judge({"rsl.error.0000": error, "rsl.out.0000": out})
    assert verdict.is_success is is_success
    assert re.search(message, verdict.message), verdict.message


def test_a_file_that_is_not_there() -> None:
    verdict = judge({"rsl.error.0000": GOOD}, exists=lambda name: False)
    assert not verdict.is_success
    assert "there is no wrfout_d01_2024-01-15_12:00:00" in verdict.message


def test_a_restart_of_less_than_a_history_interval_writes_no_frame() -> None:
    text = HEAD + " RESTART run: opening wrfrst_d01_2024-01-15_12:30:00 for reading\n" + STEPS + END
    assert judge({"rsl.error.0000": text}).is_success


def test_frames_in_one_file_have_the_name_of_the_first() -> None:
    names = [
        "wrfout_d01_2024-01-15_12:00:00", "wrfout_d02_2024-01-15_12:00:00", "wrfout_d01_2024-01-15_12:30:00",
        "auxhist2_d01_2024-01-15_12_00_00", "auxhist2_d01_2024-01-15_12_30_00",
    ]  # fmt: skip
    assert list(first_files(names)) == [names[0], names[1], names[3]]
