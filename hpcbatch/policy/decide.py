"""What the controller does with one admitted job, decided from what is there. Reads no clock, calls no API."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from hpcbatch.model.dialect import Dialect
from hpcbatch.model.record import ExecHost, HostUsage, JobRecord, JobStatus
from hpcbatch.model.site import Launcher
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState, Reason
from hpcbatch.model.warning import with_warning
from hpcbatch.policy.dependencies import Outlook, Verdict, with_followers
from hpcbatch.policy.past_runs import remembered
from hpcbatch.policy.suspensions import with_suspensions
from hpcbatch.volcano.report import RunReport

_VOLCANO_FINAL = frozenset({"Completed", "Failed", "Terminated", "Aborted"})
_VOLCANO_ENDING = frozenset({"Terminating", "Completing", "Aborting"})
_GIVEN_BACK = frozenset({Reason.NODE_LOST, Reason.PREEMPTED})
"""Of a job that is queued again since its run was lost."""
_BY_ITSELF = frozenset({Reason.NONE, Reason.NON_ZERO_EXIT, Reason.SIGNALLED})
"""What the runner says of a script that it did not end, and that left its output."""
_STARTING_LOOK_S = 10.0
# After the end of its grace period a pod on a node that does not answer is given up: long enough for a kubelet that is
# only slow to say that it has ended.
_GIVEN_UP_AFTER = timedelta(seconds=10)
_ENDING_LOOK_S = 10.0
_OVERDUE_AFTER = timedelta(seconds=20)
_OVERDUE_AFTER_WITH_PEERS = timedelta(seconds=60)
"""How long after the time limit and the delay before KILL a run is ended that its runner has not ended. It starts the
script some time after the pods, once they find each other. A script can stop the runner, or what keeps its time."""
_NOTHING_USED: dict[str, Any] = {"cpu_used_s": None, "max_rss_bytes": None, "usage": ()}
_CLOCKS = timedelta(seconds=1)
"""To spare where times of different pods are compared: they are whole seconds, each by the clock of its node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VolcanoJobView:
    """What matters of the Volcano Job."""

    uid: str
    phase: str
    is_deleting: bool = False
    launcher: Launcher = Launcher.SHARED
    """By which it was shaped; the site may have another one by now."""

    @property
    def is_final(self) -> bool:
        return self.phase in _VOLCANO_FINAL


@dataclass(frozen=True, slots=True, kw_only=True)
class PodView:
    """What matters of one pod. `index` is its place in the job: 0 runs the script."""

    index: int
    name: str
    node: str
    cpus: int
    phase: str
    uid: str = ""
    is_deleting: bool = False
    is_lost: bool = False
    """Its node or its engine went away under it, or it was evicted: nobody asked for its end."""
    is_preempted: bool = False
    """The scheduler took it away for a job of more weight; it is lost then, too."""
    is_out_of_memory: bool = False
    """A process of it was killed because the container used more memory than its limit."""
    started_at: datetime | None = None
    finished_at: datetime | None = None
    """When its container ended; the pod's phase may follow later."""
    exit_code: int | None = None
    report: RunReport | None = None
    problem: str = ""
    """Why it cannot start or has failed, in Kubernetes' words: `FailedMount: …`, `ErrImagePull: …`."""
    is_hopeless: bool = False
    """The problem will not pass: no such image name."""
    bound_at: datetime | None = None
    """Since when it has its node."""
    dies_at: datetime | None = None
    """When the grace period of its deletion ends."""
    is_first_taken: bool = False
    """It was seen to be deleted before all others of its job."""
    is_taken_early: bool = False
    """And the script ran on then: what became of the script may be due to that."""
    node_answers: bool = True
    is_gone: bool = False
    """It is as it was last seen: the object has been deleted."""
    is_launcher: bool = False
    """It runs the script and computes nothing."""

    @property
    def is_taken(self) -> bool:
        """It was deleted before its work was done."""
        return self.is_deleting and self.phase != "Succeeded"

    @property
    def is_silent(self) -> bool:
        """It has its node, but its status says neither that it starts nor why not: its events may."""
        return bool(self.node) and self.phase == "Pending" and not (self.started_at or self.problem or self.is_gone)

    @property
    def has_ended(self) -> bool:
        """None of its processes will report anything more."""
        return self.finished_at is not None or self.started_at is None or self.is_gone

    @property
    def has_failed_by_itself(self) -> bool:
        return self.phase == "Failed" and not self.is_deleting and not self.is_lost

    @property
    def why_it_failed(self) -> str:
        """In the runner's words, else in Kubernetes'; a runner that is killed leaves no others than its exit code."""
        said = self.problem if self.report is None else self.report.message
        return said or f"it ended with exit code {self.exit_code}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Why the scheduler does not start the job yet."""

    reason: Reason
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedPods:
    """Kubernetes does not let Volcano make the job's pods: a quota, a policy, a limit."""

    message: str
    since: datetime
    may_pass: bool
    """Others have used up what this job needs; without them there would be enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    record: JobRecord
    delete_requested: bool
    volcano_job: VolcanoJobView | None
    was_created: bool
    """The status says that a Volcano Job was made for the present run."""
    pods: Sequence[PodView]
    waiting: Waiting
    now: datetime
    refused_pods: RefusedPods | None = None
    is_barred: bool = False
    """Known of an ended run without pods: its first pod had started, and the job must not run twice."""
    kill_delay_s: int = 10
    """What a pod has between TERM and KILL."""
    start_limit_s: int = 300
    """How long a pod may try to start, and Volcano to make the pods."""
    outlook: Outlook | None = None
    """What its dependency says; None: it has none, or has been started."""
    followers: tuple[str, ...] = ()
    """Who waits for it, for display."""
    is_outdated: bool = False
    """The Volcano Job was made before the job was altered."""
    is_suspended: bool = False
    """Its processes are to be stopped."""
    usage: tuple[HostUsage, ...] = ()
    """What the pods of the running job have told of their use so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The status to write, and what to do to the Volcano Job. At most one of the flags is set."""

    status: JobStatus
    create: bool = False
    terminate: bool = False
    """End its pods, each with its grace period, and keep what they report."""
    delete: bool = False
    """Remove it, to be made again when the job may run."""
    let_start: bool = False
    """Let the first pod run the script, and none that comes after it. Volcano makes a pod anew that was deleted, if
    only for a moment before it ends the job by our policy, and for good where it was down when the pod went.
    """
    give_up: tuple[PodView, ...] = ()
    """Pods to remove without waiting for their nodes, which do not answer: until then Volcano waits for them."""
    look_again_s: float | None = None


def decide(seen: Observed) -> Decision:
    """Bring one admitted job on by a step. Doing it twice changes nothing more."""
    if not seen.record.status.state.is_final:
        status = seen.record.status
        if seen.outlook is not None:
            status = replace(status, dependency=seen.outlook.progress)
        seen = replace(seen, record=replace(seen.record, status=with_followers(status, seen.followers)))
    decision = _decide(seen)
    before = seen.record.status
    after = remembered(before, decision.status, seen.now, lambda: _given_up_for(seen))
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
    """Let go of pods whose deletion no kubelet confirms. Slurm and PBS requeue the jobs of a lost node as well."""
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
        # a step of its own, before anything is made: the new run must not be taken for the one that was to end
        return Decision(status=replace(_queued_again(status, seen.now), is_rerunning=False), delete=True)
    if _is_overdue(status) and not seen.delete_requested:
        return _timed_out(seen, None, is_over=True)
    if seen.was_created and not (seen.delete_requested or status.state in {JobState.HELD, JobState.WAITING}):
        return Decision(
            status=_ended(seen, JobState.FAILED, Reason.LAUNCH_FAILED, "its Volcano Job was deleted by somebody else")
        )
    if seen.delete_requested:
        return Decision(status=_ended(seen, JobState.DELETED, Reason.DELETED_BY_USER, status.message))
    if (kept := _kept_back(seen)) is not None:
        return kept
    queued = replace(
        status,
        state=JobState.QUEUED,
        reason=Reason.NONE if status.state is not JobState.QUEUED else status.reason,
        message="" if status.state is JobState.HELD else status.message,
        eligible_time=status.eligible_time or seen.now,
    )
    return Decision(status=queued, create=True)


def _kept_back(seen: Observed) -> Decision | None:
    """What a job becomes that may not start yet: held, behind others, or before its time; None if it may."""
    spec, status, outlook = seen.record.spec, seen.record.status, seen.outlook
    if outlook is not None and outlook.verdict is Verdict.NEVER and outlook.kills:
        return Decision(status=_ended(seen, JobState.DELETED, Reason.DEPENDENCY_NEVER, outlook.message))
    if held_by := hold_reason(spec):
        return Decision(status=replace(status, state=JobState.HELD, reason=held_by, eligible_time=None))
    if outlook is not None and (behind := behind_others(outlook)):
        held = replace(status, state=JobState.HELD, reason=behind, eligible_time=None, message=outlook.message)
        return Decision(status=held, look_again_s=outlook.look_again_s)
    if spec.begin_time is not None and spec.begin_time > seen.now:
        waiting = replace(status, state=JobState.WAITING, reason=Reason.BEGIN_TIME, eligible_time=None)
        return Decision(status=waiting, look_again_s=(spec.begin_time - seen.now).total_seconds())
    return None


def behind_others(outlook: Outlook) -> Reason | None:
    """Why a job waits for others; None if it does not."""
    reasons = {Verdict.WAITS: Reason.DEPENDENCY, Verdict.NEVER: Reason.DEPENDENCY_NEVER}
    return reasons.get(outlook.verdict)


def hold_reason(spec: JobSpec) -> Reason | None:
    """What holds a job, not counting other jobs and the time; None if nothing does. An admin's hold goes before."""
    if spec.admin_holds:
        return Reason.HELD_BY_ADMIN
    return Reason.HELD_BY_USER if spec.hold else None


def _queued_again(status: JobStatus, now: datetime) -> JobStatus:
    return replace(
        status,
        state=JobState.QUEUED,
        reason=Reason.NONE,
        message="",
        hosts=(),
        start_time=None,
        session_id=None,
        eligible_time=now,
        **_NOTHING_USED,
    )


def _with_volcano_job(seen: Observed, volcano_job: VolcanoJobView) -> Decision:
    status = seen.record.status
    first = next((pod for pod in seen.pods if pod.index == 0), None)
    is_over = volcano_job.is_final and all(pod.has_ended for pod in seen.pods)
    is_new = first is not None and first.started_at is not None and first.started_at != status.start_time
    is_given_up = first is not None and (
        (is_over and (first.is_lost or (status.state is JobState.QUEUED and status.reason in _GIVEN_BACK)))
        or (first.is_deleting and not seen.delete_requested)
        or volcano_job.phase == "Restarting"
    )
    # the Volcano Job of a run that has been given back to the queue may still be there
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
            **_NOTHING_USED,
        )
        # what is known was asked of the run before this one, if there was any
        is_suspended = seen.is_suspended and status.run_count == 1
        seen = replace(seen, record=replace(seen.record, status=status), is_suspended=is_suspended)
    if seen.delete_requested:
        return _deleting(seen, first, is_over=is_over)
    if status.is_rerunning:
        return _rerunning(seen, is_over=is_over)
    if _is_overdue(status):
        return _timed_out(seen, first, is_over=is_over)
    if is_over:
        return _over(seen, first)
    if first is not None and first.finished_at is not None:
        return Decision(status=replace(_running(seen), state=JobState.EXITING, reason=Reason.NONE))
    stuck = next((pod for pod in seen.pods if pod.problem and not pod.started_at and not pod.is_deleting), None)
    is_starting = any(pod.node and not pod.started_at for pod in seen.pods)
    if stuck is not None and _is_out_of_time(seen, stuck):
        message = f"pod {stuck.name} on node {stuck.node}: {stuck.problem}"
        return Decision(status=_ended(seen, JobState.FAILED, Reason.LAUNCH_FAILED, message, first))
    if first is not None and first.started_at is not None and (is_late or volcano_job.phase != "Restarting"):
        message = "" if stuck is None else f"pod {stuck.name} on node {stuck.node}: {stuck.problem}"
        left = None if is_starting or first.is_deleting else _left_s(seen)
        if left is not None and left <= 0:
            # a step of its own: whatever becomes of the pods, the next look knows why
            return Decision(status=replace(_running(seen), state=JobState.EXITING, reason=Reason.TIME_LIMIT))
        state = JobState.SUSPENDED if seen.is_suspended else JobState.RUNNING
        running = replace(_running(seen), state=state, reason=Reason.NONE, message=message)
        return Decision(
            status=running,
            # not earlier: pods on their way still read what tells them
            let_start=not (seen.record.spec.rerunnable or is_starting),
            look_again_s=_STARTING_LOOK_S if is_starting else left,
        )
    if status.start_time is not None and (volcano_job.phase in _VOLCANO_ENDING or not seen.record.spec.rerunnable):
        # its pods are gone before Volcano says so: the run is over, not given back to the queue
        return Decision(status=replace(status, state=JobState.EXITING, reason=Reason.NONE, message=""))
    if not any(pod.node for pod in seen.pods):
        if (kept := _kept_back(seen)) is not None:
            message = kept.status.message if kept.status.state.is_final else ""
            return replace(kept, status=replace(kept.status, message=message), delete=True)
        if seen.is_outdated:
            return Decision(status=_waits(status, Waiting(reason=Reason.NONE, message="")), delete=True)
    if first is not None and all(pod.node for pod in seen.pods):
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
        return Decision(status=_ended(seen, JobState.FAILED, Reason.LAUNCH_FAILED, refused.message))
    return Decision(status=_waits(status, _why_it_waits(seen)))


def _is_seen_late(seen: Observed, first: PodView) -> bool:
    """The script has begun, which is seen only now that its pod has been taken away. It has run, if not for long.

    Not for a job that must not run twice: its script begins only after the controller's word (Decision.let_start).
    """
    status = seen.record.status
    return (
        seen.record.spec.rerunnable
        and first.started_at is not None
        and status.start_time is None
        and not status.is_rerunning
        and status.reason not in _GIVEN_BACK
        and all(run.start_time != first.started_at for run in status.past_runs)
    )


def _is_out_of_time(seen: Observed, pod: PodView) -> bool:
    if pod.is_hopeless:
        return True
    return pod.bound_at is not None and (seen.now - pod.bound_at).total_seconds() >= seen.start_limit_s


def _why_it_waits(seen: Observed) -> Waiting:
    if seen.refused_pods is None:
        return seen.waiting
    reason = Reason.RESOURCES if seen.refused_pods.may_pass else Reason.NEVER_FITS
    return Waiting(reason=reason, message=seen.refused_pods.message)


def _waits(status: JobStatus, why: Waiting) -> JobStatus:
    return replace(
        status,
        state=JobState.QUEUED,
        reason=why.reason,
        message=why.message,
        hosts=(),
        start_time=None,
        session_id=None,
    )


def _deleting(seen: Observed, first: PodView | None, *, is_over: bool) -> Decision:
    status = seen.record.status
    if is_over:
        return Decision(status=_ended(seen, JobState.DELETED, Reason.DELETED_BY_USER, "", first))
    if first is not None and first.started_at is not None:
        return Decision(status=replace(_running(seen), state=JobState.EXITING), terminate=True)
    return Decision(status=status, terminate=True)


def _rerunning(seen: Observed, *, is_over: bool) -> Decision:
    """End the run, whatever becomes of it, and queue the job again. The mark stays until the Volcano Job is gone."""
    status = seen.record.status
    if is_over:
        is_queued = status.state is JobState.QUEUED
        return Decision(status=status if is_queued else _queued_again(status, seen.now), delete=True)
    return Decision(status=replace(_running(seen), state=JobState.EXITING), terminate=True)


def _left_s(seen: Observed) -> float | None:
    """Seconds until a run is overdue, which its runner should have ended before. None: no limit, or suspended."""
    record, status = seen.record, seen.record.status
    began = max((pod.started_at for pod in seen.pods if pod.started_at), default=None)
    if began is None or record.walltime_s is None or seen.is_suspended or status.state is JobState.SUSPENDED:
        return None
    over = began + timedelta(seconds=record.walltime_s + status.suspended_s(began, seen.now))
    # a limit that has passed when it is set, or a job that goes on beyond it: the runner needs its time for that, too
    changes = [over, *(one.time for one in status.alterations[-1:]), *(one.end_time for one in status.suspensions[-1:])]
    latest = max(one for one in changes if one is not None)
    return (latest + _late(seen) - seen.now).total_seconds() + seen.kill_delay_s


def _late(seen: Observed) -> timedelta:
    return _OVERDUE_AFTER if len(seen.pods) == 1 else _OVERDUE_AFTER_WITH_PEERS


def _is_overdue(status: JobStatus) -> bool:
    return status.state is JobState.EXITING and status.reason is Reason.TIME_LIMIT


def _timed_out(seen: Observed, first: PodView | None, *, is_over: bool) -> Decision:
    """End the pods of a run that is overdue."""
    if not is_over:
        return Decision(status=seen.record.status, terminate=True)
    message = f"walltime exceeded limit {seen.record.walltime_s} s"
    return Decision(status=_ended(seen, JobState.TIMEOUT, Reason.TIME_LIMIT, message, first))


def _over(seen: Observed, first: PodView | None) -> Decision:
    """The Volcano Job has come to its end by itself."""
    spec, report = seen.record.spec, None if first is None else first.report
    if not seen.pods and seen.record.status.start_time is None and not _has_run(seen):
        return _never_made(seen)
    culprit = next((pod for pod in seen.pods if pod.index and pod.has_failed_by_itself), None)
    if culprit is None and first is not None and not first.is_deleting:
        culprit = next((pod for pod in seen.pods if pod.index and _broke_before(pod, first)), None)
    lost = _what_was_lost(seen, first, culprit)
    if report is not None and report.reason is Reason.WITHDRAWN:
        again = _queued_again(seen.record.status, seen.now)
        return Decision(status=replace(again, run_count=max(0, again.run_count - 1)), delete=True)
    has_ended = report is not None and (report.exit_code is not None or report.signal is not None)
    is_taken = first is not None and (first.is_lost or first.is_taken)
    if report is not None and report.reason in _BY_ITSELF and first is not None:
        # mpirun may see first that a host has gone, and end with 0 all the same, as Open MPI 5 does now and then
        is_taken = is_taken or any(pod.is_taken_early or _broke_before(pod, first) for pod in seen.pods if pod.index)
    if report is not None and has_ended and not (is_taken and (lost or culprit)):
        return Decision(status=_reported(seen, report, first))
    if culprit is not None and not lost:
        if culprit.is_out_of_memory:
            return Decision(status=_cut_short(seen, Reason.OUT_OF_MEMORY, _too_much_memory(culprit), first))
        why = f"pod {culprit.name} failed: {culprit.why_it_failed}"
        return Decision(status=_cut_short(seen, Reason.LAUNCH_FAILED, why, first))
    lost_by = Reason.PREEMPTED if any(pod.is_preempted for pod in seen.pods) else Reason.NODE_LOST
    if lost and spec.rerunnable:
        again = replace(
            seen.record.status,
            state=JobState.QUEUED,
            reason=lost_by,
            message=f"{lost}; the job will run again",
            hosts=(),
            start_time=None,
            session_id=None,
            eligible_time=seen.now,
            **_NOTHING_USED,
        )
        return Decision(status=again, delete=True)
    if lost:
        return Decision(status=_cut_short(seen, lost_by, f"{lost}; not rerunnable", first))
    if first is not None and first.is_out_of_memory:
        return Decision(status=_ended(seen, JobState.FAILED, Reason.OUT_OF_MEMORY, _too_much_memory(first), first))
    if report is not None:
        return Decision(status=_ended(seen, JobState.FAILED, report.reason, report.message, first))
    problem = next((pod.problem for pod in seen.pods if pod.problem), "its pods ended without a report")
    return Decision(status=_ended(seen, JobState.FAILED, Reason.LAUNCH_FAILED, problem, first))


def _broke_before(pod: PodView, first: PodView) -> bool:
    """Whether a worker failed before the script's end. Volcano may have deleted it since; to that alone it says 0."""
    if pod.phase != "Failed" or pod.is_lost or pod.is_out_of_memory:
        return False
    return not (pod.finished_at and first.finished_at) or pod.finished_at <= first.finished_at + _CLOCKS


def _too_much_memory(pod: PodView) -> str:
    return f"pod {pod.name} on node {pod.node} was out of memory: the job used more than it asked for"


def _has_run(seen: Observed) -> bool:
    """A run of it has been lost that is still to be told: it left its count behind, its bar, or a completed task."""
    status = seen.record.status
    if status.reason in {Reason.NODE_LOST, Reason.PREEMPTED}:
        return False
    is_completed = seen.volcano_job is not None and seen.volcano_job.phase == "Completed"
    return status.run_count > 0 or seen.is_barred or is_completed


def _never_made(seen: Observed) -> Decision:
    """Volcano has given up to make the pods, which it does after some minutes."""
    if seen.record.status.reason in _GIVEN_BACK:
        return Decision(status=seen.record.status, delete=True)  # of an earlier run, and still to be removed
    refused = seen.refused_pods
    if refused is not None and not refused.may_pass:
        return Decision(status=_ended(seen, JobState.FAILED, Reason.LAUNCH_FAILED, refused.message))
    why = Waiting(
        reason=Reason.RESOURCES, message="Volcano ended the job before it had made its pods; it is tried again"
    )
    return Decision(status=_waits(seen.record.status, why if refused is None else _why_it_waits(seen)), delete=True)


def _given_up_for(seen: Observed) -> str:
    """What was lost of a run that is over although nobody asked for its end, as far as its pods still tell."""
    first = next((pod for pod in seen.pods if pod.index == 0), None)
    if first is None or seen.record.status.is_rerunning or seen.delete_requested:
        return ""
    culprit = next((pod for pod in seen.pods if pod.index and pod.has_failed_by_itself), None)
    return _what_was_lost(seen, first, culprit)


def _what_was_lost(seen: Observed, first: PodView | None, culprit: PodView | None) -> str:
    """The pod that went away without the job's doing, in words; "" if none did."""
    status = seen.record.status
    preempted = next((pod for pod in seen.pods if pod.is_preempted), None)
    if preempted is not None:
        return f"pod {preempted.name} on node {_node_of(status, preempted)} was preempted for a job of more weight"
    lost = next((pod for pod in seen.pods if pod.is_lost), None)
    if lost is not None:
        return f"pod {lost.name} on node {_node_of(status, lost)} was lost"
    if first is None:
        # Volcano takes it when another one fails; that one stays to be seen
        return "" if culprit is not None else "the pod that ran the script was deleted by somebody else"
    if (first.is_taken or any(pod.is_taken_early for pod in seen.pods)) and culprit is None:
        # with one pod gone Volcano takes the others as well: it was the one before them, whatever it made of its end
        deleted = (pod for pod in seen.pods if pod.is_deleting or pod.is_taken_early)
        taken = min(deleted, key=lambda pod: (not pod.is_first_taken, pod.dies_at or seen.now))
        return f"pod {taken.name} on node {_node_of(status, taken)} was deleted by somebody else"
    return ""


def _reported(seen: Observed, report: RunReport, first: PodView | None) -> JobStatus:
    if report.reason is Reason.TIME_LIMIT:
        return _ended(seen, JobState.TIMEOUT, Reason.TIME_LIMIT, report.message, first)
    starved = next((pod for pod in seen.pods if pod.is_out_of_memory), None)
    # Slurm counts a killed process whatever the script makes of it, PBS asks for the script's end only
    if starved is not None and (report.exit_code != 0 or seen.record.spec.dialect is Dialect.SLURM):
        return _ended(seen, JobState.FAILED, Reason.OUT_OF_MEMORY, _too_much_memory(starved), first)
    if report.reason is Reason.OUTPUT_FAILED and report.exit_code == 0:
        return _ended(seen, JobState.FINISHED, Reason.OUTPUT_FAILED, report.message, first)
    if report.reason in {Reason.LAUNCH_FAILED, Reason.OUTPUT_FAILED}:
        return _ended(seen, JobState.FAILED, report.reason, report.message, first)
    if report.exit_code == 0:
        message = report.message if starved is None else _too_much_memory(starved)
        return _ended(seen, JobState.FINISHED, Reason.NONE, message, first)
    if report.reason is Reason.PROGRAM_FAILED:
        return _ended(seen, JobState.FAILED, Reason.PROGRAM_FAILED, report.message, first)
    reason = Reason.NON_ZERO_EXIT if report.exit_code is not None else Reason.SIGNALLED
    return _ended(seen, JobState.FAILED, reason, report.message, first)


def _running(seen: Observed) -> JobStatus:
    pods = sorted(seen.pods, key=lambda pod: pod.index)
    report = next((pod.report for pod in pods if pod.index == 0), None)
    status = seen.record.status
    hosts = tuple(
        ExecHost(node=_node_of(status, pod), pod=pod.name, cpus=pod.cpus) for pod in pods if not pod.is_launcher
    )
    return replace(
        status,
        hosts=hosts if len(hosts) >= len(status.hosts) else status.hosts,
        session_id=status.session_id if report is None else report.session_id,
        **(_sums(seen.usage, {pod.name for pod in pods if pod.is_launcher}) if seen.usage else {}),
    )


def _node_of(status: JobStatus, pod: PodView) -> str:
    """Where the run's pod of this name is or was: Volcano may have made it anew, without a node so far."""
    return pod.node or next((host.node for host in status.hosts if host.pod == pod.name), "")


def _cut_short(seen: Observed, reason: Reason, message: str, first: PodView | None) -> JobStatus:
    """Failed through no act of the script, whose end, if it told of one, is only what followed from that."""
    return replace(_ended(seen, JobState.FAILED, reason, message, first), exit_code=None, exit_signal=None)


def _ended(seen: Observed, state: JobState, reason: Reason, message: str, first: PodView | None = None) -> JobStatus:
    status = seen.record.status if first is None or first.started_at is None else _running(seen)
    report = None if first is None else first.report
    if report is not None:
        message = with_warning(message, report.message)
    end = (first.finished_at if first is not None else None) or seen.now
    ended = replace(status, state=state, reason=reason, message=message, end_time=end, is_rerunning=False)
    if reason is Reason.DELETED_BY_USER:
        ended = replace(ended, deleted_by=status.owner)
    if status.start_time is None:
        return ended
    elapsed_s = max(0, round((end - status.start_time).total_seconds()))
    if report is None:
        return replace(ended, walltime_used_s=elapsed_s)
    return replace(
        ended,
        exit_code=report.exit_code,
        exit_signal=report.signal,
        walltime_used_s=_walltime_used_s(seen, report, end, elapsed_s),
        session_id=report.session_id,
        **_usage(seen),
    )


def _walltime_used_s(seen: Observed, report: RunReport, end: datetime, elapsed_s: int) -> int:
    """What the runner says, who knows best when the script began; not much less than the pods have run together."""
    if report.walltime_s is None:
        return elapsed_s
    began = max(pod.started_at for pod in seen.pods if pod.started_at)
    ran_s = (end - began).total_seconds() - seen.record.status.suspended_s(began, end) - _late(seen).total_seconds()
    return min(max(report.walltime_s, round(ran_s)), max(elapsed_s, 0) + 1)


def _usage(seen: Observed) -> dict[str, Any]:
    """What all pods used: as they have reported it at their end, else as they told it last."""
    told = {usage.pod: usage for usage in (*seen.record.status.usage, *seen.usage)}
    used = []
    for pod in sorted(seen.pods, key=lambda pod: pod.index):
        before = told.get(pod.name, HostUsage(pod=pod.name))
        cpu_s, rss = (None, None) if pod.report is None else (pod.report.cpu_s, pod.report.max_rss_bytes)
        used.append(
            HostUsage(
                pod=pod.name,
                cpu_s=before.cpu_s if cpu_s is None else cpu_s,
                max_rss_bytes=before.max_rss_bytes if rss is None else rss,
            )
        )
    return _sums(used, {pod.name for pod in seen.pods if pod.is_launcher})


def _sums(usage: Sequence[HostUsage], launchers: Collection[str]) -> dict[str, Any]:
    """The fields of the status. A launcher counts in the sums, and is none of the hosts."""
    cpu_s = [host.cpu_s for host in usage if host.cpu_s is not None]
    rss = [host.max_rss_bytes for host in usage if host.max_rss_bytes is not None]
    known = (host for host in usage if host.cpu_s is not None or host.max_rss_bytes is not None)
    return {
        "cpu_used_s": sum(cpu_s) if cpu_s else None,
        "max_rss_bytes": sum(rss) if rss else None,
        "usage": tuple(host for host in known if host.pod not in launchers),
    }
