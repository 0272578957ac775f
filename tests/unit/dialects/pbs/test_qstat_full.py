from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.dialects.pbs.cjson import dump, parsed
from hpcbatch.dialects.pbs.ids import row_id
from hpcbatch.dialects.pbs.qstat_full import (
    Attributes,
    format_dsv,
    format_full,
    format_json,
    full_attributes,
    resource_list,
)
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dependency import DependencyProgress
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.record import ExecHost, JobRecord
from hpcbatch.model.spec import JobSpec, Output
from hpcbatch.model.state import JobState, Reason
from hpcbatch.record.rows import row_of

from .jobs import NOW, RUNNING_HOST, STARTED, VARIABLES, record, recorded

FAILED_AT = datetime(2026, 11, 21, 2, 56, 31, tzinfo=UTC)
RUNNING = record(
    85,
    state=JobState.RUNNING,
    hosts=RUNNING_HOST,
    session_id=11171,
    start_time=STARTED,
    eligible_time=STARTED,
    run_count=1,
    shown={"Submit_arguments": "-v T=40 psleep.sh"},
)
_HELD = record(88, "held", JobState.HELD, shown={"Submit_arguments": "-h -N held psleep.sh"})
HELD = replace(_HELD, spec=replace(_HELD.spec, hold=True))
DEPENDENT = record(
    89,
    "dep",
    JobState.HELD,
    reason=Reason.DEPENDENCY,
    dependency=DependencyProgress(left="afterok:87"),
    shown={"Submit_arguments": "-N dep -W depend=afterok:87.pbs1 psleep.sh"},
)
FAILED = record(
    102,
    "failer",
    JobState.FAILED,
    reason=Reason.NON_ZERO_EXIT,
    walltime_s=None,
    hosts=RUNNING_HOST,
    submit_time=FAILED_AT,
    eligible_time=FAILED_AT,
    start_time=FAILED_AT,
    end_time=FAILED_AT + timedelta(seconds=1),
    walltime_used_s=0,
    exit_code=3,
    run_count=1,
    shown={"Submit_arguments": "pfail.sh", "Resource_List.place": "pack"},
)
WITH_T = {**VARIABLES, "T": "40"}


def attributes(job: JobRecord, environment: dict[str, str] | None = None, now: datetime = STARTED) -> Attributes:
    return full_attributes(job, VARIABLES if environment is None else environment, now, UTC)


def value(job: JobRecord, name: str) -> object:
    return dict(attributes(job)).get(name)


@pytest.mark.parametrize(
    ("job", "environment", "name"),
    [
        (RUNNING, WITH_T, "qstat_f_running.txt"),
        (HELD, VARIABLES, "qstat_f_held.txt"),
        (DEPENDENT, VARIABLES, "qstat_f_dependent.txt"),
        (FAILED, VARIABLES, "qstat_f_failed.txt"),
    ],
    ids=["running", "held", "dependent", "failed"],
)
def test_full_text_is_the_recorded_one(job: JobRecord, environment: dict[str, str], name: str) -> None:
    text = format_full(f"Job Id: {row_id(row_of(job))}", attributes(job, environment))
    assert text == recorded(name).replace("pbs1/1", "pbs1/0")


def test_dsv_is_the_recorded_one() -> None:
    assert format_dsv("Job Id: 85.pbs1", attributes(RUNNING, WITH_T)) == recorded("qstat_dsv_running.txt")


@pytest.mark.parametrize(
    ("job", "environment", "name", "timestamp"),
    [
        (RUNNING, WITH_T, "qstat_json_running.txt", 1795229697),
        (FAILED, VARIABLES, "qstat_json_failed.txt", 1795229818),
    ],
    ids=["running", "failed"],
)
def test_json_is_the_recorded_one(job: JobRecord, environment: dict[str, str], name: str, timestamp: int) -> None:
    now = datetime.fromtimestamp(timestamp, UTC)
    text = format_json({row_id(row_of(job)): attributes(job, environment)}, now=now, server="pbs1")
    assert text == recorded(name).replace("pbs1/1", "pbs1/0")


def test_json_without_jobs_is_the_recorded_one() -> None:
    assert format_json({}, now=datetime.fromtimestamp(1795229703, UTC), server="pbs1") == recorded(
        "qstat_json_none.txt"
    )


def test_json_holds_all_jobs() -> None:
    text = format_json({row_id(row_of(j)): attributes(j) for j in (RUNNING, HELD, FAILED)}, now=NOW, server="pbs1")
    assert list(json.loads(text)["Jobs"]) == ["85.pbs1", "88.pbs1", "102.pbs1"]


def test_delimiter_in_a_value_is_escaped() -> None:
    job = record(1, shown={"Submit_arguments": "a,b\\c"})
    assert "Submit_arguments=a\\,b\\\\c," in format_dsv("Job Id: 1.pbs1", attributes(job), delimiter=",")


def test_wide_keeps_an_attribute_on_its_line() -> None:
    text = format_full("Job Id: 85.pbs1", attributes(RUNNING, {**WITH_T, "F": "a\nb"}), wide=True)
    assert all(line.startswith("    ") for line in text.splitlines()[1:-1])
    assert ",F=a\\nb," in text


def test_long_comment_is_broken_within_a_word() -> None:
    job = record(
        105, "toolong", JobState.TIMEOUT, hosts=RUNNING_HOST, start_time=FAILED_AT, end_time=FAILED_AT, run_count=1
    )
    text = format_full("Job Id: 105.pbs1", attributes(job))
    assert "(pbs1:ncpus=1) and exceeded res\n\tource walltime\n" in text


def test_two_pods_with_memory() -> None:
    chunk = Chunk(count=2, cpus=4, mem_bytes=1 << 30)
    hosts = (ExecHost(node="n1", pod="a-0", cpus=4), ExecHost(node="n2", pod="a-1", cpus=4))
    job = record(1, state=JobState.RUNNING, chunks=(chunk,), layout=(chunk,), hosts=hosts, start_time=STARTED)
    assert value(job, "exec_host") == "n1/0*4+n2/0*4"
    assert value(job, "exec_vnode") == "(n1:ncpus=4:mem=1048576kb)+(n2:ncpus=4:mem=1048576kb)"
    assert value(job, "comment") == f"Job run at Sat Nov 21 at 02:54 on {value(job, 'exec_vnode')}"


def test_measured_usage() -> None:
    job = replace(FAILED, status=replace(FAILED.status, walltime_used_s=100, cpu_used_s=150, max_rss_bytes=5 << 20))
    assert value(job, "resources_used") == {
        "cpupercent": "150",
        "cput": "00:02:30",
        "mem": "5120kb",
        "ncpus": "1",
        "vmem": "5120kb",
        "walltime": "00:01:40",
    }


def test_reader_without_the_environment_sees_what_the_record_tells() -> None:
    variables = dict(full_attributes(RUNNING, None, STARTED, UTC))["Variable_List"]
    assert variables == {
        "PBS_O_HOME": "/home/tester",
        "PBS_O_LOGNAME": "tester",
        "PBS_O_WORKDIR": "/home/tester",
        "PBS_O_SYSTEM": "Linux",
        "PBS_O_QUEUE": "workq",
        "PBS_O_HOST": "pbs1",
    }


def test_deleted_jobs() -> None:
    waiting = record(134, state=JobState.DELETED, end_time=NOW, deleted_by="tester")
    assert (value(waiting, "Exit_status"), value(waiting, "comment"), value(waiting, "substate")) == (None, None, "91")
    ran = replace(waiting, status=replace(waiting.status, start_time=STARTED, hosts=RUNNING_HOST))
    assert value(ran, "Exit_status") == "271"
    assert str(value(ran, "comment")).endswith("(pbs1:ncpus=1) and terminated by tester@pbs1")


def test_asked_attributes_are_shown() -> None:
    spec = replace(
        HELD.spec,
        account="acc",
        mail_users=("a@b", "c"),
        stdout=Output(path="/d/out"),
        stderr=None,
        rerunnable=False,
        priority=-5,
        command=("/bin/echo", "a<b", "c"),
        begin_time=NOW,
        attributes={**HELD.spec.attributes, "umask": "22", "Join_Path": "oe", "Error_Path": "/d/err"},
    )
    shown = dict(attributes(replace(HELD, spec=spec)))
    assert shown["Account_Name"] == "acc"
    assert shown["Mail_Users"] == "a@b,c"
    assert (shown["Output_Path"], shown["Error_Path"]) == ("pbs1:/d/out", "pbs1:/d/err")
    assert (shown["Rerunable"], shown["Priority"], shown["umask"]) == ("False", "-5", "22")
    assert shown["executable"] == "<jsdl-hpcpa:Executable>/bin/echo</jsdl-hpcpa:Executable>"
    tag = "jsdl-hpcpa:Argument"
    assert shown["argument_list"] == f"<{tag}>a&lt;b</{tag}><{tag}>c</{tag}>"
    assert shown["Execution_Time"] == "Sat Nov 21 02:54:57 2026"


def test_a_directory_of_its_own() -> None:
    asked = {**RUNNING.spec.attributes, "sandbox": "PRIVATE"}
    job = replace(RUNNING, spec=replace(RUNNING.spec, attributes=asked))
    assert (value(job, "sandbox"), value(job, "jobdir")) == ("PRIVATE", "/home/tester/pbs.85.pbs1.x8z")
    waiting = replace(HELD, spec=replace(HELD.spec, attributes=asked))
    assert (value(waiting, "sandbox"), value(waiting, "jobdir")) == ("PRIVATE", None)


def test_job_of_another_dialect_has_resources_too() -> None:
    chunk = Chunk(count=2, cpus=4, ranks=4, mem_bytes=1 << 30)
    spec = replace(HELD.spec, dialect=Dialect.SLURM, chunks=(chunk,), attributes={"ntasks": "8"})
    assert value(replace(HELD, spec=spec), "Resource_List") == {
        "mem": "2gb",
        "mpiprocs": "8",
        "ncpus": "8",
        "nodect": "2",
        "place": "free",
        "select": "2:ncpus=4:mpiprocs=4:mem=1gb",
        "walltime": "00:10:00",
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("40", "40"),
        ("-3", "-3"),
        ("007", "7"),
        ("1.5", "1.5"),
        ("1e5", "100000"),
        ("12345678901", "12345678901"),
        ("00:10:00", '"00:10:00"'),
        ("4gb", '"4gb"'),
        ("", '""'),
        ("True", '"True"'),
        ("true", "true"),
        ("null", "null"),
        ("+5", '"+5"'),
        ("1-2", '"1-2"'),
        ("[1, 2]", "[1, 2]"),
        ('"x"', '"x"'),
        ("{bad", '"{bad"'),
        ('a"b\\c\x01', '"a\\"b\\\\c\\u0001"'),
        ("1e999", "null"),
        ("0.1", "0.1"),
        ("é", '"é"'),
    ],
)
def test_values_that_spell_json(text: str, expected: str) -> None:
    assert dump(parsed(text)) == expected


@given(
    st.dictionaries(
        st.text(), st.one_of(st.text(), st.integers(-(2**31), 2**31), st.dictionaries(st.text(), st.text()))
    )
)
def test_dump_is_json(value: dict[str, object]) -> None:
    assert json.loads(dump(value), strict=False) == value  # type: ignore[arg-type]


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=300))
def test_any_value_gives_valid_json_and_no_error(text: str) -> None:
    job = record(1, shown={"Submit_arguments": text})
    found = attributes(job, {"X": text})
    json.loads(format_json({"1.pbs1": found}, now=NOW, server="pbs1"), strict=False)
    format_full("Job Id: 1.pbs1", found)
    assert format_dsv("Job Id: 1.pbs1", found).count("\n") == 1


def test_a_job_of_another_dialect_is_shown_with_all_that_it_asks_of_nodes() -> None:
    chunk = Chunk(cpus=2, words=(("gpu_model", "a100"),), properties=("ib",), lacks=("old",), hosts=("n1",))
    spec = JobSpec(dialect=Dialect.SLURM, name="x", chunks=(chunk,), words=(("filesystems", "home"),))
    found = resource_list(replace(record(12), spec=spec))
    assert found["select"] == "1:ncpus=2:mpiprocs=1:gpu_model=a100:ib=True:old=False:host=n1"
    assert found["filesystems"] == "home"
