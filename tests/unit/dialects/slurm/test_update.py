"""scontrol update: its command line, and what it makes of a job."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hpcbatch.dialects.slurm import states
from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.dialects.slurm.read_request import read_option, request_of
from hpcbatch.dialects.slurm.request import Request
from hpcbatch.dialects.slurm.sizes import SIZE_ATTRIBUTES, size_attributes, size_of
from hpcbatch.dialects.slurm.submit import node_range, read_submission
from hpcbatch.dialects.slurm.update import RELEASE, altered, read_update, without_sizes
from hpcbatch.errors import HpcBatchError, NotSupportedError
from hpcbatch.model.array import Array
from hpcbatch.model.dependency import DependencyKind
from hpcbatch.model.indices import Indices
from hpcbatch.model.record import JobRecord
from hpcbatch.model.spec import Arrangement, JobSpec, Output
from hpcbatch.model.state import JobState, Reason
from tests.unit.dialects.slurm.jobs import record

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
MIB = 1024**2


def submitted(*argv: str) -> JobSpec:
    return read_submission(
        [*argv, "--wrap", "true"],
        script=lambda _: (None, b""),
        environ={},
        cwd="/w",
        host="h",
        user="u",
        server="c",
        now=NOW,
        umask=0o22,
    ).submission.spec


def job(*argv: str, state: JobState = JobState.QUEUED, **status: Any) -> JobRecord:
    made = record(12, state=state)
    return replace(made, spec=submitted(*argv), status=replace(made.status, layout=(), **status))


def updated(*words: str, before: JobRecord | None = None) -> JobSpec:
    return altered(read_update(["JobId=12", *words]), before or job(), NOW)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("TimeLimit=5",), {"walltime_s": 300}),
        (("timelimit=1:00:00",), {"walltime_s": 3600}),
        (("TimeLimit=UNLIMITED",), {"walltime_s": None}),
        (("TimeLimit", "1-0"), {"walltime_s": 86400}),
        (("Name=n",), {"name": "n"}),
        (("JobName=n",), {"name": "n"}),
        (("Partition=p",), {"queue": "p"}),
        (("Account=a",), {"account": "a"}),
        (("Acc=",), {"account": None}),
        (("Requeue=0",), {"rerunnable": False}),
        (("Nice=7",), {"nice": 7}),
        (("Nice",), {"nice": 100}),
        (("StdOut=%x.txt",), {"stdout": Output(path="/w/%x.txt")}),
        (("StdOut=none",), {"stdout": Output(path="/dev/null")}),
        (("WorkDir=/else",), {"work_dir": "/else"}),
        (("StartTime=now+1hour",), {"begin_time": NOW + timedelta(hours=1)}),
        (("EligibleTime=2020-01-01",), {"begin_time": NOW}),
        (("MailType=END,FAIL", "MailUser=a@b"), {"mail_points": "END,FAIL", "mail_users": ("a@b",)}),
        (("MailType=END",), {"mail_users": ("tester",)}),
        (("Dependency=",), {"dependency": None}),
        (("Partition=p,q,",), {"queue": "p", "other_queues": ("q",)}),
        (("ReqNodeList=n[1-2]", "ExcNodeList=m"), {"required_hosts": ("n1", "n2"), "excluded_hosts": ("m",)}),
        (("NodeList=",), {"required_hosts": ()}),
        (("Licenses=a:2,b",), {"licenses": (("a", 2), ("b", 1))}),
        (("Deadline=now+1hour",), {"deadline": NOW + timedelta(hours=1)}),
        (("MinMemoryNode=0",), {"whole_node_mem": True}),
        (("TimeMin=3",), {"min_walltime_s": 180}),
    ],
    ids=str,
)
def test_fields(words: tuple[str, ...], expected: dict[str, Any]) -> None:
    found = updated(*words)
    assert {name: getattr(found, name) for name in expected} == expected


def test_kept_ones_and_a_dependency() -> None:
    found = updated("Comment=a b", "QOS=q", "WCKey=w")
    assert {name: found.attributes[name] for name in ("comment", "qos", "wckey")} == {
        "comment": "a b",
        "qos": "q",
        "wckey": "w",
    }
    assert "comment" not in updated("Comment=", before=job("--comment=x")).attributes
    dependency = updated("Dependency=afterok:3").dependency
    assert dependency is not None
    assert [clause.kind for clause in dependency.clauses] == [DependencyKind.AFTER_OK]


@pytest.mark.parametrize(
    ("words", "expected_s"),
    [
        (("TimeLimit+=5",), 900),
        (("TimeLimit=+5",), 900),
        (("TimeLimit-=5",), 300),
        (("TimeLimit=-5",), 300),
        (("TimeLimit=-1",), None),
        (("TimeLimit=+1:00:00",), 4200),
    ],
    ids=str,
)
def test_more_and_less_time(words: tuple[str, ...], expected_s: int | None) -> None:
    assert updated(*words, before=job("-t", "10", walltime_s=600)).walltime_s == expected_s


def test_less_time_than_there_is() -> None:
    with pytest.raises(SlurmUsageError) as caught:
        updated("TimeLimit-=20", before=job("-t", "10", walltime_s=600))
    assert caught.value.text == "scontrol: error: TimeLimit decrement larger than current time limit (20 > 10)"
    array = job("-t", "10", walltime_s=600)
    array = replace(array, spec=replace(array.spec, array=Array(indices=Indices.parse("1-3"))))
    with pytest.raises(SlurmUsageError, match="not supported for job arrays"):
        updated("TimeLimit+=20", before=array)


def test_the_end_of_a_running_job() -> None:
    running = job(state=JobState.RUNNING, start_time=NOW - timedelta(minutes=10))
    assert updated("EndTime=now+5minutes", before=running).walltime_s == 900
    with pytest.raises(SlurmUsageError, match="Job is not running"):
        updated("EndTime=now+5minutes")
    with pytest.raises(SlurmUsageError, match="Job is no longer pending execution"):
        updated("StartTime=now+5minutes", before=running)


@pytest.mark.parametrize(
    ("before", "words", "sizes"),
    [
        # count, cpus, ranks, MiB of each chunk
        ((), ("NumNodes=2",), [(2, 1, 1, None)]),
        (("-N", "2", "-n", "4"), ("NumTasks=8",), [(2, 4, 4, None)]),
        (("-N", "2", "-n", "4"), ("NumNodes=4",), [(4, 1, 1, None)]),
        (("-n", "4"), ("NumTasks=6",), [(6, 1, 1, None)]),
        (("-n", "4", "-c", "2"), ("NumCPUs=6",), [(3, 2, 1, None)]),
        (("-N", "2", "-c", "2"), ("CPUsPerTask=3",), [(2, 3, 1, None)]),
        (("-N", "2"), ("TasksPerNode=3",), [(2, 3, 3, None)]),
        (("-N", "2", "--mem=100"), ("MinMemoryNode=200",), [(2, 1, 1, 200)]),
        (("-N", "2", "--mem=100"), ("MinMemoryCPU=50",), [(2, 1, 1, 50)]),
        (("-N", "1", "--mem-per-cpu=10", "-n", "2"), ("MinMemoryNode=500",), [(1, 2, 2, 500)]),
        (("-N", "1"), ("ReqNodes=3", "ReqProcs=6"), [(3, 2, 2, None)]),
    ],
    ids=str,
)
def test_sizes(before: tuple[str, ...], words: tuple[str, ...], sizes: list[tuple[int, int, int, int | None]]) -> None:
    found = updated(*words, before=job(*before))
    shown = [(c.count, c.cpus, c.ranks, None if c.mem_bytes is None else c.mem_bytes // MIB) for c in found.chunks]
    assert shown == sizes


def test_generic_resources_and_features() -> None:
    before = job("-N", "2", "--gres=gpu:1,shm:2", "-C", "a")
    found = updated("Gres=gpu:4", "Features=b&c", before=before)
    assert [dict(chunk.resources) for chunk in found.chunks] == [{"gpu": 4}]
    assert [chunk.properties for chunk in found.chunks] == [("b", "c")]
    assert (found.attributes["tres_per_node"], found.attributes["constraint"]) == ("gres:gpu:4", "b&c")
    assert dict(updated("NumNodes=3", before=before).chunks[0].resources) == {"gpu": 1, "shm": 2}


@pytest.mark.parametrize(
    "argv",
    [
        (),
        ("-N", "3"),
        ("-n", "7"),
        ("-N", "2-4", "-n", "8"),
        ("-N", "2", "--ntasks-per-node=3", "-c", "2"),
        ("-n", "5", "--mem=100"),
        ("-N", "2", "--mem-per-cpu=10"),
        ("-N", "2", "--gres=gpu:2,x:1", "-C", "a&b"),
        ("--gpus=4", "-N", "2"),
        ("--gpus-per-node=a100:2", "-N", "2", "--gres=shm:1"),
        ("-n", "4", "--gpus-per-task=1"),
        ("-N", "1", "--gpus=2", "--cpus-per-gpu=3", "--mem-per-gpu=100"),
        ("-N", "2", "--mem=0", "--tmp=1G", "--mincpus=4"),
        ("-n", "16", "-O", "-c", "2"),
        ("-w", "n[1-3]"),
        ("-N", "1", "-B", "1:8:1"),
        ("-N", "2", "--hint=memory_bound"),
        ("-N", "2", "-n", "8", "--ntasks-per-gpu=2"),
        ("-N", "2", "--gpus-per-socket=a100:2", "--sockets-per-node=2", "--gres=shm:1"),
        ("-C", "[a*1&b*2]"),
        ("-N", "2", "-C", "[a|b]&c"),
    ],
    ids=str,
)
def test_what_was_asked_for_is_read_again_from_the_job(argv: tuple[str, ...]) -> None:
    spec = submitted(*argv)
    request = request_of(spec)
    size = size_of(request, node_range(request))
    assert (size.chunks, size.arrangement) == (spec.chunks, spec.arrangement)
    assert (size.mem_per_pod_bytes, size.resources_per_pod) == (spec.mem_per_pod_bytes, spec.resources_per_pod)
    again = updated("Comment=x", "NumTasks=" + spec.attributes["ntasks"], before=job(*argv)) if "-n" in argv else spec
    assert (again.chunks, again.arrangement) == (spec.chunks, spec.arrangement)


def test_sizes_asked_before_in_other_words_are_forgotten() -> None:
    found = updated("MinMemoryCPU=50", before=job("-N", "2", "--mem=100", "--comment=c"))
    assert {"mem_per_cpu_mb", "nodes", "comment"} <= found.attributes.keys()
    assert "mem_per_node_mb" not in found.attributes
    assert without_sizes(found).attributes == {"comment": "c"}
    everything = (
        "-N",
        "2",
        "-n",
        "4",
        "-c",
        "1",
        "--ntasks-per-node=2",
        "--gpus-per-node=1",
        "--gres=x:1",
        "-C",
        "a",
        "--mem-per-cpu=1",
        "--mem-per-gpu=1",
        "--cpus-per-gpu=1",
        "--mem=1",
        "--gpus=2",
        "--gpus-per-task=1",
    )
    request = Request()
    for name, value in ((word, "1") for word in everything if word.startswith("--")):
        option, _, given = name.removeprefix("--").partition("=")
        read_option(request, option, given or value, NOW)
    assert size_attributes(request, (1, 2)).keys() <= SIZE_ATTRIBUTES


def test_the_size_of_a_heterogeneous_job_stays() -> None:
    spec = submitted("-n1", "--comment=x")
    before = replace(job(), spec=replace(spec, attributes={**spec.attributes, "het_size": "2"}))
    assert updated("Comment=y", before=before).attributes["comment"] == "y"
    with pytest.raises(SlurmUsageError, match="Requested operation not supported on this system"):
        updated("NumTasks=2", before=before)


def test_tmp_and_cpus_of_a_node() -> None:
    found = updated("MinTmpDiskNode=100", "MinCPUsNode=3", before=job("-N", "2"))
    assert [(c.count, c.cpus, c.tmp_bytes) for c in found.chunks] == [(2, 3, 100 * MIB)]


def test_a_filled_job_becomes_a_scattered_one() -> None:
    assert updated("NumNodes=2", before=job("-n", "4")).arrangement is Arrangement.SCATTER


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("JobId=1", "Foo=1"), "Update of this parameter is not supported: Foo=1\nRequest aborted"),
        (("JobId=1",), "No changes specified"),
        (("JobId=1", "TimeLimit"), "Invalid input: TimeLimit\nRequest aborted"),
        (("JobId=1", "TimeLimit=x"), "scontrol: error: Invalid TimeLimit value"),
        (("JobId=1", "TimeLimit+=+3"), "scontrol: error: Invalid syntax, variations of +=- are not accepted."),
        (("TimeLimit+=3", "JobId=1"), "scontrol: error: JobId must precede TimeLimit increment or decrement"),
        (("JobId=1", "Name+=3"), "scontrol: error: Option Name does not accept [+|-]= syntax"),
        (("JobId=1", "Priority=-1"), "scontrol: error: Invalid Priority value: -1"),
        (("JobId=1", "Priority=4294967296"), "scontrol: error: Invalid Priority value: 4294967296"),
        (("JobId=1", "Nice=99999999999"), "scontrol: error: Nice value out of range (+/- 2147483645). Value ignored"),
        (("JobId=1", "NumTasks=0"), "scontrol: error: Invalid NumTasks value: 0"),
        (("JobId=1", "NumCPUs=x"), "scontrol: error: Invalid NumCPUs value: x"),
        (("JobId=1", "MinMemoryNode=5G"), "scontrol: error: Invalid MinMemoryNode value: 5G"),
        (("JobId=1", "Requeue=x"), "scontrol: error: Invalid Requeue value: x"),
        (("JobId=1", "ArrayTaskThrottle=-1"), "scontrol: error: Invalid ArrayTaskThrottle value"),
        (("JobId=1", "MailType=x"), "Invalid MailType: x"),
        (
            ("Foo=1",),
            'No valid entity in update command\nInput line must include "NodeName", "PartitionName", '
            '"Reservation", "JobId", or "SlurmctldDebug"',
        ),
    ],
    ids=str,
)
def test_command_lines_that_are_refused(words: tuple[str, ...], text: str) -> None:
    with pytest.raises(SlurmUsageError) as caught:
        read_update(words)
    assert (caught.value.text, caught.value.code) == (text, 1)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("NumNodes=0-x",), ""),
        (("Gres=gpu:a:b:c",), "Invalid generic resource (gres) specification"),
        (("Features=a b",), "Invalid feature specification"),
        (("Dependency=foo:1",), "Job dependency problem"),
        (("ReqNodeList=n[",), "Invalid node name specified"),
        (("Licenses=a:x",), "Invalid license specification"),
        (("Deadline=nonsense",), "Invalid time specification (pos=0): nonsense"),
        (("StartTime=nonsense",), "Invalid time specification (pos=0): nonsense"),
    ],
    ids=str,
)
def test_values_that_are_refused_for_a_job(words: tuple[str, ...], text: str) -> None:
    with pytest.raises(SlurmUsageError) as caught:
        updated(*words)
    assert text in caught.value.text


@pytest.mark.parametrize("words", [["JobId=1", "Contiguous=1"], ["JobId=1", "Switches=1"], ["NodeName=a", "State=x"]])
def test_not_supported(words: list[str]) -> None:
    with pytest.raises(NotSupportedError):
        read_update(words)


def test_which_jobs_are_meant() -> None:
    assert read_update(["JobId=1,2_[3-4],5", "Nice"]).ids == ("1", "2_[3-4]", "5")
    assert read_update(["job", "7", "nice=3"]).ids == ("7",)
    found = read_update(["JobName=x", "Nice=1"])
    assert (found.ids, found.job_name) == ((), "x")
    assert read_update(["JobId=1", "JobName=x"]).job_name == ""
    assert read_update(["JobId=1", "ArrayTaskThrottle=5"]).array_limit == 5


def test_priority() -> None:
    """It is shown as it was given, and takes the place of nice; 0 and INFINITE hold and release, which is no change."""
    before = job("--nice=50")
    for number in (1, 100, 4294901760, 4294967294):
        spec = updated(f"Priority={number}", before=before)
        assert states.priority(12, JobState.QUEUED, spec.priority - spec.nice, Reason.NONE) == number
        assert spec.nice == 0
    for number in (0, RELEASE):
        assert updated(f"Priority={number}", before=before) == before.spec
    assert updated("Priority=2000", before=before).fixed_priority == 2000, "it stays, whatever factors there are"
    fixed = replace(before, spec=replace(before.spec, fixed_priority=2000))
    assert updated(f"Priority={RELEASE}", before=fixed).fixed_priority is None
    with pytest.raises(SlurmUsageError, match="Job is in held state, pending scheduler release"):
        updated("Priority=5", before=job("-H"))


def test_any_words_are_read_or_refused_on_purpose() -> None:
    for tag in ("TimeLimit", "NumNodes", "Nice", "Priority", "Gres", "Features", "StartTime", "Dependency", "JobId"):
        for value in ("", "0", "-1", "x", "1-", "[", "=", "+", "é", "1" * 40):
            try:
                updated(f"{tag}={value}")
            except HpcBatchError as error:
                assert str(error)
