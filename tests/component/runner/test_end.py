"""How a script ends, and what is reported of it."""

from __future__ import annotations

import os
import re
import signal
import sys
from pathlib import Path

import pytest

from hpcbatch.model.dialect import Dialect
from hpcbatch.model.site import SiteConfig
from hpcbatch.model.state import Reason
from tests.component.runner_pod import RunnerPod
from tests.processes import command_lines
from tests.waiting import wait_for

# Ends and reports


@pytest.mark.parametrize("code", [0, 1, 3, 126, 127, 129, 137, 143, 255])
def test_exit_code(pod: RunnerPod, code: int) -> None:
    exit_code, report = pod.run(f"#!/bin/sh\nexit {code}\n")
    assert (exit_code, report.exit_code, report.signal) == (code, code, None)
    assert report.reason is (Reason.NON_ZERO_EXIT if code else Reason.NONE)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGUSR1, signal.SIGINT])
def test_script_killed_by_a_signal(pod: RunnerPod, number: signal.Signals) -> None:
    if number == signal.SIGINT and "busybox" in pod.shell:
        pytest.skip("busybox's env cannot take back that its shell has background processes ignore SIGINT")
    exit_code, report = pod.run(f"#!/bin/sh\nulimit -c 0; kill -{number.value} $$; sleep 5\n")
    assert (exit_code, report.exit_code, report.signal) == (128 + number, None, number)
    assert report.reason is Reason.SIGNALLED


def test_child_killed_by_a_signal_is_an_exit_code(pod: RunnerPod) -> None:
    _, report = pod.run("#!/bin/sh\nsh -c 'kill -9 $$'\n")
    assert (report.exit_code, report.signal) == (137, None)


FORGERY = """#!/bin/sh
runner=$(ps -o ppid= -p $(ps -o ppid= -p $PPID 2>/dev/null) 2>/dev/null | tr -d ' ')
(setsid sh -c 'i=0; while [ $i -lt 300 ]; do i=$((i + 1)); echo 0 >run/job/status; sleep 0.01; done' &)
for file in clock usage figures; do echo 9999999 9999999 9999999 >run/job/$file; done
chmod 0400 termination-log
for child in $(ps -o pid= --ppid "$runner"); do
  ps -o pid= --ppid $child | grep -q -w $PPID || kill -9 $child
done
sleep 0.3
exit 7
"""


def test_a_script_that_forges_its_end(pod: RunnerPod) -> None:
    """It writes into the files through which the runner talked to itself, and kills what keeps its time."""
    code, report = pod.run(FORGERY)
    assert (code, report.exit_code, report.reason) == (7, 7, Reason.NON_ZERO_EXIT)
    assert report.walltime_s is not None and report.walltime_s < 60
    assert (report.cpu_s or 0) < 60 and (report.max_rss_bytes or 0) < 1 << 30


def test_times(pod: RunnerPod) -> None:
    burn = f"#!{sys.executable}\nimport time\nwhile time.process_time() < 1.5: pass\n"
    _, report = pod.run(burn)
    assert report.started is not None
    assert report.ended is not None
    assert report.walltime_s == report.ended - report.started
    assert report.cpu_s in {1, 2}


def test_walltime_pbs(pod: RunnerPod) -> None:
    script = "#!/bin/sh\ntrap 'echo tidied; exit 5' TERM\necho on; while :; do sleep 0.1; done\n"
    _, report = pod.run(script, dialect=Dialect.PBS, walltime_s=1)
    assert (report.reason, report.exit_code) == (Reason.TIME_LIMIT, 5)
    assert pod.out.read_text() == "on\ntidied\n"
    # the script's own shell may add that its sleep was terminated
    assert re.match(r"=>> PBS: job killed: walltime [1-9] exceeded limit 1\n", pod.err.read_text())


def test_walltime_slurm(pod: RunnerPod) -> None:
    code, report = pod.run("#!/bin/sh\nexec sleep 60\n", walltime_s=1)
    assert (code, report.reason, report.signal) == (143, Reason.TIME_LIMIT, 15)
    when = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"
    line = rf"slurmstepd: error: \*\*\* JOB 12 ON \S+ CANCELLED AT {when} DUE TO TIME LIMIT \*\*\*\n"
    assert re.fullmatch(line, pod.err.read_text())


@pytest.mark.parametrize("dialect", list(Dialect))
def test_cpu_time(pod: RunnerPod, dialect: Dialect) -> None:
    """Of all processes together: two that each use less than the limit."""
    script = "#!/bin/sh\nfor i in 1 2; do (timeout 60 sh -c 'while :; do :; done') & done\nwait; sleep 60\n"
    _, report = pod.run(script, dialect=dialect, cpu_time_s=1)
    assert (report.reason, report.signal) == (Reason.CPU_TIME_LIMIT, 15)
    assert re.fullmatch("CPU time [2-9] s exceeded limit 1 s", report.message)
    if dialect is Dialect.PBS:
        assert re.match(r"=>> PBS: job killed: cput [2-9] exceeded limit 1\n", pod.err.read_text())


def test_cpu_time_that_is_enough(pod: RunnerPod) -> None:
    code, report = pod.run("#!/bin/sh\nsleep 1.5\n", cpu_time_s=1)
    assert (code, report.reason) == (0, Reason.NONE)


def test_script_that_ignores_term_is_killed_after_the_delay(pod: RunnerPod) -> None:
    script = "#!/bin/sh\ntrap '' TERM\nwhile :; do sleep 0.1; done\n"
    _, report = pod.run(script, walltime_s=1, site=SiteConfig(kill_delay_s=1))
    assert (report.reason, report.signal) == (Reason.TIME_LIMIT, 9)
    assert (report.walltime_s or 0) >= 2


STUBBORN = """#!/bin/sh
sh -c 'trap "sleep 0.3; echo late; exit" TERM; echo ready; while :; do sleep 0.05; done' &
wait
"""


@pytest.mark.parametrize("dialect", list(Dialect))
def test_stopped(pod: RunnerPod, dialect: Dialect) -> None:
    """As qdel does it: TERM to the runner. What the script has started gets its time to tidy up."""
    pod.prepare(STUBBORN, dialect=dialect)
    process = pod.start()
    wait_for("the script", lambda: pod.out.exists() and pod.out.read_text() == "ready\n")
    process.terminate()
    code, report = pod.finish(process)
    assert (code, report.signal, report.reason) == (143, 15, Reason.SIGNALLED)
    assert pod.out.read_text().partition("\n------")[0] == "ready\nlate\n"  # LSF's report comes behind
    said = pod.err.read_text()
    if dialect is Dialect.PBS:
        assert "PBS" not in said
    elif dialect is Dialect.LSF:
        assert said in {"", "Terminated\n"}  # the script's own shell may say so of the sleep that TERM found it in
        assert "\nTERM_OWNER: job killed by owner.\nExited with exit code 130.\n" in pod.out.read_text()
    else:
        assert re.search(r"slurmstepd: error: \*\*\* JOB 12 ON \S+ CANCELLED AT [-0-9T:]+ \*\*\*\n", said)


def test_stopped_with_a_clean_end_is_not_a_success(pod: RunnerPod) -> None:
    pod.prepare("#!/bin/sh\ntrap 'exit 0' TERM\necho ready; while :; do sleep 0.05; done\n")
    process = pod.start()
    wait_for("the script", lambda: pod.out.exists() and pod.out.read_text() == "ready\n")
    process.terminate()
    code, report = pod.finish(process)
    assert (code, report.exit_code) == (143, 0)


def test_stopped_at_once(pod: RunnerPod) -> None:
    """At any moment of the start: ends, soon, and without success."""
    pod.prepare("#!/bin/sh\nsleep 60\n")
    process = pod.start()
    wait_for("the run directory", (pod.root / "run/job").exists)
    process.terminate()
    assert process.wait(60) == 143


def test_nothing_is_left_running(pod: RunnerPod) -> None:
    pod.run("#!/bin/sh\nsleep 61.25 &\necho $! >pid\nexit 0\n", walltime_s=3600)
    pid = (pod.root / "pid").read_text().strip()
    wait_for("the background process to go", lambda: not Path(f"/proc/{pid}").exists() or is_zombie(pid))
    listed = processes()
    wait_for("the timer to go", lambda: "sleep 3600\n" not in listed or "sleep 3600\n" not in processes())


def processes() -> str:
    return "".join(f"{line}\n" for line in command_lines().values())


def is_zombie(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_background_process_does_not_hold_the_job(pod: RunnerPod) -> None:
    code, report = pod.run("#!/bin/sh\nsleep 50 &\nexit 3\n", limit_s=30)
    assert (code, report.exit_code) == (3, 3)


def test_report_of_a_runner_that_was_killed(pod: RunnerPod) -> None:
    pod.prepare("#!/bin/sh\necho ready; exec sleep 30\n")
    process = pod.start(start_new_session=True)
    wait_for("the script", lambda: pod.out.exists() and pod.out.read_text() == "ready\n")
    session = int((pod.root / "run/job/session").read_text())
    os.killpg(process.pid, signal.SIGKILL)
    _, report = pod.finish(process)
    os.killpg(session, signal.SIGKILL)
    assert (report.exit_code, report.signal, report.reason) == (None, None, Reason.SIGNALLED)
    assert report.message == "the pod was killed before its runner could report"
    assert report.started


def test_report_that_cannot_be_written(pod: RunnerPod) -> None:
    pod.log.mkdir()
    pod.prepare("#!/bin/sh\nexit 3\n")
    assert pod.start().wait(60) == 3
