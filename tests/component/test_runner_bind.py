"""Tasks of `srun` on CPUs of their own: which, and when not. The machine's own CPUs count as the pod's."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

import pytest

from hpcbatch.model.chunk import Chunk
from tests.component.runner_pod import RunnerPod

CPUS = sorted(os.sched_getaffinity(0))
pytestmark = pytest.mark.skipif(not shutil.which("taskset"), reason="NOT TESTED: taskset is not installed here")

TWO_BY_TWO_BY_TWO = "".join(f"{cpu} {cpu // 2 % 2} {cpu % 4}\n" for cpu in range(8))
"""Two sockets of two cores with two threads: cores 0, 1 on the first socket, their second threads 4, 5."""


def placed(tasks: int, asked: Mapping[str, object]) -> list[str]:
    """The CPUs of each task."""
    given = {"kind": "cores", "threads": 0, "width": 1, "per_core": 1, "per_socket": 0, "order": "cyclic", **asked}
    program = str(resources.files("hpcbatch.runner") / "steps/bind.awk")
    found = []
    for nth in range(tasks):
        values = [f"-v{name}={value}" for name, value in (given | {"nth": nth, "tasks": tasks}).items()]
        done = subprocess.run(
            ["awk", *values, "-f", program], input=TWO_BY_TWO_BY_TWO, capture_output=True, text=True, check=True
        )
        found.append(",".join(done.stdout.split()))
    return found


@pytest.mark.parametrize(
    ("tasks", "asked", "expected"),
    [
        pytest.param(2, {}, ["0,4", "2,6"], id="whole cores, sockets in turn"),
        pytest.param(4, {}, ["0,4", "2,6", "1,5", "3,7"], id="all cores"),
        pytest.param(2, {"order": "block"}, ["0,4", "1,5"], id="one socket after the other"),
        pytest.param(4, {"threads": 1}, ["0", "2", "1", "3"], id="nomultithread"),
        pytest.param(2, {"threads": 1, "width": 2}, ["0,1", "2,3"], id="two cores a task"),
        pytest.param(2, {"width": 4}, ["0,4,1,5", "2,6,3,7"], id="a socket a task"),
        pytest.param(1, {"threads": 1, "width": 3}, ["0,1,2"], id="more than a socket has"),
        pytest.param(3, {"kind": "threads"}, ["0", "2", "1"], id="threads"),
        pytest.param(2, {"kind": "sockets"}, ["0,1,4,5", "2,3,6,7"], id="sockets"),
        pytest.param(2, {"threads": 1, "per_socket": 1, "order": "block"}, ["0", "2"], id="memory_bound"),
        pytest.param(3, {"per_core": 2, "order": "block"}, ["0,4", "0,4", "1,5"], id="two tasks a core"),
        pytest.param(5, {"threads": 1}, [""] * 5, id="not enough cores"),
        pytest.param(3, {"threads": 1, "per_socket": 1}, [""] * 3, id="not enough sockets"),
    ],
)
def test_cpus(tasks: int, asked: dict[str, object], expected: list[str]) -> None:
    assert placed(tasks, asked) == expected


@pytest.mark.parametrize("order", ["block", "cyclic"])
@pytest.mark.parametrize("width", [1, 2, 3])
@pytest.mark.parametrize("kind", ["cores", "threads"])
def test_no_cpu_is_two_tasks(kind: str, width: int, order: str) -> None:
    for tasks in range(1, 8 // width + 1):
        found = placed(tasks, {"kind": kind, "width": width, "order": order})
        cpus = [cpu for one in found for cpu in one.split(",") if cpu]
        assert len(set(cpus)) == len(cpus)


# srun


@pytest.fixture
def pod(shell: str, tmp_path: Path) -> RunnerPod:
    return RunnerPod(tmp_path, shell)


def output(pod: RunnerPod, script: str, cpus: int = len(CPUS), **asked: str) -> tuple[list[str], str]:
    pod.run(f"#!/bin/sh\n{script}\n", chunks=(Chunk(cpus=cpus, ranks=1),), variables=asked, is_host=True)
    return pod.out.read_text().splitlines(), pod.err.read_text()


SHOW = "sh -c 'echo $SLURM_PROCID $(grep Cpus_allowed_list /proc/self/status)'"


def test_each_task_has_a_thread(pod: RunnerPod) -> None:
    lines, err = output(pod, f"srun -n {len(CPUS)} --mpi=none --cpu-bind=threads {SHOW}")
    assert sorted(int(line.split()[2]) for line in lines) == CPUS
    assert err == ""


@pytest.mark.skipif(len(CPUS) < 2, reason="NOT TESTED: this machine has one CPU")
def test_each_task_has_a_core(pod: RunnerPod) -> None:
    """As many tasks as there are cores; by what the kernel says of them, read in another way."""
    shared = [Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list").read_bytes() for cpu in CPUS]
    first = [cpu for cpu, text in zip(CPUS, shared, strict=True) if text not in shared[: CPUS.index(cpu)]]
    lines, err = output(pod, f"srun -n {len(first)} --mpi=none --hint=nomultithread {SHOW}")
    assert (sorted(int(line.split()[2]) for line in lines), err) == (first, "")


def test_verbose(pod: RunnerPod) -> None:
    _, err = output(pod, f"srun -n1 --mpi=none --cpu-bind=verbose,map_cpu:{CPUS[-1]} true")
    mask = f"{1 << CPUS[-1]:x}"
    assert re.fullmatch(rf"cpu-bind=MAP  - \S+, task  0  0 \[\d+\]: mask 0x{mask} set\n", err)


@pytest.mark.parametrize("binding", ["verbose,none", "none"])
def test_none(pod: RunnerPod, binding: str) -> None:
    lines, err = output(pod, f"srun -n1 --mpi=none --hint=nomultithread --cpu-bind={binding} {SHOW}")
    mask = f"{sum(1 << cpu for cpu in CPUS):x}"
    said = rf"cpu-bind=NONE - \S+, task  0  0 \[\d+\]: mask 0x{mask}\n" if "verbose" in binding else ""
    assert len(lines) == 1 and re.fullmatch(said, err)


def test_the_job_s_own_hint(pod: RunnerPod) -> None:
    lines, err = output(pod, f"srun -n1 --mpi=none {SHOW}; srun --mpi=none -n1 -Q {SHOW}", SLURM_HINT="nomultithread")
    assert [line.split()[2] for line in lines] == [str(CPUS[0])] * 2
    assert err == ""


@pytest.mark.skipif(len(CPUS) < 2, reason="NOT TESTED: this machine has one CPU")
def test_where_others_have_the_cpus_too(pod: RunnerPod) -> None:
    """A pod that asked for less than it sees: nothing is bound, which is told once."""
    lines, err = output(pod, f"srun -n2 -O --mpi=none --cpu-bind=cores {SHOW}", cpus=1)
    assert len({line.split(" ", 1)[1] for line in lines}) == 1
    assert err == "srun: hpcbatch: tasks are not bound to CPUs: the pod shares its CPUs with others\n"


def test_beside_another_step(pod: RunnerPod) -> None:
    script = (
        "srun -n1 --mpi=none sleep 2 &\nuntil [ -e run/job/tasks.0.0 ]; do sleep 0.1; done\n"
        f"srun -n1 --mpi=none --cpu-bind=cores {SHOW}"
    )
    _, err = output(pod, script, cpus=max(2, len(CPUS)))
    assert err == "srun: hpcbatch: tasks are not bound to CPUs: other steps of the job run beside this one\n"


def test_nothing_is_said_where_nothing_is_asked(pod: RunnerPod) -> None:
    lines, err = output(pod, f"srun -n1 --mpi=none {SHOW}")
    assert len(lines) == 1 and err == ""


@pytest.mark.parametrize("argument", ["--cpu-bind=here", "--cpu-bind=map_cpu:", "--hint=fast"])
def test_wrong(pod: RunnerPod, argument: str) -> None:
    lines, err = output(pod, f"srun {argument} true; echo $?")
    assert lines == ["1"] and err.startswith("srun: error: ")
