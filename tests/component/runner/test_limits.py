"""What a job asks for the processes of its script: standard input, limits, nice. Under each shell."""

from __future__ import annotations

import os
import resource
import shutil
from pathlib import Path

import pytest

from hpcbatch.model.dialect import Dialect
from hpcbatch.model.state import Reason
from tests.component.runner_pod import RunnerPod

# Standard input


def test_stdin_is_a_file(pod: RunnerPod) -> None:
    (pod.root / "in 12").write_text("one\ntwo\n")
    code, _ = pod.run("#!/bin/sh\nread first\necho got $first\ncat\n", stdin=str(pod.root / "in %j"))
    assert (code, pod.out.read_text(), pod.err.read_text()) == (0, "got one\ntwo\n", "")


def test_stdin_that_is_not_there(pod: RunnerPod) -> None:
    """As slurmstepd does it: exit code 1, before the script starts."""
    code, report = pod.run("#!/bin/sh\ntouch ran\n", stdin=str(pod.root / "nothing"))
    assert (code, report.exit_code, report.reason) == (1, 1, Reason.NON_ZERO_EXIT)
    line = f"slurmstepd: error: Could not open stdin file {pod.root}/nothing: No such file or directory\n"
    assert pod.err.read_text() == line
    assert not (pod.root / "ran").exists()


def test_stdin_that_is_not_there_of_a_dialect_without_words(pod: RunnerPod) -> None:
    code, report = pod.run("#!/bin/sh\n", dialect=Dialect.PBS, stdin="/no/such")
    assert (code, report.reason) == (1, Reason.LAUNCH_FAILED)


# A directory of its own


@pytest.mark.parametrize("is_left", [False, True], ids=["new", "left by a run that was killed"])
def test_private_directory(pod: RunnerPod, is_left: bool) -> None:
    made = pod.root / "pbs.12.localhost.x8z"
    if is_left:
        made.mkdir()
        (made / "old").touch()
    script = "#!/bin/sh\npwd; ls -A; touch new; ls -ld . | cut -c1-10\n"
    code, _ = pod.run(script, dialect=Dialect.PBS, attributes={"sandbox": "PRIVATE"})
    assert (code, pod.out.read_text()) == (0, f"{made}\ndrwx------\n")
    assert not made.exists()


# Limits


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("core", 512 * 1024),
        ("core", 0),
        ("cpu", 1234),
        ("fsize", 10 * 1024 * 1024),
        ("data", 1 << 30),
        ("stack", 4 * 1024 * 1024),
        ("as", 2 << 30),
        ("nofile", 100),
        ("nproc", 4000),
        ("memlock", 64 * 1024),
    ],
)
def test_a_limit(pod: RunnerPod, name: str, value: int) -> None:
    python = f"import resource; print(resource.getrlimit(resource.RLIMIT_{name.upper()}))"
    code, report = pod.run(f"#!/bin/sh\nexec /usr/bin/env python3 -c '{python}'\n", process_limits=((name, value),))
    assert (code, pod.err.read_text(), report.message) == (0, "", "")
    assert pod.out.read_text() == f"({value}, {value})\n"


def test_several_limits(pod: RunnerPod) -> None:
    asked = (("as", 2 << 30), ("core", 1024), ("nofile", 64), ("sigpending", 100))
    pod.run("#!/bin/sh\ncat /proc/self/limits\n", process_limits=asked)
    seen = {line[:26].strip(): line[26:].split()[:2] for line in pod.out.read_text().splitlines()}
    assert seen["Max address space"] == [str(2 << 30)] * 2
    assert seen["Max core file size"] == ["1024"] * 2
    assert seen["Max open files"] == ["64"] * 2
    if shutil.which("prlimit"):
        assert seen["Max pending signals"] == ["100"] * 2
        assert pod.err.read_text() == ""


def without(pod: RunnerPod, tmp_path: Path, *names: str) -> None:
    """The image has no such programs."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for directory in os.environ["PATH"].split(":"):
        for file in Path(directory).iterdir() if Path(directory).is_dir() else ():
            if file.name not in names and not (tools / file.name).exists():
                (tools / file.name).symlink_to(file)
    pod.environment["PATH"] = str(tools)


def test_without_prlimit(pod: RunnerPod, tmp_path: Path) -> None:
    """The shell rounds up to its units; what it does not know is told, in the job's error file and the record."""
    without(pod, tmp_path, "prlimit")
    asked = (("fsize", 1_000_000), ("sigpending", 100), ("wings", 2))
    code, report = pod.run("#!/bin/sh\ncat /proc/self/limits | grep 'file size'\n", process_limits=asked)
    assert code == 0
    assert "1000448 " in pod.out.read_text()
    told = (
        "the limit sigpending=100 is not applied: this image has no prlimit, and its shell does not know it; "
        "the limit wings=2 is not applied: there is none of that name"
    )
    assert pod.err.read_text() == f"hpcbatch: warning: {told}\n"
    assert report.message == f"warning: {told}"


def test_a_limit_beyond_the_hard_one(pod: RunnerPod) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    more = int(Path("/proc/sys/fs/nr_open").read_text()) + 1  # not even root may have that
    _, report = pod.run("#!/bin/sh\nulimit -n\n", process_limits=(("nofile", more),))
    assert pod.out.read_text() == f"{hard}\n"
    assert f"the limit nofile={more} is {hard}: no more is allowed on " in report.message


def test_a_limit_that_nobody_enforces(pod: RunnerPod) -> None:
    _, report = pod.run("#!/bin/sh\n", process_limits=(("rss", 1 << 30),))
    assert report.message == (
        f"warning: the limit rss={1 << 30} has no effect: Linux limits no resident memory of a process"
    )


# nice


def test_nice(pod: RunnerPod) -> None:
    pod.run("#!/bin/sh\nnice; sh -c nice\n", process_nice=7)
    base = os.nice(0)
    assert pod.out.read_text() == f"{base + 7}\n" * 2
    assert pod.err.read_text() == ""


def test_nice_below_0(pod: RunnerPod) -> None:
    _, report = pod.run("#!/bin/sh\nnice\n", process_nice=-5)
    assert pod.out.read_text() == f"{os.nice(0)}\n"
    assert pod.err.read_text().count("nice -5 counts as 0") == 1
    assert "nice -5 counts as 0" in report.message
