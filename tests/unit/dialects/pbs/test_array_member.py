"""What a member of an array finds: its id, its variables, its files. As recorded from OpenPBS."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hpcbatch.dialects.pbs.environment import environment
from hpcbatch.dialects.pbs.output import output_files
from hpcbatch.model.array import Membership
from hpcbatch.model.spec import Output
from tests.unit.dialects.pbs.test_placed import placed

MEMBER = Membership(array_id=106, array_name="pbs-a", index=3)


def test_recorded_environment() -> None:
    found = environment(placed(member_of=MEMBER, name="envy"))
    recorded = {
        "PBS_ARRAY_ID": "106[].pbs1",
        "PBS_ARRAY_INDEX": "3",
        "PBS_JOBID": "106[3].pbs1",
        "PBS_JOBNAME": "envy",
    }
    assert {name: found[name] for name in recorded} == recorded
    assert found["PBS_ARRAYID"] == "3", "Torque's name for the index"
    assert "PBS_ARRAY_ID" not in environment(placed())


@pytest.mark.parametrize(
    ("path", "file"),
    [
        (None, "/data/run/wrf.o106.3"),
        ("/d/o^array_index^.txt", "/d/o3.txt"),
        ("/d/^array_index^/^array_index^", "/d/3/^array_index^"),
        ("/d/$PBS_JOBID.$PBS_ARRAY_INDEX.$PBS_ARRAYID", "/d/106[3].pbs1.3.3"),
        ("/d/all", "/d/all"),
    ],
    ids=["default", "tag", "first-tag-only", "variables", "one-file-for-all"],
)
def test_output(path: str | None, file: str) -> None:
    assert output_files(placed(member_of=MEMBER, stdout=Output(path=path))).stdout == file


def test_output_in_a_directory() -> None:
    files = output_files(placed(member_of=MEMBER, stdout=Output(path="/d/"), stderr=Output(path="/d/")))
    assert (files.stdout_in_dir, files.stderr_in_dir) == ("106[3].pbs1.OU", "106[3].pbs1.ER")


def test_a_plain_job_keeps_the_tag() -> None:
    job = placed(stdout=Output(path="/d/^array_index^"))
    assert output_files(job).stdout == output_files(replace(job, job_id=13)).stdout == "/d/^array_index^"
