"""`hpcbatch wrf check` on a directory, and `hpcbatch wrf progress` on one: answers, exit codes, no traceback ever."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from hpcbatch.cli.wrf.judge import judge
from hpcbatch.cli.wrf.log_file import LogFile
from hpcbatch.errors import HpcBatchError
from hpcbatch.wrf.log import MAIN_LOG, OUT_LOG
from tests.unit.wrf.cases import NAMELIST, good_files, initial
from tests.unit.wrf.logs import END, FIRST_FRAME, HEAD, SEGV, STEPS
from tests.waiting import wait_for

HPCBATCH = str(Path(sys.executable).with_name("hpcbatch"))
FRAME = "wrfout_d01_2024-01-15_12:00:00"


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    for name, content in good_files().items():
        (tmp_path / name).write_bytes(content)
    for name in ("real.exe", "wrf.exe"):
        (tmp_path / name).chmod(0o755)
    (tmp_path / "namelist.input").write_text(NAMELIST)
    return tmp_path


def wrf(*argv: str | Path) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
    words = [HPCBATCH, "wrf", *map(str, argv)]
    return subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("program", ["real", "wrf"])
def test_a_good_run(run_dir: Path, program: str) -> None:
    done = wrf("check", run_dir, "--ranks", "4", "--program", program)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{program}.exe: nothing found that would make it fail\n"


def test_the_program_is_the_next_one(run_dir: Path) -> None:
    assert wrf("check", run_dir).stdout.startswith("wrf.exe:")
    (run_dir / "wrfinput_d01").unlink()
    assert wrf("check", run_dir).stdout.startswith("real.exe:")


def test_errors_and_warnings(run_dir: Path) -> None:
    (run_dir / "LANDUSE.TBL").unlink()
    (run_dir / "wrfinput_d01").write_bytes(initial()[:-3])
    text = NAMELIST.replace("io_form_history = 2", "io_form_history = 11").replace("time_step = 60", "time_stepp = 60")
    (run_dir / "namelist.input").write_text(text)
    done = wrf("check", run_dir, "--ranks", "24")
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr, lines[-1]) == (1, "", "wrf.exe: 5 errors, 1 warning")
    line = NAMELIST.splitlines().index(" time_step = 60,") + 1
    assert f"error    namelist.input:{line}: domains.time_stepp = 60: " in done.stdout
    assert "LANDUSE.TBL is missing: " in done.stdout
    assert lines[-2].startswith("warning  namelist.input:11: time_control.io_form_history = 11: ")

    found = json.loads(wrf("check", run_dir, "--ranks", "24", "--json").stdout)
    assert found["program"] == "wrf"
    assert len(found["findings"]) == 6
    assert found["findings"][0].keys() == {"severity", "key", "value", "rule", "file", "line"}
    assert {"key": "domains.time_stepp", "line": line} in [
        {"key": each["key"], "line": each["line"]} for each in found["findings"]
    ]


def test_groups_and_programs(run_dir: Path) -> None:
    text = NAMELIST.replace(" parent_time_step_ratio = 1, 3,\n/\n", " parent_time_step_ratio = 1, 3,\n")
    (run_dir / "namelist.input").write_text(text)
    (run_dir / "wrf.exe").chmod(0o644)
    first, second, _ = wrf("check", run_dir).stdout.splitlines()
    assert first.startswith("error    namelist.input:29: &domains of line 13 is not closed before &physics: expected")
    assert second == "error    wrf.exe (not executable): the launcher cannot start it"
    (run_dir / "wrf.exe").unlink()
    (run_dir / "wrf.exe").symlink_to("nowhere")
    assert "warning  wrf.exe is missing: " in wrf("check", run_dir).stdout


def test_warnings_only(run_dir: Path) -> None:
    text = NAMELIST.replace("io_form_history = 2", "io_form_history = 11")
    (run_dir / "namelist.input").write_text(text)
    done = wrf("check", run_dir)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "wrf.exe: 1 warning")


def test_a_history_directory(run_dir: Path) -> None:
    text = NAMELIST.replace("restart = .false.", "restart = .false., history_outname = 'out/wrfout_d<domain>_<date>'")
    (run_dir / "namelist.input").write_text(text)
    assert "out: no such directory" in wrf("check", run_dir).stdout
    (run_dir / "out").mkdir()
    assert wrf("check", run_dir).returncode == 0


def test_a_file_of_netcdf_4(run_dir: Path) -> None:
    (run_dir / "wrfinput_d01").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    done = wrf("check", run_dir)
    try:
        import netCDF4  # noqa: F401
    except ImportError:
        assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "wrf.exe: 1 not looked at")
        assert "pip install 'hpcbatch[wrf]'" in done.stdout
    else:
        assert done.returncode == 1
        assert "netCDF-4 file that cannot be read" in done.stdout


@pytest.mark.parametrize("content", [b"", b"\0\xff\x1b[2J&domains", b"&domains\n x='\x1b[31m", b"/" * 5000])
def test_any_namelist(run_dir: Path, content: bytes) -> None:
    (run_dir / "namelist.input").write_bytes(content)
    done = wrf("check", run_dir)
    assert (done.returncode, done.stderr) == (1, "")
    assert "\x1b" not in done.stdout


def test_what_cannot_be_checked(tmp_path: Path) -> None:
    for path, reason in ((tmp_path, "No such file"), (tmp_path / "no", "no such directory")):
        done = wrf("check", path)
        assert (done.returncode, done.stdout) == (1, "")
        assert reason in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_progress_of_a_directory(run_dir: Path) -> None:
    log = run_dir / "rsl.error.0000"
    log.write_text(HEAD + FIRST_FRAME + STEPS)
    done = wrf("progress", run_dir, "--once")
    assert (done.returncode, done.stderr) == (0, "")
    assert "wrf.exe    7 %  2024-01-15_12:04:00" in done.stdout
    assert "d01  2024-01-15_12:04:00  4 steps, mean 0.3 s a step, median 0.2 s" in done.stdout

    log.write_text(HEAD + FIRST_FRAME + STEPS + END)
    done = wrf("progress", run_dir)
    assert (done.returncode, done.stdout.splitlines()[-1].partition(":")[0]) == (1, "failed")
    assert f"there is no {FRAME}" in done.stdout
    (run_dir / FRAME).touch()
    done = wrf("progress", run_dir)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, f"success: {END.strip()}")

    crash = "Program received signal SIGSEGV: Segmentation fault"
    log.write_text(f"{HEAD}\n{crash}\n")
    done = wrf("progress", run_dir, "--once")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, f"failed: {crash}")


def test_progress_by_the_log_that_does_not_break_off(run_dir: Path) -> None:
    (run_dir / "rsl.error.0000").write_text(HEAD + FIRST_FRAME)
    (run_dir / "rsl.out.0000").write_text(HEAD + FIRST_FRAME + STEPS)
    assert "wrf.exe    7 %  2024-01-15_12:04:00" in wrf("progress", run_dir, "--once").stdout
    (run_dir / FRAME).touch()
    with (run_dir / "rsl.out.0000").open("a") as file:
        file.write(END)
    done = wrf("progress", run_dir)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, f"success: {END.strip()}")
    (run_dir / "rsl.error.0000").write_text(HEAD)  # begun anew
    os.utime(run_dir / "rsl.out.0000", (1, 1))
    assert "wrf.exe    0 %" in wrf("progress", run_dir, "--once").stdout


def test_progress_without_a_namelist(run_dir: Path) -> None:
    (run_dir / "namelist.input").unlink()
    (run_dir / "rsl.error.0000").write_text(HEAD + STEPS)
    done = wrf("progress", run_dir, "--once")
    assert done.returncode == 0
    assert "  ? %  2024-01-15_12:04:00" in done.stdout
    assert len(done.stderr.splitlines()) == 1


def test_progress_of_nothing(tmp_path: Path) -> None:
    done = wrf("progress", tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "rsl.error.0000: no such file" in done.stderr


def test_a_bar_on_a_terminal(run_dir: Path) -> None:
    """Drawn anew when the log grows, and when the program starts again."""
    log = run_dir / "rsl.error.0000"
    log.write_text(HEAD + FIRST_FRAME + STEPS)
    (run_dir / FRAME).touch()
    ours, theirs = pty.openpty()
    command = subprocess.Popen(
        [HPCBATCH, "wrf", "progress", str(run_dir)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", "COLUMNS": "100", "TERM": "xterm"},
    )
    os.close(theirs)
    os.set_blocking(ours, False)
    seen = bytearray()

    def shows(text: bytes) -> bool:
        try:
            seen.extend(os.read(ours, 1 << 16))
        except OSError:  # nothing new, or its end
            pass
        return text in seen

    wait_for("the bar", lambda: shows(b"wrf.exe    7 %") and "━".encode() in seen)
    with log.open("a") as file:
        file.write("Timing for main: time 2024-01-15_12:30:00 on domain   1:    0.60000 elapsed seconds\n")
    wait_for("half of it", lambda: shows(b"wrf.exe   50 %"))
    log.write_text(HEAD)
    wait_for("the new run", lambda: shows(b"wrf.exe    0 %"))
    with log.open("a") as file:
        file.write(FIRST_FRAME + STEPS + END)
    wait_for("success", lambda: shows(b"SUCCESS COMPLETE WRF"))
    assert command.wait(timeout=60) == 0
    os.close(ours)


def test_logs_that_were_moved_away_are_judged(tmp_path: Path) -> None:
    """As scripts do after a run; both of rank 0 by the open files, that of another rank by its name."""
    for name in (MAIN_LOG, OUT_LOG):
        (tmp_path / name).write_text(HEAD + FIRST_FRAME)
    file = LogFile(tmp_path / MAIN_LOG)
    file.read()
    with (tmp_path / OUT_LOG).open("a") as log:
        log.write(STEPS)
    (tmp_path / "rsl.error.0001").write_text(SEGV)
    for name in (MAIN_LOG, OUT_LOG):
        (tmp_path / name).rename(tmp_path / f"{name}.old")
    assert not file.read()
    verdict = judge(tmp_path, file.files, [], wants_history=True)
    assert (verdict.is_success, verdict.message.partition(";")[0]) == (
        False,
        "no SUCCESS line, stopped after 2024-01-15_12:04:00",
    )
    assert "SIGSEGV" in judge(tmp_path, file.files, ["rsl.error.0001"], wants_history=True).message


def test_a_machine_without_awk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HpcBatchError, match="cannot judge the run: awk: No such file or directory"):
        judge(tmp_path, [], [], wants_history=True)
