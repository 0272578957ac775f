"""The life of a Volcano Job: from its phase, its pods and events to the next actions.

Every decision is a function of the API's state, so it may be repeated at any time, also by a controller that was just
started: an event is a visible state (a pod of the current version that is Failed), not a moment that passed. Only the
eviction of a pod leaves nothing visible, so evictions are passed in. The phase is written before pods are killed, and
in the new phase the killing follows from it; `state.reason` and `state.message`, which Volcano leaves empty, have
what a restart kills.

Obvious mistakes of Volcano 1.14.1 are not imitated:
- counters and taskStatusCount of a finished job stay (there: all gone);
- one condition for each phase (there: one for each write); version counts kills (there: every event while ending);
- RestartTask and RestartPod leave Secret, ConfigMap, Service and PodGroup alone (there: made anew, so new pods cannot
  ssh to old ones);
- a task held back by dependsOn is not counted in the gang until it may start, a Succeeded pod satisfies a dependsOn,
  and a job of which nothing can run any more is Failed (there: each of these waits for ever);
- AbortJob, CompleteJob and TerminateJob work in Restarting too (there: lost);
- a delayed action is carried out (there: lost if its write of the status meets another's);
- a policy goes before the rules of a job's end (there: when the last pod has ended, either may come first);
- the pods that scaling down removes are not "evicted" (there: PodEvicted policies fire);
- a policy on Unknown works after a restart as before it;
- a pod that was deleted and has ended is evicted also while a finalizer keeps it (there: when it is gone).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Literal

from hpcbatch.dataclass import dataclass, field
from hpcbatch.volcano.job_view import JobView, Phase, PodView, Policy, TaskView, go_duration

_RESTARTS = frozenset({"RestartTask", "RestartPod", "RestartPartition"})
_ENDINGS = {"AbortJob": Phase.ABORTING, "CompleteJob": Phase.COMPLETING, "TerminateJob": Phase.TERMINATING}
_EFFECTIVE = frozenset({"RestartJob", *_RESTARTS, *_ENDINGS})
_ENDED = {Phase.ABORTING: Phase.ABORTED, Phase.COMPLETING: Phase.COMPLETED, Phase.TERMINATING: Phase.TERMINATED}


@dataclass(frozen=True, slots=True)
class AddPluginObjects:
    """Secret, ConfigMap and so on, from the plugins; afterwards the status lists them as controlled."""


@dataclass(frozen=True, slots=True)
class RemovePluginObjects:
    pass


@dataclass(frozen=True, slots=True)
class PutPodGroup:
    """Create it, or update its spec. `waiting_tasks` are not part of the gang yet."""

    waiting_tasks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DeletePodGroup:
    pass


@dataclass(frozen=True, slots=True)
class CreatePod:
    task: str
    index: int


@dataclass(frozen=True, slots=True)
class KillPod:
    """Mark it as deleted by the controller, then delete it with its own grace period."""

    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class SetState:
    phase: Phase
    version: int
    retry_count: int
    reason: str = ""
    target: str = ""


@dataclass(frozen=True, slots=True)
class Announce:
    """An event on the Job, reason ExecuteAction. With `once`, only the first time."""

    message: str
    once: str = ""


@dataclass(frozen=True, slots=True)
class DeleteJob:
    """Its time to live after the end has passed."""


Action = (
    AddPluginObjects
    | RemovePluginObjects
    | PutPodGroup
    | DeletePodGroup
    | CreatePod
    | KillPod
    | SetState
    | Announce
    | DeleteJob
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evicted:
    """A pod that was not deleted by the controller."""

    pod: PodView
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEvent:
    """One event in Volcano's sense that is visible now; `since` is its time."""

    event: Literal["PodPending", "PodFailed", "PodEvicted", "TaskCompleted", "TaskFailed", "Unknown"]
    since: datetime
    task: str = ""
    pod: PodView | None = None

    @property
    def exit_code(self) -> int:
        return self.pod.exit_code if self.pod is not None and self.event == "PodFailed" else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    actions: tuple[Action, ...] = ()
    recheck_s: float | None = None
    """Decide again after this time, even if nothing changes."""
    pending_evictions: tuple[Evicted, ...] = ()
    """To be passed in again: a policy acts on them later."""


@dataclass(slots=True)
class _Plan:
    """A decision under construction."""

    job: JobView
    pods: Sequence[PodView]
    group_phase: str | None
    group_since: datetime | None
    request: str
    evicted: Sequence[Evicted]
    now: datetime
    actions: list[Action] = field(default_factory=list)
    recheck_s: float | None = None
    pending: list[Evicted] = field(default_factory=list)

    def kill(self, victims: Iterable[PodView]) -> None:
        self.actions += [KillPod(pod.name, pod.uid) for pod in victims if not pod.is_terminating]

    def enter(self, phase: Phase, *, reason: str = "", target: str = "", kills: bool = False, retry: int = 0) -> None:
        job = self.job
        self.actions.append(SetState(phase, job.version + kills, job.retry_count + retry, reason, target))

    def recheck(self, moment: datetime) -> None:
        delay_s = max(0.0, (moment - self.now).total_seconds())
        self.recheck_s = delay_s if self.recheck_s is None else min(self.recheck_s, delay_s)


def decide(
    job: JobView,
    pods: Sequence[PodView],
    group_phase: str | None,
    *,
    now: datetime,
    request: str = "",
    evicted: Sequence[Evicted] = (),
    group_since: datetime | None = None,
) -> Decision:
    """List the next actions for `job`. `group_phase` is None while there is no PodGroup, `group_since` is when the
    group last lacked pods; `request` is the action of a Command. Each action may be repeated, or interrupted after it.
    """
    plan = _Plan(job, pods, group_phase, group_since, request, evicted, now)
    if not job.is_deleting:
        _STEP[job.phase](plan)
    return Decision(actions=tuple(plan.actions), recheck_s=plan.recheck_s, pending_evictions=tuple(plan.pending))


def _live(plan: _Plan) -> None:
    """Pending and Running: apply a policy or Command, else match the pods to the job's spec."""
    action, happening = plan.request, None
    if not action:
        action, happening = _policy_action(plan)
    if action in _ENDINGS:
        plan.enter(_ENDINGS[action], reason=action, kills=True)
    elif action == "RestartJob":
        plan.enter(Phase.RESTARTING, reason=action, kills=True, retry=1)
    elif action in _RESTARTS:
        plan.enter(Phase.RESTARTING, reason=action, target=_target(action, happening), retry=1)
    else:
        _sync(plan)


def _restarting(plan: _Plan) -> None:
    job = plan.job
    if plan.request in _ENDINGS:
        plan.enter(_ENDINGS[plan.request], reason=plan.request, kills=True)
        return
    if plan.request == "RestartJob":
        plan.enter(Phase.RESTARTING, reason=plan.request, kills=True)
        return
    is_last = job.retry_count >= job.max_retry
    victims = [pod for pod in plan.pods if _is_victim(job, pod, is_last)]
    plan.kill(victims)
    if job.reason not in _RESTARTS:
        _clean_up(plan)
    terminating = sum(pod.is_terminating for pod in plan.pods)
    if is_last:
        plan.enter(Phase.FAILED, reason=job.reason, kills=True)
    elif all(pod.is_terminating for pod in victims) and job.replicas - terminating >= job.min_available:
        plan.enter(Phase.PENDING)


def _is_victim(job: JobView, pod: PodView, is_last: bool) -> bool:
    match job.reason:
        case "RestartTask":
            return pod.task == job.target
        case "RestartPod":
            return pod.name == job.target
        case "RestartPartition":
            return f"{pod.task}/{pod.partition}" == job.target
        case "ResumeJob":
            return pod.version < job.version and pod.is_alive
    # Ended pods of the last attempt stay, for their logs.
    return pod.version < job.version and (pod.is_alive or not is_last)


def _ending(plan: _Plan) -> None:
    """Aborting, Completing, Terminating: kill live pods, keep ended ones, until none is alive."""
    job = plan.job
    if job.phase is Phase.ABORTING and plan.request == "ResumeJob":
        plan.enter(Phase.RESTARTING, reason=plan.request, kills=True, retry=1)
        return
    plan.kill(pod for pod in plan.pods if pod.is_alive)
    _clean_up(plan)
    if not any(pod.is_alive or pod.is_terminating for pod in plan.pods):
        plan.enter(_ENDED[job.phase], reason=job.reason)


def _ended(plan: _Plan) -> None:
    job = plan.job
    if job.phase is Phase.ABORTED and plan.request == "ResumeJob":
        plan.enter(Phase.RESTARTING, reason=plan.request, kills=True, retry=1)
        return
    if job.phase.is_final and job.ttl_s is not None and job.since is not None:
        due = job.since + timedelta(seconds=job.ttl_s)
        if plan.now >= due:
            plan.actions.append(DeleteJob())
            return
        plan.recheck(due)
    plan.kill(pod for pod in plan.pods if pod.is_alive)
    _clean_up(plan)


_STEP: dict[Phase, Callable[[_Plan], None]] = {
    Phase.PENDING: _live,
    Phase.RUNNING: _live,
    Phase.RESTARTING: _restarting,
    Phase.ABORTING: _ending,
    Phase.COMPLETING: _ending,
    Phase.TERMINATING: _ending,
    Phase.ABORTED: _ended,
    Phase.COMPLETED: _ended,
    Phase.TERMINATED: _ended,
    Phase.FAILED: _ended,
}


def _clean_up(plan: _Plan) -> None:
    if plan.job.has_plugin_objects:
        plan.actions.append(RemovePluginObjects())
    if plan.group_phase is not None:
        plan.actions.append(DeletePodGroup())


def _sync(plan: _Plan) -> None:
    job = plan.job
    replicas = {task.name: task.replicas for task in job.tasks}
    doomed = [
        pod
        for pod in plan.pods
        if pod.index >= replicas.get(pod.task, 0) or (pod.version < job.version and pod.is_alive)
    ]
    doomed_uids = {pod.uid for pod in doomed}
    counted = [pod for pod in plan.pods if pod.uid not in doomed_uids and not pod.is_terminating]
    blocked = [task for task in job.tasks if not may_start(job, task, counted)]
    plan.actions += [AddPluginObjects(), PutPodGroup(tuple(task.name for task in blocked))]
    taken = {(pod.task, pod.index) for pod in plan.pods}
    missing = [
        CreatePod(task.name, index)
        for task in job.tasks
        if task not in blocked
        for index in range(task.replicas)
        if (task.name, index) not in taken
    ]
    if plan.group_phase not in {None, "", "Pending"}:
        plan.actions += missing
    plan.kill(doomed)
    is_stuck = bool(blocked) and not missing and bool(counted) and all(pod.is_finished for pod in counted)
    following = _following_phase(job, counted)
    if is_stuck and not any(pod.is_terminating for pod in plan.pods):
        following = Phase.FAILED
    if following is not None and following is not job.phase:
        plan.enter(following, kills=following.is_final)


def _following_phase(job: JobView, counted: Sequence[PodView]) -> Phase | None:
    """The next phase after Pending or Running by the numbers of pods; None: no change.
    Source: Volcano 1.14.1, pkg/controllers/job/state/{pending,running}.go.
    """
    number = {
        phase: sum(pod.phase == phase for pod in counted) for phase in ("Pending", "Running", "Succeeded", "Failed")
    }
    ended = number["Succeeded"] + number["Failed"]
    if job.phase is Phase.PENDING:
        return Phase.RUNNING if number["Running"] + ended >= job.min_available else None
    if job.replicas == 0:
        return None
    if job.min_success is not None and number["Succeeded"] >= job.min_success:
        return Phase.COMPLETED
    if ended == job.replicas:
        if job.min_available >= sum(task.min_available for task in job.tasks):
            for task in job.tasks:
                phases = [pod.phase for pod in counted if pod.task == task.name]
                if phases and phases.count("Succeeded") < task.min_available:
                    return Phase.FAILED
        if job.min_success is not None or number["Succeeded"] < job.min_available:
            return Phase.FAILED
        return Phase.COMPLETED
    return Phase.PENDING if number["Pending"] > job.replicas - job.min_available else None


def may_start(job: JobView, task: TaskView, counted: Sequence[PodView]) -> bool:
    """Whether the dependencies of `task` are met. Existing pods of it prove that they were."""
    if not task.depends_on or any(pod.task == task.name for pod in counted):
        return True
    met = []
    for name in task.depends_on:
        other = job.task(name)
        ready = sum(
            pod.phase == "Succeeded" or (pod.phase == "Running" and pod.is_ready) for pod in counted if pod.task == name
        )
        met.append(other is not None and ready >= other.min_available)
    return any(met) if task.depends_on_any else all(met)


def job_events(
    job: JobView,
    pods: Sequence[PodView],
    group_phase: str | None,
    *,
    group_since: datetime,
    evicted: Sequence[Evicted] = (),
) -> list[JobEvent]:
    """The visible events of the job's current version, the earliest first; completion goes before failure."""
    gone = [item.pod for item in evicted if item.pod.version >= job.version]
    # Some of these ended before they were deleted, maybe unobserved.
    present = [pod for pod in pods if pod.version >= job.version and not pod.is_marked]
    present += [pod for pod in gone if pod.is_finished]
    pods = [*pods, *gone]
    found: list[JobEvent] = []
    for task in job.tasks:
        own = [pod for pod in present if pod.task == task.name]
        succeeded = [pod for pod in pods if pod.task == task.name and pod.phase == "Succeeded"]
        if any(pod.version >= job.version for pod in succeeded) and len(succeeded) >= task.replicas > 0:
            since = max((pod.finished or pod.created) for pod in succeeded)
            found.append(JobEvent(event="TaskCompleted", since=since, task=task.name))
        for pod in own:
            if pod.phase == "Failed":
                found.append(JobEvent(event="PodFailed", since=pod.finished or pod.created, task=task.name, pod=pod))
            elif pod.phase == "Pending" and not pod.is_terminating:
                found.append(JobEvent(event="PodPending", since=pod.created, task=task.name, pod=pod))
            if pod.is_kept and pod.is_finished:
                found.append(JobEvent(event="PodEvicted", since=pod.finished or pod.created, task=task.name, pod=pod))
        restarts = sum(pod.restarts for pod in own if pod.is_alive)
        if restarts and 0 <= task.max_retry <= restarts:
            culprit = max((pod for pod in own if pod.is_alive), key=lambda pod: pod.restarts)
            since = max((pod.restarted or pod.created) for pod in own if pod.is_alive)
            found.append(JobEvent(event="TaskFailed", since=since, task=task.name, pod=culprit))
    found += [
        JobEvent(event="PodEvicted", since=item.at, task=item.pod.task, pod=item.pod)
        for item in evicted
        if item.pod.version >= job.version
    ]
    if group_phase == "Unknown":
        found.append(JobEvent(event="Unknown", since=group_since))
    return sorted(found, key=lambda item: (item.since, item.event != "TaskCompleted"))


def policy_for(job: JobView, happening: JobEvent) -> Policy | None:
    """The first matching policy of the task, then of the job."""
    task = job.task(happening.task)
    for policy in (*(task.policies if task else ()), *job.policies):
        if happening.event == "PodPending" and policy.timeout_s is None:
            continue  # every pod starts like that
        if policy.events & {happening.event, "*"}:
            return policy
        if policy.exit_code is not None and policy.exit_code == happening.exit_code != 0:
            return policy
    return None


def _policy_action(plan: _Plan) -> tuple[str, JobEvent | None]:
    """The action that is due now. Later ones are announced, and rechecked when due."""
    job, now = plan.job, plan.now
    running = {pod.name for pod in plan.pods if pod.phase == "Running" and not pod.is_terminating}
    for happening in job_events(
        job, plan.pods, plan.group_phase, group_since=plan.group_since or now, evicted=plan.evicted
    ):
        policy = policy_for(job, happening)
        if policy is None or policy.action not in _EFFECTIVE:
            continue
        if policy.timeout_s is None or policy.timeout_s <= 0:
            plan.actions.append(Announce(f"Start to execute action {policy.action} "))
            return policy.action, happening
        pod = happening.pod
        if happening.event == "PodEvicted" and pod is not None and pod.name in running:
            continue  # it has recovered in time
        due = happening.since + timedelta(seconds=policy.timeout_s)
        if now >= due:
            return policy.action, happening
        plan.recheck(due)
        if happening.event == "PodEvicted":
            plan.pending += [item for item in plan.evicted if item.pod is pod]
        name = pod.uid if pod is not None else happening.task
        message = f"Execute action {policy.action} after {go_duration(policy.timeout_s)}"
        plan.actions.append(Announce(message, once=f"{happening.event} {name} {job.version}"))
    return "", None


def _target(action: str, happening: JobEvent | None) -> str:
    """What a partial restart kills, in the form that `_is_victim` reads; "" is nothing."""
    if happening is None or (pod := happening.pod) is None:
        return happening.task if happening is not None and action == "RestartTask" else ""
    match action:
        case "RestartTask":
            return pod.task
        case "RestartPod":
            return pod.name
    return f"{pod.task}/{pod.partition}"


def lost_between(job: JobView, pods: Sequence[PodView], recorded: dict[str, int], now: datetime) -> list[Evicted]:
    """Pods that were removed while no controller ran. `recorded` is the last status' number of pods of each task."""
    lost = []
    for task in job.tasks:
        there = {pod.index for pod in pods if pod.task == task.name}
        gone = min(recorded.get(task.name, 0), task.replicas) - len(there)
        for index in [i for i in range(task.replicas) if i not in there][: max(0, gone)]:
            pod = PodView(
                name=f"{job.name}-{task.name}-{index}",
                uid="",
                task=task.name,
                index=index,
                created=now,
                version=job.version,
            )
            lost.append(Evicted(pod=pod, at=now))
    return lost


def unchanged(job: JobView) -> SetState:
    """The state as it is."""
    return SetState(job.phase, job.version, job.retry_count, job.reason, job.target)
