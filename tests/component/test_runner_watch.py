"""What the runner does while the script runs: what it is asked, its time, and what it measures. Under each shell."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hpcbatch.model.dialect import Dialect
from hpcbatch.model.placed import OutputFiles
from hpcbatch.model.site import SiteConfig
from hpcbatch.model.state import Reason
from hpcbatch.model.warn_signal import WarnSignal
from tests.component.runner_pod import RunnerPod
from tests.waiting import wait_for

COUNTING = "#!/bin/sh\ntrap 'echo usr1' USR1\necho ready\nwhile :; do sleep 0.05; echo >>beats; done\n"


@pytest.fixture
def pod(shell: str, tmp_path: Path) -> Iterator[RunnerPod]:
    yield RunnerPod(tmp_path, shell)


def ask(pod: RunnerPod, text: str) -> None:
    """As the kubelet does it: the file is another one at once."""
    directory = pod.root / "job/requests"
    directory.mkdir(exist_ok=True)
    (directory / "new").write_text(text)
    (directory / "new").rename(directory / "lines")


def start(pod: RunnerPod, script: str = COUNTING, **asked: object) -> subprocess.Popen[bytes]:
    pod.prepare(script, **asked)  # type: ignore[arg-type]
    process = pod.start()
    wait_for("the script", lambda: pod.out.exists() and "ready\n" in pod.out.read_text())
    return process


def beats(pod: RunnerPod) -> int:
    path = pod.root / "beats"
    return path.stat().st_size if path.exists() else 0


def end(pod: RunnerPod, process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    pod.finish(process)


def test_signals_arrive_once_and_in_order(pod: RunnerPod) -> None:
    script = "#!/bin/sh\ntrap 'echo usr1' USR1\ntrap 'echo usr2' USR2\necho ready\nwhile :; do sleep 0.05; done\n"
    process = start(pod, script)
    ask(pod, "signal 1 10 script a\n")
    wait_for("the first", lambda: pod.out.read_text() == "ready\nusr1\n")
    ask(pod, "signal 1 10 script a\nsignal 2 12 script b\n")
    wait_for("the second", lambda: pod.out.read_text() == "ready\nusr1\nusr2\n")
    # a controller that has begun anew may write the same once more
    ask(pod, "signal 1 10 script a\nsignal 2 12 script b\nwalltime 3600\n")
    ask(pod, "signal 2 12 script b\nsignal 3 10 script c\n")
    wait_for("the third", lambda: pod.out.read_text() == "ready\nusr1\nusr2\nusr1\n")
    end(pod, process)


def test_another_limit_of_cpu_time(pod: RunnerPod) -> None:
    process = start(pod, "#!/bin/sh\necho ready\nwhile :; do :; done\n", cpu_time_s=3600)
    ask(pod, "cput 1\n")
    _, report = pod.finish(process)
    assert report.reason is Reason.CPU_TIME_LIMIT


def test_scopes(pod: RunnerPod) -> None:
    """A task of srun, a rank (PMI_RANK: of MPICH's mpirun), what the script has started besides, and the script."""
    program = 'trap "echo $0" USR1; echo on >$0; while :; do sleep 0.05; done'
    script = (
        f"#!/bin/sh\ntrap 'echo script' USR1\nsh -c '{program}' child & PMI_RANK=0 sh -c '{program}' rank &\n"
        f"srun -n1 --mpi=none sh -c '{program}' task &\n"
        "until [ -s child ] && [ -s rank ] && [ -s task ]; do sleep 0.05; done; echo ready\nwhile :; do wait; done\n"
    )
    process = start(pod, script)

    def seen() -> dict[str, int]:
        lines = pod.out.read_text().splitlines()
        return {name: lines.count(name) for name in ("script", "child", "rank", "task")}

    expected = dict.fromkeys(("script", "child", "rank", "task"), 0)
    for number, (scope, reached) in enumerate(
        (("steps", "rank task"), ("script", "script"), ("all", "script child rank task"), ("steps", "rank task")), 1
    ):
        ask(pod, f"signal {number} 10 {scope} {scope}{number}\n")
        for name in reached.split():
            expected[name] += 1
        wait_for(scope, lambda: seen() == expected)
    ask(pod, "signal 5 12 session e\n")  # kills them, srun as well
    pod.finish(process)


def test_a_signal_may_end_it(pod: RunnerPod) -> None:
    process = start(pod, "#!/bin/sh\necho ready\nexec sleep 60\n")
    ask(pod, "signal 1 12 session a\n")
    code, report = pod.finish(process)
    assert (code, report.signal, report.reason) == (140, 12, Reason.SIGNALLED)


def test_suspended_and_resumed(pod: RunnerPod) -> None:
    process = start(pod, walltime_s=3)
    ask(pod, "suspend\n")
    still: list[int] = []

    def is_still() -> bool:
        still.append(beats(pod))
        return len(still) > 4 and len(set(still[-4:])) == 1

    wait_for("it to stop", is_still, every_s=0.2)
    # beyond its walltime, which stands still as well
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(3)
    assert beats(pod) == still[-1]
    ask(pod, "\n")
    wait_for("it to go on", lambda: beats(pod) > still[-1])
    _, report = pod.finish(process)
    assert report.reason is Reason.TIME_LIMIT
    took_s = (report.ended or 0) - (report.started or 0)
    assert took_s >= 6
    assert 2 <= (report.walltime_s or 0) <= took_s - 2, "not the three seconds in which it stood still"


def test_a_suspended_job_can_be_ended(pod: RunnerPod) -> None:
    process = start(pod, dialect=Dialect.PBS)
    ask(pod, "suspend\n")
    session = (pod.root / "run/job/session").read_text().strip()
    wait_for("it to stop", lambda: Path(f"/proc/{session}/stat").read_text().rpartition(")")[2].split()[0] == "T")
    process.terminate()
    code, report = pod.finish(process)
    assert (code, report.signal) == (143, 15)


@pytest.mark.parametrize("is_requeued", [True, False])
def test_slurms_line_says_that_a_job_is_requeued(pod: RunnerPod, is_requeued: bool) -> None:
    process = start(pod)
    ask(pod, "signal 1 10 script a\n" + ("requeue 1795000000\n" if is_requeued else ""))
    process.terminate()
    assert pod.finish(process)[0] == 143
    assert pod.err.read_text().rstrip().endswith("DUE TO JOB REQUEUE ***") is is_requeued


@pytest.mark.parametrize("first_s", [3600, 1000])
def test_shorter_walltime(pod: RunnerPod, first_s: int) -> None:
    """Also when it is over already."""
    process = start(pod, walltime_s=first_s, dialect=Dialect.PBS)
    ask(pod, "walltime 1\n")
    _, report = pod.finish(process)
    assert (report.reason, report.signal) == (Reason.TIME_LIMIT, 15)
    assert re.fullmatch(r"walltime [1-9] s exceeded limit 1 s", report.message)
    assert re.match(r"=>> PBS: job killed: walltime [1-9] exceeded limit 1\n", pod.err.read_text())


@pytest.mark.parametrize("asked", ["walltime 3600\n", "walltime none\n"])
def test_longer_walltime(pod: RunnerPod, asked: str) -> None:
    pod.prepare("#!/bin/sh\necho ready\nsleep 3\necho done\n", walltime_s=1)
    ask(pod, asked)
    _, report = pod.finish(pod.start())
    assert (report.exit_code, report.reason) == (0, Reason.NONE)
    assert pod.out.read_text() == "ready\ndone\n"


def test_a_walltime_for_a_job_that_had_none(pod: RunnerPod) -> None:
    process = start(pod)
    ask(pod, "walltime 1\n")
    _, report = pod.finish(process)
    assert report.reason is Reason.TIME_LIMIT


@pytest.mark.parametrize("is_batch_only", [False, True])
def test_warning_before_the_walltime(pod: RunnerPod, is_batch_only: bool) -> None:
    script = (
        "#!/bin/sh\nPMI_RANK=0 sh -c 'trap \"echo child; exit\" USR2; echo ready; while :; do sleep 0.05; done' &\n"
        "trap 'echo script; kill $!' USR2\nwait; wait; wait\n"
    )
    warning = WarnSignal(signal=12, before_s=20, is_batch_only=is_batch_only)
    _, report = pod.run(script, walltime_s=22, warn_signal=warning)
    assert pod.out.read_text() == ("ready\nscript\n" if is_batch_only else "ready\nchild\n")
    assert report.reason is Reason.NONE
    assert (report.walltime_s or 0) < 15


def test_warning_term_and_kill_come_in_this_order(pod: RunnerPod) -> None:
    script = "#!/bin/sh\ntrap 'echo warned' USR1\ntrap 'echo term' TERM\nwhile :; do sleep 0.05; done\n"
    warning = WarnSignal(signal=10, before_s=1, is_batch_only=True)
    site = SiteConfig(kill_delay_s=1)
    # on a busy machine the script may take a second or two to its traps
    _, report = pod.run(script, walltime_s=4, warn_signal=warning, site=site, dialect=Dialect.PBS)
    assert pod.out.read_text() == "warned\nterm\n"
    assert (report.reason, report.signal) == (Reason.TIME_LIMIT, 9)


def test_odd_requests_do_no_harm(pod: RunnerPod) -> None:
    process = start(pod)
    ask(pod, "signal\nsignal x 10 all a\nnonsense\n\nwalltime\nsignal 1 99 script b\nsignal 2 10 script c")
    wait_for("the one that is right", lambda: pod.out.read_text() == "ready\nusr1\n")
    end(pod, process)


def test_memory_is_seen(pod: RunnerPod) -> None:
    script = f"#!{sys.executable}\nimport time\nkept = b'x' * (200 << 20)\ntime.sleep(6)\n"
    _, report = pod.run(script)
    assert 200 << 20 < (report.max_rss_bytes or 0) < 400 << 20


# Output


@pytest.mark.parametrize(
    ("remove", "code", "left"),
    [("oe", 0, []), ("o", 0, ["err"]), ("e", 0, ["out"]), ("oe", 3, ["err", "out"]), ("", 0, ["err", "out"])],
)
def test_output_is_removed_after_success(pod: RunnerPod, remove: str, code: int, left: list[str]) -> None:
    pod.run(f"#!/bin/sh\necho a; echo b >&2; exit {code}\n", dialect=Dialect.PBS, remove_output=remove)
    assert [path.name for path in (pod.err, pod.out) if path.exists()] == left


def test_joined_output_is_removed_as_stdout_only(pod: RunnerPod) -> None:
    output = OutputFiles(stdout=str(pod.out), stderr=None)
    pod.run("#!/bin/sh\necho a\n", dialect=Dialect.PBS, remove_output="e", output=output)
    assert pod.out.read_text() == "a\n"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "small"
    path.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", path], capture_output=True, check=False)
    if made.returncode:
        pytest.skip(f"NOT TESTED: no file system can be mounted here: {made.stderr.decode().strip()}")
    yield path
    subprocess.run(["umount", path], check=True)


@pytest.mark.parametrize("code", [0, 3])
def test_full_disk(pod: RunnerPod, small_disk: Path, code: int) -> None:
    """What could be written stays, and the exit code is the script's own."""
    output = OutputFiles(stdout=f"{small_disk}/out", stderr=str(pod.err))
    found, report = pod.run(f"#!/bin/sh\nhead -c 200000 /dev/zero\nexit {code}\n", output=output)
    assert (found, report.exit_code, report.reason) == (code, code, Reason.OUTPUT_FAILED)
    assert report.message == f"output file {small_disk}/out may be incomplete: No space left on device"
    assert (small_disk / "out").stat().st_size > 50_000
    assert "No space left" in pod.err.read_text()


def test_read_only_disk(pod: RunnerPod, small_disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    output = OutputFiles(stdout=f"{small_disk}/out", stderr=str(pod.err))
    _, report = pod.run("#!/bin/sh\ntouch ran\n", output=output)
    assert (report.exit_code, report.reason) == (None, Reason.OUTPUT_FAILED)
    assert report.message == f"cannot open output file {small_disk}/out: Read-only file system"
    assert not (pod.root / "ran").exists()


def test_output_that_a_quota_cut_short(pod: RunnerPod) -> None:
    """It shows itself only to who writes: the runner's own try fails here as the script's writing has."""
    if "busybox" in pod.shell:
        pytest.skip("busybox's shell takes its own head")
    tools = pod.root / "tools"
    tools.mkdir()
    (tools / "head").write_text("#!/bin/sh\necho 'head: write error: Disk quota exceeded' >&2\nexit 1\n")
    (tools / "head").chmod(0o755)
    pod.environment["PATH"] = f"{tools}:{pod.environment['PATH']}"
    code, report = pod.run("#!/bin/sh\nprintf '%4096s' x\n")
    assert (code, report.exit_code, report.reason) == (0, 0, Reason.OUTPUT_FAILED)
    assert report.message == f"output file {pod.out} may be incomplete: Disk quota exceeded"
    assert not list(pod.root.glob(".hpcbatch*"))


def test_a_loop_that_has_lost_its_term_ends_with_its_runner(shell: str, tmp_path: Path) -> None:
    """Also while nobody has waited for the runner: who reads its stderr to the end first would wait for the loop."""
    loop = '. "$0"; (trap "" TERM; while runner_lives; do sleep 0.1; done; echo ended >&2) & kill -9 $$'
    common = Path(__file__).parents[2] / "hpcbatch/runner/common.sh"
    runner = subprocess.Popen([shell, "-c", loop, str(common)], env={"root": str(tmp_path)}, stderr=subprocess.PIPE)
    _, noise = runner.communicate(timeout=60)
    assert (runner.returncode, noise) == (-9, b"ended\n")
