"""The runner where somebody is attached to the first pod: by a terminal, and by pipes."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pexpect
import pytest

from hpcbatch.model.interactive import Interactive
from hpcbatch.volcano.report import RunReport, parse_report
from tests.component.runner_pod import ALL_SHELLS, POD_UID, RunnerPod, shell_or_skip

if TYPE_CHECKING:
    Spawn = pexpect.spawn[str]

HELLO = "\x04"


@pytest.fixture(params=ALL_SHELLS)
def pod(request: pytest.FixtureRequest, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> RunnerPod:
    return RunnerPod(tmp_path, shell_or_skip(request.param, tmp_path_factory))


def environment(pod: RunnerPod) -> dict[str, str]:
    return {
        **pod.environment,
        "HPCBATCH_ROOT": str(pod.root),
        "HPCBATCH_TERMINATION_LOG": str(pod.log),
        "HPCBATCH_SH": pod.shell,
        "HPCBATCH_POD_UID": POD_UID,
    }


@contextmanager
def on_terminal(pod: RunnerPod) -> Iterator[Spawn]:
    words = [str(pod.root / "runner/run.sh"), "master"]
    with pexpect.spawn(
        pod.shell, words, env=environment(pod), encoding="utf-8", timeout=30, dimensions=(31, 97)
    ) as terminal:
        terminal.delaybeforesend = None
        yield terminal


def ended(pod: RunnerPod, terminal: Spawn) -> tuple[int | None, RunReport]:
    terminal.expect(pexpect.EOF)
    terminal.close()
    report = parse_report(pod.log.read_text())
    assert report is not None
    return terminal.exitstatus, report


def test_it_starts_when_the_client_is_there(pod: RunnerPod) -> None:
    script = 'echo "begun in $(stty size)"; read -r line; echo "got $line"; exit 5'
    pod.prepare("", interactive=Interactive.TERMINAL, command=("sh", "-c", script))
    with on_terminal(pod) as terminal:
        assert terminal.expect_exact(["begun", pexpect.TIMEOUT], timeout=1.5) == 1
        assert terminal.buffer == ""
        terminal.send(HELLO)
        terminal.expect_exact("begun in 31 97\r\n")
        terminal.sendline("word")
        terminal.expect_exact("got word")
        code, report = ended(pod, terminal)
    assert (code, report.exit_code) == (5, 5)


def test_control_c_reaches_the_command_and_not_the_runner(pod: RunnerPod) -> None:
    script = "trap 'echo caught; exit 9' INT; echo begun; while :; do sleep 0.1; done"
    pod.prepare("", interactive=Interactive.TERMINAL, command=("bash", "-c", script))
    with on_terminal(pod) as terminal:
        terminal.send(HELLO)
        terminal.expect_exact("begun")
        terminal.sendcontrol("c")
        terminal.expect_exact("caught")
        code, report = ended(pod, terminal)
    assert (code, report.exit_code) == (9, 9)


def test_its_walltime_ends_a_shell_that_ignores_term(pod: RunnerPod) -> None:
    pod.prepare("", interactive=Interactive.SESSION, command=("bash", "--norc", "-i"), walltime_s=2)
    with on_terminal(pod) as terminal:
        terminal.send(HELLO)
        terminal.expect_exact("DUE TO TIME LIMIT")
        _, report = ended(pod, terminal)
    assert report.reason is not None
    assert report.reason.value == "TimeLimit"


def test_a_pod_that_is_stopped(pod: RunnerPod) -> None:
    pod.prepare("", interactive=Interactive.SESSION, command=("bash", "--norc", "-i"))
    with on_terminal(pod) as terminal:
        terminal.send(HELLO)
        terminal.expect(r"bash\S*[#$] ")
        terminal.kill(signal.SIGTERM)
        terminal.expect_exact("CANCELLED")
        code, _ = ended(pod, terminal)
    assert code == 143


def test_pipes(pod: RunnerPod) -> None:
    script = 'read -r line; echo "got $line"; echo error >&2; cat; exit 4'
    pod.prepare("", interactive=Interactive.STREAMS, command=("sh", "-c", script))
    words = [pod.shell, str(pod.root / "runner/run.sh"), "master"]
    done = subprocess.run(
        words,
        input="\nfirst\nsecond\nthird\n",
        capture_output=True,
        env=environment(pod),
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (4, "got first\nsecond\nthird\n", "error\n")
