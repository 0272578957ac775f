"""The observed state of one job, its Volcano Job and its pods, and the decision about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from hpcbatch.dataclass import dataclass, field, replace
from hpcbatch.model.record import HostUsage, JobRecord, JobStatus, Preempted
from hpcbatch.model.site import Launcher
from hpcbatch.model.state import Reason
from hpcbatch.policy.dependencies import Outlook
from hpcbatch.volcano.report import RunReport
from hpcbatch.volcano.step_report import StepReport

_VOLCANO_FINAL = frozenset({"Completed", "Failed", "Terminated", "Aborted"})


@dataclass(frozen=True, slots=True, kw_only=True)
class VolcanoJobView:
    """The parts of a Volcano Job that decisions use."""

    uid: str
    phase: str
    is_deleting: bool = False
    launcher: Launcher = Launcher.SHARED
    """The launcher it was made for; the site may have another one by now."""
    may_bind_in_part: bool = False
    """Its scheduler may give some of its pods their nodes, and others not."""
    has_run: bool = False
    """All its pods have run at the same time since it was last restarted; or its job has been seen to run since."""
    restarts: int = 0
    restarted_at: datetime | None = None
    """When its pods were last ended to be made anew."""

    def is_of_this_run(self, start_time: datetime | None) -> bool:
        """Whether a job that started then has done so since it was last restarted."""
        return start_time is not None and (self.restarted_at is None or start_time > self.restarted_at)

    @property
    def is_final(self) -> bool:
        return self.phase in _VOLCANO_FINAL

    def lacks_nodes(self, pods: Sequence[PodView], wanted: int) -> bool:
        """Whether it has never run as a whole, since some of the `wanted` pods have no node. Then none of them has
        begun, whatever its container does: the first waits for the word, which it gets when all have theirs.
        """
        if not self.may_bind_in_part or self.has_run or any(pod.has_begun for pod in pods):
            return False
        return sum(bool(pod.node) for pod in pods) < wanted

    def as_counted(self, pods: Sequence[PodView], wanted: int, start_time: datetime | None) -> Sequence[PodView]:
        """The pods; `start_time` is the job's. Where the script waits for the word until all `wanted` pods run, none
        counts as started before: whatever becomes of them meanwhile, there was no run.
        """
        if not self.may_bind_in_part or wanted < 2 or are_whole(pods, wanted):
            return pods
        if any(pod.has_begun for pod in pods) or self.is_of_this_run(start_time):
            return pods
        return [pod if pod.started_at is None else replace(pod, started_at=None, awaits_pods=True) for pod in pods]


@dataclass(frozen=True, slots=True, kw_only=True)
class PodView:
    """The parts of a pod that decisions use. `index` is its place in the job: 0 runs the script."""

    index: int
    name: str
    node: str
    cpus: int
    phase: str
    uid: str = ""
    is_deleting: bool = False
    is_lost: bool = False
    """Its node or its engine was lost, or it was evicted: nobody requested its end."""
    is_refused: bool = False
    """Its node had no room for it, as two schedulers had given that away at once; it is lost then, too."""
    is_preempted: bool = False
    """The scheduler evicted it for a job of higher priority; it is lost then, too."""
    is_set_down: bool = False
    """An operator has marked its node as down (model.node_marks)."""
    is_out_of_memory: bool = False
    """One of its processes was killed because the container exceeded its memory limit."""
    started_at: datetime | None = None
    finished_at: datetime | None = None
    """When its container ended; the pod's phase may change later."""
    exit_code: int | None = None
    report: RunReport | None = None
    problem: str = ""
    """Why it cannot start or has failed, as Kubernetes reports it: `FailedMount: …`, `ErrImagePull: …`."""
    is_hopeless: bool = False
    """The problem is permanent: no such image name."""
    bound_at: datetime | None = None
    """Since when it has its node."""
    dies_at: datetime | None = None
    """When the grace period of its deletion ends."""
    is_first_taken: bool = False
    """It was deleted before all other pods of its job."""
    is_taken_early: bool = False
    """The script was still running then: its result may be due to the deletion."""
    node_answers: bool = True
    is_gone: bool = False
    """The object was deleted; this is its last known state."""
    is_launcher: bool = False
    """It runs the script and computes nothing."""
    has_word: bool = False
    """It was allowed to start the script, see Decision.let_start."""
    awaits_pods: bool = False
    """It has started, but does not count as that, see VolcanoJobView.as_counted: it has no `started_at`."""

    @property
    def is_taken(self) -> bool:
        """It was deleted before it was finished."""
        return self.is_deleting and self.phase != "Succeeded"

    @property
    def is_silent(self) -> bool:
        """It has its node, but its status shows neither that it starts nor why not: its events may."""
        return bool(self.node) and self.phase == "Pending" and not (self.started_at or self.problem or self.is_gone)

    @property
    def has_ended(self) -> bool:
        """None of its processes will report anything more."""
        has_started = self.started_at is not None or self.awaits_pods
        return self.finished_at is not None or not has_started or self.is_gone

    @property
    def has_begun(self) -> bool:
        """The script has been started, or may be at any time."""
        return self.has_word or bool(self.report and self.report.started)

    @property
    def has_failed_by_itself(self) -> bool:
        return self.phase == "Failed" and not self.is_deleting and not self.is_lost

    @property
    def why_it_failed(self) -> str:
        """The runner's reason, else Kubernetes'; a killed runner leaves only its exit code."""
        reason = self.problem if self.report is None else self.report.message
        return reason or f"it ended with exit code {self.exit_code}"


def are_whole(pods: Sequence[PodView], wanted: int) -> bool:
    """All `wanted` pods run."""
    running = (pod.started_at and not (pod.finished_at or pod.is_deleting) for pod in pods)
    return len(pods) >= wanted and all(running)


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
    """Others use what this job needs; without them there would be enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    record: JobRecord
    delete_requested: bool
    volcano_job: VolcanoJobView | None
    was_created: bool
    """The status shows that a Volcano Job was made for the current run."""
    pods: Sequence[PodView]
    waiting: Waiting
    now: datetime
    ends_at: datetime | None = None
    """When the job is ended with its reservation."""
    refused_pods: RefusedPods | None = None
    is_barred: bool = False
    """An ended run without pods: its first pod had started, and the job must not run twice."""
    kill_delay_s: int = 10
    """A pod's time between TERM and KILL."""
    start_limit_s: int = 300
    """How long a pod may take to start, and Volcano to make the pods."""
    pods_wanted: int = 0
    """How many pods the Volcano Job has when all are made."""
    outlook: Outlook | None = None
    """The outlook of its dependency; None: it has none, or the job was started."""
    followers: tuple[str, ...] = ()
    """Jobs that wait for it, for display."""
    stopped: Waiting | None = None
    """Its queue is stopped: none of its jobs is started. Or it is planned anew: Volcano has not started it."""
    is_outdated: bool = False
    """The Volcano Job is older than the job's last alteration."""
    is_suspended: bool = False
    """Its processes are to be stopped, by request."""
    why_not_freed: str = ""
    """Why a suspended job's CPUs cannot be left to others; "": they can."""
    has_cpus: bool = True
    """The nodes of a suspended job have granted it the CPUs with which it runs."""
    may_go_on: bool = True
    """The plan has these for a suspended job that left them to others."""
    preemption: Preempted | None = None
    """It was chosen to be ended for another job, which its status may not show yet."""
    usage: tuple[HostUsage, ...] = ()
    """The usage that the pods of the running job have reported so far."""
    steps: Mapping[str, StepReport] = field(default_factory=dict)
    """What they have reported of the steps of srun, by their names."""

    @property
    def is_partial(self) -> bool:
        """It waits, and only some of its pods have nodes, see VolcanoJobView."""
        made = self.volcano_job
        return made is not None and made.phase in {"", "Pending"} and made.lacks_nodes(self.pods, self.pods_wanted)

    @property
    def awaits_word(self) -> bool:
        """Its first pod starts the script only when it is let: Decision.let_start."""
        made = self.volcano_job
        return not self.record.spec.rerunnable or (made is not None and made.may_bind_in_part and self.pods_wanted > 1)

    @property
    def is_whole(self) -> bool:
        """All its pods run."""
        return are_whole(self.pods, self.pods_wanted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The status to write, and what to do with the Volcano Job. At most one of the flags is set."""

    status: JobStatus
    create: bool = False
    terminate: bool = False
    """End its pods, each with its grace period, and keep their reports."""
    delete: bool = False
    """Remove it, to make it again when the job may run."""
    let_start: bool = False
    """Let the first pod run the script; of a job that must not run twice no later one: Volcano recreates a deleted pod,
    briefly, before our policy ends the job, and for good if Volcano was down when the pod was deleted. Where a job may
    get only some of its nodes, its script waits for this, too, so that the job can be taken back until then.
    """
    give_up: tuple[PodView, ...] = ()
    """Pods to remove without waiting for their silent nodes: until then Volcano waits for them."""
    look_again_s: float | None = None
