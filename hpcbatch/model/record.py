"""The state of a job: its status, and the whole record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from hpcbatch.dataclass import dataclass, field
from hpcbatch.model.array import ArrayStatus
from hpcbatch.model.chunk import MAX_CHUNKS, Chunk
from hpcbatch.model.dependency import DependencyProgress, Wait, parse_left
from hpcbatch.model.preemption import PreemptMode
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import WAITING, JobState, Reason
from hpcbatch.model.step import MAX_STEPS, StepRecord
from hpcbatch.model.stored import (
    AMOUNTS,
    ANY_INTEGER,
    ANY_TEXT,
    BOOLEAN,
    COUNT,
    GROUPS,
    NOT_STORED,
    OBJECT_NAME,
    TIME,
    UNIX_ID,
    Kind,
    enum,
    enum_of_controller,
    integer,
    list_of,
    mapping_of,
    stored,
    string,
    struct,
)
from hpcbatch.typed import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecHost:
    """A pod of the job, in the order of the chunks; the first runs the script."""

    node: str = field(metadata=stored("node", OBJECT_NAME))
    """Kubernetes node name; shown as exec_host and NODELIST."""
    pod: str = field(metadata=stored("pod", OBJECT_NAME))
    """Pod name, which is its hostname; used in PBS_NODEFILE and SLURM_JOB_NODELIST."""
    cpus: int = field(metadata=stored("cpus", COUNT))


_HOSTS = list_of(struct(ExecHost), most=MAX_CHUNKS)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostUsage:
    """The usage of all processes of a job on one of its hosts, as far as it could be measured."""

    pod: str = field(metadata=stored("pod", ANY_TEXT))
    cpu_s: int | None = field(default=None, metadata=stored("cpuSeconds", COUNT))
    max_rss_bytes: int | None = field(default=None, metadata=stored("maxRssBytes", COUNT))


MOST_TEXT = 65536
"""Characters of a long text."""
PREEMPTED = " was preempted "
"""Stands in what is said of a lost run, if it was preempted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRun:
    """A run after which the job was requeued: by request, or because its node was lost."""

    start_time: datetime = field(metadata=stored("startTime", TIME))
    end_time: datetime = field(metadata=stored("endTime", TIME))
    """When the controller noticed the end."""
    hosts: tuple[ExecHost, ...] = field(default=(), metadata=stored("hosts", _HOSTS))
    lost: str = field(
        default="",
        metadata=stored("lost", ANY_TEXT, description="What was lost of it; absent where it was given up by request."),
    )
    """The lost pod, as text; "" if none was lost, or it is unknown."""

    @property
    def was_preempted(self) -> bool:
        return PREEMPTED in self.lost


@dataclass(frozen=True, slots=True, kw_only=True)
class Alteration:
    """A change of the job by qalter, qmove or scontrol update."""

    time: datetime = field(metadata=stored("time", TIME))
    changes: str = field(metadata=stored("changes", string(most=4096)))
    """`Resource_List.walltime=00:20:00 Job_Name=x`: with the names and values of PBS's accounting log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspension:
    """A period in which the job's processes were stopped (qsig -s suspend, scontrol suspend), or for another job."""

    start_time: datetime = field(metadata=stored("startTime", TIME))
    end_time: datetime | None = field(default=None, metadata=stored("endTime", TIME))
    """None: it still lasts."""
    is_resumed: bool = field(
        default=False, metadata=stored("resumed", BOOLEAN, description="It went on then; else its run ended so.")
    )
    """It was resumed; else its run ended while suspended."""
    by: int = field(default=0, metadata=stored("by", COUNT, description="The job for which it was suspended."))
    """0: it was suspended by request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preempted:
    """The run is ended, or suspended, for another job. Written before anything is done about it."""

    by: int = field(metadata=stored("by", COUNT))
    """The other job's number."""
    time: datetime = field(metadata=stored("time", TIME))
    """When the run was chosen."""
    end_time: datetime = field(metadata=stored("endTime", TIME))
    """When its grace time is over, and it is ended."""
    mode: PreemptMode = field(metadata=stored("mode", enum(PreemptMode)))
    """CANCEL, REQUEUE or SUSPEND."""
    otherwise: PreemptMode | None = field(default=None, metadata=stored("otherwise", enum(PreemptMode)))
    """What becomes of one that is to be suspended, but cannot leave its CPUs to others; None: it runs on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Victim:
    """A run of a job that was chosen to be ended for another one."""

    job: int = field(metadata=stored("job", COUNT))
    run: int = field(metadata=stored("run", COUNT))
    """Its count: a later run of the job is not meant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preempting:
    """Others are ended so that this job can start. Written before they are."""

    time: datetime = field(metadata=stored("time", TIME))
    places: str = field(metadata=stored("places", string(most=MOST_TEXT)))
    """Where it is to start, as policy.planned writes places."""
    victims: tuple[Victim, ...] = field(default=(), metadata=stored("victims", list_of(struct(Victim), most=1000)))
    is_ending: bool = field(
        default=False, metadata=stored("ending", BOOLEAN, description="Those that might be suspended are ended.")
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderPlace:
    """In whose place among waiting jobs it waits (qorder)."""

    number: int = field(default=0, metadata=stored("number", COUNT))
    """Counts instead of the job's own among jobs that otherwise are equal; 0: its own does."""
    shift_millis: int = field(default=0, metadata=stored("shiftMillis", ANY_INTEGER))
    """Added to its rank, in thousandths."""
    exchange_id: str = field(default="", metadata=stored("exchange", ANY_TEXT))
    """The last exchange, and what it has changed here: the other job may not have been looked at yet."""
    by_millis: int = field(default=0, metadata=stored("byMillis", ANY_INTEGER))
    number_before: int = field(default=0, metadata=stored("numberBefore", COUNT))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The controller's reply to a request in a BatchJob's spec."""

    request_id: str = field(metadata=stored("id", ANY_TEXT))
    code: str = field(default="", metadata=stored("code", ANY_TEXT))
    """A RefusalCode; "" if it was granted."""
    message: str = field(default="", metadata=stored("message", ANY_TEXT))


_ALTERED = Kind({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, dict)


def _check_progress(progress: DependencyProgress) -> None:
    """Raise ValueError for text that views could not parse."""
    parse_left(progress.left)
    for name in progress.followers:
        Wait.parse(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStatus:
    state: JobState = field(default=JobState.QUEUED, metadata=stored("state", enum(JobState), is_always=True))
    reason: Reason = field(default=Reason.NONE, metadata=stored("reason", enum_of_controller(Reason), is_always=True))
    message: str = field(default="", metadata=stored("message", ANY_TEXT))
    """One line for users: the scheduler's or the pod's reason why the job waits or failed."""
    owner: str = field(default="", metadata=stored("owner", ANY_TEXT, is_always=True))
    uid: int = field(default=0, metadata=stored("uid", UNIX_ID, is_always=True))
    gid: int = field(default=0, metadata=stored("gid", UNIX_ID, is_always=True))
    home: str = field(default="/", metadata=stored("home", ANY_TEXT, is_always=True))
    groups: tuple[tuple[int, str], ...] = field(
        default=(), metadata=stored("groups", GROUPS, description="Supplementary groups that the pods run with.")
    )
    """Supplementary groups, gid and name."""
    walltime_s: int | None = field(
        default=None,
        metadata=stored(
            "walltimeSeconds", integer(1), description="Limit in force: the one asked for, or the queue's."
        ),
    )
    """Wall-clock limit in force: the requested one, or the queue's; of a run that the plan gave less, that."""
    full_walltime_s: int | None = field(
        default=None,
        metadata=stored(
            "fullWalltimeSeconds", COUNT, description="The limit before the plan gave this run less; 0: there was none."
        ),
    )
    """Set while `walltime_s` is what the plan gave this run, which is less than it may have; 0: there was no limit."""
    ignored: tuple[str, ...] = field(
        default=(),
        metadata=stored("ignored", list_of(ANY_TEXT, most=256), description="What this site ignores of it, and why."),
    )
    """What this site ignores of the job, beside `spec.ignored`, as `filesystems=home: …why…`."""
    layout: tuple[Chunk, ...] = field(
        default=(), metadata=stored("layout", list_of(struct(Chunk, is_cached=True), most=MAX_CHUNKS))
    )
    """The chunks as they become pods, fixed at admission: `count` pods each."""
    licenses: tuple[tuple[str, int], ...] = field(
        default=(),
        metadata=stored("licenses", AMOUNTS, description="Licences that it holds while it runs, by the site's names."),
    )
    """By the site's names, fixed at admission; sorted. The job holds them while it has a Volcano Job."""
    hosts: tuple[ExecHost, ...] = field(default=(), metadata=stored("hosts", _HOSTS))
    submit_time: datetime | None = field(default=None, metadata=NOT_STORED)
    eligible_time: datetime | None = field(default=None, metadata=stored("eligibleTime", TIME))
    """Since when it waits only for the scheduler: admitted, released, begin time reached."""
    planned_start: datetime | None = field(
        default=None, metadata=stored("plannedStart", TIME, description="When it is expected to start, while it waits.")
    )
    """By the last plan, to the precision that listings need; None: nothing is planned for it."""
    planned_nodes: str = field(
        default="",
        metadata=stored("plannedNodes", string(most=65536), description="Where it is expected to start."),
    )
    reservation: str = field(
        default="",
        metadata=stored("reservation", ANY_TEXT, description="In which of the reservations that it names it runs."),
    )
    """Of a job that names several, once it is about to start; "": it has none, or names one."""
    rank: int | None = field(
        default=None,
        metadata=stored("rank", integer(0, 2**32 - 1), description="Its priority, where the site's has factors."),
    )
    """As of the last look, about right; of a job that has started, that by which it did."""
    order: OrderPlace | None = field(
        default=None,
        metadata=stored("order", struct(OrderPlace), description="It has exchanged its place with other waiting jobs."),
    )
    due_since: datetime | None = field(default=None, metadata=stored("dueSince", TIME))
    """Where short jobs go first (policy.short_first): since when it would have started without that. None: it would not
    yet, or this site has no such order. Of a job that has started, as it was."""
    start_time: datetime | None = field(default=None, metadata=stored("startTime", TIME))
    end_time: datetime | None = field(default=None, metadata=stored("endTime", TIME))
    exit_code: int | None = field(default=None, metadata=stored("exitCode", integer(0, 255)))
    """0..255 of the script; None when it never ran, or was killed by a signal."""
    exit_signal: int | None = field(default=None, metadata=stored("exitSignal", integer(1, 127)))
    walltime_used_s: int | None = field(default=None, metadata=stored("walltimeUsedSeconds", COUNT))
    cpu_used_s: int | None = field(default=None, metadata=stored("cpuUsedSeconds", COUNT))
    max_rss_bytes: int | None = field(default=None, metadata=stored("maxRssBytes", COUNT))
    """The sum of the peaks of its hosts; while it runs, this and `cpu_used_s` are the last report."""
    past_runs: tuple[PastRun, ...] = field(
        default=(),
        metadata=stored(
            "pastRuns", list_of(struct(PastRun), most=1000), description="Runs after which the job was queued again."
        ),
    )
    """Those before the current one, the oldest first, as far as they are kept (policy.past_runs)."""
    suspensions: tuple[Suspension, ...] = field(
        default=(),
        metadata=stored(
            "suspensions",
            list_of(struct(Suspension), most=1000),
            description="When its processes were stopped by request.",
        ),
    )
    """Of all runs, the oldest first, as far as they are kept (policy.suspensions)."""
    frees_cpus: bool = field(
        default=False, metadata=stored("freesCpus", BOOLEAN, description="Suspended, it leaves its CPUs to others.")
    )
    """Of a suspended job: its pods request none, or are about to; when it is to go on, they first get theirs again."""
    preempted: Preempted | None = field(
        default=None,
        metadata=stored("preempted", struct(Preempted), description="Its run is, or was, ended for another job."),
    )
    """Of the current run, or the last one of an ended job."""
    preempting: Preempting | None = field(
        default=None,
        metadata=stored("preempting", struct(Preempting), description="Others are, or were, ended for it."),
    )
    """A waiting job keeps that place; one that has started shows whose it was."""
    alterations: tuple[Alteration, ...] = field(
        default=(),
        metadata=stored(
            "alterations",
            list_of(struct(Alteration), most=1000),
            description="What was changed when, in the words of PBS's accounting log.",
        ),
    )
    """The oldest first, as far as they are kept (policy.alterations)."""
    usage: tuple[HostUsage, ...] = field(
        default=(), metadata=stored("usage", list_of(struct(HostUsage), most=MAX_CHUNKS))
    )
    """For each host in the order of `hosts`, as far as known."""
    steps: tuple[StepRecord, ...] = field(
        default=(),
        metadata=stored(
            "steps",
            list_of(struct(StepRecord), most=MAX_STEPS),
            description="What srun started in the current run: the steps that run and the newest ones.",
        ),
    )
    """Of the current run, in order of their numbers (policy.steps)."""
    step_count: int = field(
        default=0, metadata=stored("stepCount", COUNT, description="How many steps the run has had.")
    )
    array: ArrayStatus | None = field(
        default=None,
        metadata=stored(
            "array", struct(ArrayStatus), description="Where the members of an array stand; sets of indices."
        ),
    )
    """For an array: the states of its members."""
    dependency: DependencyProgress | None = field(
        default=None,
        metadata=stored(
            "dependency",
            struct(DependencyProgress, check=_check_progress),
            description="How far the job's dependency is satisfied.",
        ),
    )
    """None: not evaluated yet, or no dependency."""
    run_count: int = field(default=0, metadata=stored("runCount", integer(0)))
    """How often it was started; 1 in its first run."""
    session_id: int | None = field(default=None, metadata=stored("sessionId", COUNT))
    """Process id of the script as its pod sees it."""
    deleted_by: str = field(default="", metadata=stored("deletedBy", ANY_TEXT))
    altered: Mapping[str, Any] = field(
        default_factory=dict,
        metadata=stored("altered", _ALTERED, description="Fields of the spec that were changed since."),
    )
    """Changes by qalter and scontrol update since submission, as fields of the BatchJob's spec. `JobRecord.spec`
    includes them."""
    answered: Reply | None = field(default=None, metadata=stored("answered", struct(Reply)))
    """The reply to the last request (alter, rerun, signal ...) that the controller has handled."""
    handled: Mapping[str, str] = field(
        default_factory=dict,
        metadata=stored(
            "handled",
            mapping_of(ANY_TEXT),
            description="Ids of the last alteration and rerunRequest that were answered.",
        ),
    )
    """Ids of the last handled `alteration` and `rerunRequest`, which are not handled again."""
    is_rerunning: bool = field(
        default=False, metadata=stored("rerunning", BOOLEAN, description="Its run is being ended, to be queued again.")
    )
    """Its run is being ended for a requeue (qrerun, scontrol requeue); until its Volcano Job is gone."""
    is_special: bool = field(
        default=False,
        metadata=stored(
            "specialExit", BOOLEAN, description="It was marked when it was queued again; until it is released."
        ),
    )
    """Held after a requeue with Slurm's State=SpecialExit."""
    signalled: str = field(default="", metadata=stored("signalled", ANY_TEXT))
    """Id of the last signal request that was passed on to the pods."""
    mailed: tuple[str, ...] = field(
        default=(),
        metadata=stored(
            "mailed", list_of(string(most=64), most=4096), description="Mails that were sent, or given up."
        ),
    )
    """Ids of its mails that were sent, or given up: none of them is sent again."""

    def suspended_s(self, since: datetime, until: datetime) -> int:
        """How long it was suspended within that period."""
        times = ((max(one.start_time, since), min(one.end_time or until, until)) for one in self.suspensions)
        return round(sum(max(0.0, (end - start).total_seconds()) for start, end in times))

    @property
    def suspended_at(self) -> datetime | None:
        """Since when it stands; None: it does not."""
        last = self.suspensions[-1] if self.suspensions else None
        return None if last is None or last.end_time is not None else last.start_time

    @property
    def stood_s(self) -> int:
        """For how long this run was suspended before."""
        began = self.start_time
        over = [one for one in self.suspensions if one.end_time is not None]
        if began is None or not over:
            return 0
        times = ((one.end_time or began) - max(one.start_time, began) for one in over)
        return round(sum(max(0.0, time.total_seconds()) for time in times))

    @property
    def earlier_s(self) -> int:
        """How long the runs took that were given up, as far as they are kept."""
        runs = [(run.start_time, run.end_time) for run in self.past_runs]
        return sum(max(0, round((end - start).total_seconds()) - self.suspended_s(start, end)) for start, end in runs)

    @property
    def ran_before_suspension_s(self) -> float:
        """How long it had run when it was suspended last; 0 where it was not."""
        if self.start_time is None or not self.suspensions:
            return 0.0
        stopped = self.suspensions[-1].start_time
        return (stopped - self.start_time).total_seconds() - self.suspended_s(self.start_time, stopped)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecord:
    """One job, whole. `job_id` is its number; `uid_key` finds it again in the API (namespace/name)."""

    job_id: int
    namespace: str
    object_name: str
    spec: JobSpec
    status: JobStatus
    queue: str
    """Its current queue: the requested one, or the site's default."""

    @property
    def layout(self) -> tuple[Chunk, ...]:
        """Its pods; before admission, the requested chunks."""
        return self.status.layout or self.spec.chunks

    @property
    def cpus(self) -> int:
        return sum(c.count * c.cpus for c in self.layout)

    @property
    def requested_cpus(self) -> int:
        """Fewer than `cpus` where the job has whole nodes."""
        return sum(c.count * c.cpus_of_pod for c in self.layout)

    @property
    def mem_bytes(self) -> int | None:
        """Memory of all pods together; None if no memory was requested."""
        mems = [c.count * c.mem_bytes for c in self.layout if c.mem_bytes is not None]
        return sum(mems) if mems else None

    @property
    def walltime_s(self) -> int | None:
        return self.status.walltime_s or self.spec.walltime_s


def total_resources(chunks: Iterable[Chunk]) -> tuple[tuple[str, int], ...]:
    """Of further countable resources, by the site's names, sorted."""
    found: dict[str, int] = {}
    for chunk in chunks:
        for name, amount in chunk.resources:
            found[name] = found.get(name, 0) + chunk.count * amount
    return tuple(sorted(found.items()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Columns of listings that are not in the status: totals, and alterable fields of the spec."""

    nodes: int = field(metadata=stored("nodes", integer(0), is_required=False))
    cpus: int = field(metadata=stored("cpus", COUNT, is_required=False))
    mem_bytes: int | None = field(default=None, metadata=stored("memBytes", COUNT))
    hosts: str = field(default="", metadata=stored("hosts", ANY_TEXT))
    """`node-0*4+node-1*4`"""
    name: str = field(metadata=stored("name", ANY_TEXT, is_required=False))
    priority: int = field(default=0, metadata=stored("priority", ANY_INTEGER))
    nice: int = field(default=0, metadata=stored("nice", ANY_INTEGER))
    account: str = field(default="", metadata=stored("account", ANY_TEXT))
    begin_time: datetime | None = field(default=None, metadata=stored("beginTime", TIME))
    reservation: str = field(default="", metadata=stored("reservation", ANY_TEXT))
    other_queues: str = field(default="", metadata=stored("otherQueues", ANY_TEXT))
    """In which it may start, too, while it waits: `b,c`."""
    resources: str = field(default="", metadata=stored("resources", ANY_TEXT))
    """Further countable ones of all its chunks by the site's names: `fpga=1,gpu=8`."""
    stood_s: int = field(default=0, metadata=stored("stoodSeconds", COUNT))
    """For how long this run was suspended, but for the time since `suspended_at`."""
    suspended_at: datetime | None = field(default=None, metadata=stored("suspendedTime", TIME))
    earlier_s: int = field(default=0, metadata=stored("earlierSeconds", COUNT))
    """How long its earlier runs took, without suspensions: fair share counts them."""

    @classmethod
    def of(cls, record: JobRecord) -> Summary:
        return cls(
            nodes=sum(chunk.count for chunk in record.layout),
            cpus=record.cpus,
            mem_bytes=record.mem_bytes,
            hosts="+".join(f"{host.node}*{host.cpus}" for host in record.status.hosts),
            name=record.spec.name,
            priority=record.spec.priority,
            nice=record.spec.nice,
            account=record.spec.account or "",
            begin_time=record.spec.begin_time,
            reservation=record.spec.attributes.get("reservation", ""),
            other_queues=",".join(name for name in record.spec.other_queues if name != record.queue)
            if record.status.state in WAITING
            else "",
            resources=",".join(f"{name}={amount}" for name, amount in total_resources(record.layout)),
            stood_s=record.status.stood_s,
            suspended_at=record.status.suspended_at,
            earlier_s=record.status.earlier_s,
        )
