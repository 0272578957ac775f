"""The runner's judgement on a run of WRF: which runs it judges, and what becomes of the job."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from hpcbatch.model.dialect import Dialect
from hpcbatch.model.placed import OutputFiles
from hpcbatch.model.site import SiteConfig
from hpcbatch.model.state import Reason
from hpcbatch.volcano.report import RunReport
from tests.component.runner_pod import RunnerPod
from tests.unit.wrf.cases import NAMELIST
from tests.unit.wrf.logs import (
    CFL,
    END,
    FIRST_FRAME,
    HEAD,
    KILLED,
    NOT_OPENED,
    REAL,
    REAL_HEAD,
    SEGV,
    STEPS,
    fatal,
)

MAIN = "rsl.error.0000"
GOOD = HEAD + FIRST_FRAME + STEPS + END
NO_WRFBDY = fatal(" med_latbound_in: error opening wrfbdy_d01 for reading. IERR =        -1021")

WRF_EXE = """\
#!/bin/sh
# stands in for wrf.exe: log it writes is that in the file LOG of its directory, as of this host
sed "s/hostname: .*/hostname: $(hostname)/" LOG >rsl.error.0000
[ ! -e OUT ] || sed "s/hostname: .*/hostname: $(hostname)/" OUT >rsl.out.0000
stays=0
while [ $stays -lt 600 ]; do
  kept=$(ls RUN/words.* 2>/dev/null)
  case ${1:-} in
    '') break ;;
    seen) ! grep -q -x "wrf $PWD" RUN/wrf_places || break ;;
    kept) [ -z "$kept" ] || break ;;
    forgotten) [ -n "$kept" ] || break ;;
  esac
  stays=$((stays + 1))
  sleep 0.1
done
"""
"""Its argument says until when it stays: the runner has `seen` it, `kept` its words has `forgotten` them; or `on`."""


@pytest.fixture
def pod(shell: str, tmp_path: Path) -> RunnerPod:
    return RunnerPod(tmp_path / "pod", shell)


def place(pod: RunnerPod, log: str, name: str = "wrf", namelist: str = NAMELIST) -> Path:
    """A directory with a wrf.exe that will write this log."""
    directory = pod.root / name
    directory.mkdir(parents=True)
    (directory / "LOG").write_text(log)
    (directory / "namelist.input").write_text(namelist)
    (directory / "wrf.exe").write_text(WRF_EXE.replace("RUN", str(pod.root / "run/job")))
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
    body = "./real.exe kept; cp NEXT LOG; ./wrf.exe"
    report = run(pod, body, work_dir=str(directory))
    assert (report.exit_code, report.message) == (1, f"real.exe in {directory}: {REAL_WORDS}")
    assert pod.err.read_text().splitlines()[:2] == [
        f"hpcbatch: real.exe in {directory}: {REAL_WORDS}",
        f"hpcbatch: wrf.exe in {directory}: {WRF_WORDS}",
    ]


def test_a_real_exe_elsewhere_comes_first(tmp_path: Path) -> None:
    pod = RunnerPod(tmp_path / "pod")
    directory, other = place(pod, NO_WRFINPUT), place(pod, REAL_FAILED, "inputs")
    report = run(pod, "(cd ../inputs; ./wrf.exe seen); ./wrf.exe", work_dir=str(directory))
    assert report.message == f"real.exe in {other}: {REAL_WORDS}"
    assert f"wrf.exe in {directory}: {WRF_WORDS}" in pod.err.read_text()


def test_a_real_exe_that_went_well_in_the_end(tmp_path: Path) -> None:
    pod = RunnerPod(tmp_path / "pod")
    directory = place(pod, REAL_FAILED)
    (directory / "real.exe").symlink_to("wrf.exe")
    (directory / "GOOD").write_text(REAL)
    (directory / "NEXT").write_text(NO_WRFINPUT)
    body = "./real.exe kept; cp GOOD LOG; ./real.exe forgotten; cp NEXT LOG; ./wrf.exe"
    report = run(pod, body, work_dir=str(directory))
    assert report.message == f"wrf.exe in {directory}: {WRF_WORDS}"


def test_where_a_program_was_seen(pod: RunnerPod) -> None:
    """One in a directory that the script goes to, one that only a program is in; both are told of."""
    first, second = place(pod, HEAD + STEPS, "a b's"), place(pod, HEAD + SEGV, "second")
    (pod.root / "go").write_text("#!/bin/sh\ncd second && exec ./wrf.exe seen\n")
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
    ways: list[dict[str, Any]] = [{"submitted": {"HPCBATCH_JUDGE_WRF": "no"}}, {"site": SiteConfig(judges_wrf=False)}]
    for number, asked in enumerate(ways):
        inner = RunnerPod(tmp_path / str(number))
        report = run(inner, "./wrf.exe", work_dir=str(place(inner, HEAD + SEGV)), **asked)
        assert (report.exit_code, report.reason, report.message) == (0, Reason.NONE, "")
        assert inner.err.read_text() == ""


def test_a_job_that_was_ended_is_not_judged(tmp_path: Path) -> None:
    pod = RunnerPod(tmp_path / "pod")
    report = run(pod, "./wrf.exe on", work_dir=str(place(pod, HEAD)), walltime_s=2)
    assert report.reason is Reason.TIME_LIMIT
    assert report.message.startswith("walltime ")
