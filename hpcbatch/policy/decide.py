"""What the controller does next with one admitted job. Reads no clock, calls no API."""

from __future__ import annotations

from datetime import timedelta

from hpcbatch.dataclass import replace
from hpcbatch.model.record import JobStatus
from hpcbatch.model.state import WAITING, JobState, Reason
from hpcbatch.policy.again import may_run_again, put_off
from hpcbatch.policy.deadlines import is_past, least_s, seconds_left
from hpcbatch.policy.dependencies import with_followers
from hpcbatch.policy.holds import kept_back
from hpcbatch.policy.observed import Decision, Observed, PodView, VolcanoJobView, Waiting
from hpcbatch.policy.past_runs import remembered
from hpcbatch.policy.preempted import grace_left_s, is_being_preempted, is_grace_over, sooner, to_end
from hpcbatch.policy.run_over import given_up_for, is_set_down, when_over
from hpcbatch.policy.standstill import as_it_stands, is_suspended_for_another
from hpcbatch.policy.statuses import (
    GIVEN_BACK,
    NOT_STARTED,
    NOTHING_USED,
    as_ended,
    as_running,
    as_waiting,
    cut_short,
    late_by,
    queued_again,
    why_it_waits,
)
from hpcbatch.policy.suspensions import with_suspensions
from hpcbatch.units import rfc3339

_VOLCANO_ENDING = frozenset({"Terminating", "Completing", "Aborting"})
_STARTING_LOOK_S = 10.0
# When its grace period is over, a pod on a silent node is given up after this time: a kubelet that is merely slow
# reports its end earlier.
_GIVEN_UP_AFTER = timedelta(seconds=10)
_ENDING_LOOK_S = 10.0
_UNTOLD_LOOK_S = 5.0
"""Kueue may say later why it does not let a job in: no event tells of that."""
_A_MOMENT_S = 0.1
_OVERDUE = frozenset({Reason.TIME_LIMIT, Reason.DEADLINE, Reason.RESERVATION_ENDED})


def decide(seen: Observed) -> Decision:
    """Advance one admitted job by a step. Doing it twice changes nothing more."""
    if not seen.record.status.state.is_final:
        status = seen.record.status
        if seen.outlook is not None:
            status = replace(status, dependency=seen.outlook.progress)
        seen = replace(seen, record=replace(seen.record, status=with_followers(status, seen.followers)))
    decision = _decide(seen)
    before = seen.record.status
    after = remembered(before, decision.status, seen.now, lambda: given_up_for(seen))
    if after.state in WAITING and not decision.delete:
        spec = seen.record.spec
        left_s = seconds_left(spec, least_s(spec, seen.record.walltime_s), seen.now)
        if left_s is not None:
            left_s = max(left_s, 0) + _A_MOMENT_S
            decision = replace(decision, look_again_s=min(left_s, decision.look_again_s or left_s))
    if after.frees_cpus and after.state is not JobState.SUSPENDED:
        after = replace(after, frees_cpus=False)
    return replace(decision, status=with_suspensions(before, after, seen.now))


def _decide(seen: Observed) -> Decision:
    status = seen.record.status
    if status.state.is_final:
        return Decision(status=status)
    if seen.volcano_job is None:
        return _without_volcano_job(seen)
    if seen.volcano_job.is_deleting:
        return _giving_up(seen, Decision(status=status))
    return _giving_up(seen, _with_volcano_job(seen, seen.volcano_job))


def _giving_up(seen: Observed, decision: Decision) -> Decision:
    """Give up pods whose deletion no kubelet confirms. Slurm and PBS requeue the jobs of a lost node as well."""
    ending = [(pod, pod.dies_at + _GIVEN_UP_AFTER) for pod in seen.pods if pod.dies_at is not None and not pod.is_gone]
    if not ending:
        return decision
    later = min((when - seen.now).total_seconds() for _, when in ending)
    return replace(
        decision,
        give_up=tuple(pod for pod, when in ending if not pod.node_answers and when <= seen.now),
        look_again_s=decision.look_again_s or (later if later > 0 else _ENDING_LOOK_S),
    )


def _without_volcano_job(seen: Observed) -> Decision:
    status = seen.record.status
    if status.is_rerunning and not seen.delete_requested:
        # a separate step, before anything is made: the new run must not be mistaken for the one to end
        return Decision(status=replace(_put_back(seen), is_rerunning=False), delete=True)
    if _is_overdue(status) and not seen.delete_requested:
        return _timed_out(seen, None, is_over=True)
    if is_being_preempted(status) and not seen.delete_requested:
        return _preempted(seen, None, is_over=True)
    if seen.was_created and not (seen.delete_requested or status.state in {JobState.HELD, JobState.WAITING}):
        return Decision(
            status=as_ended(seen, JobState.FAILED, Reason.LAUNCH_FAILED, "its Volcano Job was deleted by somebody else")
        )
    if seen.delete_requested:
        return Decision(status=as_ended(seen, JobState.DELETED, Reason.DELETED_BY_USER, status.message))
    if (kept := kept_back(seen)) is not None:
        return kept
    queued = replace(
        status,
        state=JobState.QUEUED,
        reason=Reason.NONE if status.state is not JobState.QUEUED else status.reason,
        message="" if status.state is JobState.HELD else status.message,
        eligible_time=status.eligible_time or seen.now,
        is_special=False,
    )
    return Decision(status=queued, create=True)


def _with_volcano_job(seen: Observed, volcano_job: VolcanoJobView) -> Decision:
    status = seen.record.status
    first = next((pod for pod in seen.pods if pod.index == 0), None)
    is_over = volcano_job.is_final and all(pod.has_ended for pod in seen.pods)
    is_new = first is not None and first.started_at is not None and first.started_at != status.start_time
    is_given_up = first is not None and (
        (is_over and (first.is_lost or (status.state is JobState.QUEUED and status.reason in GIVEN_BACK)))
        or (first.is_deleting and not seen.delete_requested)
        or volcano_job.phase == "Restarting"
    )
    # the Volcano Job of a requeued run may still exist
    is_given_up = is_given_up or (status.is_rerunning and status.state is JobState.QUEUED)
    is_late = first is not None and is_given_up and _is_seen_late(seen, first)
    if first is not None and is_new and (is_late or not is_given_up):
        status = replace(
            status,
            start_time=first.started_at,
            run_count=status.run_count + 1,
            end_time=None,
            exit_code=None,
            hosts=(),
            preempted=None,
            **NOTHING_USED,
        )
        # any request was meant for the run before this one
        is_suspended = seen.is_suspended and status.run_count == 1
        seen = replace(seen, record=replace(seen.record, status=status), is_suspended=is_suspended)
    if seen.delete_requested:
        return _deleting(seen, first, is_over=is_over)
    if status.is_rerunning:
        return _rerunning(seen, is_over=is_over)
    if _is_overdue(status):
        return _timed_out(seen, first, is_over=is_over)
    if is_being_preempted(status):
        return _preempted(seen, first, is_over=is_over)
    if is_over:
        wished = _as_wished(seen, first, is_new=is_new) if first is not None else None
        return wished or when_over(seen, first)
    if is_set_down(status):
        return Decision(status=status, terminate=True)
    has_run = first is not None and (first.started_at is not None or status.start_time is not None)
    if first is not None and first.finished_at is not None and has_run:
        return Decision(status=replace(as_running(seen), state=JobState.EXITING, reason=Reason.NONE))
    if (set_down := next((pod for pod in seen.pods if pod.is_set_down), None)) is not None:
        if first is None or first.started_at is None:
            return Decision(status=status, terminate=True)
        # a separate step, as below: the node may be back in use at the next look
        message = f"node {set_down.node} was set down"
        return Decision(
            status=replace(as_running(seen), state=JobState.EXITING, reason=Reason.NODE_LOST, message=message)
        )
    stuck = next((pod for pod in seen.pods if pod.problem and not pod.started_at and not pod.is_deleting), None)
    is_starting = any(pod.node and not pod.started_at for pod in seen.pods)
    if stuck is not None and _is_out_of_time(seen, stuck):
        message = f"pod {stuck.name} on node {stuck.node}: {stuck.problem}"
        return Decision(status=as_ended(seen, JobState.FAILED, Reason.LAUNCH_FAILED, message, first))
    if first is not None and first.started_at is not None and (is_late or volcano_job.phase != "Restarting"):
        message = "" if stuck is None else f"pod {stuck.name} on node {stuck.node}: {stuck.problem}"
        left = None if is_starting or first.is_deleting else _left_s(seen)
        if left is not None and left <= 0:
            # a separate step: whatever happens to the pods, the next look has the reason
            reason = Reason.DEADLINE if is_past(seen.record.spec, seen.now) else Reason.TIME_LIMIT
            if seen.ends_at is not None and seen.ends_at <= seen.now:
                reason = Reason.RESERVATION_ENDED
            return Decision(status=replace(as_running(seen), state=JobState.EXITING, reason=reason))
        if is_grace_over(status, seen.now) and not is_suspended_for_another(status):
            # a separate step, too
            return Decision(status=to_end(as_running(seen)))
        running = replace(as_running(seen), message=message, preempted=status.preempted or seen.preemption)
        running = as_it_stands(seen, running)
        if running.state is not JobState.SUSPENDED:
            left = sooner(left, grace_left_s(running, seen.now))
        return Decision(
            status=running,
            # not earlier: starting pods still read it
            let_start=seen.awaits_word and not is_starting and (not volcano_job.may_bind_in_part or seen.is_whole),
            look_again_s=_STARTING_LOOK_S if is_starting else left,
        )
    if status.start_time is not None and (volcano_job.phase in _VOLCANO_ENDING or not seen.record.spec.rerunnable):
        # its pods are gone before Volcano reports that: the run is over, not requeued
        return Decision(status=replace(status, state=JobState.EXITING, reason=Reason.NONE, message=""))
    if seen.is_partial or not any(pod.node for pod in seen.pods):
        if (kept := kept_back(seen)) is not None:
            if not kept.status.state.is_final:  # a run that it has lost is over
                kept = replace(kept, status=replace(kept.status, message="", **NOT_STARTED))
            return replace(kept, delete=True)
        if seen.stopped is not None:
            return Decision(status=as_waiting(status, seen.stopped), delete=True)
        if seen.is_outdated:
            return Decision(status=as_waiting(status, Waiting(reason=Reason.NONE, message="")), delete=True)
    if first is not None and all(pod.node for pod in seen.pods) and not seen.is_partial:
        problem = "" if stuck is None else stuck.problem
        starting = replace(
            status, state=JobState.QUEUED, reason=Reason.STARTING, message=problem, hosts=(), start_time=None
        )
        return Decision(status=starting, look_again_s=_STARTING_LOOK_S)
    refused = seen.refused_pods
    if (
        refused is not None
        and not refused.may_pass
        and (seen.now - refused.since).total_seconds() >= seen.start_limit_s
    ):
        return Decision(status=as_ended(seen, JobState.FAILED, Reason.LAUNCH_FAILED, refused.message))
    return Decision(
        status=as_waiting(status, why_it_waits(seen)),
        look_again_s=_UNTOLD_LOOK_S if volcano_job.may_bind_in_part else None,
    )


def _is_seen_late(seen: Observed, first: PodView) -> bool:
    """The script has begun, but that is seen only after its pod was deleted: it ran, if not for long.

    Not for a job that must not run twice: its script begins only after the controller allows it (Decision.let_start).
    """
    status = seen.record.status
    return (
        seen.record.spec.rerunnable
        and (first.has_word or not seen.awaits_word)
        and first.started_at is not None
        and status.start_time is None
        and not status.is_rerunning
        and status.reason not in GIVEN_BACK
        and all(run.start_time != first.started_at for run in status.past_runs)
    )


def _is_out_of_time(seen: Observed, pod: PodView) -> bool:
    if pod.is_hopeless:
        return True
    return pod.bound_at is not None and (seen.now - pod.bound_at).total_seconds() >= seen.start_limit_s


def _deleting(seen: Observed, first: PodView | None, *, is_over: bool) -> Decision:
    status = seen.record.status
    if is_over:
        return Decision(status=as_ended(seen, JobState.DELETED, Reason.DELETED_BY_USER, "", first))
    if first is not None and first.started_at is not None:
        return Decision(status=replace(as_running(seen), state=JobState.EXITING), terminate=True)
    return Decision(status=status, terminate=True)


def _rerunning(seen: Observed, *, is_over: bool) -> Decision:
    """End the run, whatever its result, and requeue the job. The mark stays until the Volcano Job is gone."""
    status = seen.record.status
    if is_over:
        is_queued = status.state is JobState.QUEUED
        return Decision(status=status if is_queued else _put_back(seen), delete=True)
    return Decision(status=replace(as_running(seen), state=JobState.EXITING), terminate=True)


def _as_wished(seen: Observed, first: PodView, *, is_new: bool) -> Decision | None:
    """What the job's own script requested, for which its runner ended the run; None if nothing, or if it may not."""
    wish = "" if first.report is None else first.report.wish
    if wish == "cancel":
        return Decision(status=as_ended(seen, JobState.DELETED, Reason.DELETED_BY_USER, "", first))
    if wish != "requeue" or not may_run_again(seen.record.spec):
        return None
    if is_new:
        # a separate step: the run must have been seen to be remembered
        running = replace(as_running(seen), state=JobState.EXITING, reason=Reason.NONE)
        return Decision(status=running, look_again_s=_A_MOMENT_S)
    return Decision(status=replace(_put_back(seen), is_rerunning=True), delete=True)


def _preempted(seen: Observed, first: PodView | None, *, is_over: bool) -> Decision:
    """End the run for another job, whatever its result: this one is cancelled."""
    status = seen.record.status
    if is_over:
        return Decision(status=cut_short(seen, Reason.PREEMPTED, status.message, first))
    return Decision(status=replace(as_running(seen), state=JobState.EXITING), terminate=True)


def _put_back(seen: Observed) -> JobStatus:
    return put_off(queued_again(seen.record.status, seen.now), seen.record.spec, seen.now)


def _left_s(seen: Observed) -> float | None:
    """Seconds until a run is overdue: its deadline has passed, its reservation has ended, or its runner should have
    ended it. None: no limit.
    """
    reserved = None if seen.ends_at is None else (seen.ends_at - seen.now).total_seconds()
    limits = (_walltime_left_s(seen), seconds_left(seen.record.spec, 0, seen.now), reserved)
    return min((left for left in limits if left is not None), default=None)


def _walltime_left_s(seen: Observed) -> float | None:
    """The same for the walltime. None: no limit, or suspended."""
    record, status = seen.record, seen.record.status
    began = max((pod.started_at for pod in seen.pods if pod.started_at), default=None)
    if began is None or record.walltime_s is None or seen.is_suspended or status.state is JobState.SUSPENDED:
        return None
    over = began + timedelta(seconds=record.walltime_s + status.suspended_s(began, seen.now))
    # a limit may already have passed when it is set: the runner still gets its time
    changes = [over, *(one.time for one in status.alterations[-1:]), *(one.end_time for one in status.suspensions[-1:])]
    latest = max(one for one in changes if one is not None)
    return (latest + late_by(seen) - seen.now).total_seconds() + seen.kill_delay_s


def _is_overdue(status: JobStatus) -> bool:
    return status.state is JobState.EXITING and status.reason in _OVERDUE


def _timed_out(seen: Observed, first: PodView | None, *, is_over: bool) -> Decision:
    """End the pods of an overdue run."""
    if not is_over:
        return Decision(status=seen.record.status, terminate=True)
    reason, message = Reason.TIME_LIMIT, f"walltime exceeded limit {seen.record.walltime_s} s"
    if seen.record.status.reason is Reason.DEADLINE and seen.record.spec.deadline is not None:
        reason, message = Reason.DEADLINE, f"deadline {rfc3339(seen.record.spec.deadline)} has passed"
    if seen.record.status.reason is Reason.RESERVATION_ENDED:
        reason, message = Reason.RESERVATION_ENDED, "the reservation in which it ran has ended"
    return Decision(status=as_ended(seen, JobState.TIMEOUT, reason, message, first))
