"""A run that is given up is remembered, once, whatever gave it up."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from hpcbatch.model.chunk import Chunk
from hpcbatch.model.record import ExecHost, JobStatus, PastRun
from hpcbatch.model.state import JobState
from hpcbatch.policy.decide import decide
from hpcbatch.policy.observed import PodView
from hpcbatch.record.batchjob import status_from_json, status_to_json
from tests.unit.policy.job_seen import ENDED, NOW, RUNNING, START, seen

HOSTS = (ExecHost(node="node-0", pod="pod-0", cpus=1),)
RUNS = JobStatus(
    owner="alice",
    layout=(Chunk(),),
    state=JobState.RUNNING,
    start_time=START,
    hosts=HOSTS,
    run_count=1,
)
LOST = replace(ENDED, report=None, is_lost=True)


@pytest.mark.parametrize(
    ("phase", "pod", "status", "lost"),
    [
        pytest.param("Terminated", LOST, RUNS, "pod pod-0 on node node-0 was lost", id="node lost"),
        pytest.param(
            "Restarting",
            replace(RUNNING, is_deleting=True),
            RUNS,
            "pod pod-0 on node node-0 was deleted by somebody else",
            id="Volcano restarts it",
        ),
        pytest.param("Restarting", replace(RUNNING, started_at=None, phase="Pending"), RUNS, "", id="the next pod"),
        pytest.param("Terminated", ENDED, replace(RUNS, is_rerunning=True), "", id="rerun by request"),
    ],
)
def test_a_run_that_was_given_up(phase: str, pod: PodView, status: JobStatus, lost: str) -> None:
    after = decide(seen(phase=phase, pods=[pod], status=status)).status
    assert after.start_time is None
    assert after.past_runs == (PastRun(start_time=START, end_time=NOW, hosts=HOSTS, lost=lost),)
    again = decide(seen(phase=phase, pods=[pod], status=after)).status
    assert again.past_runs == after.past_runs


def test_a_second_start_seen_without_the_end_of_the_first() -> None:
    later = START + timedelta(seconds=30)
    after = decide(seen(phase="Running", pods=[replace(RUNNING, started_at=later)], status=RUNS)).status
    assert (after.start_time, after.run_count) == (later, 2)
    assert after.past_runs == (PastRun(start_time=START, end_time=later, hosts=HOSTS),)


def test_a_run_that_ended_is_none_of_the_past() -> None:
    assert decide(seen(phase="Completed", pods=[ENDED], status=RUNS)).status.past_runs == ()


def test_past_runs_come_back_from_the_api() -> None:
    start = START.replace(microsecond=0)
    status = replace(RUNS, past_runs=(PastRun(start_time=start, end_time=NOW, hosts=HOSTS, lost="pod x"),) * 2)
    assert status_from_json(status_to_json(status), None).past_runs == status.past_runs
