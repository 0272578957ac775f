"""How wrf.awk judges a run of WRF by its logs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hpcbatch.runner
from hpcbatch.wrf.log import read as follow
from hpcbatch.wrf.log import witness
from hpcbatch.wrf.verdict import read_answer
from tests.unit.wrf.logs import (
    CFL,
    END,
    FIRST_FRAME,
    HEAD,
    KILLED,
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

MAIN, OUT = "rsl.error.0000", "rsl.out.0000"
PROGRAM = Path(hpcbatch.runner.__file__).with_name("wrf") / "wrf.awk"
LINES = PROGRAM.with_name("wrf_lines.txt")
AWKS = {"awk": ["awk"], "busybox": ["busybox", "awk"]}
"""Also tried: gawk --posix 5.2.1, mawk 1.3.4, original-awk of 2022."""
GOOD = HEAD + FIRST_FRAME + STEPS + END
RESTART = " RESTART run: opening wrfrst_d01_2024-01-15_12:30:00 for reading\n"
NO_WRFBDY = fatal(" med_latbound_in: error opening wrfbdy_d01 for reading. IERR =        -1021")
VERDICTS = json.loads((Path(__file__).parent / "data/wrf_verdicts.json").read_text())
"""Of each of LOGS: `ok` or `failed`, and the message; where that matters, by whether history is wanted."""

LOGS: dict[str, dict[str, str]] = {
    "good": {MAIN: GOOD},
    "real": {MAIN: REAL},
    "carriage returns": {MAIN: GOOD.replace("\n", "\r\n")},
    "nests": {MAIN: HEAD + FIRST_FRAME + NEST_STEPS},
    "restart without a frame": {MAIN: HEAD + RESTART + STEPS + END},
    "no frame": {MAIN: HEAD + STEPS + END},
    "only a restart file": {
        MAIN: HEAD + "Timing for Writing restart for domain        1:    0.55641 elapsed seconds\n" + STEPS + END
    },
    "empty": {MAIN: ""},
    "empty, another not": {MAIN: "", "rsl.error.0001": SEGV},
    "control characters": {MAIN: HEAD + fatal("a\x1b[2J\x07b", "c\x01d")},
    "no newline at its end": {MAIN: GOOD.rstrip()},
    "too many ranks": {MAIN: TOO_MANY_RANKS},
    "namelist": {MAIN: NAMELIST_ERROR},
    "no wrfbdy": {MAIN: HEAD + FIRST_FRAME + NO_WRFBDY},
    "time step": {
        MAIN: HEAD
        + "The time step is probably too large for this grid distance, reduce it.\n"
        + fatal("--- ERROR: Time step too large")
    },
    "no namelist": {MAIN: "Fortran runtime error: Cannot open file 'namelist.input': No such file or directory\n"},
    "fatal elsewhere": {
        MAIN: HEAD,
        "rsl.error.0001": SEGV,
        "rsl.error.0003": fatal(" CLWRF: 'CAMtr_volume_mixing_ratio' does not exist"),
    },
    "crash": {MAIN: HEAD + SEGV},
    "crash of Intel": {MAIN: HEAD + "forrtl: severe (174): SIGSEGV, segmentation fault occurred\n"},
    "crash elsewhere": {MAIN: CFL, "rsl.error.0002": HEAD, "rsl.error.0003": HEAD + SEGV},
    "cfl, crash": {MAIN: CFL + SEGV},
    "cfl": {MAIN: CFL},
    "stopped": {MAIN: HEAD + FIRST_FRAME + STEPS},
    "stopped before a step": {MAIN: HEAD},
    "not opened": {MAIN: NOT_OPENED},
    "two blocks": {MAIN: HEAD + fatal("first") + "does not match\n" + fatal("second", "  second  ", "", "third")},
    "a block cut off": {MAIN: HEAD + NO_WRFBDY.splitlines()[0] + "\n of which no more came"},
    "an explanation too far before": {MAIN: "SIZE MISMATCH\n" + "a line\n" * 12 + fatal("NOTE: check and reset")},
    "an explanation just near enough": {MAIN: "SIZE MISMATCH\n" + "a line\n" * 11 + fatal("NOTE: check and reset")},
    "more of them than are shown": {MAIN: "".join(f"--- ERROR: {n}\n" for n in range(8)) + NO_WRFBDY},
}


@pytest.fixture(params=AWKS)
def awk(request: pytest.FixtureRequest) -> list[str]:
    argv = AWKS[request.param]
    if shutil.which(argv[0]) is None:
        pytest.skip(f"NOT TESTED: {argv[0]} is not installed here")
    return argv


def read(
    awk: list[str], directory: Path, texts: Mapping[str, str], *, wants_history: bool = True, launcher: str = ""
) -> list[str]:
    paths = []
    for name, text in sorted(texts.items()):
        paths.append(directory / name)
        paths[-1].write_bytes(text.encode("latin-1"))
    own = 1 + (OUT in texts)
    paths.sort(key=lambda path: (path.name not in (MAIN, OUT), path.name))
    said = directory / "launcher"
    said.write_text(launcher)
    done = subprocess.run(
        [*awk, "-v", f"wants_history={int(wants_history)}", "-v", f"logs={own}", "-f", str(PROGRAM), *map(str, paths)],
        capture_output=True,
        timeout=60,
        check=True,
        env={**os.environ, "LC_ALL": "C", "launcher_words": str(said), "wrf_lines": str(LINES)},
    )
    assert done.stderr == b""
    lines = done.stdout.decode("latin-1").splitlines()
    assert len(lines) == 4
    return lines


@pytest.mark.parametrize("case", LOGS)
def test_verdicts(awk: list[str], tmp_path: Path, case: str) -> None:
    for wants_history, name in ((True, "history is wanted"), (False, "it is not")):
        outcome, message = VERDICTS[case].get("always") or VERDICTS[case][name]
        answer = read(awk, tmp_path, LOGS[case], wants_history=wants_history)
        assert ("ok" if answer[0] == "ok" else "failed", answer[3]) == (outcome, message)


@pytest.mark.parametrize("form", KILLED)
def test_a_rank_that_was_killed(awk: list[str], tmp_path: Path, form: str) -> None:
    """By each launcher's words, with others around them; what a log says itself comes first."""
    launcher, words = KILLED[form]
    at = ", stopped after 2024-01-15_12:04:00"
    for said in (launcher, f"other words\n{launcher}and more\n"):
        message = read(awk, tmp_path, {MAIN: HEAD + FIRST_FRAME + STEPS}, launcher=said)[3]
        assert message.partition(";")[0] == (words or "no SUCCESS line") + at
    message = read(awk, tmp_path, {MAIN: CFL}, launcher=launcher)[3]
    assert message.startswith(f"{words or 'no SUCCESS line'}{at} (before that: d01 2024")
    for log in (HEAD + SEGV, GOOD):
        assert read(awk, tmp_path, {MAIN: log}, launcher=launcher) == read(awk, tmp_path, {MAIN: log})


BROKEN_OFF = HEAD + FIRST_FRAME + STEPS[: len(STEPS) // 2]
BOTH = {
    "error breaks off": (BROKEN_OFF, GOOD, "ok", "SUCCESS"),
    "error is empty": ("", GOOD, "ok", "SUCCESS"),
    "out breaks off": (GOOD, BROKEN_OFF, "ok", "SUCCESS"),
    "out is empty": (HEAD, "", "unclear", "the last line is: D01: Time step"),
    "fatal in out": (BROKEN_OFF, HEAD + FIRST_FRAME + fatal("no wrfbdy"), "failed", "no wrfbdy"),
    "crash": (HEAD + SEGV, GOOD, "failed", "SIGSEGV"),
    "both silent": (BROKEN_OFF, HEAD + FIRST_FRAME + STEPS, "unclear", "stopped after 2024-01-15_12:04:00"),
    "out is behind": (HEAD + STEPS, BROKEN_OFF, "unclear", "stopped after 2024-01-15_12:04:00"),
    "real, both silent": (REAL_HEAD[: REAL_HEAD.index("d01")], REAL_HEAD, "unclear", "Timing for loop # 1"),
    "another program's": (BROKEN_OFF, REAL, "unclear", "no SUCCESS line"),
    "another host's": (BROKEN_OFF, GOOD.replace("node-1", "node-2"), "unclear", "no SUCCESS line"),
}


@pytest.mark.parametrize("case", BOTH)
def test_both_logs_of_rank_0_are_heard(awk: list[str], tmp_path: Path, case: str) -> None:
    error, out, outcome, words = BOTH[case]
    answer = read(awk, tmp_path, {MAIN: error, OUT: out})
    assert answer[0] == outcome
    assert words in answer[3]
    if case != "another host's":  # whose log is followed, but not judged by
        assert witness(follow(error), follow(out)).is_end_logged == (outcome != "unclear")


def test_another_rank_knows_why_where_rank_0_has_two_logs(awk: list[str], tmp_path: Path) -> None:
    answer = read(awk, tmp_path, {MAIN: HEAD, OUT: HEAD + STEPS, "rsl.error.0003": fatal("no room")})
    assert answer[::3] == ["failed", "no room (rsl.error.0003)"]


KNOWN = sorted({line for texts in LOGS.values() for text in texts.values() for line in text.splitlines()})


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(KNOWN), max_size=40), st.booleans())
def test_any_lines(tmp_path: Path, lines: list[str], wants_history: bool) -> None:
    """What Python takes for the end of a run, awk does, too."""
    text = "\n".join(lines)
    answer = read(["awk"], tmp_path, {MAIN: text}, wants_history=wants_history)
    verdict = read_answer("\n".join(answer))
    assert not verdict.is_success or "SUCCESS COMPLETE" in text
    assert 0 < len(verdict.message) <= 500
    if follow(text).is_end_logged:
        assert answer[0] in ("ok", "failed")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(max_codepoint=255), max_size=300), st.sampled_from(["", END, "\n" + "x" * 2000]))
def test_any_text(tmp_path: Path, text: str, end: str) -> None:
    verdict = read_answer("\n".join(read(["awk"], tmp_path, {MAIN: text + end})))
    assert not verdict.is_success or "SUCCESS COMPLETE" in text + end
    assert verdict.message.isprintable()
    assert 0 < len(verdict.message) <= 500


def test_what_awk_tells_beside_the_verdict(awk: list[str], tmp_path: Path) -> None:
    assert read(awk, tmp_path, {MAIN: GOOD})[1:3] == ["wrf 4", "node-1"]
    assert read(awk, tmp_path, {MAIN: REAL})[1:3] == ["real 4", "node-1"]
    assert read(awk, tmp_path, {MAIN: "hello\n"})[1:3] == ["none 0", "-"]
    for other in ("NDOWN_EM V4.7.1 PREPROCESSOR\n", "*** VARIATIONAL ANALYSIS ***\n"):
        assert read(awk, tmp_path, {MAIN: other})[1] == "other 0"
    long = read(awk, tmp_path, {MAIN: HEAD + fatal("x" * 2000)})[3]
    assert len(long) == 500
