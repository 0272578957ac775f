"""The fields of squeue that are read from whole records."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC

import pytest

from hpcbatch.dialects.slurm import squeue_json
from hpcbatch.dialects.slurm.array_records import ShownJob
from hpcbatch.dialects.slurm.scontrol import format_job
from hpcbatch.dialects.slurm.squeue import columns_of, format_queue, needs_records, view_of
from hpcbatch.dialects.slurm.squeue_details import VALUES, values
from hpcbatch.dialects.slurm.squeue_format import DETAILED, LETTERS, NAMES, detail_of
from hpcbatch.dialects.slurm.squeue_options import read_options
from hpcbatch.model.interactive import Interactive
from hpcbatch.model.record import JobRecord
from hpcbatch.record.rows import row_of
from tests.unit.dialects.slurm.jobs import NOW, RUNNING, record
from tests.unit.dialects.slurm.submit_parts import spec

ASKED = (
    *(
        "-n",
        "4",
        "-N",
        "2",
        "--ntasks-per-node=2",
        "-c",
        "3",
        "--comment",
        "a b",
        "--exclusive",
        "--tmp=2G",
        "-w",
        "vm",
    ),
    *("-x", "bad[1-2]", "--time-min=2", "-t", "10", "-o", "out.%j", "-i", "in", "--threads-per-core=2", "--wrap=true"),
)


def made(*argv: str) -> JobRecord:
    return replace(
        record(7, **RUNNING), spec=replace(spec(*argv, environ={}), script_path="/s", script_args=("x", "y"))
    )


def show(job: JobRecord, *argv: str, group: str = "staff") -> str:
    options = read_options(["-h", "-t", "all", *argv], {}, "tester")
    detail = values([job], view_of(options, NOW, UTC), lambda _gid: group)
    return format_queue([row_of(job)], options, NOW, UTC, detail=detail).rstrip("\n")


def test_tables_agree() -> None:
    assert VALUES.keys() == DETAILED
    assert {name for name in DETAILED if len(name) == 1} <= LETTERS.keys()
    assert {name for name in DETAILED if len(name) > 1} <= NAMES.keys()


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("%k", "a b"),
        ("%g %G", "staff 1002"),
        ("%h", "NO"),
        ("%n %x", "vm bad[1-2]"),
        ("%o", "/s x y"),
        ("%d", "2G"),
        ("%H %I %J %z", "* * 2 *:*:2"),
    ],
)
def test_letters(form: str, expected: str) -> None:
    assert show(made(*ASKED), "-o", form) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Comment", "a b"),
        ("NumTasks", "4"),
        ("cpus-per-task", "3"),
        ("NTPerNode", "2"),
        ("NTPerCore", "N/A"),
        ("MinTime", "2:00"),
        ("Deadline", "N/A"),
        ("StdOut", "/work dir/out.7"),
        ("StdErr", "/work dir/out.7"),
        ("StdIn", "/work dir/in"),
        ("BatchFlag", "1"),
        ("OverSubscribe", "NO"),
    ],
)
def test_names(name: str, expected: str) -> None:
    assert show(made(*ASKED), "-O", f"{name}:") == expected


def test_a_job_that_requested_none_of_it() -> None:
    job = replace(record(7), spec=replace(record(7).spec, script_path=None, script_args=()))
    assert show(job, "-o", "%k|%h|%n|%x|%o|%d|%z", group="") == "(null)|OK|||(null)|0|*:*:*"
    assert show(job, "-o", "%g %G", group="") == "1002 1002"


def test_salloc_has_no_files() -> None:
    job = replace(record(7), spec=replace(record(7).spec, interactive=Interactive.ALLOCATION))
    assert show(job, "-O", "BatchFlag:|,StdErr:|,StdIn:|") == "0|N/A|(null)|"
    text = format_job(job, NOW, UTC)
    assert " BatchFlag=0 " in text
    assert "StdOut=" not in text
    assert squeue_json.job(ShownJob(job))["batch_flag"] is False


def test_only_these_take_records() -> None:
    assert not needs_records(columns_of(read_options([], {}, "tester")))
    assert not needs_records(columns_of(read_options(["-O", "JobID,Name,State"], {}, "tester")))
    assert needs_records(columns_of(read_options(["-o", "%i %k"], {}, "tester")))
    assert needs_records(columns_of(read_options(["-O", "JobID,StdOut"], {}, "tester")))
    assert [detail_of(key) for key in ("comment", "k", "jobid", "no such")] == ["k", "k", None, None]


def test_without_a_record_it_is_as_if_not_requested() -> None:
    job = made(*ASKED)
    options = read_options(["-h", "-o", "%k|%h"], {}, "tester")
    detail = values([], view_of(options, NOW, UTC), str)
    assert format_queue([row_of(job)], options, NOW, UTC, detail=detail) == "(null)|OK\n"
