"""What becomes of a job whose run is over: by its own end, by a lost node, by too much memory."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from hpcbatch.model.dialect import Dialect
from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy.decide import decide
from hpcbatch.policy.observed import PodView
from hpcbatch.volcano.report import RunReport
from tests.unit.policy.job_seen import DELETED, END, ENDED, NOW, OK, RUNNING, START, TAKEN, ended_with, pod, seen


@pytest.mark.parametrize(
    ("rerunnable", "state", "flag"), [(True, "Queued", True), (False, "Failed", False)], ids=["rerunnable", "not"]
)
def test_the_end_of_a_job_that_lost_a_node(rerunnable: bool, state: str, flag: bool) -> None:
    """Its pod is gone as it was last seen, running; the first pod was ended by Volcano and reports so."""
    first = replace(ended_with(exit_code=143), is_deleting=True)
    gone = replace(TAKEN, is_gone=True)
    decision = decide(seen(phase="Terminated", pods=[first, gone], spec={"rerunnable": rerunnable}))
    assert (decision.status.state, decision.status.reason) == (JobState(state), Reason.NODE_LOST)
    assert "pod pod-1 on node node-1 was lost" in decision.status.message
    assert decision.delete is flag


@pytest.mark.parametrize(("rerunnable", "state"), [(True, "Queued"), (False, "Failed")])
def test_the_end_of_a_job_that_was_preempted(rerunnable: bool, state: str) -> None:
    """The scheduler takes one pod after the other; the first one's end may come with a report."""
    first = replace(ended_with(exit_code=143), is_deleting=True)
    gone = replace(TAKEN, is_gone=True, is_lost=True, is_preempted=True)
    decision = decide(seen(phase="Terminated", pods=[first, gone], spec={"rerunnable": rerunnable}))
    assert (decision.status.state, decision.status.reason) == (JobState(state), Reason.PREEMPTED)
    assert "pod pod-1 on node node-1 was preempted for a job of more weight" in decision.status.message
    assert decision.delete is rerunnable


REFUSED = pod(phase="Failed", is_lost=True, is_refused=True, problem="OutOfcpu: Pod was rejected")


@pytest.mark.parametrize("rerunnable", [True, False])
def test_a_job_whose_node_had_no_room_for_it(rerunnable: bool) -> None:
    """Its script has not begun, so that also an interactive job waits again."""
    decision = decide(seen(phase="Terminated", pods=[REFUSED], spec={"rerunnable": rerunnable}))
    assert (decision.status.state, decision.status.reason) == (JobState.QUEUED, Reason.NODE_LOST)
    text = "node node-0 had no room for pod pod-0 (OutOfcpu: Pod was rejected); the job will run again"
    assert decision.status.message == text
    assert decision.delete


@pytest.mark.parametrize(
    ("rerunnable", "has_begun", "state"),
    [
        (True, False, JobState.QUEUED),
        (True, True, JobState.QUEUED),
        (False, False, JobState.QUEUED),
        (False, True, JobState.FAILED),
    ],
)
def test_a_gang_one_of_whose_nodes_had_no_room_for_it(rerunnable: bool, has_begun: bool, state: JobState) -> None:
    """The first pod runs, but its script waits for the others."""
    first = replace(TAKEN, index=0, name="pod-0", is_lost=False, finished_at=END, has_word=has_begun)
    other = replace(REFUSED, index=1, name="pod-1")
    decision = decide(seen(phase="Terminated", pods=[first, other], spec={"rerunnable": rerunnable}))
    assert (decision.status.state, decision.status.reason) == (state, Reason.NODE_LOST)
    assert decision.status.message.startswith("node node-0 had no room for pod pod-1 (OutOfcpu")


def test_the_pod_that_was_deleted_is_named_and_not_those_that_volcano_took_with_it() -> None:
    first = pod(
        phase="Failed", is_deleting=True, started_at=START, finished_at=END, dies_at=END + timedelta(seconds=15)
    )
    forced = pod(1, is_deleting=True, is_gone=True, started_at=START, dies_at=END)
    decision = decide(seen(phase="Terminated", spec={"rerunnable": False}, pods=[first, forced]))
    assert decision.status.reason is Reason.NODE_LOST
    assert decision.status.message.startswith("pod pod-1 on node node-0 was deleted by somebody else")


STARVED = pod(1, node="node-1", phase="Failed", started_at=START, finished_at=END, exit_code=137, is_out_of_memory=True)
OUT_OF_MEMORY = [
    pytest.param([replace(ended_with(exit_code=143), is_deleting=True), STARVED], "pod-1", id="another host"),
    pytest.param([ended_with(exit_code=1), STARVED], "pod-1", id="another host, seen by the script"),
    pytest.param([replace(ENDED, phase="Failed", report=None, is_out_of_memory=True)], "pod-0", id="the runner too"),
    pytest.param([replace(ended_with(exit_code=137), is_out_of_memory=True)], "pod-0", id="a process of the script"),
]


@pytest.mark.parametrize(("pods", "name"), OUT_OF_MEMORY)
def test_too_much_memory(pods: list[PodView], name: str) -> None:
    status = decide(seen(phase="Terminated", pods=pods)).status
    assert (status.state, status.reason) == (JobState.FAILED, Reason.OUT_OF_MEMORY)
    assert status.message.startswith(f"pod {name} on node node-")


@pytest.mark.parametrize(
    ("dialect", "state", "reason"),
    [(Dialect.PBS, JobState.FINISHED, Reason.NONE), (Dialect.SLURM, JobState.FAILED, Reason.OUT_OF_MEMORY)],
)
def test_a_good_end_although_a_process_was_killed(dialect: Dialect, state: JobState, reason: Reason) -> None:
    """PBS requests the script's end only; both tell of it."""
    before = seen(phase="Completed", pods=[ENDED, replace(STARVED, phase="Succeeded", exit_code=0)])
    record = replace(before.record, spec=replace(before.record.spec, dialect=dialect))
    status = decide(replace(before, record=record)).status
    assert (status.state, status.reason) == (state, reason)
    assert status.message.startswith("pod pod-1 on node node-1 was out of memory")


@pytest.mark.parametrize(
    ("more", "flags", "message"),
    [
        ([], {}, "warning: w"),
        ([STARVED], {}, "pod pod-1 on node node-1 was out of memory: the job used more than it asked for; warning: w"),
        ([], {"delete_requested": True}, "warning: w"),
    ],
    ids=["good end", "said of a process that was killed", "deleted"],
)
def test_a_warning_is_kept_however_the_job_ends(more: list[PodView], flags: dict[str, Any], message: str) -> None:
    warned = replace(ENDED, report=replace(OK, message="warning: w"))
    ended = [replace(pod, phase="Succeeded", exit_code=0) for pod in more]
    status = decide(seen(phase="Completed", pods=[warned, *ended], **flags)).status
    assert status.state.is_final
    assert status.message == message


def test_the_end_of_a_script_that_was_cut_short_is_not_its_own() -> None:
    """Whether its last words came through or not, the job shows the same."""
    said = RunReport(message="no sshd")
    broken = pod(1, node="node-1", phase="Failed", started_at=START, finished_at=END, report=said)
    for report in (RunReport(signal=15), RunReport(exit_code=143), None):
        first = replace(ENDED, phase="Failed", is_deleting=True, report=report)
        status = decide(seen(phase="Terminated", pods=[first, broken])).status
        assert (status.reason, status.exit_code, status.exit_signal) == (Reason.LAUNCH_FAILED, None, None)
        assert status.message == "pod pod-1 failed: no sshd"


@pytest.mark.parametrize("report", [None, RunReport(), RunReport(walltime_s=0)], ids=["none", "torn", "half of one"])
def test_a_runner_that_was_killed_before_it_reported(report: RunReport | None) -> None:
    """A script can kill its runner, and keep its report from being written."""
    first = replace(ENDED, phase="Failed", exit_code=137, report=report)
    status = decide(seen(phase="Failed", pods=[first])).status
    assert (status.state, status.reason) == (JobState.FAILED, Reason.SIGNALLED)
    assert (status.exit_code, status.exit_signal) == (None, 9)


def test_a_program_that_could_not_start() -> None:
    for first in (
        replace(ENDED, exit_code=128, report=None),
        replace(ENDED, started_at=None, exit_code=137, report=None),
    ):
        status = decide(seen(phase="Failed", pods=[replace(first, phase="Failed")])).status
        assert (status.reason, status.exit_signal) == (Reason.LAUNCH_FAILED, None)


def test_which_pod_was_deleted_first() -> None:
    """A worker exits with 0 when it is stopped, and all within a second."""
    first = replace(ended_with(exit_code=143), is_deleting=True, dies_at=NOW)
    other = replace(TAKEN, is_lost=False, is_deleting=True, phase="Succeeded", dies_at=NOW, is_gone=True)
    known = replace(other, is_first_taken=True)
    for pods, name in (([first, other], "pod-0"), ([first, known], "pod-1")):
        decision = decide(seen(phase="Terminated", pods=pods, spec={"rerunnable": False}))
        assert f"pod {name} on node" in decision.status.message


BROKEN = pod(1, phase="Failed", started_at=START, finished_at=END, exit_code=137)
LATE = replace(DELETED, is_taken_early=False)


@pytest.mark.parametrize("code", [0, 255])
@pytest.mark.parametrize(
    ("other", "reason", "message"),
    [
        pytest.param(
            DELETED,
            Reason.NODE_LOST,
            "pod pod-1 on node node-0 was deleted by somebody else; not rerunnable",
            id="deleted",
        ),
        pytest.param(BROKEN, Reason.LAUNCH_FAILED, "pod pod-1 failed: it ended with exit code 137", id="killed"),
        pytest.param(
            replace(BROKEN, is_deleting=True),
            Reason.LAUNCH_FAILED,
            "pod pod-1 failed: it ended with exit code 137",
            id="killed, and then deleted by Volcano",
        ),
        pytest.param(LATE, None, "", id="deleted by Volcano, which follows the script's end"),
        pytest.param(replace(BROKEN, finished_at=NOW), None, "", id="failed after the script's end"),
        pytest.param(replace(LATE, phase="Succeeded", finished_at=END), None, "", id="ended by Volcano at once"),
    ],
)
def test_a_script_that_ends_with_its_host_before_volcano_ends_it(
    other: PodView, reason: Reason | None, message: str, code: int
) -> None:
    """Its mpirun is often the first to see that a host has gone."""
    observed = seen(phase="Terminated", pods=[ended_with(exit_code=code), other], spec={"rerunnable": False})
    status = decide(observed).status
    own = Reason.NON_ZERO_EXIT if code else Reason.NONE
    assert (status.reason, status.message) == (reason or own, message)
    assert status.exit_code == (code if reason is None else None)


def test_a_time_limit_is_the_reason_whatever_became_of_the_hosts() -> None:
    over = ended_with(exit_code=143, reason=Reason.TIME_LIMIT)
    assert decide(seen(phase="Terminated", pods=[over, DELETED])).status.reason is Reason.TIME_LIMIT


def test_a_run_is_counted_of_which_nothing_but_its_loss_was_seen() -> None:
    taken = replace(RUNNING, is_deleting=True, is_gone=True)
    decision = decide(seen(phase="Terminated", pods=[taken]))
    assert (decision.status.run_count, decision.status.reason, decision.delete) == (1, Reason.NODE_LOST, True)
    assert decide(seen(phase="Terminated", pods=[taken], status=decision.status)).status.run_count == 1
