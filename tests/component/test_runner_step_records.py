"""What the runner reports of the steps of srun: by each shell."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hpcbatch.model.chunk import Chunk
from hpcbatch.volcano.step_report import last_words
from tests.component.runner_pod import RunnerPod
from tests.component.test_runner_watch import ask
from tests.waiting import wait_for

TWO = Chunk(count=1, cpus=4, ranks=2)


@pytest.fixture
def pod(shell: str, tmp_path: Path) -> RunnerPod:
    return RunnerPod(tmp_path, shell)


def test_all_that_ends(pod: RunnerPod, capfd: pytest.CaptureFixture[str]) -> None:
    """By ssh and by mpirun; killed, cancelled, and with a name of its own."""
    code, report = pod.run(
        "#!/bin/sh\nsrun -n2 --mpi=none sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; sleep 2'\n"
        "srun -n1 -J 'my job: x' sh -c 'exit 3'\nsrun -n2 --mpi=none -l sh -c 'kill -9 $$'\n"
        "srun -n1 --mpi=none sleep 100 & step=$!; until [ -e run/job/tasks.3.0 ]; do sleep 0.1; done\n"
        "kill -9 $step; wait $step; kill $(cat run/job/tasks.3.0)\n"
        "srun -n9 hostname; srun -m arbitrary hostname\nsrun -n1 --export ALL,SECRET=1 --exp=A=2 /bin/true\nexit 0\n",
        chunks=(TWO,),
        variables={"SLURM_NTASKS": "2"},
        is_host=True,
    )
    assert code == 0, pod.err.read_text()
    told = {step.number: step for step in report.steps.steps}
    shown = [(one.name, one.code, one.tasks, one.cpus, str(one.hosts), one.distribution) for one in told.values()]
    assert sorted(told) == [0, 1, 2, 3, 4] and report.steps.total == 5
    by_number = dict(zip(told, shown, strict=True))
    assert by_number == {
        0: ("sh", 0, 2, 2, "0", "block"),
        1: ("my job: x", 3, 1, 1, "0", "cyclic"),
        2: ("sh", 137, 2, 2, "0", "block"),
        3: ("sleep", by_number[3][1], 1, 1, "0", "cyclic"),
        4: ("true", 0, 1, 1, "0", "cyclic"),
    }
    assert by_number[3][1] in {137, 143}, "noticed while the job ran, or at its end"
    lines = {number: step.submit_line for number, step in told.items()}
    assert lines[1] == "srun -n1 -J my job: x sh ***", "others see the record: a script's text is not in it"
    assert (lines[3], lines[4]) == ("srun -n1 --mpi=none sleep ***", "srun -n1 --export *** --exp=*** /bin/true")
    spent = dict(report.steps.spent)
    assert spent[0].ticks > 5 and spent[0].rss_bytes > 100_000
    live = last_words(capfd.readouterr().out)
    assert live.steps, "told while it ran, too"


def test_what_each_task_uses(pod: RunnerPod, capfd: pytest.CaptureFixture[str]) -> None:
    """Seen once a second while they run; of those that have ended it is kept."""
    task = (
        "case $SLURM_PROCID in 0) head -c 3000000 /dev/zero >big ;; 1) cat /bin/sh >/dev/null; exit 0 ;; esac; "
        "until [ -e on ]; do sleep 0.1; done"
    )
    pod.prepare(f"srun -n3 --mpi=none sh -c '{task}'\n", chunks=(Chunk(count=1, cpus=4, ranks=3),), is_host=True)
    process = pod.start()
    usage = pod.root / "run/job/task_usage"
    wait_for("the tasks", lambda: usage.exists() and len(usage.read_text().splitlines()) >= 2)
    wait_for("what was written", lambda: re.search(r"^0 0 .* (29[3-9]\d|30\d\d)$", usage.read_text(), re.M))
    (pod.root / "on").touch()
    _, report = pod.finish(process)
    ((number, spent),) = report.steps.spent
    assert number == 0 and spent.by_task is not None
    assert spent.by_task.tasks in {2, 3}, "the one in the middle may have ended before it was seen"
    assert (spent.by_task.written.task, spent.by_task.written.most // 100_000) == (0, 30)
    assert spent.by_task.rss_total >= spent.rss_bytes > 100_000
    assert spent.by_task.vm.most > spent.rss_bytes
    assert report.steps.steps[0].srun_pid
    live = dict(last_words(capfd.readouterr().out).spent)[0]
    assert live.by_task == spent.by_task


def test_thousands_of_steps_are_a_bounded_report(pod: RunnerPod) -> None:
    pod.prepare("true\n", chunks=(TWO,))
    steps = pod.root / "run/job/steps"
    steps.mkdir(parents=True)
    lines = ["start 0 1 100 1 1 0 block longest\n"]
    for number in range(1, 3000):
        lines += [f"start {number} 999999 100 1 1 0 block a-program\n", f"end {number} 101 0\n"]
    (steps / "log").write_text("".join(lines))
    (pod.root / "run/job/step_usage").write_text("".join(f"{n} 1 1 1 0\n" for n in range(2999, 2935, -1)))
    _, report = pod.finish(pod.start())
    assert len(pod.log.read_bytes()) < 4096
    assert report.steps.total == 3000
    numbers = [step.number for step in report.steps.steps]
    assert numbers[0] == 0 and numbers[1:] == list(range(2999, 2999 - len(numbers) + 1, -1)) and len(numbers) > 30
    assert len(report.steps.spent) > 30


@pytest.mark.parametrize("mpi", ["", "--mpi=none"])
def test_a_signal_for_one_step_and_its_end(pod: RunnerPod, mpi: str) -> None:
    task = 'trap "echo \\$SLURM_STEP_ID usr" USR1; echo on; while :; do sleep 0.1; done'
    pod.prepare(
        f"for i in 0 1; do srun -n2 {mpi} sh -c '{task}' & done; wait\n",
        chunks=(Chunk(count=1, cpus=4, ranks=2),),
        is_host=True,
    )
    process = pod.start()
    wait_for("the tasks", lambda: pod.out.exists() and pod.out.read_text().count("on\n") == 4)
    ask(pod, "signal 1 10 step.1 a\n")
    wait_for("the signal", lambda: pod.out.read_text().count("1 usr\n") == 2)
    ask(pod, "signal 1 10 step.1 a\nsignal 2 15 cancel.0 b\nsignal 3 15 cancel.7 c\n")
    wait_for("its end", lambda: "end 0 " in (pod.root / "run/job/steps/log").read_text())
    ask(pod, "signal 2 15 cancel.0 b\nsignal 4 15 cancel.1 d\n")
    _, report = pod.finish(process)
    assert "0 usr" not in pod.out.read_text()
    ends = {step.number: (step.code in {137, 143}, step.is_cancelled) for step in report.steps.steps}
    assert ends == {0: (True, True), 1: (True, True)}
    err = pod.err.read_text()
    assert re.search(
        r"^slurmstepd-\S+: error: \*\*\* STEP 12\.0 ON \S+ CANCELLED AT [-0-9T:]{19} \*\*\*\n", err, re.MULTILINE
    )
    assert "srun: Job step aborted: Waiting up to 4 seconds for job step to finish.\n" in err


def test_time_limits_of_steps(pod: RunnerPod) -> None:
    """One that is given, and one that is requested while it runs; those that go on are left alone."""
    pod.prepare(
        "srun -n1 --mpi=none -t 0:59 sleep 300 & srun -n1 --mpi=none sleep 300 & srun -t 1-x true; wait\n",
        chunks=(Chunk(count=1, cpus=4, ranks=2),),
    )
    log = pod.root / "run/job/steps/log"
    process = pod.start()
    wait_for("the steps", lambda: log.exists() and log.read_text().count("start ") == 2)
    limited = re.search(r"^limit (\d) 60$", log.read_text(), re.MULTILINE)
    assert limited is not None
    first, other = int(limited[1]), 1 - int(limited[1])
    ask(pod, f"signal 1 14 limit.{other}.300 a\nsignal 2 14 limit.7.1 b\nsignal 3 14 limit.{first}.0 c\n")
    wait_for("the limits", lambda: f"limit {first} 0\n" in log.read_text())
    assert f"limit {other} 300\n" in log.read_text()
    ask(pod, f"signal 4 14 limit.{other}.1 d\n")
    wait_for("its end", lambda: f"end {other} " in log.read_text())
    ask(pod, f"signal 5 15 cancel.{first} e\n")
    _, report = pod.finish(process)
    found = {step.number: (step.is_timed_out, step.is_cancelled, step.limit_s) for step in report.steps.steps}
    assert found == {other: (True, False, 1), first: (False, True, None)}
    err = pod.err.read_text()
    assert re.search(rf"\*\*\* STEP 12\.{other} ON \S+ CANCELLED AT \S+ DUE TO TIME LIMIT \*\*\*\n", err), err
    assert "srun: error: Invalid --time specification\n" in err
