"""What stands between Open MPI's mpirun and its prterun in jobs of several pods: it leaves out one line of stderr."""

from __future__ import annotations

import os
import signal
import subprocess
from importlib import resources
from pathlib import Path

import pytest

from tests.waiting import wait_for

WARNING = "[host:12] plm:ssh: Warning: setpgid(34,34) failed in parent with errno=Permission denied(13)"
PRTERUN = f"""#!/bin/sh
trap 'echo usr1' USR1
trap 'echo term; exit 7' TERM
echo "$1"
echo '{WARNING}' >&2
echo '{WARNING}' >&2
case $1 in
  'say much') printf 'one\\ntwo' >&2; cat; exit 5 ;;
  kill) kill -9 $$ ;;
  none) ;;
  wait) echo $$ >pid; while :; do sleep 0.1; done ;;
esac
"""


@pytest.fixture
def command(shell: str, tmp_path: Path) -> list[str]:
    parts = [(resources.files("hpcbatch.runner") / name).read_text() for name in ("await.sh", "mpi/prterun.sh")]
    (tmp_path / "wrapper").write_text(f"run={tmp_path}\n{''.join(parts)}")
    (tmp_path / "openmpi/bin").mkdir(parents=True)
    (tmp_path / "openmpi/bin/prterun").write_text(PRTERUN)
    (tmp_path / "openmpi/bin/prterun").chmod(0o755)
    return [shell, str(tmp_path / "wrapper")]


def start(command: list[str], directory: Path, argument: str, path: str = "") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*command, argument],
        cwd=directory,
        text=True,
        env={"PATH": path or os.environ["PATH"], "OMPI_LIBDIR_LOC": str(directory / "openmpi/lib")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def left_in(command: list[str]) -> str:
    """Busybox's shell takes setpriv and env of its own, which cannot do what is wanted: prterun runs as it is."""
    return f"{WARNING}\n" * 2 if Path(command[0]).resolve().name == "busybox" else ""


def test_all_but_one_line_comes_through(command: list[str], tmp_path: Path) -> None:
    process = start(command, tmp_path, "say much")
    assert process.communicate("input", timeout=60) == ("say much\ninput", left_in(command) + "one\ntwo")
    assert process.returncode == 5
    assert not list(tmp_path.glob("prterun.*"))


@pytest.mark.parametrize(("argument", "code"), [("kill", 137), ("none", 0)])
def test_its_end_is_told(command: list[str], tmp_path: Path, argument: str, code: int) -> None:
    process = start(command, tmp_path, argument)
    assert process.communicate(timeout=60) == (f"{argument}\n", left_in(command))
    assert process.returncode in {code, 128 - code}


def test_signals_reach_it(command: list[str], tmp_path: Path) -> None:
    process = start(command, tmp_path, "wait")
    wait_for("its start", lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    assert process.stdout is not None
    assert process.stdout.readline() == "wait\n"
    process.send_signal(signal.SIGUSR1)
    assert process.stdout.readline() == "usr1\n"
    process.terminate()
    assert process.communicate(timeout=60) == ("term\n", left_in(command))
    assert process.returncode == 7


def test_it_does_not_outlive_a_kill(command: list[str], tmp_path: Path) -> None:
    process = start(command, tmp_path, "wait")
    pid = int(wait_for("its start", lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text()))
    process.kill()
    process.wait()
    wait_for("its end", lambda: not Path(f"/proc/{pid}").exists())


def test_without_the_tools_it_runs_as_it_is(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    for name in ("sh", "env", "mktemp", "mkfifo", "cat"):
        (tmp_path / "tools" / name).symlink_to(f"/bin/{name}" if Path(f"/bin/{name}").exists() else f"/usr/bin/{name}")
    process = start(command, tmp_path, "none", str(tmp_path / "tools"))
    assert process.communicate(timeout=60) == ("none\n", f"{WARNING}\n" * 2)
