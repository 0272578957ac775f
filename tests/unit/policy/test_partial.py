"""Jobs that have only some of their nodes, or whose script has not had its word."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hpcbatch.model.chunk import Chunk
from hpcbatch.model.record import JobStatus
from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy.decide import decide
from hpcbatch.policy.observed import Observed, PodView, VolcanoJobView, Waiting
from hpcbatch.volcano.report import RunReport
from tests.unit.policy.job_seen import END, NOW, RUNNING, START, ended_with, pod, seen


def pods(*nodes: str, report: RunReport | None = None) -> list[PodView]:
    found = [PodView(index=index, name=f"p{index}", node=node, cpus=1, phase="") for index, node in enumerate(nodes)]
    return (
        found
        if report is None
        else [
            PodView(index=0, name="p0", node=nodes[0], cpus=1, phase="", report=report),
            *found[1:],
        ]
    )


@pytest.mark.parametrize(
    ("seen", "in_part", "has_run", "lacks"),
    [
        pytest.param(pods("a", "b"), True, False, False, id="whole"),
        pytest.param(pods("a", ""), True, False, True, id="one waits"),
        pytest.param(pods("a"), True, False, True, id="one is not made yet"),
        pytest.param(pods(), True, False, True, id="none is made yet"),
        pytest.param(pods("a"), True, True, False, id="one is lost after the whole has run"),
        pytest.param(pods("a", report=RunReport(started=1)), True, False, False, id="the script has run"),
        pytest.param(pods("a", report=RunReport()), True, False, True, id="the runner ended before the script"),
        pytest.param([replace(pods("a")[0], has_word=True)], True, False, False, id="the script was let start"),
        pytest.param(pods("a", ""), False, False, False, id="Volcano places all or none"),
    ],
)
def test_who_lacks_nodes(seen: list[PodView], in_part: bool, has_run: bool, lacks: bool) -> None:
    job = VolcanoJobView(uid="u", phase="Pending", may_bind_in_part=in_part, has_run=has_run)
    assert job.lacks_nodes(seen, 2) is lacks


OTHER = replace(RUNNING, index=1, name="pod-1", node="node-1")
REFUSED = pod(1, node="node-1", phase="Failed", is_lost=True, is_refused=True, problem="OutOfcpu: Pod was rejected")
UNBOUND = pod(1, node="", phase="Pending")
TAKEN = replace(RUNNING, is_deleting=True)
GONE = replace(TAKEN, phase="Failed", finished_at=END, exit_code=143)
"""Its runner was stopped before it had its word: that leaves no report."""
BROKEN = ended_with(reason=Reason.LAUNCH_FAILED, message="no sshd")
STATUS = JobStatus(owner="alice", layout=(Chunk(count=2),))


def gang(
    phase: str, pods: list[PodView], *, status: JobStatus = STATUS, in_part: bool = True, **more: object
) -> Observed:
    """A job of two pods as the controller observes it."""
    at = seen(phase=phase, status=status, pods_wanted=2, **more)  # type: ignore[arg-type]
    assert at.volcano_job is not None
    job = replace(at.volcano_job, may_bind_in_part=in_part, has_run=phase != "Pending")
    return replace(at, volcano_job=job, pods=job.as_counted(pods, 2, status.start_time))


WITHOUT_WORD = [
    pytest.param("Pending", [RUNNING, UNBOUND], id="bound in part"),
    pytest.param("Pending", [RUNNING], id="one is not made"),
    pytest.param("Pending", [RUNNING, replace(OTHER, started_at=None)], id="one is starting"),
    pytest.param("Pending", [RUNNING, REFUSED], id="refused by its node"),
    pytest.param("Terminating", [TAKEN, REFUSED], id="refused, and ended"),
    pytest.param("Terminating", [GONE, REFUSED], id="refused, and gone"),
    pytest.param("Pending", [GONE, UNBOUND], id="ended in part"),
    pytest.param("Restarting", [GONE, replace(UNBOUND, is_deleting=True)], id="evicted by Kueue, ended"),
    pytest.param("Restarting", [TAKEN, replace(OTHER, is_deleting=True, is_lost=True)], id="evicted by Kueue"),
    pytest.param("Running", [RUNNING, replace(OTHER, is_deleting=True)], id="one is deleted before the word"),
    pytest.param("Running", [GONE, replace(OTHER, is_deleting=True)], id="all are deleted before the word"),
    pytest.param("Running", [RUNNING, replace(OTHER, phase="Failed", finished_at=END)], id="one fails before the word"),
    pytest.param("Terminating", [BROKEN, OTHER], id="the first fails before the word"),
    pytest.param("Terminating", [TAKEN, replace(BROKEN, index=1)], id="one fails, the others are ended"),
]


@pytest.mark.parametrize(("phase", "pods"), WITHOUT_WORD)
@pytest.mark.parametrize("rerunnable", [True, False], ids=["rerunnable", "not"])
@pytest.mark.parametrize("withdrawn", [True, False], ids=["taken back", "left"])
@pytest.mark.parametrize("deleted", [True, False], ids=["deleted", "wanted"])
def test_a_gang_without_its_word_waits(
    phase: str, pods: list[PodView], rerunnable: bool, withdrawn: bool, deleted: bool
) -> None:
    """Whatever becomes of its pods: no command shows a run that never was."""
    stopped = Waiting(reason=Reason.RESOURCES, message="not started within 10 s") if withdrawn else None
    at = gang(phase, pods, spec={"rerunnable": rerunnable}, stopped=stopped, delete_requested=deleted)
    decision = decide(at)
    status = decision.status
    assert (status.state, status.start_time, status.run_count) == (JobState.QUEUED, None, 0)
    assert (status.hosts, status.past_runs, decision.let_start) == ((), (), False)
    assert decision.terminate is deleted


@pytest.mark.parametrize("rerunnable", [True, False], ids=["rerunnable", "not"])
@pytest.mark.parametrize(
    "pods",
    [
        pytest.param([GONE, REFUSED], id="refused"),
        pytest.param([GONE, replace(OTHER, is_deleting=True, is_lost=True, is_gone=True)], id="lost"),
        pytest.param([replace(GONE, is_gone=True), replace(OTHER, is_deleting=True, is_gone=True)], id="deleted"),
    ],
)
def test_a_gang_that_was_ended_without_its_word_waits_again(pods: list[PodView], rerunnable: bool) -> None:
    """Also one that must not run twice: it has not run."""
    decision = decide(gang("Terminated", pods, spec={"rerunnable": rerunnable}))
    status = decision.status
    assert (status.state, status.reason, decision.delete) == (JobState.QUEUED, Reason.NODE_LOST, True)
    assert (status.start_time, status.run_count, status.past_runs) == (None, 0, ())


def test_the_end_of_a_gang_waits_for_all_that_its_pods_tell() -> None:
    """Although none of them counts as started."""
    ending = [replace(BROKEN, report=None, finished_at=None), replace(OTHER, is_deleting=True)]
    assert not decide(gang("Failed", ending)).status.state.is_final
    status = decide(gang("Failed", [BROKEN, replace(GONE, index=1, name="pod-1", finished_at=NOW)])).status
    assert (status.state, status.message) == (JobState.FAILED, "no sshd")
    assert (status.start_time, status.run_count, status.walltime_used_s) == (None, 0, None)


@pytest.mark.parametrize(
    ("pods", "in_part", "start_time"),
    [
        pytest.param([RUNNING, OTHER], True, None, id="all run: it gets its word"),
        pytest.param(
            [replace(RUNNING, has_word=True), replace(OTHER, is_deleting=True)], True, None, id="has its word"
        ),
        pytest.param([replace(TAKEN, has_word=True), REFUSED], True, START, id="taken after its word"),
        pytest.param([RUNNING, UNBOUND], True, START, id="shown as running"),
        pytest.param([RUNNING, UNBOUND], False, None, id="Volcano places all or none"),
    ],
)
def test_what_counts_as_started(pods: list[PodView], in_part: bool, start_time: object) -> None:
    job = VolcanoJobView(uid="u", phase="Running", may_bind_in_part=in_part)
    assert job.as_counted(pods, 2, start_time) is pods  # type: ignore[arg-type]


def test_a_restarted_gang_waits_for_its_word_again() -> None:
    job = VolcanoJobView(uid="u", phase="Pending", may_bind_in_part=True, restarts=1, restarted_at=END)
    found = job.as_counted([replace(RUNNING, started_at=NOW), UNBOUND], 2, START)
    assert [pod.started_at for pod in found] == [None, None]
