"""What runners say of the steps of srun, also forged."""

from __future__ import annotations

import pytest

from hpcbatch.model.indices import Indices
from hpcbatch.model.step import MAX_STEPS
from hpcbatch.volcano.report import parse_report
from hpcbatch.volcano.step_report import NO_STEPS, Spent, ToldStep, last_words, parse_words

ENDED = "3:100:160:7:4:8:0-1:block:wrf.exe"
STEP = ToldStep(
    number=3,
    start=100,
    end=160,
    code=7,
    is_cancelled=False,
    is_timed_out=False,
    limit_s=None,
    tasks=4,
    cpus=8,
    hosts=Indices.parse("0-1"),
    distribution="block",
    name="wrf.exe",
)


def test_words() -> None:
    running = STEP._replace(number=4, end=None, code=None)
    cancelled = STEP._replace(number=2, code=143, is_cancelled=True)
    report = parse_words(f"9 4:100:::4:8:0-1:block:wrf.exe {ENDED} 2:100:160:143c:4:8:0-1:block:wrf.exe", "3:250:4:1")
    assert report == (9, (running, STEP, cancelled), ((3, Spent(ticks=250, rss_bytes=4096, task=1)),))


def test_time_limits() -> None:
    late = STEP._replace(code=143, is_timed_out=True, limit_s=60)
    free = STEP._replace(number=4, end=None, code=None)
    words = "2 3:100:160:143t:4:8:0-1:block:wrf.exe:60 4:100:::4:8:0-1:block:wrf.exe:0 5:100:::4:8:0-1:block:wrf.exe:x"
    assert parse_words(words, "").steps == (late, free)


@pytest.mark.parametrize(
    ("line", "limit_s", "seen"),
    [
        ("0:srun,-n2,wrf.exe", None, "srun -n2 wrf.exe"),
        ("60:%73%72%75%6e%20%61%2c%3a", 60, "srun a,:"),
        ("0:%1b%5b%32%4a", None, "^[[2J"),
        ("0:" + "x" * 300, None, "x" * 200),
        ("0:", None, ""),
    ],
)
def test_command_lines(line: str, limit_s: int | None, seen: str) -> None:
    assert parse_words(f"1 {ENDED}:{line}", "").steps == (STEP._replace(limit_s=limit_s, submit_line=seen),)


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("%61%20%62%3a", "a b:"),
        ("%20", ""),
        ("%1b%5b%32%4a", "^[[2J"),
        ("%ff", "\N{REPLACEMENT CHARACTER}"),
        ("x" * 300, "x" * 64),
        ("%", ""),
        ("%6x", ""),
    ],
)
def test_names(name: str, seen: str) -> None:
    (step,) = parse_words(f"1 0:1:::1:1:0:block:{name}", "").steps
    assert step.name == seen


@pytest.mark.parametrize(
    "word",
    [
        "x",
        "::::::::",
        ENDED.replace("3:", "-3:", 1),
        ENDED.replace("160", "1" * 11),
        ENDED.replace(":7:", "::"),
        ENDED.replace("0-1", "1-0"),
        ENDED.replace("0-1", "0-" + "9" * 17),
        ENDED + ":more",
        ENDED.replace("100", "\u0661"),
    ],
)
def test_words_that_are_none(word: str) -> None:
    assert parse_words(f"1 {word}", "").steps == ()


def test_there_are_not_more_than_a_record_holds() -> None:
    words = " ".join(f"{number}:1:::1:1:0:block:a" for number in range(200))
    report = parse_words(f"200 {words}", " ".join(f"{number}:1:1:0" for number in range(200)))
    assert (report.total, len(report.steps), len(report.spent)) == (200, MAX_STEPS, MAX_STEPS)


def test_the_last_report_of_a_log() -> None:
    """In a kubelet's form, too."""
    log = f"hpcbatch: steps 1 {ENDED}\n2026 stdout F hpcbatch: steps 2 {ENDED}\nx\nhpcbatch: spent 3:1:0:0\n"
    assert last_words(log) == (2, (STEP,), ((3, Spent(1, 0, 0)),))
    assert last_words("hpcbatch: usage cpu_s=1\n") == NO_STEPS


def test_of_a_termination_message() -> None:
    report = parse_report(f"exit_code=0\nsteps=1 {ENDED}\nspent=3:1:0:0\n")
    assert report is not None and report.steps.steps == (STEP,) and report.steps.spent[0][0] == 3
    cut = parse_report("exit_code=0\nsteps=1 3:100:160")
    assert cut is not None and cut.steps == (1, (), ())
