"""`srun` in a heterogeneous job, whose components are all on this machine. Several pods: tests/conformance."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from hpcbatch.model.chunk import Chunk
from tests.component.runner_pod import RunnerPod


@pytest.fixture
def pod(shell: str, tmp_path: Path) -> RunnerPod:
    return RunnerPod(tmp_path, shell)


def output(pod: RunnerPod, script: str) -> tuple[list[str], str]:
    """Lines of stdout and stderr of a script in a job of two components, of which the second is nowhere."""
    pod.prepare(f"#!/bin/sh\n{script}\n", chunks=(Chunk(cpus=2, ranks=2),), is_host=True)
    conf = pod.root / "job/conf"
    job = (conf / "job.sh").read_text()
    here = socket.gethostname()
    job = job.replace(f"hosts='{here}'", f"hosts='{here} other'").replace("cpus='2'", "cpus='2 4'")
    (conf / "job.sh").write_text(job.replace("components=''", "components='0 1'"))
    (conf / "hydra").write_text(f"{here}:2\nother:4\n")
    pod.finish(pod.start())
    return pod.out.read_text().splitlines(), pod.err.read_text()


def test_the_first_component_is_the_default(pod: RunnerPod) -> None:
    lines, err = output(
        pod, "srun -n2 --mpi=none sh -c 'echo $SLURM_PROCID $SLURM_STEP_NODELIST'; srun -n3 true; echo $?"
    )
    here = socket.gethostname()
    assert sorted(lines) == [f"0 {here}", "1", f"1 {here}"]
    assert err == "srun: error: Unable to create step for job 12: More processors requested than permitted\n"


def test_parts_of_one_step(pod: RunnerPod) -> None:
    """All in the first component, which the tests have: numbered on, each with the program of its part."""
    part = "sh -c 'echo \"$0: $SLURM_PROCID of $SLURM_NTASKS\"'"
    lines, err = output(pod, f"srun --mpi=none -n1 {part} 'the first' : --het-group=0 -n1 {part} \"it's\"; echo $?")
    assert (sorted(lines), err) == (["0", "it's: 1 of 2", "the first: 0 of 2"], "")


def test_parts_need_room(pod: RunnerPod) -> None:
    lines, err = output(pod, "srun --mpi=none -n1 true : --het-group=0 -n2 true; echo $?")
    assert lines == ["1"]
    assert err == "srun: error: Unable to create step for job 12: More processors requested than permitted\n"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            "srun a : b : c",
            "Attempt to run a job step with het group value of 2, but the job allocation has maximum value of 1",
        ),
        (
            "srun --het-group=2 a",
            "Attempt to run a job step with het group value of 2, but the job allocation has maximum value of 1",
        ),
        ("srun --het-group=x a", "Invalid --het-group specification: 'x'"),
        ("srun a :", "No command given to execute."),
        ("srun -n1 : a", "No command given to execute."),
    ],
)
def test_wrong(pod: RunnerPod, command: str, said: str) -> None:
    lines, err = output(pod, f"{command}; echo $?")
    assert (lines, err) == (["1"], f"srun: error: {said}\n")


def test_an_ordinary_job_has_one_component(pod: RunnerPod) -> None:
    pod.prepare("#!/bin/sh\nsrun a : b\nsrun --het-group=0 -n1 echo one\n", is_host=True)
    pod.finish(pod.start())
    assert pod.out.read_text() == "one\n"
    said = "Attempt to run a job step with het group value of 1, but the job allocation has maximum value of 0"
    assert pod.err.read_text() == f"srun: error: {said}\n"
