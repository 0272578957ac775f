"""What the doors of the dialects share."""

from __future__ import annotations

from dataclasses import fields
from typing import get_args

import pytest

from hpcbatch.dialects.registry import DIALECTS, door
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.placed import PlacedJob, PlacedPod, RunSetup
from hpcbatch.model.runner_words import HostValue, RunnerWords, StartValue
from hpcbatch.model.spec import JobSpec
from hpcbatch.volcano import translate


def setup(dialect: str) -> RunSetup:
    pod = PlacedPod(host="h", chunk=Chunk())
    job = PlacedJob(
        job_id=1,
        spec=JobSpec(dialect=dialect, name="j"),
        queue="q",
        pods=(pod,),
        owner="u",
        uid=1,
        gid=1,
        home="/h",
        cluster="c",
    )
    return door(dialect).run_setup(job)


def test_each_dialect_has_a_door() -> None:
    assert list(DIALECTS) == list(Dialect)


def test_another_has_none() -> None:
    with pytest.raises(HpcBatchError, match=r"^dialect 'sge' is not known here: expected lsf or pbs or slurm$"):
        door("sge")


def test_the_runner_reads_each_word() -> None:
    files = translate.runner_configmap("x")["data"]
    text = "".join(files.values())
    assert [word.name for word in fields(RunnerWords) if f"${word.name}" not in text] == []
    for name, values in (("start.sh", get_args(StartValue)), ("remote.sh", get_args(HostValue))):
        assert [value for value in values if f"    {value}) " not in files[name]] == ["restarts"] * (name == "start.sh")


@pytest.mark.parametrize("dialect", Dialect)
def test_the_tools_are_files_of_the_runner(dialect: Dialect) -> None:
    words = setup(dialect).words
    files = translate.runner_configmap("x")["data"]
    assert [tool for tool in (*words.own_tools, *words.spare_tools) if f"{tool}.sh" not in files] == []


def test_sizes_in_the_words_of_one_dialect_go_when_another_changes_them() -> None:
    of_slurm = JobSpec(dialect=Dialect.SLURM, name="j", attributes={"ntasks": "4", "comment": "c"})
    assert door(Dialect.SLURM).resized(of_slurm).attributes == {"comment": "c"}
    of_pbs = JobSpec(dialect=Dialect.PBS, name="j", attributes={"Resource_List.select": "1", "project": "p"})
    assert door(Dialect.PBS).resized(of_pbs).attributes == {"project": "p"}
