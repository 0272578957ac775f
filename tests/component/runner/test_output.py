"""The output files of a script."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hpcbatch.model.dialect import Dialect
from hpcbatch.model.placed import OutputFiles
from hpcbatch.model.state import Reason
from tests.component.runner_pod import RunnerPod
from tests.waiting import wait_for

# Output files


def test_output_is_written_while_it_runs(pod: RunnerPod) -> None:
    pod.prepare("#!/bin/sh\necho first; until [ -e go ]; do sleep 0.05; done; echo second\n")
    process = pod.start()
    wait_for("the first line", lambda: pod.out.exists() and pod.out.read_text() == "first\n")
    assert process.poll() is None
    (pod.root / "go").touch()
    assert pod.finish(process)[0] == 0
    assert pod.out.read_text() == "first\nsecond\n"


@pytest.mark.parametrize("append", [False, True])
@pytest.mark.parametrize("joined", ["none", "same"])
def test_append_truncate_join(pod: RunnerPod, append: bool, joined: str) -> None:
    pod.out.write_text("before\n")
    output = OutputFiles(stdout=str(pod.out), stderr=None if joined == "none" else str(pod.out), append=append)
    pod.run("#!/bin/sh\necho 1; echo 2 >&2; echo 3\n", output=output)
    assert pod.out.read_text() == ("before\n" if append else "") + "1\n2\n3\n"
    assert not pod.err.exists()


@pytest.mark.parametrize(("dialect", "text"), [(Dialect.PBS, "before\n\n"), (Dialect.SLURM, "2\n")], ids=str)
def test_a_pod_that_volcano_has_made_anew(pod: RunnerPod, dialect: Dialect, text: str) -> None:
    pod.environment["HPCBATCH_JOB_VERSION"] = "2"
    pod.out.write_text("before\n")
    pod.run("#!/bin/sh\necho $SLURM_RESTART_COUNT\n", dialect=dialect)
    assert pod.out.read_text() == text


def running(pod: RunnerPod, place: Path | None = None) -> tuple[OutputFiles, Path, Path]:
    """Output that gets its own name at the end, and the files meanwhile."""
    output = OutputFiles(
        stdout=str(place or pod.out),
        stderr=str(pod.err),
        stdout_in_dir="12.s.OU",
        stdout_meanwhile="12.s.OU.running",
        stderr_meanwhile="12.s.ER.running",
    )
    return output, (place or pod.root) / "12.s.OU.running", pod.root / "12.s.ER.running"


def names(pod: RunnerPod) -> list[str]:
    return sorted(path.name for path in pod.root.iterdir() if path.name in {"out", "err"} or "12.s" in path.name)


def test_output_gets_its_own_name_at_the_end(pod: RunnerPod) -> None:
    output, _, _ = running(pod)
    pod.out.write_text("of another job")
    script = (
        "#!/bin/sh\necho one\necho two >&2\ncat 12.s.OU.running 12.s.ER.running >seen; cat out >old; ls err; exit 3\n"
    )
    code, report = pod.run(script, output=output, dialect=Dialect.PBS)
    assert (code, report.exit_code) == (3, 3)
    assert (pod.root / "seen").read_text() == "one\ntwo\n" and (pod.root / "old").read_text() == "of another job"
    assert pod.out.read_text() == "one\n" and pod.err.read_text().startswith("two\nls: ")
    assert names(pod) == ["err", "out"]


@pytest.mark.parametrize("how", ["walltime", "stopped", "launch"])
def test_output_of_jobs_that_are_ended(pod: RunnerPod, how: str) -> None:
    output, out, _ = running(pod)
    limit: dict[str, Any] = {"walltime_s": 1} if how == "walltime" else {}
    work_dir = "/nowhere" if how == "launch" else str(pod.root)
    pod.prepare("#!/bin/sh\necho begun\nsleep 60\n", output=output, dialect=Dialect.PBS, work_dir=work_dir, **limit)
    process = pod.start()
    if how == "stopped":
        wait_for("the script", lambda: out.exists() and out.read_text() == "begun\n")
        process.terminate()
    pod.finish(process)
    assert pod.out.read_text() == ("" if how == "launch" else "begun\n")
    words = {
        "walltime": "=>> PBS: job killed: walltime",
        "launch": "hpcbatch: cannot change to directory",
        "stopped": "",
    }
    assert pod.err.read_text().startswith(words[how])
    assert names(pod) == ["err", "out"]


@pytest.mark.parametrize("before", ["delivered", "killed"])
def test_output_of_a_job_that_runs_again(pod: RunnerPod, before: str) -> None:
    output, out, _ = running(pod)
    (pod.out if before == "delivered" else out).write_text("first\n")
    pod.environment["HPCBATCH_JOB_VERSION"] = "1"
    pod.run("#!/bin/sh\nls out 2>/dev/null; echo second\n", output=output, dialect=Dialect.PBS)
    assert pod.out.read_text() == "first\nsecond\n"
    assert names(pod) == ["err", "out"]


def test_output_that_is_no_file_of_its_own(pod: RunnerPod) -> None:
    """A link is written through, a pipe or device directly, a directory gets a file in it; -R takes the file away."""
    directory = pod.root / "directory"
    directory.mkdir()
    output, out, err = running(pod, directory)
    pod.err.symlink_to(pod.root / "linked")
    code, _ = pod.run("#!/bin/sh\nls directory; echo two >&2\n", output=output, dialect=Dialect.PBS)
    assert (code, (directory / "12.s.OU").read_text()) == (0, "12.s.OU.running\n")
    assert pod.err.is_symlink() and (pod.root / "linked").read_text() == "two\n"
    assert not out.exists() and not err.exists()


def test_output_of_a_runner_that_was_killed(pod: RunnerPod) -> None:
    output, out, err = running(pod)
    pod.prepare("#!/bin/sh\n", output=output, dialect=Dialect.PBS)
    for _ in range(2):  # doing it twice changes nothing more
        out.write_text("one\n")
        process = pod.start("deliver")
        assert (process.wait(60), names(pod)) == (0, ["out"])
    assert pod.out.read_text() == "one\n" and not err.exists()


def test_output_that_is_to_be_removed(pod: RunnerPod) -> None:
    output, _, _ = running(pod)
    assert pod.run("#!/bin/sh\necho one\n", output=output, dialect=Dialect.PBS, remove_output="oe")[0] == 0
    assert names(pod) == []


def test_file_in_a_directory(pod: RunnerPod) -> None:
    place = pod.root / "d"
    place.mkdir()
    output = OutputFiles(stdout=f"{place}/", stderr=str(place), stdout_in_dir="12.s.OU", stderr_in_dir="12.s.ER")
    pod.run("#!/bin/sh\necho 1; echo 2 >&2\n", output=output)
    assert {path.name: path.read_text() for path in place.iterdir()} == {"12.s.OU": "1\n", "12.s.ER": "2\n"}


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/no/such/x.out", "No such file or directory"),
        ("{root}/taken", "Is a directory"),
        ("{root}/file/x.out", "Not a directory"),
        ("/dev/full/x", "Not a directory"),
        ("/proc/x", "*"),
    ],
)
def test_output_that_cannot_be_opened(pod: RunnerPod, path: str, why: str) -> None:
    (pod.root / "taken").mkdir()
    (pod.root / "file").touch()
    path = path.format(root=pod.root)
    code, report = pod.run("#!/bin/sh\ntouch ran\n", output=OutputFiles(stdout=path, stderr=None))
    assert (code, report.exit_code, report.reason) == (1, None, Reason.OUTPUT_FAILED)
    assert report.message.startswith(f"cannot open output file {path}: {'' if why == '*' else why}")
    assert not (pod.root / "ran").exists()


def test_stderr_that_cannot_be_opened(pod: RunnerPod) -> None:
    _, report = pod.run("#!/bin/sh\n", output=OutputFiles(stdout=str(pod.out), stderr="/no/such/x.err"))
    assert report.message == "cannot open output file /no/such/x.err: No such file or directory"


def test_output_on_a_full_disk_does_not_stop_the_report(pod: RunnerPod) -> None:
    _, report = pod.run("#!/bin/sh\necho lost || exit 4\n", output=OutputFiles(stdout="/dev/full", stderr="/dev/full"))
    assert report.exit_code == 4
