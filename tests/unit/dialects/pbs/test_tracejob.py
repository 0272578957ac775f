"""tracejob: its lines are those of the recorded one, as far as a record tells them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.dialects.pbs.tracejob import TracejobOptions, events, format_trace, not_found, read_options
from hpcbatch.model.record import ExecHost, HostUsage, PastRun
from hpcbatch.model.state import JobState, Reason
from tests.unit.dialects.pbs.jobs import record, recorded

SUBMITTED = datetime(2026, 11, 21, 2, 56, 31, tzinfo=UTC)
NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
FAILER = record(
    102,
    "failer",
    JobState.FAILED,
    reason=Reason.NON_ZERO_EXIT,
    hosts=(ExecHost(node="pbs1", pod="p", cpus=1),),
    submit_time=SUBMITTED,
    start_time=SUBMITTED,
    end_time=SUBMITTED + timedelta(seconds=1),
    exit_code=3,
    run_count=1,
    session_id=12369,
    walltime_used_s=0,
    cpu_used_s=0,
)


def trace(*argv: str, job: object = FAILER, now: datetime = NOW, width: int = 0) -> str:
    options = read_options([*argv, "102"])
    assert options is not None
    return format_trace("102.pbs1", events(job, now), options, now=now, timezone=UTC, width=width)  # type: ignore[arg-type]


def test_each_line_was_recorded() -> None:
    """But for the second in which mom's lines fall: the record knows when a job ended, not each step of that."""
    known = {line[20:] for line in recorded("tracejob_102.txt").splitlines()}
    ours = trace("-a").splitlines()
    assert ours[:3] == ["", "Job: 102.pbs1", ""]
    assert {line[20:] for line in ours} <= known
    assert ours[3] == "11/21/2026 02:56:31  S    enqueuing into workq, state Q hop 1"
    assert any(
        "S    Job Queued at request of tester@pbs1, owner = tester@pbs1, job name = failer" in line for line in ours
    )
    assert ours[-1].startswith("11/21/2026 02:56:32  S    Exit_status=3 resources_used.cpupercent=0 ")


def test_accounting_is_shown_beside() -> None:
    assert [line[21] for line in trace().splitlines()[3:]].count("A") == 3


@pytest.mark.parametrize(
    ("lost", "text"),
    [("", "Job Rerun"), ("pod p on node pbs1 was lost", "Job requeued, pod p on node pbs1 was lost")],
)
def test_a_run_after_which_it_ran_again(lost: str, text: str) -> None:
    run = PastRun(start_time=SUBMITTED, end_time=SUBMITTED, hosts=FAILER.status.hosts, lost=lost)
    again = replace(FAILER, status=replace(FAILER.status, past_runs=(run,), run_count=2))
    assert f"11/21/2026 02:56:31  S    {text}" in trace("-a", job=again).splitlines()


@pytest.mark.parametrize(
    ("argv", "logs"),
    [
        (["-a"], "SLM"),
        (["-l"], "ASM"),
        (["-sm"], "AL"),
        (["-f", "sched", "-a"], "SM"),
        (["-f", "job", "-a"], "SLM"),
        (["-f8", "-f", "job_usage", "-f", "debug", "-a"], "L"),
    ],
)
def test_logs_can_be_left_out(argv: list[str], logs: str) -> None:
    assert {line[21] for line in trace(*argv).splitlines()[3:]} == set(logs)


def test_only_the_days_asked_for() -> None:
    tomorrow = NOW + timedelta(days=1)
    assert trace("-a", now=tomorrow) == ""
    assert trace("-a", "-n", "2", now=tomorrow) == trace("-a")


def test_deleted_while_it_ran() -> None:
    status = replace(FAILER.status, state=JobState.DELETED, reason=Reason.DELETED_BY_USER, deleted_by="boss@adm")
    text = trace("-a", job=replace(FAILER, status=replace(status, exit_code=None, exit_signal=15)))
    assert "S    Job to be deleted at request of boss@adm\n" in text
    assert "Exit_status=271 " in text


def test_waiting_says_why() -> None:
    waits = record(7, reason=Reason.RESOURCES, submit_time=SUBMITTED, eligible_time=SUBMITTED)
    assert "L    Not enough free nodes available\n" in trace(job=waits)


def test_each_host_says_what_it_used() -> None:
    hosts = (ExecHost(node="n1", pod="p0", cpus=1), ExecHost(node="n2", pod="p1", cpus=1))
    usage = (HostUsage(pod="p0", cpu_s=61, max_rss_bytes=2**20), HostUsage(pod="p1"))
    text = trace("-a", job=replace(FAILER, status=replace(FAILER.status, hosts=hosts, usage=usage)))
    assert "M    n1 cput=00:01:01 mem=1024kb\n" in text
    assert "M    n2 cput=00:00:00 mem=0kb\n" in text


@pytest.mark.parametrize("argv", [[], ["-n", "x", "1"], ["-q", "1"], ["-f", "nosuch", "1"], ["-n"], ["-p", "/", "1"]])
def test_usage(argv: list[str]) -> None:
    assert read_options(argv) is None


def test_options_may_stand_anywhere() -> None:
    assert read_options(["12", "-n3", "13", "-w", "80"]) == TracejobOptions(("12", "13"), 3, 80)
    assert read_options(["--", "-1"]) == TracejobOptions(("-1",))


def test_an_unknown_job() -> None:
    assert not_found("9", "pbs1", 1) == "\ntracejob: Couldn't find Job Id 9.pbs1 in logs of past 1 day\n"
    assert not_found("9.x", "pbs1", 3).endswith("Job Id 9.x in logs of past 3 days\n")


@given(st.lists(st.text("abc", min_size=1, max_size=40), min_size=1), st.integers(27, 120))
def test_wrapping_breaks_at_blanks_only(words: list[str], width: int) -> None:
    job = replace(FAILER, spec=replace(FAILER.spec, name=" ".join(words)))
    whole, wrapped = (trace("-a", "-l", "-m", job=job, width=size) for size in (0, width))
    assert wrapped.split() == whole.split()
    room = width - 26
    for line in wrapped.splitlines()[3:]:
        assert len(line) <= width or " " not in line[26:].strip() or len(line[26:].split()[0]) >= room
