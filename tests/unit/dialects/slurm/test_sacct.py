"""sacct on the jobs of the recorded outputs gives the recorded bytes; and what was not recorded keeps to its rules."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hpcbatch.dialects.slurm.errors import SlurmAnswer
from hpcbatch.model.record import ExecHost, JobRecord, PastRun
from hpcbatch.model.state import JobState, Reason
from tests.unit.dialects.slurm.jobs import recorded
from tests.unit.dialects.slurm.sacct_jobs import (
    CANCELLED,
    FAILER,
    GANG,
    JOBS,
    NEVER_RAN,
    RUNNING,
    TIMED_OUT,
    array,
    at,
    ended,
    member,
    sacct,
)

FIELD_LIST = (
    "JobID,JobIDRaw,JobName,User,Account,Partition,State,ExitCode,DerivedExitCode,Submit,Eligible,Start,End,Elapsed,"
    "ElapsedRaw,Timelimit,NNodes,NCPUS,NTasks,AllocCPUS,ReqMem,NodeList,WorkDir,Reason,QOS,Priority,Comment"
)
NO_OUTPUT = replace(JOBS[19], job_id=172)


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
