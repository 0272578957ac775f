"""What became of a job: its status, and the whole record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from hpcbatch.model.array import ArrayStatus
from hpcbatch.model.dependency import DependencyProgress
from hpcbatch.model.row import JobRow
from hpcbatch.model.spec import Chunk, JobSpec
from hpcbatch.model.state import JobState, Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecHost:
    """A pod of the job, in the order of the chunks; the first runs the script."""

    node: str
    """Kubernetes node name; shown as exec_host and NODELIST."""
    pod: str
    """Pod name, which is its hostname; stands in PBS_NODEFILE and SLURM_JOB_NODELIST."""
    cpus: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HostUsage:
    """What all processes of a job used on one of its hosts, as far as could be measured there."""

    pod: str
    cpu_s: int | None = None
    max_rss_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRun:
    """A run after which the job was queued again: rerun by request, or its node was lost."""

    start_time: datetime
    end_time: datetime
    """When the controller saw that it was over."""
    hosts: tuple[ExecHost, ...] = ()
    lost: str = ""
    """Which pod was lost, in words; "" where nothing was, or it is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alteration:
    """What qalter, qmove or scontrol update changed of the job at a time."""

    time: datetime
    changes: str
    """`Resource_List.walltime=00:20:00 Job_Name=x`: in the names and words of PBS's accounting log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspension:
    """A time at which the job's processes were stopped (qsig -s suspend, scontrol suspend)."""

    start_time: datetime
    end_time: datetime | None = None
    """None: it still is."""
    is_resumed: bool = False
    """It went on then; else its run ended so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Of the controller to a request in a BatchJob's spec."""

    request_id: str
    code: str = ""
    """A RefusalCode; "" if it was done."""
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStatus:
    state: JobState = JobState.QUEUED
    reason: Reason = Reason.NONE
    message: str = ""
    """One human line: the scheduler's or the pod's own words for why the job waits or failed."""
    owner: str = ""
    uid: int = 0
    gid: int = 0
    home: str = "/"
    groups: tuple[tuple[int, str], ...] = ()
    """Supplementary groups, gid and name."""
    walltime_s: int | None = None
    """Wall-clock limit in force, fixed at admission: the one asked for, or the queue's."""
    layout: tuple[Chunk, ...] = ()
    """The chunks as they become pods, fixed at admission: `count` pods each."""
    hosts: tuple[ExecHost, ...] = ()
    submit_time: datetime | None = None
    eligible_time: datetime | None = None
    """Since when nothing but the scheduler keeps it: admitted, released, begin time reached."""
    start_time: datetime | None = None
    end_time: datetime | None = None
    exit_code: int | None = None
    """0..255 of the script; None when it never ran, or was killed by a signal."""
    exit_signal: int | None = None
    walltime_used_s: int | None = None
    cpu_used_s: int | None = None
    max_rss_bytes: int | None = None
    """Of all its hosts together, each at its most; as is `cpu_used_s`, while it runs what was told last."""
    past_runs: tuple[PastRun, ...] = ()
    """Those before the present one, the oldest first, as far as they are kept (policy.past_runs)."""
    suspensions: tuple[Suspension, ...] = ()
    """Of all runs, the oldest first, as far as they are kept (policy.suspensions)."""
    alterations: tuple[Alteration, ...] = ()
    """The oldest first, as far as they are kept (policy.alterations)."""
    usage: tuple[HostUsage, ...] = ()
    """Of each host in the order of `hosts`, as far as known."""
    array: ArrayStatus | None = None
    """Of an array: where its members stand."""
    dependency: DependencyProgress | None = None
    """None: not looked at yet, or there is none."""
    run_count: int = 0
    """How often it was started; 1 in its first run."""
    session_id: int | None = None
    """Process id of the script as its pod sees it."""
    deleted_by: str = ""
    altered: Mapping[str, Any] = field(default_factory=dict)
    """What qalter and scontrol update have changed since submission, as fields of the BatchJob's spec. `JobRecord.spec`
    already has them."""
    answered: Answer | None = None
    """To the last request (alter, rerun, signal ...) that the controller has dealt with."""
    handled: Mapping[str, str] = field(default_factory=dict)
    """Id of the last `alteration` and of the last `rerunRequest` that were answered, which are not looked at again."""
    is_rerunning: bool = False
    """Its run is being ended, to be queued again (qrerun, scontrol requeue); until its Volcano Job is gone."""
    signalled: str = ""
    """Id of the last signal request that was passed on to the pods."""
    mailed: tuple[str, ...] = ()
    """Ids of the mails about it that were sent, or given up: none of them is sent again."""

    def suspended_s(self, since: datetime, until: datetime) -> int:
        """For how long it was suspended within that time."""
        times = ((max(one.start_time, since), min(one.end_time or until, until)) for one in self.suspensions)
        return round(sum(max(0.0, (end - start).total_seconds()) for start, end in times))


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecord:
    """One job, whole. `job_id` is its number; `uid_key` finds it again in the API (namespace/name)."""

    job_id: int
    namespace: str
    object_name: str
    spec: JobSpec
    status: JobStatus
    queue: str
    """The queue it is in: the one asked for, or the site's default."""

    @property
    def layout(self) -> tuple[Chunk, ...]:
        """Its pods; before it is admitted, the chunks asked for."""
        return self.status.layout or self.spec.chunks

    @property
    def cpus(self) -> int:
        return sum(c.count * c.cpus for c in self.layout)

    @property
    def mem_bytes(self) -> int | None:
        """Of all pods together; None when no memory was asked."""
        mems = [c.count * c.mem_bytes for c in self.layout if c.mem_bytes is not None]
        return sum(mems) if mems else None

    @property
    def walltime_s(self) -> int | None:
        return self.status.walltime_s or self.spec.walltime_s

    def row(self) -> JobRow:
        spec, status = self.spec, self.status
        return JobRow(
            job_id=self.job_id,
            namespace=self.namespace,
            object_name=self.object_name,
            dialect=spec.dialect,
            server=spec.server,
            name=spec.name,
            user=status.owner,
            queue=self.queue,
            state=status.state,
            reason=status.reason,
            message=status.message,
            nodes=sum(c.count for c in self.layout),
            cpus=self.cpus,
            mem_bytes=self.mem_bytes,
            walltime_s=self.walltime_s,
            cpu_used_s=status.cpu_used_s,
            hosts=tuple(h.node for h in status.hosts),
            cpus_per_host=tuple(h.cpus for h in status.hosts),
            submit_time=status.submit_time,
            eligible_time=status.eligible_time,
            start_time=status.start_time,
            end_time=status.end_time,
            begin_time=spec.begin_time,
            exit_code=status.exit_code,
            exit_signal=status.exit_signal,
            priority=spec.priority,
            account=spec.account or "",
            work_dir=spec.work_dir or status.home,
            command=spec.script_path or "",
            session_id=status.session_id,
            tres_per_node=spec.attributes.get("tres_per_node", ""),
            tres_per_job=spec.attributes.get("tres_per_job", ""),
            tres_per_task=spec.attributes.get("tres_per_task", ""),
            features=spec.attributes.get("constraint", ""),
            qos=spec.attributes.get("qos", ""),
            array_id=None if spec.member_of is None else spec.member_of.array_id,
            array_index=None if spec.member_of is None else spec.member_of.index,
            keeps_number=spec.member_of is not None and spec.member_of.keeps_number,
            array_indices="" if spec.array is None else str(spec.array.indices),
            array_pending="" if status.array is None else str(status.array.pending),
            array_active="" if status.array is None else str(status.array.active),
            array_succeeded="" if status.array is None else str(status.array.succeeded),
            array_failed="" if status.array is None else str(status.array.failed),
            array_deleted="" if status.array is None else str(status.array.deleted),
            array_limit=None if status.array is None else status.array.limit,
            nice=spec.nice,
            dependency="" if status.dependency is None else status.dependency.left,
            run_count=status.run_count,
            rerunnable=spec.rerunnable,
            uid=status.uid,
        )
