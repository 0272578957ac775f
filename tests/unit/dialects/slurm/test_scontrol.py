"""scontrol: recorded records, nodes and partitions, and its command line."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.dialects.slurm.errors import SlurmAnswer, SlurmUsageError, describe
from hpcbatch.dialects.slurm.scontrol import (
    format_hosts,
    format_job,
    format_node,
    format_partition,
)
from hpcbatch.dialects.slurm.scontrol_command import Verb, read_command, read_job
from hpcbatch.dialects.slurm.scontrol_show import format_ping
from hpcbatch.dialects.slurm.values import MAX_COUNT
from hpcbatch.errors import HpcBatchError, NotSupportedError
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.cpu_topology import CpuTopology
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.record import ExecHost, JobRecord, Suspension
from hpcbatch.model.spec import JobSpec, Output, Sharing
from hpcbatch.model.state import JobState, Reason
from hpcbatch.model.step import StepRecord
from tests.unit.dialects.slurm.jobs import NODE, NOW, QUEUE, QUEUES, SUBMITTED, record, recorded
from tests.unit.dialects.slurm.submit_parts import spec

FAILED = record(
    113,
    "failer",
    JobState.FAILED,
    Reason.NON_ZERO_EXIT,
    args=(),
    path="/home/tester/fail.sh",
    walltime_s=3600,
    exit_code=3,
)


def masked(text: str) -> str:
    """Without what depends on the recorded cluster's scheduler and its memory settings."""
    text = re.sub(r"Priority=[1-9]\d*", "Priority=P", text)
    text = re.sub(r"LastSchedEval=\S+ Scheduler=\w+", "LastSchedEval", text)
    return text.replace(",mem=20000M", "")


def by_id(job_id: int) -> JobRecord:
    return next(job for job in QUEUE if job.job_id == job_id)


def test_where_a_job_may_run_and_what_it_holds() -> None:
    words = (
        "-p debug,long -w n[1-2] -x m1 -L a:2,b --tmp=2G --deadline=now+1day -i in.%j --reservation=r -n2 --mincpus=4"
    )
    more = "--ntasks-per-socket=1 --ntasks-per-core=2 -C a|b --threads-per-core=1"
    asked = spec(*words.split(), *more.split())
    lines = format_job(replace(by_id(87), spec=asked), NOW, UTC)
    for text in (
        "Partition=debug,long AllocNode:Sid=",
        "ReqNodeList=n[1-2] ExcNodeList=m1",
        "Licenses=a:2,b Network=(null)",
        "MinCPUsNode=4 MinMemoryNode=0 MinTmpDiskNode=2G",
        "Deadline=2026-11-22T12:03:15",
        "StdIn=/work dir/in.87",
        "Reservation=r\n   OverSubscribe=OK",
        "ReqB:S:C:T=0:0:*:1",
        "NtasksPerN:B:S:C=0:0:1:2 CoreSpec=*",
        "Features=a|b DelayBoot",
    ):
        assert text in lines
    started = replace(by_id(85), spec=asked)
    assert "Partition=debug AllocNode" in format_job(started, NOW, UTC)


@pytest.mark.parametrize("job_id", [85, 88, 89])
def test_recorded_job(job_id: int) -> None:
    found = format_job(by_id(job_id), NOW, UTC, group="tester")
    assert masked(found) == masked(recorded(f"scontrol-{job_id}.txt"))


def test_recorded_details() -> None:
    """All but the CPUs, which nobody knows."""
    found = format_job(by_id(85), NOW, UTC, group="tester", has_details=True)
    assert masked(found) == masked(recorded("scontrol-d-85.txt")).replace("CPU_IDs=0 ", "CPU_IDs= ")
    line = format_job(by_id(85), NOW, UTC, True, has_details=True)
    assert " JOB_GRES=(null) Nodes=vm CPU_IDs= Mem=0 GRES= MinCPUsNode=1 " in line
    assert "CPU_IDs" not in format_job(by_id(90), NOW, UTC, has_details=True), "it waits"


def test_details_of_several_nodes() -> None:
    job = by_id(85)
    layout = (
        Chunk(count=2, cpus=2, mem_bytes=2**30, resources=(("gpu", 2),)),
        Chunk(count=2, cpus=1, mem_bytes=1, resources=(("fpga", 1),)),
    )
    hosts = tuple(ExecHost(node=node, pod=f"p{at}", cpus=1) for at, node in enumerate(("n1", "n2", "n7", "n7")))
    steps = (
        StepRecord(number=0, start_time=SUBMITTED, end_time=SUBMITTED, exit_code=3),
        StepRecord(number=1, start_time=SUBMITTED, end_time=SUBMITTED, exit_signal=9),
        StepRecord(number=2, start_time=SUBMITTED),
    )
    found = format_job(
        replace(job, status=replace(job.status, layout=layout, hosts=hosts, steps=steps)), NOW, UTC, has_details=True
    )
    assert "   DerivedExitCode=3:0\n" in found
    assert (
        "   JOB_GRES=fpga:2,gpu:4\n"
        "     Nodes=n[1-2] CPU_IDs= Mem=1024 GRES=gpu:2\n"
        "     Nodes=n7 CPU_IDs= Mem=1 GRES=fpga:2\n"
    ) in found


def test_recorded_waiting_job() -> None:
    assert masked(format_job(by_id(90), NOW, UTC, group="tester")) == masked(recorded("scontrol-90.txt"))


def test_recorded_failed_job() -> None:
    at = SUBMITTED + timedelta(seconds=162)
    status = replace(
        FAILED.status,
        submit_time=at,
        eligible_time=at,
        start_time=at + timedelta(seconds=1),
        end_time=at + timedelta(seconds=1),
        hosts=by_id(85).status.hosts,
        run_count=1,
    )
    found = format_job(replace(FAILED, status=status), NOW, UTC, group="tester")
    assert masked(found) == masked(recorded("scontrol-113.txt"))


def test_when_a_job_was_suspended_or_resumed_last() -> None:
    job = by_id(85)
    start = job.status.start_time
    assert start is not None
    at = [start + timedelta(seconds=seconds) for seconds in (10, 30, 45)]
    once = Suspension(start_time=at[0], end_time=at[1], is_resumed=True)
    for suspensions, shown in (
        ((once,), f"SuspendTime={at[1]:%Y-%m-%dT%H:%M:%S} SecsPreSuspend=10 "),
        ((once, Suspension(start_time=at[2])), f"SuspendTime={at[2]:%Y-%m-%dT%H:%M:%S} SecsPreSuspend=25 "),
    ):
        assert shown in format_job(replace(job, status=replace(job.status, suspensions=suspensions)), NOW, UTC)


def test_contiguous_is_shown_as_it_was_requested() -> None:
    for words, shown in (((), 0), (("--contiguous",), 1), (("--container-workdir=/x",), 0)):
        job = record(7, "nodes")
        text = format_job(replace(job, spec=replace(job.spec, ignored=spec(*words).ignored)), NOW, UTC)
        assert f" Contiguous={shown} " in text


@pytest.mark.parametrize(
    ("walltime_s", "limit"),
    [(None, "00:09:00"), (3600, "00:09:00"), (120, "00:02:00")],
    ids=["none", "longer", "shorter"],
)
def test_a_job_that_has_begun_has_until_its_deadline(walltime_s: int | None, limit: str) -> None:
    job = record(
        7,
        "late",
        JobState.RUNNING,
        Reason.NONE,
        args=(),
        path="/home/tester/late.sh",
        walltime_s=walltime_s,
        start_time=SUBMITTED,
    )
    start = job.status.start_time
    assert start is not None
    job = replace(job, spec=replace(job.spec, deadline=start + timedelta(seconds=599)))
    assert f" TimeLimit={limit} " in format_job(job, NOW, UTC)


def test_recorded_one_line() -> None:
    found = format_job(by_id(85), NOW, UTC, one_line=True, group="tester")
    assert masked(found) == masked(recorded("scontrol-o-85.txt"))


def test_what_was_asked_is_shown() -> None:
    spec = JobSpec(
        dialect=Dialect.SLURM,
        name="x",
        chunks=(Chunk(count=2, cpus=4, ranks=2, mem_bytes=2048 * 1024**2, threads=2),),
        sharing=Sharing.EXCLUSIVE,
        work_dir="/w",
        mail_points="END,FAIL",
        mail_users=("x@y",),
        account="acc",
        stdout=Output(path="/w/o %x"),
        stderr=Output(path="/w/e-%j"),
        nice=100000,
        rerunnable=False,
        attributes={
            "nodes": "2-2",
            "ntasks": "4",
            "cpus_per_task": "2",
            "ntasks_per_node": "2",
            "mem_per_node_mb": "2048",
            "comment": "a c",
        },
    )
    text = format_job(replace(record(7), spec=spec), NOW, UTC)
    for part in (
        "Nice=100000 Account=acc",
        "Requeue=0",
        "TimeLimit=UNLIMITED",
        "GroupId=1002(1002)",
        "NumNodes=2-2 NumCPUs=8 NumTasks=4 CPUs/Task=2",
        "TRES=cpu=8,mem=4G,node=2,billing=8",
        "NtasksPerN:B:S:C=2:0:*:*",
        "MinCPUsNode=4 MinMemoryNode=2G MinTmpDiskNode=0",
        "OverSubscribe=NO",
        "Command=(null)",
        "   Comment=a c \n",
        "StdErr=/w/e-7",
        "StdOut=/w/o x",
        "   Power=\n   MailUser=x@y MailType=END,FAIL\n   \n\n",
    ):
        assert part in text
    tres = {
        "tres_per_node": "gres:gpu:2",
        "tres_per_task": "gres:gpu:1",
        "constraint": "a&b",
        "qos": "long",
        "cpus_per_gpu": "4",
        "mem_per_gpu_mb": "100",
    }
    text = format_job(replace(record(7), spec=replace(spec, attributes=tres)), NOW, UTC)
    assert "QOS=long\n" in text
    assert "   Features=a&b DelayBoot=00:00:00\n" in text
    shown = ("CpusPerTres=gres:gpu:4", "MemPerTres=gres:gpu:100", "TresPerNode=gres:gpu:2", "TresPerTask=gres:gpu:1")
    assert "\n   ".join(["   Power=", *shown, "MailUser=x@y "]) in text
    per_cpu = replace(spec, attributes={"mem_per_cpu_mb": "50"})
    assert "MinMemoryCPU=50M" in format_job(replace(record(7), spec=per_cpu), NOW, UTC)
    open_ended = replace(spec, attributes={"nodes": f"2-{MAX_COUNT}"})
    assert "NumNodes=2 " in format_job(replace(record(7), spec=open_ended), NOW, UTC)


EXITS = [
    (JobState.FINISHED, Reason.NONE, 0, None, "COMPLETED", "0:0"),
    (JobState.FAILED, Reason.NON_ZERO_EXIT, 3, None, "FAILED", "3:0"),
    (JobState.FAILED, Reason.PROGRAM_FAILED, 1, None, "FAILED", "1:0"),
    (JobState.FAILED, Reason.SIGNALLED, None, 9, "FAILED", "0:9"),
    (JobState.FAILED, Reason.OUTPUT_FAILED, None, None, "FAILED", "0:53"),
    (JobState.FAILED, Reason.NODE_LOST, None, None, "NODE_FAIL", "0:0"),
    (JobState.FAILED, Reason.OUT_OF_MEMORY, None, None, "OUT_OF_MEMORY", "0:125"),
    (JobState.TIMEOUT, Reason.TIME_LIMIT, None, 15, "TIMEOUT", "0:0"),
    (JobState.DELETED, Reason.DELETED_BY_USER, None, None, "CANCELLED", "0:15"),
]


@pytest.mark.parametrize(("state", "reason", "code", "signal", "shown", "exit_code"), EXITS, ids=[e[4] for e in EXITS])
def test_exit_code(
    state: JobState, reason: Reason, code: int | None, signal: int | None, shown: str, exit_code: str
) -> None:
    job = record(
        1, state=state, reason=reason, exit_code=code, exit_signal=signal, start_time=SUBMITTED, end_time=SUBMITTED
    )
    text = format_job(job, NOW, UTC)
    assert f"JobState={shown} " in text
    assert f" ExitCode={exit_code}\n" in text


def test_recorded_partition() -> None:
    found = "".join(format_partition(queue, [NODE]) for queue in QUEUES)
    expected = recorded("scontrol-partition.txt").replace("DefaultTime=01:00:00", "DefaultTime=NONE")
    assert found == expected
    assert format_partition(QUEUES[0], [NODE], one_line=True) == " ".join(expected.split("\n\n")[0].split()) + "\n"


def test_recorded_node() -> None:
    hidden = r"(CoresPerSocket|CPULoad|OS|FreeMem|Sockets|BootTime|SlurmdStartTime|LastBusyTime)=\S*( #1 SMP| 6.1.0)*"
    found = format_node(NODE._replace(cpus_used=2), QUEUES, UTC)
    expected = recorded("scontrol-node.txt")
    assert [re.sub(hidden, r"\1", line).strip() for line in found.splitlines()] == [
        re.sub(hidden, r"\1", line).strip() for line in expected.splitlines()
    ]
    assert " AllocTRES=cpu=1,mem=2G " in format_node(
        NODE._replace(cpus_used=1, mem_used_bytes=2 * 1024**3), QUEUES, UTC, one_line=True
    )


def test_a_node_whose_sockets_and_policies_are_known() -> None:
    cpus = CpuTopology(
        sockets=2, cores_per_socket=4, threads_per_core=2, reserved_cores=1, cpu_policy="static", topology_policy="x"
    )
    plain, shown = (format_node(NODE, QUEUES, UTC, cpus=each).splitlines() for each in (None, cpus))
    assert [line.strip() for line in shown if line not in plain and "State=" not in line] == [
        f"NodeName={NODE.name} Arch=x86_64 CoresPerSocket=4",
        next(line for line in plain if "Sockets=1" in line).strip().replace("Sockets=1", "Sockets=2"),
        "CoreSpecCount=1",
        "Extra=cpu-manager=static,topology-manager=x",
    ]
    assert any(" ThreadsPerCore=2 " in line for line in shown)


COMMANDS = [
    (["show", "job", "85"], Verb.SHOW_JOB, "", ("85",)),
    (["show", "job"], Verb.SHOW_JOB, "", ()),
    (["show", "jobs"], Verb.SHOW_JOB, "", ()),
    (["show", "job=85"], Verb.SHOW_JOB, "", ("85",)),
    (["show", "jobid", "85"], Verb.SHOW_JOB, "", ("85",)),
    (["sho", "j", "85"], Verb.SHOW_JOB, "", ("85",)),
    (["SHOW", "JOB", "85"], Verb.SHOW_JOB, "", ("85",)),
    (["show", "job", ""], Verb.SHOW_JOB, "", ()),
    (["show", "node"], Verb.SHOW_NODE, "", ()),
    (["show", "nodes", "vm"], Verb.SHOW_NODE, "vm", ()),
    (["show", "part"], Verb.SHOW_PARTITION, "", ()),
    (["show", "partition=x"], Verb.SHOW_PARTITION, "x", ()),
    (["show", "hostname", "n[1-2]"], Verb.SHOW_HOSTNAMES, "n[1-2]", ()),
    (["show", "hostnames"], Verb.SHOW_HOSTNAMES, "e[1-2]", ()),
    (["show", "hostlist", "a,b"], Verb.SHOW_HOSTLIST, "a,b", ()),
    (["show", "hostlistsorted", "b,a"], Verb.SHOW_HOSTLIST_SORTED, "b,a", ()),
    (["hold", "1", "2"], Verb.HOLD, "", ("1", "2")),
    (["uhold", "1,2"], Verb.UHOLD, "", ("1", "2")),
    (["holdu", "1"], Verb.UHOLD, "", ("1",)),
    (["hold", "Name=x"], Verb.HOLD, "", ("Name=x",)),
    (["req", "1,2", "jobid=3"], Verb.REQUEUE, "", ("1", "2", "3")),
    (["requeuehold", "1"], Verb.REQUEUE_HOLD, "", ("1",)),
    (["requeue", "incomplete", "1"], Verb.REQUEUE, "", ("1",)),
    (["su", "1"], Verb.SUSPEND, "", ("1",)),
    (["res", "1"], Verb.RESUME, "", ("1",)),
    (["top", "1"], Verb.TOP, "", ("1",)),
    (["u", "JobId=1", "Nice"], Verb.UPDATE, "", ()),
    (["release", "job=1"], Verb.RELEASE, "", ("1",)),
    (["rel", "1"], Verb.RELEASE, "", ("1",)),
    (["ping"], Verb.PING, "", ()),
    (["version"], Verb.VERSION, "", ()),
    (["hold", "abc"], Verb.HOLD, "", ("abc",)),
    (["write", "batch", "1", "-"], Verb.WRITE_SCRIPT, "", ()),
    (["write", "batch_script"], Verb.NOTHING, "", ()),
    (["wai", "1"], Verb.WAIT_JOB, "", ()),
    (["comp"], Verb.COMPLETING, "", ()),
    (["l", "1"], Verb.LISTPIDS, "", ()),
    (["verbose"], Verb.NOTHING, "", ()),
    (["cluster", "x"], Verb.NOTHING, "", ()),
    (["exit"], Verb.NOTHING, "", ()),
]


@pytest.mark.parametrize(("argv", "verb", "operand", "ids"), COMMANDS, ids=[" ".join(c[0]) for c in COMMANDS])
def test_command(argv: list[str], verb: Verb, operand: str, ids: tuple[str, ...]) -> None:
    found = read_command(argv, {"SLURM_JOB_NODELIST": "e[1-2]"})
    assert (found.verb, found.operand, found.ids, found.one_line) == (verb, operand, ids, False)
    assert read_command(["-o", *argv], {"SLURM_JOB_NODELIST": "e"}).one_line
    assert read_command([*argv[:1], "-o", *argv[1:]], {"SLURM_JOB_NODELIST": "e"}).one_line
    assert read_command([*argv, "--oneliner", "-Q"], {"SLURM_JOB_NODELIST": "e"}).quiet


ERRORS = [
    (["foo"], "invalid keyword: foo", 1),
    (["ver"], "invalid keyword: ver", 1),
    (["hol", "1"], "invalid keyword: hol", 1),
    (["show"], "too few arguments for keyword:show", 1),
    (["hold"], "too few arguments for keyword:hold", 1),
    (["show", "job", "1", "2"], "too many arguments for keyword:show", 1),
    (["ping", "x"], "too many arguments for keyword:ping", 1),
    (["top", "1", "2"], "too many arguments for keyword:top", 1),
    (["requeue"], "too few arguments for keyword:requeue", 1),
    (["requeue", "incomplete"], "no job id given for keyword:requeue", 1),
    (
        ["requeuehold", "State=x", "1"],
        "scontrol: error: Invalid State value: x: only SpecialExit is one of a requeue",
        1,
    ),
    (["show", "foo"], "invalid entity:foo for keyword:show ", 1),
    (["show", "hos", "a"], "invalid entity:hos for keyword:show ", 1),
    (["show", "hostnames"], "scontrol: error: host list is empty", 0),
    (["show", "hostlist"], "invalid encode argument", 1),
    (["write"], "too few arguments for keyword:write", 1),
    (["write", "b", "1"], "invalid write argument:b", 1),
    (["write", "batch", "1", "a", "b"], "too many arguments for keyword:write", 1),
    (["wr", "batch", "1"], "invalid keyword: wr", 1),
    (["wait_job"], "too few arguments for keyword:wait_job", 1),
    (["wait_job", "1", "2"], "too many arguments for keyword:wait_job", 1),
    (["completing", "x"], "too many arguments for keyword:completing", 1),
    (["details", "x"], "too many arguments for keyword:details", 1),
    (["verbose", "x"], "too many arguments for verbose keyword", 1),
    (["--foo"], "scontrol: unrecognized option '--foo'\nTry \"scontrol --help\" for more information", 1),
]


@pytest.mark.parametrize(("argv", "text", "code"), ERRORS, ids=[" ".join(e[0]) for e in ERRORS])
def test_error(argv: list[str], text: str, code: int) -> None:
    with pytest.raises(SlurmUsageError) as error:
        read_command(argv, {})
    assert describe(error.value, "scontrol") == (text, code)


@pytest.mark.parametrize(
    "argv",
    [
        ["-u", "5", "ping"],
        ["errnumstr", "2017"],
    ],
    ids=str,
)
def test_not_supported(argv: list[str]) -> None:
    with pytest.raises(NotSupportedError):
        read_command(argv, {})


def test_marks_of_a_requeue() -> None:
    found = read_command(["requeuehold", "inc", "State=SpecialExit", "1,2", "state=se"], {})
    assert (found.is_incomplete, found.is_special, found.ids) == (True, True, ("1", "2", "state=se"))


def test_clusters() -> None:
    assert read_command(["-M", "a", "ping"], {}).clusters == "a"
    assert read_command(["ping"], {}).clusters is None


def test_answers() -> None:
    for argv in (["--help"], ["-V"], ["help"]):
        with pytest.raises(SlurmAnswer):
            read_command(argv, {})


def test_ids_of_what_is_shown() -> None:
    assert read_job("50").number == 50
    assert str(read_job("50_3").members) == "3"
    for text in ("50x", "abc", "50_[1-3]"):
        with pytest.raises(SlurmUsageError) as error:
            read_job(text)
        assert error.value.text == "scontrol_print_job error: Invalid job id specified"


def test_hosts() -> None:
    shown = [
        format_hosts(read_command(["show", *words], {}))
        for words in (
            ["hostnames", "n[1-3,7],m01"],
            ["hostlist", "n1,n2,n3,n7,m01"],
            ["hostlistsorted", "n3,n1,n2"],
        )
    ]
    assert shown == ["n1\nn2\nn3\nn7\nm01\n", "n[1-3,7],m01\n", "n[1-3]\n"]


def test_ping() -> None:
    assert format_ping("vm", True) == "Slurmctld(primary) at vm is UP\n"
    assert format_ping("vm", False).startswith("Slurmctld(primary) at vm is DOWN\n****")


@given(st.lists(st.text(max_size=10), max_size=4))
def test_any_words(words: list[str]) -> None:
    try:
        read_command(words, {})
    except HpcBatchError as error:
        assert isinstance(error, SlurmAnswer) or describe(error, "scontrol")[0]
