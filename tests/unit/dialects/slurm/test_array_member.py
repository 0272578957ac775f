"""What a member of an array finds: its variables and its files. As recorded from Slurm 22.05.8."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hpcbatch.dialects.slurm.environment import environment
from hpcbatch.dialects.slurm.output import output_files, shown_paths
from hpcbatch.model.array import Array, Membership
from hpcbatch.model.indices import Indices
from hpcbatch.model.record import JobRecord, JobStatus
from hpcbatch.model.spec import Output
from tests.unit.dialects.slurm.test_placed import JOB, SPEC

MEMBER = replace(
    JOB,
    spec=replace(SPEC, name="envy", member_of=Membership(array_id=118, array_name="slurm-a", index=3)),
    job_id=119,
    array=Array(indices=Indices.parse("3-4")),
)


def test_recorded_environment() -> None:
    found = environment(MEMBER)
    assert {name: found[name] for name in found if "ARRAY" in name} == {
        "SLURM_ARRAY_JOB_ID": "118",
        "SLURM_ARRAY_TASK_COUNT": "2",
        "SLURM_ARRAY_TASK_ID": "3",
        "SLURM_ARRAY_TASK_MAX": "4",
        "SLURM_ARRAY_TASK_MIN": "3",
        "SLURM_ARRAY_TASK_STEP": "1",
    }
    assert found["SLURM_JOB_ID"] == found["SLURM_JOBID"] == "119"
    assert not [name for name in environment(JOB) if "ARRAY" in name]


@pytest.mark.parametrize(
    ("pattern", "file"),
    [
        (None, "slurm-118_3.out"),
        ("%A-%a-%j-%x", "118-3-119-envy"),
        ("%5A.%03a.%b", "00118.003.3"),
        ("%%a", "%a"),
        ("all", "all"),
    ],
)
def test_output(pattern: str | None, file: str) -> None:
    job = replace(MEMBER, spec=replace(MEMBER.spec, stdout=Output(path=pattern)))
    assert output_files(job).stdout == f"/home/tester/{file}"


def test_the_paths_of_a_whole_array_are_shown_as_recorded() -> None:
    spec = replace(SPEC, array=Array(indices=Indices.parse("1-4"), limit=2))
    record = JobRecord(
        job_id=93, namespace="n", object_name="slurm-a", spec=spec, status=JobStatus(home="/home/tester"), queue="debug"
    )
    path = "/home/tester/slurm-93_4294967294.out"
    assert shown_paths(record) == (path, path)
