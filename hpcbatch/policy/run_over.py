"""The result of a job whose Volcano Job has ended: from the runner's report, or from what ended its pods."""

from __future__ import annotations

from datetime import timedelta

from hpcbatch.dataclass import replace
from hpcbatch.dialects.registry import door
from hpcbatch.model.record import PREEMPTED, JobStatus
from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy.observed import Decision, Observed, PodView, Waiting
from hpcbatch.policy.plausible import SIGNALLED
from hpcbatch.policy.preempted import told
from hpcbatch.policy.statuses import (
    GIVEN_BACK,
    NOTHING_USED,
    as_ended,
    as_waiting,
    cut_short,
    node_of,
    queued_again,
    why_it_waits,
)
from hpcbatch.volcano.report import RunReport

_BY_ITSELF = frozenset({Reason.NONE, Reason.NON_ZERO_EXIT, Reason.SIGNALLED})
"""The runner's message about a script that it did not end, and that left its output."""
_CLOCKS = timedelta(seconds=1)
"""Tolerance for comparing the times of different pods: whole seconds, each by its node's clock."""


def when_over(seen: Observed, first: PodView | None) -> Decision:
    """The Volcano Job has ended by itself."""
    spec, report = seen.record.spec, None if first is None else first.report
    if not seen.pods and seen.record.status.start_time is None and not _has_run(seen):
        return _never_made(seen)
    culprit = next((pod for pod in seen.pods if pod.index and pod.has_failed_by_itself), None)
    if culprit is None and first is not None and not first.is_deleting:
        culprit = next((pod for pod in seen.pods if pod.index and _broke_before(pod, first)), None)
    lost = _lost_pod_text(seen, first, culprit)
    if report is not None and report.reason is Reason.WITHDRAWN:
        again = queued_again(seen.record.status, seen.now)
        return Decision(status=replace(again, run_count=max(0, again.run_count - 1)), delete=True)
    has_ended = report is not None and (report.exit_code is not None or report.signal is not None)
    is_taken = first is not None and (first.is_lost or first.is_taken or is_set_down(seen.record.status))
    if report is not None and report.reason in _BY_ITSELF and first is not None:
        # mpirun may notice a lost host first, and still end with 0, as Open MPI 5 does now and then
        is_taken = is_taken or any(pod.is_taken_early or _broke_before(pod, first) for pod in seen.pods if pod.index)
    if report is not None and has_ended and not (is_taken and (lost or culprit)):
        return Decision(status=_reported(seen, report, first))
    if culprit is not None and not lost:
        if culprit.is_out_of_memory:
            return Decision(status=cut_short(seen, Reason.OUT_OF_MEMORY, _too_much_memory(culprit), first))
        why = f"pod {culprit.name} failed: {culprit.why_it_failed}"
        return Decision(status=cut_short(seen, Reason.LAUNCH_FAILED, why, first))
    lost_by = Reason.PREEMPTED if any(pod.is_preempted for pod in seen.pods) else Reason.NODE_LOST
    has_started = seen.record.status.start_time is not None or any(pod.started_at for pod in seen.pods)
    if any(pod.is_refused for pod in seen.pods) and not any(pod.has_begun for pod in seen.pods):
        has_started = False  # the script waits until all pods run
    if lost and (spec.rerunnable or not (has_started or seen.is_barred)):
        again = replace(
            seen.record.status,
            state=JobState.QUEUED,
            reason=lost_by,
            message=f"{lost}; the job will run again",
            hosts=(),
            start_time=None,
            session_id=None,
            eligible_time=seen.now,
            **NOTHING_USED,
        )
        return Decision(status=again, delete=True)
    if lost:
        return Decision(status=cut_short(seen, lost_by, f"{lost}; not rerunnable", first))
    if first is not None and first.is_out_of_memory:
        return Decision(status=as_ended(seen, JobState.FAILED, Reason.OUT_OF_MEMORY, _too_much_memory(first), first))
    if first is not None and (killed_by := _signal_of_runner(first)) is not None:
        untold = replace(first, report=replace(report or RunReport(), signal=killed_by))
        why = "its runner was killed before it told how the script had ended"
        return Decision(status=as_ended(seen, JobState.FAILED, Reason.SIGNALLED, why, untold))
    if report is not None:
        return Decision(status=as_ended(seen, JobState.FAILED, report.reason, report.message, first))
    problem = next((pod.problem for pod in seen.pods if pod.problem), "its pods ended without a report")
    return Decision(status=as_ended(seen, JobState.FAILED, Reason.LAUNCH_FAILED, problem, first))


def _signal_of_runner(first: PodView) -> int | None:
    """What killed the runner before it could report the end of its script; None: nothing did."""
    if first.started_at is None or first.exit_code is None or first.exit_code <= SIGNALLED:
        return None
    is_untold = first.report is None or first.report.reason is Reason.NONE
    return first.exit_code - SIGNALLED if is_untold else None


def is_set_down(status: JobStatus) -> bool:
    """An operator has set a node of the run down: the run is lost, whatever its pods still report."""
    return status.state is JobState.EXITING and status.reason is Reason.NODE_LOST


def _broke_before(pod: PodView, first: PodView) -> bool:
    """Whether a worker failed before the script's end. If Volcano deleted it after that, it ended with 0."""
    if pod.phase != "Failed" or pod.is_lost or pod.is_out_of_memory:
        return False
    return not (pod.finished_at and first.finished_at) or pod.finished_at <= first.finished_at + _CLOCKS


def _too_much_memory(pod: PodView) -> str:
    return f"pod {pod.name} on node {pod.node} was out of memory: the job used more than it asked for"


def _has_run(seen: Observed) -> bool:
    """A run was lost that has not been reported: it left its count, its bar, or a completed task."""
    status = seen.record.status
    if status.reason in {Reason.NODE_LOST, Reason.PREEMPTED}:
        return False
    is_completed = seen.volcano_job is not None and seen.volcano_job.phase == "Completed"
    return status.run_count > 0 or seen.is_barred or is_completed


def _never_made(seen: Observed) -> Decision:
    """Volcano has given up making the pods, which it does after some minutes."""
    if seen.record.status.reason in GIVEN_BACK:
        return Decision(status=seen.record.status, delete=True)  # of an earlier run, not removed yet
    refused = seen.refused_pods
    if refused is not None and not refused.may_pass:
        return Decision(status=as_ended(seen, JobState.FAILED, Reason.LAUNCH_FAILED, refused.message))
    why = Waiting(
        reason=Reason.RESOURCES, message="Volcano ended the job before it had made its pods; it is tried again"
    )
    return Decision(status=as_waiting(seen.record.status, why if refused is None else why_it_waits(seen)), delete=True)


def given_up_for(seen: Observed) -> str:
    """Why a run ended that nobody requested to end, as far as its pods still show."""
    if seen.record.status.preempted is not None and seen.record.status.is_rerunning:
        return told(seen.record.status)
    first = next((pod for pod in seen.pods if pod.index == 0), None)
    if first is None or seen.record.status.is_rerunning or seen.delete_requested:
        return ""
    culprit = next((pod for pod in seen.pods if pod.index and pod.has_failed_by_itself), None)
    return _lost_pod_text(seen, first, culprit)


def _lost_pod_text(seen: Observed, first: PodView | None, culprit: PodView | None) -> str:
    """The pod that was lost through no act of the job, as text; "" if none was."""
    status = seen.record.status
    if is_set_down(status):
        return status.message
    preempted = next((pod for pod in seen.pods if pod.is_preempted), None)
    if preempted is not None:
        return f"pod {preempted.name} on node {node_of(status, preempted)}{PREEMPTED}for a job of more weight"
    lost = next((pod for pod in seen.pods if pod.is_lost), None)
    if lost is not None and lost.is_refused:
        return f"node {node_of(status, lost)} had no room for pod {lost.name} ({lost.problem})"
    if lost is not None:
        return f"pod {lost.name} on node {node_of(status, lost)} was lost"
    if (down := next((pod for pod in seen.pods if pod.is_set_down), None)) is not None:
        return f"node {node_of(status, down)} was set down"
    if first is None:
        # Volcano deletes it when another one fails; the failed one stays
        return "" if culprit is not None else "the pod that ran the script was deleted by somebody else"
    if (first.is_taken or any(pod.is_taken_early for pod in seen.pods)) and culprit is None:
        # Volcano deletes the others after a lost pod: the earliest was the cause, whatever its own result
        deleted = (pod for pod in seen.pods if pod.is_deleting or pod.is_taken_early)
        taken = min(deleted, key=lambda pod: (not pod.is_first_taken, pod.dies_at or seen.now))
        return f"pod {taken.name} on node {node_of(status, taken)} was deleted by somebody else"
    return ""


def _reported(seen: Observed, report: RunReport, first: PodView | None) -> JobStatus:
    if report.reason in {Reason.TIME_LIMIT, Reason.CPU_TIME_LIMIT, Reason.IDLE_LIMIT}:
        return as_ended(seen, JobState.TIMEOUT, report.reason, report.message, first)
    starved = next((pod for pod in seen.pods if pod.is_out_of_memory), None)
    rules = door(seen.record.spec.dialect).rules
    if starved is not None and (report.exit_code != 0 or rules.counts_killed_processes):
        return as_ended(seen, JobState.FAILED, Reason.OUT_OF_MEMORY, _too_much_memory(starved), first)
    if report.reason is Reason.OUTPUT_FAILED and report.exit_code == 0:
        return as_ended(seen, JobState.FINISHED, Reason.OUTPUT_FAILED, report.message, first)
    if report.reason in {Reason.LAUNCH_FAILED, Reason.OUTPUT_FAILED}:
        return as_ended(seen, JobState.FAILED, report.reason, report.message, first)
    if report.exit_code == 0:
        message = report.message if starved is None else _too_much_memory(starved)
        return as_ended(seen, JobState.FINISHED, Reason.NONE, message, first)
    if report.reason is Reason.PROGRAM_FAILED:
        return as_ended(seen, JobState.FAILED, Reason.PROGRAM_FAILED, report.message, first)
    reason = Reason.NON_ZERO_EXIT if report.exit_code is not None else Reason.SIGNALLED
    return as_ended(seen, JobState.FAILED, reason, report.message, first)
