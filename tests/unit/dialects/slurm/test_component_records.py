"""Heterogeneous jobs as squeue, sacct and scontrol show them: their components."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC

import pytest

from hpcbatch.dialects.slurm.component_records import components, offset_in
from hpcbatch.dialects.slurm.ids import parse_id, row_id
from hpcbatch.dialects.slurm.scontrol import format_job
from hpcbatch.errors import NotSupportedError
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.indices import Indices
from hpcbatch.model.record import ExecHost, HostUsage, JobRecord
from hpcbatch.model.step import StepRecord, TaskFigure
from hpcbatch.record.rows import row_of
from tests.unit.dialects.slurm.jobs import NOW, QUEUE, SUBMITTED
from tests.unit.dialects.slurm.sacct_jobs import GANG, sacct

CHUNKS = (Chunk(count=1, cpus=4, ranks=1), Chunk(count=2, cpus=2, ranks=2, component=1))
GIVEN = {
    "het_size": "2",
    "ntasks": "1",
    "cpus_per_task": "4",
    "comment": "c",
    "het_0_ntasks": "1",
    "het_0_cpus_per_task": "4",
    "het_1_ntasks": "4",
    "het_1_partition": "big",
}


def heterogeneous(job: JobRecord) -> JobRecord:
    spec = replace(job.spec, chunks=CHUNKS, attributes={**job.spec.attributes, **GIVEN})
    hosts = tuple(ExecHost(node=f"n{at}", pod=f"p{at}", cpus=2) for at in range(3))
    usage = tuple(HostUsage(pod=f"p{at}", cpu_s=at + 1, max_rss_bytes=1024 * (at + 1)) for at in range(3))
    figure = TaskFigure(total=9, most=5, host=2, task=3)
    step = StepRecord(
        number=0, name="a", start_time=SUBMITTED, hosts=Indices.of([1, 2]), tasks=4, max_rss_host=2, read_by_task=figure
    )
    whole = StepRecord(number=1, name="b", start_time=SUBMITTED, hosts=Indices.of(range(3)), max_rss_host=0)
    status = replace(job.status, layout=CHUNKS, hosts=hosts, usage=usage, cpu_used_s=6, steps=(step, whole))
    return replace(job, spec=spec, status=status)


JOB = heterogeneous(GANG)


def test_each_has_what_is_its_own() -> None:
    first, second = components(JOB)
    assert [row_id(row_of(one)) for one in (first, second)] == ["200+0", "200+1"]
    assert [(row.cpus, row.nodes, row.hosts, row.queue) for row in map(row_of, (first, second))] == [
        (4, 1, ("n0",), JOB.queue),
        (4, 2, ("n1", "n2"), "big"),
    ]
    assert (first.status.cpu_used_s, second.status.cpu_used_s, second.status.max_rss_bytes) == (1, 5, 5 * 1024)
    assert (second.spec.attributes["ntasks"], second.spec.attributes["het_size"]) == ("4", "1/2")
    assert "cpus_per_task" not in second.spec.attributes and second.spec.attributes["comment"] == "c"
    assert [step.number for step in first.status.steps] == [1]
    moved = second.status.steps[0]
    assert (str(moved.hosts), moved.max_rss_host, moved.read_by_task) == (
        "0-1", 1, TaskFigure(total=9, most=5, host=1, task=3),
    )  # fmt: skip
    assert str(second.status.steps[1].hosts) == "0-1" and second.status.steps[1].max_rss_host is None
    assert components(second) == [second]


def test_other_jobs_are_themselves() -> None:
    for job in QUEUE:
        assert components(job) == [job] and offset_in(job) is None


@pytest.mark.parametrize("size", ["x", "0", "3", "1/2"])
def test_sizes_that_are_none(size: str) -> None:
    odd = replace(JOB, spec=replace(JOB.spec, attributes={**JOB.spec.attributes, "het_size": size}))
    assert components(odd) == [odd]


def test_sacct() -> None:
    lines = sacct("-n -P -o jobid,alloccpus,nodelist,ntasks", [JOB]).splitlines()
    assert lines == [
        "200+0|4|n0|",
        "200+0.batch|2|n0|1",
        "200+0.1|1|n0|1",
        "200+1|4|n[1-2]|",
        "200+1.extern|4|n[1-2]|2",
        "200+1.0|1|n[1-2]|4",
        "200+1.1|1|n[1-2]|1",
    ]
    assert sacct("-n -P -j 200+1 -X -o jobid", [JOB, GANG]) == "200+1\n"
    assert sacct("-n -P -j 200+0 -X -o jobid", [GANG]) == "200\n"
    assert sacct("-n -P -j 200+1.0 -o jobid", [JOB]) == "200+1.0\n"


def test_scontrol() -> None:
    text = "".join(format_job(one, NOW, UTC) for one in components(JOB))
    assert "JobId=200 HetJobId=200 HetJobOffset=0 JobName=" in text
    assert "JobId=200 HetJobId=200 HetJobOffset=1 JobName=" in text
    assert text.count("\n   HetJobIdSet=200\n") == 2


def test_commands_that_change_jobs_take_the_whole() -> None:
    assert parse_id("12+0").number == 12
    with pytest.raises(NotSupportedError, match="the components of a heterogeneous job are one job here, 12"):
        parse_id("12+1")
