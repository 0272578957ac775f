"""Times, hosts and usage in the status of a run."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from hpcbatch.model.chunk import Chunk
from hpcbatch.model.record import HostUsage, JobStatus, Suspension
from hpcbatch.model.state import JobState
from hpcbatch.policy.decide import decide
from hpcbatch.volcano.report import RunReport
from tests.unit.policy.job_seen import END, ENDED, OK, RUNNING, START, pod, seen


@pytest.mark.parametrize(
    ("said_s", "used_s"), [(85, 85), (60, 65), (0, 65), (10**6, 86)], ids=["honest", "late", "forged", "more than was"]
)
def test_the_walltime_is_about_what_the_pods_ran(said_s: int, used_s: int) -> None:
    ended = replace(ENDED, report=replace(OK, walltime_s=said_s))
    assert decide(seen(phase="Completed", pods=[ended])).status.walltime_used_s == used_s


@pytest.mark.parametrize("report", [None, RunReport(exit_code=0)], ids=["no report", "one that does not say it"])
def test_the_walltime_of_a_job_that_stood_is_without_that(report: RunReport | None) -> None:
    stood = Suspension(start_time=START + timedelta(seconds=10), end_time=START + timedelta(seconds=40))
    status = JobStatus(layout=(Chunk(),), state=JobState.RUNNING, start_time=START, run_count=1, suspensions=(stood,))
    ended = replace(ENDED, report=report)
    assert decide(seen(phase="Completed", pods=[ended], status=status)).status.walltime_used_s == 55


def test_times_and_usage_come_from_pod_and_report() -> None:
    status = decide(seen(phase="Completed", pods=[ENDED])).status
    assert (status.start_time, status.end_time, status.run_count) == (START, END, 1)
    assert (status.exit_code, status.walltime_used_s, status.cpu_used_s, status.session_id) == (0, 85, 3, 7)
    assert [host.node for host in status.hosts] == ["node-0"]


TOLD = (HostUsage(pod="pod-0", cpu_s=5, max_rss_bytes=100), HostUsage(pod="pod-1", cpu_s=7, max_rss_bytes=50))


def test_usage_while_it_runs_and_of_pods_that_do_not_report() -> None:
    pods = [RUNNING, pod(1, started_at=START)]
    status = decide(seen(phase="Running", pods=pods, usage=TOLD)).status
    assert (status.cpu_used_s, status.max_rss_bytes, status.usage) == (12, 150, TOLD)
    again = decide(seen(phase="Running", pods=pods, status=status)).status
    assert again.usage == TOLD, "a controller that has begun anew knows nothing yet"
    ended = [
        replace(ENDED, report=replace(OK, cpu_s=9)),
        replace(pods[1], phase="Failed", finished_at=END, is_gone=True),
    ]
    status = decide(seen(phase="Completed", pods=ended, status=status)).status
    assert (status.cpu_used_s, status.max_rss_bytes) == (16, 150)
    lost = decide(seen(phase="Terminated", pods=[replace(ENDED, report=None, is_lost=True)], status=again)).status
    assert (lost.state, lost.cpu_used_s, lost.usage) == (JobState.QUEUED, None, ()), "the next run has used nothing"


def test_a_dedicated_launcher_is_no_host() -> None:
    worker = replace(RUNNING, index=1, name="worker")
    status = decide(seen(phase="Running", pods=[replace(RUNNING, is_launcher=True, cpus=0), worker])).status
    assert [host.pod for host in status.hosts] == ["worker"]
    assert status.start_time == START


def test_usage_of_all_pods_is_added_up() -> None:
    first = replace(ENDED, report=replace(OK, cpu_s=30, max_rss_bytes=200))
    pods = [
        first,
        replace(pod(1), phase="Failed", finished_at=END, report=RunReport(cpu_s=12, max_rss_bytes=300), is_gone=True),
        replace(pod(2), phase="Failed", finished_at=END, is_gone=True),
    ]
    status = decide(seen(phase="Completed", pods=pods)).status
    assert (status.cpu_used_s, status.max_rss_bytes) == (42, 500)
    assert status.usage == (
        HostUsage(pod="pod-0", cpu_s=30, max_rss_bytes=200),
        HostUsage(pod="pod-1", cpu_s=12, max_rss_bytes=300),
    )


def test_a_dedicated_launcher_is_no_host_but_its_time_counts() -> None:
    pods = [
        replace(ENDED, is_launcher=True, report=replace(OK, cpu_s=2)),
        replace(pod(1), phase="Failed", started_at=START, finished_at=END, is_gone=True, report=RunReport(cpu_s=40)),
    ]
    status = decide(seen(phase="Completed", pods=pods)).status
    assert (status.cpu_used_s, status.max_rss_bytes) == (42, None)
    assert status.usage == (HostUsage(pod="pod-1", cpu_s=40),)
