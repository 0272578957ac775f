"""The runner's judgement on a run of WRF: that its awk says what hpcbatch.wrf.log says, and which runs it judges."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hpcbatch.runner
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.placed import OutputFiles
from hpcbatch.model.site import SiteConfig
from hpcbatch.model.state import Reason
from hpcbatch.volcano.report import RunReport
from hpcbatch.wrf.log import judge
from tests.component.runner_pod import RunnerPod
from tests.unit.wrf.cases import NAMELIST
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

MAIN = "rsl.error.0000"
PROGRAM = Path(hpcbatch.runner.__file__).with_name("wrf") / "wrf.awk"
AWKS = {"awk": ["awk"], "busybox": ["busybox", "awk"]}
"""Also tried: gawk --posix 5.2.1, mawk 1.3.4, original-awk of 2022."""
GOOD = HEAD + FIRST_FRAME + STEPS + END
RESTART = " RESTART run: opening wrfrst_d01_2024-01-15_12:30:00 for reading\n"
NO_WRFBDY = fatal(" med_latbound_in: error opening wrfbdy_d01 for reading. IERR =        -1021")

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
        MAIN: HEAD + "The time step is probably too large for this grid distance, reduce it.\n"
        + fatal("--- ERROR: Time step too large")
    },
    "no namelist": {MAIN: "Fortran runtime error: Cannot open file 'namelist.input': No such file or directory\n"},
    "fatal elsewhere": {
        MAIN: HEAD, "rsl.error.0001": SEGV,
        "rsl.error.0003": fatal(" CLWRF: 'CAMtr_volume_mixing_ratio' does not exist")
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
}  # fmt: skip


@pytest.fixture(params=AWKS)
def awk(request: pytest.FixtureRequest) -> list[str]:
    argv = AWKS[request.param]
    if shutil.which(argv[0]) is None:
        pytest.skip(f"NOT TESTED: {argv[0]} is not installed here")
    return argv


def read(
    awk: list[str], directory: Path, texts: dict[str, str], *, wants_history: bool = True, launcher: str = ""
) -> list[str]:
    paths = []
    for name, text in sorted(texts.items()):
        paths.append(directory / name)
        paths[-1].write_bytes(text.encode("latin-1"))
    said = directory / "launcher"
    said.write_text(launcher)
    done = subprocess.run(
        [*awk, "-v", f"wants_history={int(wants_history)}", "-f", str(PROGRAM), *map(str, paths)],
        capture_output=True, timeout=60, check=True,
        env={**os.environ, "LC_ALL": "C", "launcher_words": str(said)},
    )  # fmt: skip
    assert done.stderr == b""
    lines = done.stdout.decode("latin-1").splitlines()
    assert len(lines) == 4
    return lines


@pytest.mark.parametrize("case", LOGS)
def test_awk_says_what_python_says(awk: list[str], tmp_path: Path, case: str) -> None:
    for wants_history in (True, False):
        outcome, _, _, message = read(awk, tmp_path, LOGS[case], wants_history=wants_history)
        verdict = judge(LOGS[case], wants_history=wants_history)
        assert (outcome == "ok", message) == (verdict.is_success, verdict.message)


@pytest.mark.parametrize("form", KILLED)
def test_awk_says_what_python_says_of_a_rank_that_was_killed(awk: list[str], tmp_path: Path, form: str) -> None:
    launcher, _ = KILLED[form]
    for log in ({MAIN: HEAD + FIRST_FRAME + STEPS}, {MAIN: CFL}, {MAIN: HEAD + SEGV}, {MAIN: GOOD}):
        message = read(awk, tmp_path, log, launcher=launcher)[3]
        assert message == judge(log, launcher=launcher).message


LINES = sorted({line for texts in LOGS.values() for text in texts.values() for line in text.splitlines()})


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(LINES), max_size=40), st.booleans())
def test_awk_says_what_python_says_of_any_lines(tmp_path: Path, lines: list[str], wants_history: bool) -> None:
    texts = {MAIN: "\n".join(lines)}
    outcome, _, _, message = read(["awk"], tmp_path, texts, wants_history=wants_history)
    verdict = judge(texts, wants_history=wants_history)
    assert outcome == "ok" if verdict.is_success else outcome in {"failed", "unclear"}
    assert message[:497] == verdict.message[:497]


def test_what_awk_tells_beside_the_verdict(awk: list[str], tmp_path: Path) -> None:
    assert read(awk, tmp_path, {MAIN: GOOD})[1:3] == ["wrf 4", "node-1"]
    assert read(awk, tmp_path, {MAIN: REAL})[1:3] == ["real 4", "node-1"]
    assert read(awk, tmp_path, {MAIN: "hello\n"})[1:3] == ["none 0", "-"]
    for other in ("NDOWN_EM V4.7.1 PREPROCESSOR\n", "*** VARIATIONAL ANALYSIS ***\n"):
        assert read(awk, tmp_path, {MAIN: other})[1] == "other 0"
    long = read(awk, tmp_path, {MAIN: HEAD + fatal("x" * 2000)})[3]
    assert len(long) == 500


# What the runner makes of it

WRF_EXE = """\
#!/bin/sh
# stands in for wrf.exe: log it writes is that in the file LOG of its directory, as of this host
sed "s/hostname: .*/hostname: $(hostname)/" LOG >rsl.error.0000
[ ! -e OUT ] || sed "s/hostname: .*/hostname: $(hostname)/" OUT >rsl.out.0000
sleep "${1:-0}"
"""


@pytest.fixture
def pod(shell: str, tmp_path: Path) -> RunnerPod:
    return RunnerPod(tmp_path / "pod", shell)


def place(pod: RunnerPod, log: str, name: str = "wrf", namelist: str = NAMELIST) -> Path:
    """A directory with a wrf.exe that will write this log."""
    directory = pod.root / name
    directory.mkdir(parents=True)
    (directory / "LOG").write_text(log)
    (directory / "namelist.input").write_text(namelist)
    (directory / "wrf.exe").write_text(WRF_EXE)
    (directory / "wrf.exe").chmod(0o755)
    return directory


def run(pod: RunnerPod, body: str, **asked: Any) -> RunReport:
    _, report = pod.run(f"#!/bin/sh\n{body}\n", **asked)
    return report


def test_a_silent_failure_fails_the_job(pod: RunnerPod) -> None:
    directory = place(pod, HEAD + NO_WRFBDY)
    report = run(pod, "./wrf.exe; echo done", work_dir=str(directory), remove_output="oe", dialect=Dialect.PBS)
    assert (report.exit_code, report.reason) == (1, Reason.PROGRAM_FAILED)
    why = f"wrf.exe in {directory}: med_latbound_in: error opening wrfbdy_d01 for reading. IERR = -1021"
    assert report.message == why
    assert pod.err.read_text().splitlines() == [
        f"hpcbatch: {why}",
        "hpcbatch: the script ended with 0, the job ends with 1 (HPCBATCH_JUDGE_WRF=no: it would end with 0)",
    ]
    assert pod.out.read_text() == "done\n"


@pytest.mark.parametrize(
    ("log", "message"),
    [
        (NOT_OPENED, "SUCCESS COMPLETE WRF, but: error opening nodir/wrfout_d01_2024-01-15_12:00:00 for writing"),
        (HEAD + STEPS + END, "SUCCESS COMPLETE WRF, but it wrote no wrfout"),
        (HEAD + FIRST_FRAME + STEPS, "no SUCCESS line, stopped after 2024-01-15_12:04:00"),
        (CFL + SEGV, "782 points exceeded v_cfl = 2"),
    ],
    ids=["not opened", "no wrfout", "stopped", "cfl"],
)
def test_each_way_to_fail(tmp_path: Path, log: str, message: str) -> None:
    pod = RunnerPod(tmp_path / "pod")
    report = run(pod, "./wrf.exe", work_dir=str(place(pod, log)))
    assert (report.exit_code, report.reason) == (1, Reason.PROGRAM_FAILED)
    assert message in report.message


def test_the_exit_code_of_a_script_that_failed_stays(tmp_path: Path) -> None:
    pod = RunnerPod(tmp_path / "pod")
    directory = place(pod, HEAD + SEGV)
    report = run(pod, "./wrf.exe; exit 139", work_dir=str(directory))
    assert (report.exit_code, report.reason) == (139, Reason.PROGRAM_FAILED)
    assert "Program received signal SIGSEGV" in report.message
    assert len(pod.err.read_text().splitlines()) == 1


def test_another_rank_knows_why(tmp_path: Path) -> None:
    pod = RunnerPod(tmp_path / "pod")
    directory = place(pod, HEAD)
    (directory / "more").write_text(fatal(" CLWRF: 'CAMtr_volume_mixing_ratio' does not exist"))
    (directory / "rsl.error.0002").write_text(fatal(" of an earlier run"))
    os.utime(directory / "rsl.error.0002", (1, 1))
    body = "./wrf.exe; cp more rsl.error.0003; cp more rsl.error.0004; cp more rsl.error.x"
    report = run(pod, body, work_dir=str(directory))
    assert report.message == (
        f"wrf.exe in {directory}: CLWRF: 'CAMtr_volume_mixing_ratio' does not exist (rsl.error.0003)"
    )


def test_a_log_that_breaks_off_in_a_good_run(pod: RunnerPod) -> None:
    """As rsl.error.0000 does with sppt=1; rsl.out.0000 is whole."""
    directory = place(pod, HEAD + FIRST_FRAME + STEPS)
    (directory / "OUT").write_text(GOOD)
    report = run(pod, "./wrf.exe", work_dir=str(directory))
    assert (report.exit_code, report.reason, report.message) == (0, Reason.NONE, "")
    assert pod.err.read_text() == ""


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (HEAD + NO_WRFBDY, "med_latbound_in: error opening wrfbdy_d01 for reading. IERR = -1021"),
        (NOT_OPENED, "but: error opening nodir/wrfout_d01_2024-01-15_12:00:00 for writing"),
        (REAL, "no SUCCESS line"),
        (HEAD + FIRST_FRAME + STEPS, "no SUCCESS line, stopped after 2024-01-15_12:04:00"),
    ],
    ids=["fatal", "not opened", "another program's", "both silent"],
)
def test_a_log_that_breaks_off_in_a_run_that_failed(tmp_path: Path, out: str, message: str) -> None:
    pod = RunnerPod(tmp_path / "pod")
    directory = place(pod, HEAD)
    (directory / "OUT").write_text(out)
    report = run(pod, "./wrf.exe", work_dir=str(directory))
    assert (report.exit_code, report.reason) == (1, Reason.PROGRAM_FAILED)
    assert message in report.message


def test_an_old_log_of_output_is_not_heard(tmp_path: Path) -> None:
    pod = RunnerPod(tmp_path / "pod")
    directory = place(pod, HEAD)
    old = directory / "rsl.out.0000"
    old.write_text(GOOD.replace("node-1", os.uname().nodename))
    an_hour_ago = time.time() - 3600
    os.utime(old, (an_hour_ago, an_hour_ago))
    assert "no SUCCESS line" in run(pod, "./wrf.exe", work_dir=str(directory)).message


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("./wrf.exe; cat SAID >&2; exit 137", "SIGKILL on rank 13, probably out of memory, stopped after"),
        ("./wrf.exe; cat SAID; true", "SIGKILL on rank 13, probably out of memory, stopped after"),
        ("./wrf.exe; exit 139", "SIGSEGV on a rank, stopped after"),
    ],
    ids=["on stderr", "on stdout", "exit code"],
)
def test_a_rank_that_was_killed(pod: RunnerPod, body: str, words: str) -> None:
    directory = place(pod, HEAD + FIRST_FRAME + STEPS)
    (directory / "SAID").write_text(KILLED["Open MPI 5"][0])
    (directory / "err").write_text(KILLED["Open MPI 4"][0])  # an earlier job's
    output = OutputFiles(stdout=str(directory / "out"), stderr=str(directory / "err"), append=True)
    report = run(pod, body, work_dir=str(directory), output=output)
    assert report.reason is Reason.PROGRAM_FAILED
    assert report.message == f"wrf.exe in {directory}: {words} 2024-01-15_12:04:00"


REAL_FAILED = REAL_HEAD + fatal("error opening met_em.d01.2024-01-15_13:00:00.nc for input")
NO_WRFINPUT = HEAD + fatal(" program wrf: error opening wrfinput_d01 for reading ierr=       -1021")
REAL_WORDS = "error opening met_em.d01.2024-01-15_13:00:00.nc for input"
WRF_WORDS = "program wrf: error opening wrfinput_d01 for reading ierr= -1021"


def test_the_words_of_a_real_exe_that_failed_come_first(pod: RunnerPod) -> None:
    """wrf.exe writes over its logs."""
    directory = place(pod, REAL_FAILED)
    (directory / "real.exe").symlink_to("wrf.exe")
    (directory / "NEXT").write_text(NO_WRFINPUT)
    body = "./real.exe 1; cp NEXT LOG; ./wrf.exe"
    report = run(pod, body, work_dir=str(directory))
    assert (report.exit_code, report.message) == (1, f"real.exe in {directory}: {REAL_WORDS}")
    assert pod.err.read_text().splitlines()[:2] == [
        f"hpcbatch: real.exe in {directory}: {REAL_WORDS}",
        f"hpcbatch: wrf.exe in {directory}: {WRF_WORDS}",
    ]


def test_a_real_exe_elsewhere_comes_first(tmp_path: Path) -> None:
    pod = RunnerPod(tmp_path / "pod")
    directory, other = place(pod, NO_WRFINPUT), place(pod, REAL_FAILED, "inputs")
    report = run(pod, "(cd ../inputs; ./wrf.exe 3); ./wrf.exe", work_dir=str(directory))
    assert report.message == f"real.exe in {other}: {REAL_WORDS}"
    assert f"wrf.exe in {directory}: {WRF_WORDS}" in pod.err.read_text()


def test_a_real_exe_that_went_well_in_the_end(tmp_path: Path) -> None:
    pod = RunnerPod(tmp_path / "pod")
    directory = place(pod, REAL_FAILED)
    (directory / "real.exe").symlink_to("wrf.exe")
    (directory / "GOOD").write_text(REAL)
    (directory / "NEXT").write_text(NO_WRFINPUT)
    body = "./real.exe 1; cp GOOD LOG; ./real.exe 1; cp NEXT LOG; ./wrf.exe"
    report = run(pod, body, work_dir=str(directory))
    assert report.message == f"wrf.exe in {directory}: {WRF_WORDS}"


def test_where_a_program_was_seen(pod: RunnerPod) -> None:
    """One in a directory that the script goes to, one that only a program is in; both are told of."""
    first, second = place(pod, HEAD + STEPS, "a b's"), place(pod, HEAD + SEGV, "second")
    (pod.root / "go").write_text("#!/bin/sh\ncd second && exec ./wrf.exe 3\n")
    report = run(pod, "cd 'a b'\\''s' && ./wrf.exe && cd .. && sh go")
    assert report.message.startswith((f"wrf.exe in {first}: no SUCCESS line", f"wrf.exe in {second}: Program rec"))
    told = [line for line in pod.err.read_text().splitlines() if "hpcbatch: wrf.exe in " in line]
    assert f"wrf.exe in {second}: Program received signal SIGSEGV" in "".join(told)


HOST_LINE = "taskid: 0 hostname: $(hostname)"
NOT_JUDGED = {
    "good": (GOOD, "./wrf.exe"),
    "real, then wrf": (GOOD, "cp REAL rsl.error.0000; ./wrf.exe"),
    "another job's": (HEAD + SEGV, "cp LOG rsl.error.0000"),
    "moved away": (HEAD + SEGV, "./wrf.exe; mv rsl.error.0000 error.log"),
    "wrfout moved away": (GOOD, "./wrf.exe; mkdir archive"),
    "history is not asked for": (HEAD + STEPS + END, "sed -i '/history/d' namelist.input; ./wrf.exe"),
    "no WRF": (HEAD, f'echo "{HOST_LINE}" >rsl.error.0000; echo "something else" >>rsl.error.0000'),
    "WRFDA": (
        HEAD,
        f'printf "%s\\n" "{HOST_LINE}" "*** VARIATIONAL ANALYSIS ***" "Segmentation fault" >rsl.error.0000',
    ),
    "a directory": (HEAD, "mkdir rsl.error.0000"),
    "a pipe": (HEAD, "mkfifo rsl.error.0000"),
    "nothing": (HEAD, "ln -s /nowhere rsl.error.0000"),
}


@pytest.mark.parametrize("case", NOT_JUDGED)
def test_what_is_not_judged(tmp_path: Path, case: str) -> None:
    log, body = NOT_JUDGED[case]
    pod = RunnerPod(tmp_path / "pod")
    directory = place(pod, log)
    (directory / "REAL").write_text(REAL)
    report = run(pod, body, work_dir=str(directory))
    assert (report.exit_code, report.reason, report.message) == (0, Reason.NONE, "")
    assert pod.err.read_text() == ""


def test_an_old_log(pod: RunnerPod) -> None:
    directory = place(pod, HEAD)
    log = directory / MAIN
    log.write_text(HEAD.replace("node-1", os.uname().nodename) + SEGV)
    an_hour_ago = time.time() - 3600
    os.utime(log, (an_hour_ago, an_hour_ago))
    report = run(pod, "true", work_dir=str(directory))
    assert (report.exit_code, report.reason, report.message) == (0, Reason.NONE, "")


def test_turned_off(tmp_path: Path) -> None:
    ways: list[dict[str, Any]] = [
        {"submitted": {"HPCBATCH_JUDGE_WRF": "no"}}, {"site": SiteConfig(judges_wrf=False)}
    ]  # fmt: skip
    for number, asked in enumerate(ways):
        inner = RunnerPod(tmp_path / str(number))
        report = run(inner, "./wrf.exe", work_dir=str(place(inner, HEAD + SEGV)), **asked)
        assert (report.exit_code, report.reason, report.message) == (0, Reason.NONE, "")
        assert inner.err.read_text() == ""


def test_a_job_that_was_ended_is_not_judged(tmp_path: Path) -> None:
    pod = RunnerPod(tmp_path / "pod")
    report = run(pod, "./wrf.exe 60", work_dir=str(place(pod, HEAD)), walltime_s=2)
    assert report.reason is Reason.TIME_LIMIT
    assert report.message.startswith("walltime ")
