"""How a script is started: bytes, arguments, interpreter, limits, directory."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from hpcbatch.model.dialect import Dialect
from hpcbatch.model.placed import OutputFiles
from hpcbatch.model.state import Reason
from tests.component.runner_pod import RunnerPod

# The script: bytes, interpreter, arguments, directory, limits


def test_script_is_run_byte_for_byte_with_its_arguments(pod: RunnerPod) -> None:
    script = b'#!/bin/sh\nprintf \'%s|\' "$#" "$@"; cat "$0" >copy\nexit 0\n\xff\x00\x01 not text\n'
    arguments = ("a b", "", "$HOME", "it's", "-x", "a=b", "two\nlines", "*")
    code, _ = pod.run(script, script_args=arguments)
    assert code == 0, pod.err.read_text()
    assert pod.out.read_text() == "8|" + "|".join(arguments) + "|"
    assert (pod.root / "copy").read_bytes() == script


@pytest.mark.parametrize(
    ("script", "asked", "expected"),
    [
        pytest.param(f"#!{sys.executable}\nprint('py')", {}, "py\n", id="python by its line"),
        pytest.param("#! /usr/bin/env -S sh -e\nfalse; echo not here", {}, "", id="blank after the mark, arguments"),
        pytest.param("echo $0", {"dialect": Dialect.PBS}, "{run}/12.SC\n", id="no line: the login shell"),
        pytest.param(
            'a=(1 2); echo "${#a[@]}"', {"dialect": Dialect.PBS, "interpreter": "/bin/bash"}, "2\n", id="-S, no line"
        ),
        pytest.param(
            "#!/bin/bash\na=(1 2); echo ${#a[@]}",
            {"dialect": Dialect.PBS, "interpreter": "/bin/sh"},
            "2\n",
            id="the line wins over -S",
        ),
        pytest.param(
            "print('py')", {"dialect": Dialect.PBS, "interpreter": sys.executable}, "py\n", id="-S is no shell"
        ),
        pytest.param(
            "", {"dialect": Dialect.PBS, "command": ("printf", "%s,", "a b", "c=d")}, "a b,c=d,", id="a command"
        ),
        pytest.param("", {"command": ("./odd=name",)}, "ran\n", id="a command with ="),
    ],
)
def test_interpreter(pod: RunnerPod, script: str, asked: dict[str, Any], expected: str) -> None:
    (pod.root / "odd=name").write_text("#!/bin/sh\necho ran\n")
    (pod.root / "odd=name").chmod(0o755)
    pod.run(script, **asked)
    assert pod.err.read_text() == ""
    assert pod.out.read_text() == expected.format(run=pod.root / "run/job")


@pytest.mark.parametrize(("dialect", "code"), [(Dialect.PBS, 126), (Dialect.SLURM, 2)])
@pytest.mark.parametrize("name", ["/no/such/shell", "/bin/sh\r", "/etc/passwd", "/usr"])
def test_interpreter_that_is_not_there(pod: RunnerPod, dialect: Dialect, code: int, name: str) -> None:
    exit_code, report = pod.run(f"#!{name}\necho hi\n", dialect=dialect)
    assert (exit_code, report.exit_code, report.reason) == (code, code, Reason.LAUNCH_FAILED)
    assert name.strip() in report.message
    assert pod.err.read_text().count("cannot run the script") == 1


def test_stdin_is_empty_and_the_session_its_own(pod: RunnerPod) -> None:
    _, report = pod.run("#!/bin/sh\nwc -c; cut -d ' ' -f 1,6 /proc/$$/stat; ls /proc/self/fd >fds; wc -l <fds\n")
    count, session, files = pod.out.read_text().splitlines()
    assert count == "0"
    assert session == f"{report.session_id} {report.session_id}"
    assert int(files) <= 4, "files of the runner are open in the script"


def test_limits_are_as_high_as_allowed(pod: RunnerPod) -> None:
    pod.run("#!/bin/sh\nulimit -S -s; ulimit -H -s\n")
    soft, hard = pod.out.read_text().split()
    assert soft == hard


@pytest.mark.parametrize("umask", [0o077, 0o022, 0o002])
def test_umask(pod: RunnerPod, umask: int) -> None:
    output = OutputFiles(stdout=str(pod.out), stderr=str(pod.err), umask=umask)
    pod.run("#!/bin/sh\ntouch made; umask\n", output=output)
    assert int(pod.out.read_text(), 8) == umask
    for name in ("out", "err", "made"):
        assert (pod.root / name).stat().st_mode & 0o777 == 0o666 & ~umask


def test_directory(pod: RunnerPod) -> None:
    odd = pod.root / "it's a\n$HOME"
    odd.mkdir()
    pod.run("#!/bin/sh\npwd\n", work_dir=str(odd))
    assert pod.out.read_text() == f"{odd}\n"


def test_directory_that_is_not_there(pod: RunnerPod) -> None:
    code, _ = pod.run("#!/bin/sh\npwd\n", work_dir="/no/such")
    assert (code, pod.out.read_text()) == (0, "/tmp\n")
    line = "slurmstepd: error: couldn't chdir to `/no/such': No such file or directory: going to /tmp instead\n"
    assert pod.err.read_text() == line


def test_directory_that_is_not_there_pbs(pod: RunnerPod) -> None:
    code, report = pod.run("#!/bin/sh\npwd\n", dialect=Dialect.PBS, work_dir="/no/such")
    assert (code, report.reason) == (1, Reason.LAUNCH_FAILED)
    assert report.message == "cannot change to directory /no/such: No such file or directory"
    assert pod.out.read_text() == ""
