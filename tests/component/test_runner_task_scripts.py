"""`srun --task-prolog`, `--task-epilog`, `--bcast`, `--immediate` in a job of one pod. Several pods: test_steps.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.component.runner_pod import RunnerPod
from tests.component.test_runner_steps import output


@pytest.fixture
def pod(shell: str, tmp_path: Path) -> RunnerPod:
    return RunnerPod(tmp_path, shell)


def program(pod: RunnerPod, name: str, text: str) -> None:
    path = pod.root / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.mark.parametrize("mpi", ["", "--mpi=none", "-l --mpi=none"])
def test_a_task_prolog_changes_the_environment_of_its_task(pod: RunnerPod, mpi: str) -> None:
    program(
        pod,
        "before",
        "echo export COLOUR = deep blue, $SLURM_PROCID\necho unset SHAPE\n"
        "echo print  hello\necho else\necho export 1x=2",
    )
    lines, err = output(
        pod,
        f"export SHAPE=round; srun {mpi} --task-prolog=before "
        "sh -c 'echo \"<$COLOUR> <$SHAPE> $SLURM_SCRIPT_CONTEXT\"'",
    )
    bare = sorted(line.removeprefix("0: ").removeprefix("1: ") for line in lines)
    assert bare == [*(f"< deep blue, {task}> <> prolog_task" for task in "01"), "hello", "hello"]
    assert err == ""


@pytest.mark.parametrize("mpi", ["", "--mpi=none"])
def test_a_task_prolog_that_fails_ends_its_task(pod: RunnerPod, mpi: str) -> None:
    program(pod, "before", "exit $((SLURM_PROCID * 7))")
    lines, err = output(
        pod,
        f"srun {mpi} --task-prolog=./before sh -c 'echo $SLURM_PROCID'; echo $?; "
        f"SLURM_TASK_PROLOG=nowhere srun -n1 {mpi} sh -c 'echo no'; echo $?",
    )
    assert lines == ["0", "7", "1"]
    assert ": error: --task-prolog failed status=7\n" in err and ": task 1: Exited with exit code 7\n" in err
    assert ": error: run_command: user task_prolog can not be executed (nowhere)\n" in err


def test_what_export_leaves_out_is_not_there_for_a_task_prolog(pod: RunnerPod) -> None:
    program(pod, "before", "echo export SEEN=$COLOUR,")
    lines, _ = output(
        pod, "export COLOUR=blue; srun -n1 --mpi=none --export=NONE --task-prolog=./before sh -c 'echo $SEEN$COLOUR'"
    )
    assert lines == [","]


@pytest.mark.parametrize("mpi", ["", "--mpi=none"])
def test_a_task_epilog_runs_when_its_task_has_ended(pod: RunnerPod, mpi: str) -> None:
    program(pod, "after", "echo $SLURM_SCRIPT_CONTEXT >>done.$SLURM_PROCID; echo lost; exit 3")
    lines, err = output(
        pod,
        f"srun {mpi} --task-epilog=after sh -c 'echo task >>done.$SLURM_PROCID; exit 4'; echo $?; cat done.0 done.1; "
        f"srun -n1 {mpi} --task-epilog=nowhere true; echo $?",
    )
    assert lines == ["4", *(["task", "epilog_task"] * 2), "0"]
    assert err.count(": error: TaskEpilog failed status=3\n") == 2, err
    assert ": error: Could not run user task_epilog [nowhere]: access denied\n" in err


def test_a_task_epilog_that_does_not_end_is_ended(pod: RunnerPod) -> None:
    program(pod, "after", "sleep 600")
    lines, err = output(pod, "srun -n1 --mpi=none --task-epilog=./after true; echo $?")
    assert lines == ["0"]
    assert ": error: TaskEpilog failed status=137\n" in err


def test_the_program_is_copied_first(pod: RunnerPod) -> None:
    (pod.root / "there").mkdir()
    program(pod, "hello", "echo $0 $1")
    lines, err = output(
        pod,
        "srun --mpi=none --bcast=$PWD/there/greet hello you; SLURM_BCAST=$PWD/there/ srun -n1 hello me; "
        "srun --bcast=$PWD/nowhere/greet ./hello; echo $?",
    )
    there = pod.root / "there"
    assert lines == [f"{there}/greet you", f"{there}/greet you", f"{there}/hello me", "1"], err
    assert err.splitlines()[-1].startswith("srun: fatal: Failed to broadcast '") and "REQUEST_FILE_BCAST" in err


def test_a_step_that_may_not_wait(pod: RunnerPod) -> None:
    lines, err = output(
        pod,
        "srun -n4 --mpi=none sh -c 'touch begun; until [ -e go ]; do sleep 0.1; done' & "
        "until [ -e begun ]; do sleep 0.1; done; srun -n4 -I true; echo $?; "
        "srun -n4 --immediate=2 true; echo $?; touch go; wait",
    )
    assert lines == ["1", "1"]
    assert err.splitlines() == [
        "srun: error: Unable to create step for job 12: Requested nodes are busy",
        "srun: Job 12 step creation temporarily disabled, retrying (Requested nodes are busy)",
        "srun: error: Unable to create step for job 12: Requested nodes are busy",
    ]


def test_without_a_terminal_pty_counts_as_not_given(pod: RunnerPod) -> None:
    lines, err = output(pod, "srun --pty -n1 --mpi=none echo hi")
    assert lines == ["hi"]
    assert err == "srun: error: Not using a pseudo-terminal, disregarding --pty option\n"
