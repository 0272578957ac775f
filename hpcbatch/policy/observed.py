"""What is seen of one job, its Volcano Job and its pods, and what may be decided of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from hpcbatch.model.record import HostUsage, JobRecord, JobStatus
from hpcbatch.model.site import Launcher
from hpcbatch.model.state import Reason
from hpcbatch.policy.dependencies import Outlook
from hpcbatch.volcano.report import RunReport

_VOLCANO_FINAL = frozenset({"Completed", "Failed", "Terminated", "Aborted"})


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
    """Its node or its engine went away under it, or it was evicted: nobody requested its end."""
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
    """What the pods of the running job have reported of their use so far."""


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
