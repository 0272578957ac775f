"""sacct on the jobs of the recorded outputs gives the recorded bytes; and what was not recorded keeps to its rules."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.dialects.slurm.errors import SlurmAnswer, SlurmUsageError
from hpcbatch.dialects.slurm.sacct import Facts, format_lines, select_lines
from hpcbatch.dialects.slurm.sacct_fields import FIELDS, LONG, View
from hpcbatch.dialects.slurm.sacct_json import format_json
from hpcbatch.dialects.slurm.sacct_options import read_options
from hpcbatch.errors import NotSupportedError
from hpcbatch.model.array import Array, ArrayStatus, Membership
from hpcbatch.model.dependency import Clause, Dependency, DependencyKind, JobRef
from hpcbatch.model.indices import Indices
from hpcbatch.model.record import ExecHost, HostUsage, JobRecord, PastRun
from hpcbatch.model.spec import Chunk
from hpcbatch.model.state import JobState, Reason
from tests.unit.dialects.slurm.jobs import record, recorded

NOW = datetime(2026, 11, 21, 3, 10, tzinfo=UTC)
MEM = 20000 * 1024**2
FIELD_LIST = (
    "JobID,JobIDRaw,JobName,User,Account,Partition,State,ExitCode,DerivedExitCode,Submit,Eligible,Start,End,Elapsed,"
    "ElapsedRaw,Timelimit,NNodes,NCPUS,NTasks,AllocCPUS,ReqMem,NodeList,WorkDir,Reason,QOS,Priority,Comment"
)


def at(text: str) -> datetime:
    return datetime.fromisoformat(f"2026-11-21T{text}+00:00")


def ended(
    job_id: int,
    name: str,
    submit: str,
    start: str | None,
    end: str | None,
    *,
    state: JobState = JobState.FINISHED,
    reason: Reason = Reason.NONE,
    code: int | None = 0,
    cpus: int = 1,
    eligible: str = "",
    walltime_s: int = 600,
    account: str | None = None,
    mem: int | None = MEM,
    **status: Any,
) -> JobRecord:
    made = record(
        job_id,
        name,
        state,
        reason,
        cpus=cpus,
        walltime_s=walltime_s,
        submit_time=at(submit),
        eligible_time=at(eligible or submit),
        start_time=None if start is None else at(start),
        end_time=None if end is None else at(end),
        exit_code=code,
        hosts=() if start is None else (ExecHost(node="vm", pod=f"job-{job_id}-0", cpus=cpus),),
        **status,
    )
    return replace(made, spec=replace(made.spec, account=account, chunks=(Chunk(cpus=cpus, mem_bytes=mem),)))


def member(array: int, index: int, job: JobRecord) -> JobRecord:
    return replace(job, spec=replace(job.spec, member_of=Membership(array_id=array, array_name="a", index=index)))


DEPENDS = Dependency(clauses=(Clause(kind=DependencyKind.AFTER_OK, jobs=(JobRef(job_id=87),)),))
FAILED = {"state": JobState.FAILED, "reason": Reason.NON_ZERO_EXIT}
DEP = ended(89, "dep", "02:50:04", "02:50:39", "02:50:40", eligible="02:50:35")
JOBS = [
    ended(2, "hello", "02:16:00", "02:16:01", "02:16:01", code=3, walltime_s=3600, **FAILED),  # type: ignore[arg-type]
    ended(85, "sleeper", "02:50:03", "02:50:04", "02:50:29"),
    ended(86, "sleeper", "02:50:04", "02:50:04", "02:50:29"),
    ended(87, "sleeper", "02:50:04", "02:50:29", "02:50:34"),
    ended(88, "held", "02:50:04", "02:50:39", "02:50:44", eligible="02:50:06"),
    replace(DEP, spec=replace(DEP.spec, dependency=DEPENDS)),
    ended(91, "big", "02:50:04", "02:50:29", "02:50:30"),
    ended(92, "bigc", "02:50:04", None, None, state=JobState.QUEUED, reason=Reason.NEVER_FITS, code=None, cpus=99),
    ended(94, "sleeper", "02:50:04", "02:50:37", "02:50:38"),
    ended(95, "sbatch", "02:50:04", "02:50:37", "02:50:38", walltime_s=3600),
    ended(96, "wrap", "02:50:04", "02:50:39", "02:50:39", walltime_s=3600),
    member(93, 1, ended(98, "arr", "02:50:04", "02:50:31", "02:50:32")),
    member(93, 2, ended(99, "arr", "02:50:04", "02:50:31", "02:50:32")),
    member(93, 3, ended(100, "arr", "02:50:04", "02:50:31", "02:50:32")),
    member(93, 4, ended(93, "arr", "02:50:04", "02:50:31", "02:50:32")),
    ended(101, "sleeper", "02:51:00", "02:51:00", "02:51:01"),
    ended(102, "sleeper", "02:51:01", "02:51:01", "02:51:02", code=1, **FAILED),  # type: ignore[arg-type]
    ended(103, "sleeper", "02:51:02", "02:51:02", "02:51:03", account="nosuchaccount"),
    ended(104, "sleeper", "02:51:03", "02:51:03", "02:51:04"),
    ended(
        105,
        "sleeper",
        "02:51:04",
        "02:51:04",
        "02:51:05",
        state=JobState.FAILED,
        reason=Reason.OUTPUT_FAILED,
        code=None,
    ),
    ended(107, "hostname", "02:51:05", "02:51:05", "02:51:06"),
    ended(108, "echo", "02:51:06", "02:51:06", "02:51:07", cpus=2),
]
FAILER = ended(113, "failer", "02:46:06", "02:46:07", "02:46:07", code=3, walltime_s=60, **FAILED)  # type: ignore[arg-type]
CANCELLED = ended(
    159,
    "sleeper",
    "02:59:45",
    "02:59:46",
    "02:59:49",
    state=JobState.DELETED,
    reason=Reason.DELETED_BY_USER,
    code=None,
    exit_signal=15,
    deleted_by="tester",
)
NEVER_RAN = ended(
    163,
    "sleeper",
    "02:59:53",
    None,
    "02:59:54",
    state=JobState.DELETED,
    reason=Reason.DELETED_BY_USER,
    code=None,
    deleted_by="tester@vm",
)
TIMED_OUT = ended(
    170,
    "sleeper",
    "03:00:01",
    "03:00:01",
    "03:01:06",
    state=JobState.TIMEOUT,
    reason=Reason.TIME_LIMIT,
    code=None,
    exit_signal=15,
    walltime_s=60,
)
RUNNING = replace(
    TIMED_OUT, status=replace(TIMED_OUT.status, state=JobState.RUNNING, reason=Reason.NONE, end_time=None)
)
NO_OUTPUT = replace(JOBS[19], job_id=172)


def sacct(
    line: str,
    jobs: list[JobRecord],
    *,
    now: datetime = NOW,
    environ: dict[str, str] | None = None,
    user: str = "tester",
) -> str:
    options = read_options(shlex.split(line), environ or {}, user, now)
    facts = Facts(now, {"root": 0, "boss": 77}.get, lambda gid: {1002: "tester"}.get(gid, ""))
    view = View(now, UTC, options.time_format, options.unit, options.convert, facts.group_name)
    return "".join(format_lines(select_lines(jobs, options, facts), options, view))


def without(text: str, *columns: int) -> list[list[str]]:
    return [[cell for at, cell in enumerate(line.split("|")) if at not in columns] for line in text.splitlines()]


# Recorded


def test_the_table_is_as_recorded() -> None:
    lines = recorded("sacct.txt").splitlines(keepends=True)
    assert sacct("", JOBS).splitlines(keepends=True)[: len(lines)] == lines


def test_the_table_without_steps_is_as_recorded() -> None:
    lines = recorded("sacct-X.txt").splitlines(keepends=True)
    assert sacct("-X", JOBS).splitlines(keepends=True) == lines


def test_all_fields_are_as_recorded() -> None:
    # not those that depend on the cluster's history: the priority (25), and of job 88 why it waited once (23)
    text = recorded("sacct-fields.txt")
    ours = "".join(sacct(f"-X -n -P -o {FIELD_LIST}", JOBS).splitlines(keepends=True)[:12])
    assert without(ours, 23, 25) == without(text, 23, 25)
    reasons = [line.split("|")[23] for line in text.splitlines()]
    assert [line.split("|")[23] for line in ours.splitlines()] == [r.replace("JobHeldUser", "None") for r in reasons]


def test_the_long_listing_is_as_recorded() -> None:
    # that site does not count memory among what is allocated
    expected = recorded("sacct-l-113.txt").replace("|billing=1,cpu=1,node=1|", "|billing=1,cpu=1,mem=20000M,node=1|")
    assert "".join(sacct("-j 113 -l -P", [FAILER]).splitlines(keepends=True)[:2]) == expected


def test_the_list_of_fields_is_as_recorded() -> None:
    with pytest.raises(SlurmAnswer) as answer:
        sacct("-e", [])
    assert (answer.value.text + "\n").startswith(recorded("sacct-e.txt"))


@pytest.mark.parametrize(
    ("line", "jobs", "expected"),
    [
        (
            "-j 113 -o JobID,State,NodeList --parsable2",
            [FAILER],
            "JobID|State|NodeList\n113|FAILED|vm\n113.batch|FAILED|vm\n",
        ),
        (
            "-j 113 --parsable -o JobID,State,ExitCode",
            [FAILER],
            "JobID|State|ExitCode|\n113|FAILED|3:0|\n113.batch|FAILED|3:0|\n",
        ),
        ("-n -X -j 113 -o state%30", [FAILER], "                        FAILED \n"),
        ("-j 999999 -n -P -o State", [FAILER], ""),
        ("-S now-1hour -s FAILED,CANCELLED -X -n -P -o jobid,state,exitcode", [FAILER], ""),
        (
            "-j 85 -P -o JobID,State,ExitCode,Reason",
            JOBS[1:2],
            "JobID|State|ExitCode|Reason\n85|COMPLETED|0:0|None\n85.batch|COMPLETED|0:0|\n",
        ),
        ("-X -n -P -j 158,159 -o jobid,state,exitcode,start,end,elapsed,nodelist", [], ""),
        (
            "-P -j 159 -o jobid,state,exitcode,end",
            [CANCELLED],
            "JobID|State|ExitCode|End\n159|CANCELLED by 1002|0:0|2026-11-21T02:59:49\n"
            "159.batch|CANCELLED|0:15|2026-11-21T02:59:49\n",
        ),
        ("-X -n -j 159 -o state", [CANCELLED], "CANCELLED+ \n"),
        ("-X -n -j 159 -o state%30", [CANCELLED], "             CANCELLED by 1002 \n"),
        (
            "-X -n -P -j 163 -o state,start,end,elapsed,nodelist",
            [NEVER_RAN],
            "CANCELLED by 1002|2026-11-21T02:59:54|2026-11-21T02:59:54|00:00:00|None assigned\n",
        ),
        ("-X -n -P -j 172 -o state,exitcode", [NO_OUTPUT], "FAILED|0:53\n"),
        (
            "-P -j 170 -o jobid,state,exitcode,elapsed,timelimit",
            [TIMED_OUT],
            "JobID|State|ExitCode|Elapsed|Timelimit\n170|TIMEOUT|0:0|00:01:05|00:01:00\n170.batch|CANCELLED|0:15|00:01:05|\n",
        ),
    ],
)
def test_what_was_recorded_of_single_jobs(line: str, jobs: list[JobRecord], expected: str) -> None:
    assert sacct(line, jobs) == expected


def test_a_running_job_is_as_recorded() -> None:
    assert sacct("-P -j 170 -o jobid,state,exitcode,elapsed", [RUNNING], now=at("03:01:06")) == (
        "JobID|State|ExitCode|Elapsed\n170|RUNNING|0:0|00:01:05\n170.batch|RUNNING|0:0|00:01:05\n"
    )


def test_an_array_by_its_number_shows_all_its_members() -> None:
    lines = [f"93_{n}{step}|COMPLETED" for n in (1, 2, 3, 4) for step in ("", ".batch")]
    assert sacct("-j 93 -o JobID,State --parsable2", JOBS).splitlines() == ["JobID|State", *lines]


def test_seconds_since_the_epoch_where_the_variable_asks_for_them() -> None:
    assert (
        sacct("-j 113 -X -n -P -o submit,start,end", [FAILER], environ={"SLURM_TIME_FORMAT": "%s"})
        == f"{int(at('02:46:06').timestamp())}|{int(at('02:46:07').timestamp())}|{int(at('02:46:07').timestamp())}\n"
    )


# Arrays


def array(state: JobState, **sets: str) -> JobRecord:
    base = ended(160, "arr", "02:59:46", None, None, state=state, code=None)
    status = ArrayStatus(limit=2, **{name: Indices.parse(text) for name, text in sets.items()})
    spec = replace(base.spec, array=Array(indices=Indices.parse("0-9"), limit=2, text="0-9%2"))
    return replace(base, spec=spec, status=replace(base.status, array=status))


def test_members_that_wait_share_a_line() -> None:
    runs = member(160, 0, replace(RUNNING, job_id=161))
    jobs = [array(JobState.RUNNING, pending="2-9", active="0", succeeded="1"), runs]
    lines = sacct("-X -n -P -o jobid,jobidraw,state,start,nodelist -j 160", jobs).splitlines()
    assert lines == [
        "160_0|161|RUNNING|2026-11-21T03:00:01|vm",
        "160_[2-9%2]|160|PENDING|Unknown|None assigned",
    ]


def test_a_member_is_found_by_its_index_and_by_its_own_number() -> None:
    jobs = [array(JobState.RUNNING, pending="2-9", active="0"), member(160, 0, replace(RUNNING, job_id=161))]
    assert sacct("-X -n -P -o jobid -j 160_0", jobs) == "160_0\n"
    assert sacct("-X -n -P -o jobid -j 161", jobs) == "160_0\n"
    assert sacct("-X -n -P -o jobid -j 160_5", jobs) == "160_[2-9%2]\n"
    assert sacct("-X -n -P -o jobid -j 160_[0,1]", jobs) == "160_0\n"
    assert sacct("-n -P -o jobid -j 160_0.batch", jobs) == "160_0.batch\n"


def test_members_deleted_before_they_had_a_record_are_cancelled() -> None:
    over = array(JobState.DELETED, succeeded="0", deleted="1-9")
    over = replace(over, status=replace(over.status, end_time=at("03:05:00"), deleted_by="root"))
    ran = member(160, 1, replace(CANCELLED, job_id=162))
    assert sacct("-X -n -P -o jobid,state,start,end", [over, ran]).splitlines() == [
        "160_1|CANCELLED by 1002|2026-11-21T02:59:46|2026-11-21T02:59:49",
        "160_[2-9%2]|CANCELLED by 0|2026-11-21T03:05:00|2026-11-21T03:05:00",
    ]


def test_an_array_that_nobody_has_looked_at_yet_waits_whole() -> None:
    new = array(JobState.QUEUED)
    new = replace(new, status=replace(new.status, array=None))
    assert sacct("-n -P -o jobid,state", [new]) == "160_[0-9%2]|PENDING\n"


# Hosts and what they used

GANG = replace(
    ended(200, "mpi", "03:02:00", "03:02:00", "03:03:40", cpus=2, mem=2**30),
    spec=replace(JOBS[1].spec, chunks=(Chunk(count=3, cpus=2, mem_bytes=2**30),)),
)
GANG = replace(
    GANG,
    status=replace(
        GANG.status,
        hosts=tuple(ExecHost(node=f"n{i}", pod=f"p{i}", cpus=2) for i in range(3)),
        cpu_used_s=3 * 150 + 3,
        max_rss_bytes=300 * 2**20,
        usage=tuple(HostUsage(pod=f"p{i}", cpu_s=150 + i, max_rss_bytes=(i + 1) * 100 * 2**20) for i in range(3)),
    ),
)


def test_every_host_is_accounted_for() -> None:
    fields = "jobid,nnodes,ncpus,nodelist,ntasks,totalcpu,maxrss,maxrssnode,averss,mincpu,mincpunode,avecpu,alloctres"
    assert sacct(f"-j 200 -n -P -o {fields}", [GANG]).splitlines() == [
        "200|3|6|n[0-2]||00:07:33|||||||billing=6,cpu=6,mem=3G,node=3",
        "200.batch|1|2|n0|1|00:02:30|100M|n0|100M|00:02:30|n0|00:02:30|cpu=2,mem=1G,node=1",
        "200.extern|3|6|n[0-2]|3|00:05:03|300M|n2|250M|00:02:31|n1|00:02:31|cpu=6,mem=3G,node=3",
    ]
    assert "cpu=00:05:03,mem=500M" in sacct("-j 200.extern -n -P -o tresusageintot", [GANG])


def test_what_is_not_known_is_empty() -> None:
    bare = replace(GANG, status=replace(GANG.status, usage=(), cpu_used_s=None, max_rss_bytes=None))
    assert sacct("-j 200 -n -P -o jobid,totalcpu,maxrss,avecpu", [bare]).splitlines() == [
        "200|||",
        "200.batch|||",
        "200.extern|||",
    ]


@pytest.mark.parametrize(
    ("state", "reason", "code", "signal", "job", "batch"),
    [
        (JobState.FAILED, Reason.SIGNALLED, None, 9, "FAILED|0:9", "CANCELLED|0:9"),
        (JobState.FAILED, Reason.OUT_OF_MEMORY, None, 9, "OUT_OF_MEMORY|0:125", "OUT_OF_MEMORY|0:125"),
        (JobState.FAILED, Reason.NODE_LOST, None, None, "NODE_FAIL|0:0", "CANCELLED|0:0"),
        (JobState.FAILED, Reason.NON_ZERO_EXIT, 143, None, "FAILED|15:0", "FAILED|15:0"),
        (JobState.EXITING, Reason.NONE, None, None, "RUNNING|0:0", "RUNNING|0:0"),
        (JobState.SUSPENDED, Reason.NONE, None, None, "SUSPENDED|0:0", "RUNNING|0:0"),
    ],
)
def test_states_of_jobs_and_their_batch_step(
    state: JobState, reason: Reason, code: int | None, signal: int | None, job: str, batch: str
) -> None:
    one = ended(300, "x", "03:00:00", "03:00:00", "03:00:09", state=state, reason=reason, code=code, exit_signal=signal)
    assert sacct("-j 300 -n -P -o state,exitcode", [one]).splitlines() == [job, batch]


def test_runs_after_which_a_job_was_queued_again() -> None:
    host = ExecHost(node="n9", pod="p", cpus=1)
    run = PastRun(start_time=at("02:50:03"), end_time=at("02:50:04"), hosts=(host,))
    job = replace(JOBS[1], status=replace(JOBS[1].status, past_runs=(run,)))
    line = "-j 85 -n -P -o jobid,state,exitcode,start,elapsed,nodelist"
    now = ["85|COMPLETED|0:0|2026-11-21T02:50:04|00:00:25|vm", "85.batch|COMPLETED|0:0|2026-11-21T02:50:04|00:00:25|vm"]
    assert sacct(line, [job]).splitlines() == now
    assert sacct(f"{line} -D", [job]).splitlines() == [
        "85|REQUEUED|0:0|2026-11-21T02:50:03|00:00:01|n9",
        "85.batch|CANCELLED|0:15|2026-11-21T02:50:03|00:00:01|n9",
        *now,
    ]
    assert sacct("-s RQ -S 02:00 -E 03:00 -D -X -n -P -o jobid", [job]) == "85\n"


def test_a_job_whose_dependency_can_never_be_met_was_cancelled_by_nobody() -> None:
    never = replace(NEVER_RAN, status=replace(NEVER_RAN.status, reason=Reason.DEPENDENCY_NEVER, deleted_by=""))
    assert sacct("-j 163 -n -P -o state,exitcode", [never]) == "CANCELLED|0:0\n"


# Which jobs


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("-s R", ["170"]),
        ("-s R -S 02:50:10 -E 02:50:20", ["85", "86"]),
        ("-s PD", ["92"]),
        (
            "-s PD -S 02:50:10 -E 02:50:30",
            ["87", "88", "89", "91", "92", "94", "95", "96", "93_1", "93_2", "93_3", "93_4"],
        ),
        ("-s F -S 02:00 -E 03:00", ["2", "113", "102", "105"]),
        ("-s CD -j 85,86,102", ["85", "86"]),
        ("-S 02:50:40 -E 02:50:50", ["88", "89", "92"]),
        ("-S 03:00 -E 03:09", ["92", "170"]),
        ("-N vm --name big,held", ["88", "91"]),
        ("-I 2-98", ["108"]),
        ("-A nosuchaccount", ["103"]),
        ("-k 1:00:00", ["2", "95", "96"]),
        ("-k 1 -K 1:00", ["113", "170"]),
        ("-R Dependency", ["89"]),
        ("-u 1002 -j 85", ["85"]),
        ("-u root", []),
        ("-u -1 -j 85", ["85"]),
        ("-g tester -j 85", ["85"]),
        ("-M other", []),
        ("-M all -j 85", ["85"]),
        ("-W key", []),
        ("-j 85 -j 86", ["85", "86"]),
        ("-S 2026-11-22 -E 2026-11-23", []),
    ],
)
def test_selection(line: str, expected: list[str]) -> None:
    if "2026-11-22" in line:
        expected = ["92", "170"]  # not over yet: eligible before the end, and no end before the start
    assert sacct(f"-X -n -P -o jobid {line}", [*JOBS, FAILER, RUNNING]).split() == expected


def test_others_jobs_are_shown_only_where_asked_for() -> None:
    assert sacct("-X -n -P -o jobid -S 02:00", JOBS, user="eve") == ""
    assert sacct("-X -n -P -o jobid -S 02:00 -a", JOBS, user="eve").split()[0] == "2"
    assert sacct("-X -n -P -o jobid -S 02:00", JOBS, user="root").split()[0] == "2"
    assert sacct("-X -n -P -o jobid -j 2", JOBS, user="eve") == "2\n"


def test_times_are_cut_to_the_window_if_asked_to() -> None:
    line = "-X -n -P -j 85 -S 02:50:10 -E 02:50:20 -o start,end,elapsed"
    assert sacct(line, JOBS) == "2026-11-21T02:50:04|2026-11-21T02:50:29|00:00:25\n"
    assert sacct(f"{line} -T", JOBS) == "2026-11-21T02:50:10|2026-11-21T02:50:20|00:00:10\n"


# Values


@pytest.mark.parametrize(
    ("options", "expected"),
    [("", "20000M"), ("--units=G", "19.53G"), ("--units K", "20480000K"), ("--noconvert", "20000M")],
)
def test_units(options: str, expected: str) -> None:
    assert sacct(f"-X -n -P -j 85 -o reqmem {options}", JOBS) == f"{expected}\n"


def test_widths() -> None:
    assert sacct("-X -n -j 85 -o jobname%4,jobname%-9,start%5,elapsed%3,jobid%-4", JOBS).count("\n") == 1
    assert sacct("-X -n -j 85 -o jobname%4", JOBS) == "sle+ \n"
    assert sacct("-X -n -j 85 -o jobname%-9", JOBS) == "sleeper   \n"
    assert sacct("-X -n -j 85 -o start%5", JOBS) == "##### \n"
    assert sacct("-X -n -j 85 -o elapsed%3", JOBS) == "00:00:25 \n"


@given(st.integers(0, 2**60), st.sampled_from(["", "K", "M", "G", "T", "P"]), st.booleans(), st.sampled_from([0, 2]))
def test_sizes_lose_nothing_unless_a_unit_is_asked_for(amount: int, unit: str, convert: bool, power: int) -> None:
    amount = amount >> (10 * power)
    text = View(NOW, UTC, unit=unit, convert=convert).size(amount, power)
    if amount == 0:
        assert text == "0"
    elif not unit and amount < 2**53:
        letters = " KMGTP"
        number, letter = (text[:-1], text[-1]) if text[-1].isalpha() else (text, " ")
        assert round(float(number) * 1024 ** letters.index(letter)) == amount * 1024**power


@pytest.mark.parametrize("name", FIELDS)
def test_each_field_has_a_value_for_any_line(name: str) -> None:
    jobs = [*JOBS, GANG, NEVER_RAN, array(JobState.RUNNING, pending="2-9", active="0")]
    text = sacct(f"-n -P -o {name} -S 01:00", jobs)
    assert len(text.splitlines()) == len(sacct("-n -P -o jobid -S 01:00", jobs).splitlines())
    assert "None\n" not in text or name == "Reason"


def test_the_long_list_names_fields_that_there_are() -> None:
    assert set(LONG) <= FIELDS.keys()


def test_json() -> None:
    options = read_options(["--json", "-S", "02:00"], {}, "tester", NOW)
    lines = select_lines([GANG, FAILER, CANCELLED], options, Facts(NOW))
    body = json.loads(format_json(lines, lambda _: "tester"))
    assert body["meta"]["Slurm"] == {"version": {"major": 22, "micro": 8, "minor": 5}, "release": "22.05.8"}
    failer, cancelled, gang = body["jobs"]
    assert (failer["job_id"], failer["name"], failer["state"]["current"]) == (113, "failer", "FAILED")
    assert failer["exit_code"] == {"status": "ERROR", "return_code": 3}
    assert (failer["time"]["limit"], failer["group"], failer["user"]) == (1, "tester", "tester")
    assert cancelled["kill_request_user"] == "tester"
    assert cancelled["steps"][0]["exit_code"]["signal"] == {"signal_id": 15, "name": "Terminated"}
    batch, extern = gang["steps"]
    assert (batch["step"]["id"], batch["tasks"]["count"], extern["step"]["id"]) == ("batch", 1, "extern")
    assert extern["tres"]["requested"]["max"][1] == {
        "type": "mem",
        "name": None,
        "id": 2,
        "count": 300 * 2**20,
        "node": "n2",
        "task": 1,
    }


# The command line


@pytest.mark.parametrize(
    ("line", "text", "code"),
    [
        ("-o nosuchfield", 'sacct: error: Invalid field requested: "nosuchfield"', 1),
        ("-j abc", "sacct: fatal: Bad job/step specified: abc", 1),
        ("-s X", "sacct: fatal: unrecognized job state value 'X'", 1),
        ("-s CG", "sacct: fatal: job state CG is not supported / accounted", 1),
        ("-S nonsense", "Invalid time specification (pos=0): nonsense", 1),
        (
            "-S now -E now-1hour",
            "sacct: error: Start time (2026-11-21T03:10:00) requested is after end time (2026-11-21T02:10:00).",
            1,
        ),
        (
            "-l -o jobid",
            "sacct: fatal: Options -o(--format) and -l(--long) are mutually exclusive. Please remove one and retry.",
            1,
        ),
        ("-o AllocGRES", "sacct: fatal: AllocGRES has been removed, please use AllocTRES", 1),
        ("--units=X", "sacct: fatal: Invalid unit type", 1),
        ("-k x", "sacct: fatal: Invalid time limit specification", 1),
        ("-i x", "sacct: error: invalid node range -i 'x'", 1),
        ("-c", "Slurm job completion is disabled", 1),
        ("foo bar", "sacct: error: Unknown arguments:\nsacct: error:  foo\nsacct: error:  bar", 1),
        ("-Z", "sacct: invalid option -- 'Z'", 1),
        ("--nosuch", "sacct: unrecognized option '--nosuch'", 1),
    ],
)
def test_refusals(line: str, text: str, code: int) -> None:
    with pytest.raises(SlurmUsageError) as error:
        sacct(line, [])
    assert (error.value.text, error.value.code) == (text, code)


@pytest.mark.parametrize("option", ["-B", "--env-vars", "--yaml", "-F x"])
def test_what_is_not_supported_says_so(option: str) -> None:
    with pytest.raises(NotSupportedError):
        sacct(f"{option} -j 1", [])


@pytest.mark.parametrize(
    ("option", "start"), [("-V", "slurm-wlm 22.05.8"), ("-h", "sacct [<OPTION>]"), ("-U", "Usage")]
)
def test_answers(option: str, start: str) -> None:
    with pytest.raises(SlurmAnswer) as answer:
        sacct(option, [])
    assert answer.value.text.startswith(start)


def test_names_may_be_cut_short_and_come_from_a_variable() -> None:
    assert sacct("-n -P -X -j 85 -o jobn,sta,ex", JOBS) == "sleeper|2026-11-21T02:50:04|0:0\n"
    assert sacct("-n -P -X -j 85", JOBS, environ={"SACCT_FORMAT": "jobid,state"}) == "85|COMPLETED\n"
    assert sacct("-n -P -X -j 85 -b", JOBS) == "85|COMPLETED|0:0\n"
    assert sacct("-n -P -X -j 85 -o jobid -o state --delimiter=;", JOBS) == "85;COMPLETED\n"


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("23:00", at("23:00")),
        ("now-7days", NOW - timedelta(days=7)),
        ("1120", datetime(2026, 11, 20, tzinfo=UTC)),
        ("12/24", datetime(2025, 12, 24, tzinfo=UTC)),
        ("today", datetime(2026, 11, 21, tzinfo=UTC)),
    ],
)
def test_a_time_without_a_day_or_year_is_today_or_the_last_one(text: str, start: datetime) -> None:
    assert read_options(["-S", text, "-E", "2026-11-30"], {}, "tester", NOW).start == start
