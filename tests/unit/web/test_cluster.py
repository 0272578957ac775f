"""Nodes, and what runs on each."""

from __future__ import annotations

import pytest

from hpcbatch.model.dialect import Dialect
from hpcbatch.model.record import ExecHost, JobRecord, JobStatus
from hpcbatch.model.row import JobRow, NodeRow
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState
from hpcbatch.record.rows import row_of
from hpcbatch.web.cluster import node_line, state_of

NODE = NodeRow(name="n1", ready=True, schedulable=True, cpus=8, mem_bytes=1 << 30, cpus_used=6, mem_used_bytes=0)


@pytest.mark.parametrize(
    ("node", "state"),
    [
        (NODE, "partly used"),
        (NODE._replace(cpus_used=0), "free"),
        (NODE._replace(cpus_used=8), "full"),
        (NODE._replace(ready=False), "down"),
        (NODE._replace(schedulable=False, marks=frozenset({"down"})), "down"),
        (NODE._replace(schedulable=False), "drained"),
        (NODE._replace(schedulable=False, marks=frozenset({"drain"})), "drained"),
        (NODE._replace(schedulable=False, marks=frozenset({"maint"})), "takes no jobs"),
    ],
)
def test_states(node: NodeRow, state: str) -> None:
    assert state_of(node)[0] == state


def row(number: int, *hosts: tuple[str, int]) -> JobRow:
    status = JobStatus(
        state=JobState.RUNNING,
        owner="anna",
        hosts=tuple(ExecHost(node=node, pod="p", cpus=cpus) for node, cpus in hosts),
    )
    spec = JobSpec(dialect=Dialect.SLURM, name="<b>")
    return row_of(JobRecord(job_id=number, namespace="n", object_name="o", spec=spec, status=status, queue="q"))


def test_what_runs_there() -> None:
    rows = [row(1, ("n1", 2), ("n1", 2), ("n2", 4)), row(2, ("n2", 4))]
    line = node_line(NODE, rows, lambda path: f"/p/{path}")
    assert [(name, cpus) for _, name, cpus in line.jobs] == [("1", 4)]
    assert line.others == 2
    assert 'aria-label="job 1 of anna: 4 CPUs, others: 2 CPUs, 2 free"' in line.bar
    assert 'href="/p/jobs/1"' in line.bar
