"""What keeps a script from starting, and images that lack something."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hpcbatch.model.dialect import Dialect
from hpcbatch.model.state import Reason
from hpcbatch.volcano.job_conf import bar_rerun
from tests.component.runner_pod import POD_UID, RunnerPod
from tests.waiting import wait_for


def bar(pod: RunnerPod, pod_uid: str) -> None:
    for name, text in bar_rerun(pod_uid)["data"].items():
        (pod.root / "job/conf" / name).write_text(text)


def let_start(pod: RunnerPod) -> None:
    (pod.root / "job/requests").mkdir()
    (pod.root / "job/requests/lines").write_text("start\n")


def test_a_job_that_must_not_run_twice_waits_for_the_word(pod: RunnerPod) -> None:
    pod.prepare("#!/bin/sh\ntouch ran\n", rerunnable=False)
    process = pod.start()
    wait_for("the runner to wait", (pod.root / "run/job/submitted.sh").exists)
    assert not (pod.root / "ran").exists()
    bar(pod, POD_UID)
    let_start(pod)
    assert pod.finish(process)[0] == 0
    assert (pod.root / "ran").exists()


def test_a_job_that_must_not_run_twice_when_another_pod_was_first(pod: RunnerPod) -> None:
    pod.prepare("#!/bin/sh\ntouch ran\n", rerunnable=False)
    bar(pod, "the-pod-before")
    let_start(pod)
    code, report = pod.finish(pod.start())
    assert (code, report.exit_code, report.reason) == (1, None, Reason.LAUNCH_FAILED)
    assert report.message == "the job has been started before and is not rerunnable"
    assert not (pod.root / "ran").exists()
    assert not pod.out.exists(), "the output of the first run stays"


def test_another_pod_was_first_which_is_heard_late(pod: RunnerPod) -> None:
    pod.prepare("#!/bin/sh\ntouch ran\n", rerunnable=False)
    process = pod.start()
    wait_for("the runner to wait", (pod.root / "run/job/submitted.sh").exists)
    bar(pod, "the-pod-before")
    code, report = pod.finish(process)
    assert (code, report.reason) == (1, Reason.LAUNCH_FAILED)
    assert not (pod.root / "ran").exists()


def test_stopped_while_it_waits_for_the_word(pod: RunnerPod) -> None:
    pod.prepare("#!/bin/sh\ntouch ran\n", rerunnable=False)
    process = pod.start()
    wait_for("the runner to wait", (pod.root / "run/job/submitted.sh").exists)
    process.terminate()
    assert process.wait(60) == 143
    assert not pod.log.exists() and not (pod.root / "ran").exists()


def test_without_setsid(pod: RunnerPod, tmp_path: Path) -> None:
    """An image without util-linux: the exit code still arrives."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for (
        name
    ) in "cat chmod cp cut date env getent grep hostname id mkdir mv sed sleep tail tr wc sort head base64".split():
        if found := shutil.which(name):
            (tools / name).symlink_to(found)
    pod.environment["PATH"] = str(tools)
    code, report = pod.run("#!/bin/sh\nexit 3\n")
    assert (code, report.exit_code) == (3, 3)


def test_unknown_role(pod: RunnerPod) -> None:
    pod.prepare("")
    _, report = pod.finish(pod.start("wroker"))
    assert report.message == "the runner was started as 'wroker': expected master, worker or deliver"


def test_worker_without_sshd(pod: RunnerPod, tmp_path: Path) -> None:
    pod.prepare("")
    _, report = pod.finish(pod.start("worker"))
    assert report.reason is Reason.LAUNCH_FAILED
    assert report.message == f"the job's ssh keys are not in {tmp_path}/ssh"


@pytest.mark.parametrize(
    ("dialect", "words"),
    [
        (Dialect.PBS, "=>> PBS: job killed: mem 600000kb exceeded limit 100000kb\n"),
        (
            Dialect.SLURM,
            "slurmstepd: error: StepId=12.batch exceeded memory limit (614400000 > 102400000), being killed\n",
        ),
    ],
)
def test_killed_by_an_engine_without_control_groups(pod: RunnerPod, dialect: Dialect, words: str) -> None:
    events = pod.root / "events"
    events.write_text("oom_kill 0\n")
    pod.environment["HPCBATCH_MEMORY_EVENTS"] = str(events)
    told = "oom_kill 1\\nheld_bytes 614400000\\nlimit_bytes 102400000\\n"
    _, report = pod.run(f"#!/bin/sh\nprintf '{told}' >{events}\nkill -9 $$\n", dialect=dialect)
    assert (report.signal, report.reason) == (9, Reason.OUT_OF_MEMORY)
    assert pod.err.read_text() == words
