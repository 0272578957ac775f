"""The devices that a job, its steps and their tasks see. There are none here: their numbers alone are given out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hpcbatch.model.accelerator import Accelerator
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.site import SiteConfig
from tests.component.runner_pod import RunnerPod

GPUS = Chunk(count=1, cpus=4, ranks=2, resources=(("gpu", 4),))


@pytest.fixture
def pod(shell: str, tmp_path: Path) -> RunnerPod:
    return RunnerPod(tmp_path, shell)


def output(pod: RunnerPod, script: str, chunk: Chunk = GPUS, **given: Any) -> tuple[list[str], str]:
    """Lines of stdout, and stderr, of a script that must end with 0."""
    variables = {"SLURM_NTASKS": str(chunk.ranks), **given.pop("variables", {})}
    code, report = pod.run(f"#!/bin/sh\n{script}\n", chunks=(chunk,), variables=variables, is_host=True, **given)
    assert code == 0, (report, pod.err.read_text())
    return pod.out.read_text().splitlines(), pod.err.read_text()


SHOW = "sh -c 'echo \"$SLURM_LOCALID: $CUDA_VISIBLE_DEVICES of $SLURM_STEP_GPUS, $SLURM_GPUS_ON_NODE\"'"


def test_the_script_sees_all_devices_of_its_pod(pod: RunnerPod) -> None:
    lines, err = output(pod, "echo $CUDA_VISIBLE_DEVICES", submitted={"CUDA_VISIBLE_DEVICES": "7"})
    assert (lines, err) == (["0,1,2,3"], "")


def test_without_gpus_the_variable_is_left_alone(pod: RunnerPod) -> None:
    lines, _ = output(
        pod,
        "echo $CUDA_VISIBLE_DEVICES; srun -n1 --mpi=none sh -c 'echo $CUDA_VISIBLE_DEVICES'",
        Chunk(cpus=2),
        submitted={"CUDA_VISIBLE_DEVICES": "7"},
    )
    assert lines == ["7", "7"]


STEPS = {
    "": ["0: 0,1,2,3 of 0,1,2,3, 4", "1: 0,1,2,3 of 0,1,2,3, 4"],
    "--gpus-per-task=1": ["0: 0 of 0,1, 2", "1: 1 of 0,1, 2"],
    "--gpus-per-task=a100:2": ["0: 0,1 of 0,1,2,3, 4", "1: 2,3 of 0,1,2,3, 4"],
    "--gpus-per-node=2": ["0: 0,1 of 0,1, 2", "1: 0,1 of 0,1, 2"],
    "-G 3": ["0: 0,1,2 of 0,1,2, 3", "1: 0,1,2 of 0,1,2, 3"],
    "--gres=gpu:1": ["0: 0 of 0, 1", "1: 0 of 0, 1"],
    "--gres=gpu:a100:2": ["0: 0,1 of 0,1, 2", "1: 0,1 of 0,1, 2"],
    "--gres=gpu": ["0: 0 of 0, 1", "1: 0 of 0, 1"],
    "--gres=none": ["0:  of , ", "1:  of , "],
    "--gpu-bind=single:1": ["0: 0 of 0,1,2,3, 4", "1: 1 of 0,1,2,3, 4"],
    "--gpu-bind=single:2": ["0: 0 of 0,1,2,3, 4", "1: 0 of 0,1,2,3, 4"],
    "--ntasks-per-gpu=1": ["0: 0 of 0,1,2,3, 4", "1: 1 of 0,1,2,3, 4"],
    "--gpu-bind=per_task:2": ["0: 0,1 of 0,1,2,3, 4", "1: 2,3 of 0,1,2,3, 4"],
    "--gpu-bind=map_gpu:3,1": ["0: 3 of 0,1,2,3, 4", "1: 1 of 0,1,2,3, 4"],
    "--gpu-bind=map_gpu:2*2": ["0: 2 of 0,1,2,3, 4", "1: 2 of 0,1,2,3, 4"],
    "--gpu-bind=mask_gpu:0x3,0xC": ["0: 0,1 of 0,1,2,3, 4", "1: 2,3 of 0,1,2,3, 4"],
    "--gpu-bind=none --gpus-per-task=2": ["0: 0,1,2,3 of 0,1,2,3, 4", "1: 0,1,2,3 of 0,1,2,3, 4"],
    "--tres-bind=gres/gpu:single:1": ["0: 0 of 0,1,2,3, 4", "1: 1 of 0,1,2,3, 4"],
    "--export=NONE --gpus-per-task=1": ["0: 0 of 0,1, 2", "1: 1 of 0,1, 2"],
}


@pytest.mark.parametrize("options", STEPS)
def test_tasks_see_what_they_are_bound_to(pod: RunnerPod, options: str) -> None:
    lines, err = output(pod, f"srun -n2 --mpi=none {options} {SHOW}")
    assert (sorted(lines), err) == (STEPS[options], "")


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"SLURM_GPUS_PER_TASK": "2"}, ["0: 0,1 of 0,1,2,3, 4", "1: 2,3 of 0,1,2,3, 4"]),
        ({"SLURM_GPU_BIND": "single:1"}, ["0: 0 of 0,1,2,3, 4", "1: 1 of 0,1,2,3, 4"]),
        ({"SLURM_NTASKS_PER_GPU": "1"}, ["0: 0 of 0,1,2,3, 4", "1: 1 of 0,1,2,3, 4"]),
        ({"SLURM_GPUS_PER_NODE": "4"}, ["0: 0,1,2,3 of 0,1,2,3, 4", "1: 0,1,2,3 of 0,1,2,3, 4"]),
    ],
)
def test_the_jobs_own_options_count_for_its_steps(
    pod: RunnerPod, variables: dict[str, str], expected: list[str]
) -> None:
    lines, err = output(pod, f"srun --mpi=none {SHOW}", variables=variables)
    assert (sorted(lines), err) == (expected, "")


def test_steps_side_by_side_have_gpus_of_their_own(pod: RunnerPod) -> None:
    """Each waits until all four run: so none of them can have had another one's GPU after its end."""
    step = 'srun -n1 -c1 --gpus=1 --mpi=none sh -c "echo \\$CUDA_VISIBLE_DEVICES; : >ran.\\$SLURM_STEP_ID; '
    step += 'until [ -e ran.0 ] && [ -e ran.1 ] && [ -e ran.2 ] && [ -e ran.3 ]; do sleep 0.1; done" &'
    lines, err = output(pod, f"cd {pod.root}\n" + f"{step}\n" * 4 + "wait")
    assert (sorted(lines), err) == (["0", "1", "2", "3"], "")


def test_a_step_waits_for_gpus(pod: RunnerPod) -> None:
    first = 'srun -n1 -c1 --gpus=3 --mpi=none sh -c "echo first; : >begun; until [ -e asked ]; do sleep 0.1; done" &'
    second = "srun -n1 -c1 --gpus=2 --mpi=none echo second 2>err & until grep -q retrying err; do sleep 0.1; done"
    script = f"cd {pod.root}\n{first}\nuntil [ -e begun ]; do sleep 0.1; done\n{second}\n: >asked\nwait\ncat err"
    lines, _ = output(pod, script)
    assert lines[:2] == ["first", "second"]
    assert "step creation temporarily disabled, retrying (Requested nodes are busy)" in lines[2]


def test_more_gpus_than_the_job_has(pod: RunnerPod) -> None:
    lines, err = output(pod, "srun -n1 --gpus=5 true; echo $?; srun -n3 --gpus-per-task=2 true; echo $?")
    refused = "srun: error: Unable to create step for job 12: Invalid generic resource (gres) specification\n"
    assert (lines, err) == (["1", "1"], refused * 2)


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("--gpu-bind=here", "srun: error: Invalid --gpu-bind argument: gpu:here\n"),
        ("--gpu-bind=single:0", "srun: error: Invalid --gpu-bind argument: gpu:single:0\n"),
        ("--gpus=1:x", "srun: error: Invalid --gpus specification\n"),
    ],
)
def test_bad_values(pod: RunnerPod, option: str, told: str) -> None:
    lines, err = output(pod, f"srun {option} true; [ $? != 0 ] && echo refused")
    assert (lines, err) == (["refused"], told)


def test_a_gpu_that_is_not_there(pod: RunnerPod) -> None:
    lines, err = output(pod, f"srun -n1 --mpi=none --gpu-bind=map_gpu:9 {SHOW}")
    assert lines == ["0: 0,1,2,3 of 0,1,2,3, 4"]
    assert "--gpu-bind=map_gpu:9 names no GPU that task 0 has on" in err


def test_closest_is_told_of(pod: RunnerPod) -> None:
    lines, err = output(pod, f"srun -n1 --mpi=none --gpu-bind=closest {SHOW}")
    assert lines == ["0: 0,1,2,3 of 0,1,2,3, 4"]
    assert err == (
        "srun: hpcbatch: --gpu-bind=closest is not applied: what is near a GPU is not known here; tasks see all of the "
        "step's\n"
    )


def test_slices_go_by_their_ids(pod: RunnerPod) -> None:
    pod.environment["NVIDIA_VISIBLE_DEVICES"] = "MIG-a,MIG-b"
    chunk = Chunk(cpus=2, ranks=2, resources=(("gpu", 2),))
    lines, _ = output(pod, f"echo $CUDA_VISIBLE_DEVICES; srun --mpi=none --gpus-per-task=1 {SHOW}", chunk)
    assert (lines[0], sorted(lines[1:])) == ("MIG-a,MIG-b", ["0: MIG-a of 0,1, 2", "1: MIG-b of 0,1, 2"])


def test_what_the_device_plugin_has_set_is_dealt_out(pod: RunnerPod) -> None:
    pod.environment["CUDA_VISIBLE_DEVICES"] = "4,6"
    chunk = Chunk(cpus=2, ranks=2, resources=(("gpu", 2),))
    lines, _ = output(pod, f"echo $CUDA_VISIBLE_DEVICES; srun --mpi=none --gpus-per-task=1 {SHOW}", chunk)
    assert (lines[0], sorted(lines[1:])) == ("4,6", ["0: 4 of 0,1, 2", "1: 6 of 0,1, 2"])


@pytest.mark.parametrize(
    ("resource", "variable"),
    [("amd.com/gpu", "ROCR_VISIBLE_DEVICES"), ("huawei.com/Ascend910", "ASCEND_RT_VISIBLE_DEVICES")],
)
def test_each_vendor_has_its_variable(pod: RunnerPod, resource: str, variable: str) -> None:
    kind = Accelerator(name="x", resource=resource)
    site = SiteConfig(kill_delay_s=2, accelerators=(kind,), resources={"gpu:x": resource})
    chunk = Chunk(cpus=2, ranks=2, resources=(("gpu:x", 2),))
    lines, _ = output(
        pod, f"echo ${variable}; srun --mpi=none --gpus-per-task=1 sh -c 'echo ${variable}'", chunk, site=site
    )
    assert (lines[0], sorted(lines[1:])) == ("0,1", ["0", "1"])


@pytest.mark.parametrize("dialect", [Dialect.PBS, Dialect.LSF])
def test_jobs_of_other_dialects(pod: RunnerPod, dialect: Dialect) -> None:
    chunk = Chunk(cpus=2, resources=(("ngpus" if dialect is Dialect.PBS else "gpu", 2),))
    lines, _ = output(
        pod, "echo $CUDA_VISIBLE_DEVICES; cat ${PBS_GPUFILE:-/dev/null} | sed 's/.*-//'", chunk, dialect=dialect
    )
    assert lines[:3] == ["0,1", "gpu0", "gpu1"] if dialect is Dialect.PBS else lines[0] == "0,1"
