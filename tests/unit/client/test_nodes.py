"""What is used of nodes, as those see it who may read no pods."""

from __future__ import annotations

import pytest

from hpcbatch.client.nodes import _used_by_rows
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.record import ExecHost, JobRecord, JobStatus
from hpcbatch.model.row import CPUS_STAY
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState
from hpcbatch.record.rows import row_of


@pytest.mark.parametrize(
    ("state", "message", "milli"),
    [
        (JobState.RUNNING, "", 2000),
        (JobState.SUSPENDED, "", 0),
        (JobState.SUSPENDED, f"{CPUS_STAY}pods are not resized here", 2000),
    ],
)
def test_a_suspended_job_leaves_its_cpus(state: JobState, message: str, milli: int) -> None:
    chunks = (Chunk(cpus=2, mem_bytes=512),)
    spec, hosts = JobSpec(dialect=Dialect.SLURM, name="j", chunks=chunks), (ExecHost(node="a", pod="p", cpus=2),)
    status = JobStatus(state=state, message=message, layout=chunks, hosts=hosts)
    record = JobRecord(job_id=1, namespace="n", object_name="o", spec=spec, status=status, queue="q")
    used = _used_by_rows([row_of(record)])["a"]
    assert (used.milli, used.mem_bytes, used.jobs) == (milli, 512, {"1"})
