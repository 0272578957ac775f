"""What a script requests for its own job, in the runner's report: by each shell."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from tests.component.runner_pod import RunnerPod
from tests.component.test_runner_watch import ask

TWO = Chunk(count=1, cpus=4, ranks=2)


@pytest.fixture
def pod(shell: str, tmp_path: Path) -> RunnerPod:
    return RunnerPod(tmp_path, shell)


@pytest.mark.parametrize(
    ("command", "dialect", "wish"),
    [
        ("scontrol-own requeue 12", Dialect.SLURM, "requeue"),
        ("scontrol-own requeue 99,12", Dialect.SLURM, "requeue"),
        ("scancel-own 12", Dialect.SLURM, "cancel"),
        ("scancel-own -Q 12.batch", Dialect.SLURM, "cancel"),
        ("qdel-own -W force 12", Dialect.PBS, "cancel"),
    ],
)
def test_the_run_ends(pod: RunnerPod, command: str, dialect: Dialect, wish: str) -> None:
    code, report = pod.run(f"run/job/bin/{command}\nsleep 100\n", dialect=dialect, chunks=(TWO,))
    assert (code, report.wish, report.exit_code) == (143, wish, None)
    text = {"requeue": " DUE TO JOB REQUEUE ***\n", "cancel": " ***\n"}[wish]
    assert dialect is Dialect.PBS or pod.err.read_text().endswith(text)


REFUSED = {
    "scontrol-own requeue 99": (
        "scontrol: hpcbatch: in a job of this cluster only the job itself can be named, not 99: "
        "pods do not call the API, and the image has no hpcbatch\n",
        1,
    ),
    "scancel-own -Q 99": ("", 1),
    "scancel-own": ("scancel: error: No job identification provided\n", 1),
    "scancel-own x": ("scancel: error: Invalid job id x\n", 1),
    "scancel-own -u me": (
        "scancel: error: hpcbatch: -u is not known in a job: jobs are named by their numbers there\n",
        1,
    ),
    "scancel-own -s NOPE 12": ("scancel: error: Unknown job signal: NOPE\n", 1),
    "scancel-own --foo 12": (
        "scancel: unrecognized option '--foo'\nTry \"scancel --help\" for more information\n",
        1,
    ),
}


@pytest.mark.parametrize("command", REFUSED)
def test_refused(pod: RunnerPod, command: str) -> None:
    code, report = pod.run(f"run/job/bin/{command}; echo $?\n", chunks=(TWO,))
    assert (code, report.wish) == (0, "")
    assert (pod.err.read_text(), int(pod.out.read_text())) == REFUSED[command]


def test_one_that_may_not_run_again(pod: RunnerPod) -> None:
    pod.prepare("run/job/bin/scontrol-own requeue 12; echo $?\n", chunks=(TWO,), rerunnable=False)
    process = pod.start()
    ask(pod, "start\n")
    _, report = pod.finish(process)
    assert (pod.out.read_text(), report.wish, report.exit_code) == ("1\n", "", 0)


def test_a_word_that_is_none_is_the_time_limit(pod: RunnerPod) -> None:
    """USR1 from whoever has written something else there."""
    _, report = pod.run("echo shutdown >run/job/wish; kill -USR1 $(cat run/job/runner); sleep 100\n", chunks=(TWO,))
    assert (report.wish, report.reason.value) == ("", "TimeLimit")


def test_steps(pod: RunnerPod) -> None:
    _, report = pod.run(
        "srun -n1 --mpi=none sleep 100 & until [ -e run/job/tasks.0.0 ]; do sleep 0.1; done\n"
        "run/job/bin/scancel-own 12.0; wait\n"
        "srun -n1 --mpi=none sh -c 'trap \"echo got; exit 0\" USR1; : >on; while :; do sleep 0.1; done' &\n"
        "until [ -e on ]; do sleep 0.1; done; run/job/bin/scancel-own -s SIGUSR1 12.1; wait\n",
        chunks=(TWO,),
        is_host=True,
    )
    assert pod.out.read_text() == "got\n"
    assert [(step.number, step.is_cancelled) for step in report.steps.steps] == [(1, False), (0, True)]
