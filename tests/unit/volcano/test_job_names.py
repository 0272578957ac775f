"""The names of a job's tasks and pods, and that both say the same."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.placed import PlacedJob
from hpcbatch.model.site import Launcher
from hpcbatch.model.spec import JobSpec
from hpcbatch.volcano import job_names


def hosts(*chunks: Chunk) -> list[str]:
    return [pod.host.removeprefix("job-7-") for pod in job_names.pods(7, chunks)]


A, B = Chunk(cpus=1), Chunk(cpus=2)


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        pytest.param([A], ["mpimaster-0"], id="one"),
        pytest.param([replace(A, count=3)], ["mpimaster-0", "mpiworker-0", "mpiworker-1"], id="three equal"),
        pytest.param([A, B], ["mpimaster-0", "mpiworker-0"], id="another first one"),
        pytest.param(
            [replace(A, count=2), replace(B, count=2), A],
            ["mpimaster-0", "mpiworker-0", "mpiworker2-0", "mpiworker2-1", "mpiworker3-0"],
            id="three kinds",
        ),
        pytest.param([A, A, replace(A, count=2)], ["mpimaster-0", *(f"mpiworker-{i}" for i in range(3))], id="equal"),
    ],
)
def test_pods(chunks: list[Chunk], expected: list[str]) -> None:
    assert hosts(*chunks) == expected


CHUNK = st.builds(Chunk, count=st.integers(1, 4), cpus=st.integers(0, 3), ranks=st.integers(0, 3))


@given(st.lists(CHUNK, min_size=1, max_size=6), st.sampled_from(Launcher))
def test_tasks_are_the_pods_again(chunks: list[Chunk], launcher: Launcher) -> None:
    spec = JobSpec(dialect=Dialect.PBS, name="test", chunks=tuple(chunks))
    job = PlacedJob(
        job_id=12,
        spec=spec,
        queue="default",
        pods=job_names.pods(12, chunks, launcher),
        owner="alice",
        uid=1000,
        gid=1000,
        home="/home/alice",
        cluster="test",
        launcher=launcher,
    )
    assert len({pod.host for pod in job.pods}) == len(job.pods) == sum(chunk.count for chunk in chunks)
    assert [pod.chunk for pod in job.pods] == [replace(c, count=1) for c in chunks for _ in range(c.count)]
    again = [
        (f"job-12-{task.name}-{index}", task.chunk) for task in job_names.tasks(job) for index in range(task.replicas)
    ]
    assert tuple(host for host, _ in again) == job_names.pod_names(12, chunks, launcher)
    assert again[0][0] == job_names.script_host(12)
    assert [pod for pod in again if pod[1] is not None] == [(pod.host, pod.chunk) for pod in job.pods]
    assert [task.role for task in job_names.tasks(job)].count("master") == 1
    parts = job_names.parts_of_pods(12, chunks, launcher)
    assert parts.keys() == {task.name for task in job_names.tasks(job)}
    for task in job_names.tasks(job):
        assert len(parts[task.name]) == task.replicas
        its = {None if part == len(chunks) else replace(chunks[part], count=1) for part in parts[task.name]}
        assert its == {task.chunk}
