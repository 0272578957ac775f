"""Between jobs and the plan: what the plan is made from, and what it means for a job. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from hpcbatch.dataclass import replace
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.preemption import PreemptMode
from hpcbatch.model.record import JobRecord
from hpcbatch.model.site import Launcher, QueueConfig, SiteConfig
from hpcbatch.model.spec import MAX_FIXED_PRIORITY, Sharing
from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy.deadlines import shortened, without_grant
from hpcbatch.policy.freed_cpus import whole_milli
from hpcbatch.policy.grouping import apart
from hpcbatch.policy.in_reservations import reservations_named, to_choose_from
from hpcbatch.policy.observed import Waiting
from hpcbatch.policy.order import line_place
from hpcbatch.policy.owners import of_volcano_queue
from hpcbatch.policy.plan.outcome import Expected, Held, Why
from hpcbatch.policy.plan.snapshot import (
    JOBS,
    NODES,
    LabelTest,
    Limit,
    Node,
    Owner,
    Part,
    Place,
    RunningJob,
    Scope,
    Shape,
    Vector,
    WaitingJob,
    Yields,
)
from hpcbatch.policy.room import fits_now
from hpcbatch.policy.views import is_ready, takes_pods
from hpcbatch.policy.waiting import NodeRoom, amounts_of, explain
from hpcbatch.typed import Any, Final, NamedTuple
from hpcbatch.units import counted, cpu_milli, memory_bytes
from hpcbatch.volcano.amounts import granted_requests, held_requests
from hpcbatch.volcano.pod_needs import claimed_by, node_selector, node_terms
from hpcbatch.volcano.translate import weight_in

Object = dict[str, Any]

ENDLESS_S: Final = 366 * 86400.0
"""What a job without a walltime counts as, in seconds."""
_UNKNOWN_S: Final = 300 * 86400.0
"""A start that is planned later than this depends on a job without a walltime: nobody knows it."""
_START_UP_S: Final = 10.0
"""Between the release of a job and the start of its script, in seconds; images take longer when they are new."""
_GRACE_S: Final = 5.0
"""The runner's own work after the last KILL, in seconds."""
_NODES_SHOWN: Final = 256


# Into the plan


def plan_id(job_id: int) -> str:
    return str(job_id)


def seconds(when: datetime) -> float:
    """The plan's clock."""
    return when.timestamp()


def shape_of(layout: Sequence[Chunk], queue: QueueConfig, site: SiteConfig, record: JobRecord) -> Shape:
    """The job's pods. Raises HpcBatchError for something that the site does not have (any more)."""
    parts = parts_of(layout, queue, site)
    # beside one that computes where these must not share nodes, which a shape does not tell apart
    if site.launcher is Launcher.DEDICATED and not record.spec.is_scattered:
        needs = {"cpu": site.launcher_cpu_milli, "pods": 1}
        parts.append(Part(count=1, needs=_positive(needs), labels=dict(queue.node_selector)))
    return Shape(
        parts=tuple(parts),
        is_scattered=record.spec.is_scattered,
        is_exclusive=record.spec.sharing is Sharing.EXCLUSIVE,
    )


def parts_of(layout: Sequence[Chunk], queue: QueueConfig, site: SiteConfig) -> list[Part]:
    """Raises HpcBatchError as `shape_of`."""
    return [
        Part(
            count=chunk.count,
            needs=_positive({**amounts_of(chunk, site), "pods": 1}),
            labels=node_selector(chunk, queue, site),
            terms=_terms(node_terms(chunk, site)),
        )
        for chunk in layout
    ]


def waiting_job(
    record: JobRecord,
    queue: QueueConfig,
    site: SiteConfig,
    owner: Owner,
    *,
    rank: float | None = None,
    is_last: bool = False,
    preempts: frozenset[str] = frozenset(),
    claims: bool = False,
    number: int = 0,
    shapes: tuple[Shape, ...] = (),
) -> WaitingJob:
    """A job that may start as far as anything but other jobs is concerned. `rank`, `number` and
    `is_last` are those of `order_of`; `claims`: it keeps the place of those that end for it; `shapes`: the
    ways in which it can run, if they are known. Raises HpcBatchError as `shape_of`.
    """
    preempting = record.status.preempting if claims else None
    is_short = record.status.full_walltime_s is not None
    full = replace(record, status=without_grant(record.status)) if is_short else record
    (reservation, *others), least_s = to_choose_from(record, site) or ("",), record.spec.min_walltime_s
    if reservation and full.walltime_s is None:
        least_s = 1  # it runs for as long as that lasts
    return WaitingJob(
        job_id=plan_id(record.job_id),
        order=order_of(
            record, queue, rank=rank, is_last=is_last, level=site.preemption.level(queue.priority), number=number
        ),
        shapes=shapes or (shape_of(record.status.layout, queue, site, record),),
        walltime_s=holds_nodes_s(full, site),
        min_walltime_s=None if least_s is None else least_s + beside_walltime_s(site),
        owner=owner,
        preempts=preempts,
        claim=() if preempting is None else places_of(preempting.places),
        reservation=reservation,
        other_reservations=tuple(others),
    )


def as_released(record: JobRecord, site: SiteConfig, holds_s: float, reservation: str = "") -> JobRecord:
    """The record of a job that starts now in that reservation and has to be gone after `holds_s`: it may get a shorter
    walltime.
    """
    given_s = holds_s - beside_walltime_s(site)
    status = shortened(record.status, record.spec.min_walltime_s, given_s)
    is_one_of_many = len(reservations_named(record, site)) > 1
    return replace(record, status=replace(status, reservation=reservation) if is_one_of_many else status)


def capability_limits(queue: Object) -> tuple[Limit, ...]:
    """What the jobs in a Volcano Queue may use together."""
    name = queue["metadata"]["name"]
    capability = amounts((queue.get("spec") or {}).get("capability") or {})
    return tuple(
        Limit(code=f"Volcano Queue {name}", what=what, amount=amount, of={Scope.QOS: of_volcano_queue(name)})
        for what, amount in sorted(capability.items())
    )


def holds_nodes_s(record: JobRecord, site: SiteConfig) -> float:
    """From its release to the last moment at which it can hold its nodes."""
    if record.walltime_s is None:
        return ENDLESS_S
    return record.walltime_s + beside_walltime_s(site)


def beside_walltime_s(site: SiteConfig) -> float:
    """What of a job's time with its nodes is no part of its walltime."""
    return _START_UP_S + site.kill_delay_s + _GRACE_S


def ends_s(record: JobRecord, site: SiteConfig, *, released_s: float, now_s: float) -> float:
    """The last moment at which a job that was released can hold its nodes. A suspended one holds them until somebody
    resumes it.
    """
    status = record.status
    if status.state is JobState.SUSPENDED:
        return now_s + ENDLESS_S
    length_s = holds_nodes_s(record, site)
    if status.start_time is None:
        return released_s + length_s
    began = status.start_time
    stopped_s = status.suspended_s(began, datetime.fromtimestamp(max(now_s, seconds(began)), UTC))
    end_s = seconds(began) + length_s - _START_UP_S + stopped_s
    if status.preempted is None or status.preempted.mode is PreemptMode.SUSPEND:
        return end_s
    return min(end_s, seconds(status.preempted.end_time) + site.kill_delay_s + _GRACE_S)


def used_whole(shape: Shape | None, placed: Mapping[str, Vector], places: Iterable[Place]) -> Vector | None:
    """What limits count of a job from its release to its end: all of its shape, whichever of its pods are there at the
    moment. `places`: where it was planned. None: the shape is not known, and what is placed counts.
    """
    if shape is None:
        return None
    nodes = max(1, len(placed), len({place.node for place in places}))
    return {name: shape.total(name) for part in shape.parts for name in part.needs} | {JOBS: 1, NODES: nodes}


def running_job(
    record: JobRecord,
    placed: Mapping[str, Vector],
    ends: float,
    owner: Owner,
    *,
    yields: Yields | None = None,
    reservation: str = "",
    frees_cpus: bool = False,
) -> RunningJob:
    """`frees_cpus`: it is suspended, and shares its nodes with others meanwhile."""
    return RunningJob(
        job_id=plan_id(record.job_id),
        placed=placed,
        ends_s=ends,
        owner=owner,
        is_exclusive=record.spec.sharing is Sharing.EXCLUSIVE and not frees_cpus,
        yields=yields,
        reservation=reservation,
    )


def stalled_id(job_id: str) -> str:
    """The plan's name of what limits count of a job that Volcano has not started yet, and that is planned anew."""
    return f"{job_id} stalled"


def leaving_pods(node: str, pods: Iterable[Vector], now_s: float) -> RunningJob:
    """What pods that are being deleted, and belong to no running job, still hold of a node. They make room in a moment:
    what needs the whole node fits there all the same, and keeps its planned start.
    """
    takes: Vector = {}
    for one in pods:
        takes = added(takes, one)
    return RunningJob(job_id=f"leaving {node}", placed={node: takes}, ends_s=now_s, uses={JOBS: 0})


def placed_by(shape: Shape, places: Iterable[Place]) -> dict[str, Vector]:
    """What the job takes of each node there."""
    found: dict[str, Vector] = {}
    for place in places:
        if place.part < len(shape.parts):
            needs = shape.parts[place.part].needs
            more = {name: amount * place.count for name, amount in needs.items()}
            found[place.node] = added(found.get(place.node, {}), more)
    return found


def places_text(places: Iterable[Place]) -> str:
    """`0:node-0*2 0:node-1*2`: how an object keeps them."""
    return " ".join(f"{place.part}:{place.node}*{place.count}" for place in places)


def places_of(text: str) -> tuple[Place, ...]:
    """The reverse of `places_text`; nothing for a text that it never made."""
    found = []
    for word in text.split():
        part, _, rest = word.partition(":")
        node, _, count = rest.rpartition("*")
        if not (part.isdigit() and count.isdigit() and node):
            return ()
        found.append(Place(part=int(part), node=node, count=int(count)))
    return tuple(found)


class BoundPod(NamedTuple):
    """A pod that takes something of a node."""

    node: str
    job_id: str
    """The plan's name of its job; "": it belongs to none of ours."""
    takes: Vector
    is_leaving: bool = False
    """It is being deleted."""
    whole_milli: int = 0
    """The CPU that it takes when its job is not suspended, if that is known."""


def bound_pod(pod: Object, job_id: str) -> BoundPod | None:
    """None for one that has no node, or has ended and so holds nothing of it."""
    node = pod["spec"].get("nodeName")
    if not node or (pod.get("status") or {}).get("phase") in {"Succeeded", "Failed"}:
        return None
    takes: dict[str, int] = {"pods": 1}
    requests = [container.get("resources", {}).get("requests") or {} for container in pod["spec"]["containers"]]
    for part in (*requests, pod["spec"].get("overhead") or {}):
        takes = added(takes, amounts(part))
    takes = added(takes, claimed_by(pod))
    if granted_requests(pod):  # it is being resized
        held = held_requests(pod)
        takes |= {name: held.get(name, 0) for name in ("cpu", "memory")}
    is_leaving = "deletionTimestamp" in pod["metadata"]
    return BoundPod(node, job_id, _positive(takes), is_leaving=is_leaving, whole_milli=whole_milli(pod))


def node_of(node: Object, others: Iterable[Vector]) -> Node:
    """A node for the plan. `others` is what pods there take that belong to no running job of ours."""
    has = amounts(node["status"]["allocatable"])
    for taken in others:
        for name, amount in taken.items():
            if name in has:
                has[name] = max(0, has[name] - amount)
    return Node(
        name=node["metadata"]["name"],
        has=has,
        labels=node["metadata"].get("labels") or {},
        is_open=is_ready(node) and takes_pods(node),
    )


def amounts(quantities: Mapping[str, Any]) -> dict[str, int]:
    """Kubernetes' quantities as the plan counts them."""
    return {
        name: cpu_milli(text) if name == "cpu" else memory_bytes(text)
        for name, text in quantities.items()
        if name in {"cpu", "memory", "ephemeral-storage", "pods"} or "/" in name
    }


def added(one: Vector, other: Vector) -> dict[str, int]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in {*one, *other}}


def _positive(vector: Vector) -> dict[str, int]:
    return {name: amount for name, amount in vector.items() if amount}


def _terms(terms: Iterable[Mapping[str, Any]]) -> tuple[tuple[LabelTest, ...], ...]:
    return tuple(
        tuple(
            LabelTest(key=line["key"], values=frozenset(line["values"]), is_in=line["operator"] == "In")
            for line in term["matchExpressions"]
        )
        for term in terms
    )


# Out of the plan


class Forecast(NamedTuple):
    """When and where a waiting job is expected to start."""

    start: datetime | None = None
    nodes: str = ""


def forecast(expected: Expected | None, now_s: float) -> Forecast:
    """To the precision that listings need, so that a record does not change with every plan."""
    if expected is None or expected.start_s - now_s > _UNKNOWN_S:
        return Forecast()
    start = datetime.fromtimestamp(round(expected.start_s), UTC)
    names = sorted({place.node for place in expected.places})
    return Forecast(start, ",".join(names[:_NODES_SHOWN]))


def is_as_good(shown: datetime | None, now: datetime | None, *, at_s: float) -> bool:
    """Whether the start that a record shows still tells what the plan says: exact where it is near, roughly where it
    is far.
    """
    if shown is None or now is None:
        return shown is now
    ahead_s = seconds(now) - at_s
    return abs((now - shown).total_seconds()) <= max(5.0, ahead_s / 20)


def why_held(
    held: Held, record: JobRecord, rooms: Sequence[NodeRoom], *, queue: QueueConfig, site: SiteConfig
) -> Waiting:
    """What a job shows that does not start now. `rooms` are the nodes that are open, with all pods on them."""
    layout, is_scattered = record.status.layout, record.spec.is_scattered
    match held.why:
        case Why.RESOURCES | Why.NODE_DOWN | Why.NEVER_FITS:
            if (level := site.level_of(record.spec.grouping)) is not None and fits_now(
                layout, rooms, is_scattered=is_scattered, queue=queue, site=site
            ):
                return apart(level, is_for_ever=held.why is Why.NEVER_FITS)
            return explain(layout, rooms, is_scattered=is_scattered, queue=queue, site=site)
        case Why.LIMIT:
            return _limited(held, shape_of(layout, queue, site, record))
        case Why.BEGIN_TIME:
            return Waiting(reason=Reason.BEGIN_TIME, message="")
        case Why.RESERVATION | Why.RESERVATION_OVER | Why.RESERVATION_DENIED:
            return _behind_reservation(held, record, site)
        case _:
            fits = fits_now(layout, rooms, is_scattered=is_scattered, queue=queue, site=site)
            # PBS names the top job only where the job itself would have room
            return Waiting(reason=Reason.PRIORITY, message="" if fits else "Not enough free nodes available")


def _behind_reservation(held: Held, record: JobRecord, site: SiteConfig) -> Waiting:
    found = site.reservations.get(held.reservation)
    if held.why is Why.RESERVATION_DENIED:
        return Waiting(reason=Reason.RESERVATION, message="")
    if found is None:
        return Waiting(reason=Reason.RESERVATION_GONE, message="")
    if held.reservation in reservations_named(record, site):
        return Waiting(reason=Reason.RESERVATION, message="")
    return Waiting(reason=Reason.MAINTENANCE if found.spec.is_maintenance else Reason.RESERVED, message="")


def order_of(
    record: JobRecord,
    queue: QueueConfig,
    *,
    rank: float | None,
    is_last: bool,
    level: int = 0,
    number: int = 0,
) -> tuple[float, ...]:
    """A job's place, the smallest first: behind all others with `is_last`, before them where an operator starts it now;
    by the `level` of preemption; by the queue's tier; by `rank`, the larger first (None: this site has none); by the
    weight that users and operators give; in the order of submission, where `number` counts instead of its own, or its
    array's.
    """
    is_first = record.spec.fixed_priority == MAX_FIXED_PRIORITY and not is_last
    ranks = () if rank is None else (-queue.priority_tier, -rank)
    member = record.spec.member_of
    array_id, index = (None, None) if member is None else (member.array_id, member.index)
    return (
        -1 if is_first else int(is_last),
        -level,
        *ranks,
        *line_place(weight_in(queue, record.spec), record.job_id, array_id, index, number),
    )


def shown_rank(shown: int | None, rank: float | None) -> int | None:
    """What a record shows of a rank: what it does already if that is right to a hundredth, so that not every job's
    record is written as it ages.
    """
    if rank is None:
        return None
    now = int(min(max(rank, 0.0), 2.0**32 - 1))
    return shown if shown is not None and abs(shown - now) * 100 < now else now


def never_runs(code: str) -> Waiting:
    """What a job shows that a limit never lets run. `code`: the limit's."""
    return Waiting(reason=Reason.LIMIT, message=f"{code}: the job alone is over this limit, and so never starts")


def _limited(held: Held, shape: Shape) -> Waiting:
    if (limit := held.limit) is None:
        return Waiting(reason=Reason.LIMIT, message="")
    if limit.of.get(Scope.QOS, "").startswith(of_volcano_queue("")):
        # as PBS says it of a resource: R required, T in all
        unit = 1000 if limit.what == "cpu" else 1
        name = {"cpu": "ncpus", "memory": "mem"}.get(limit.what, limit.what)
        required, total = shape.total(limit.what) / unit, limit.amount / unit
        text = f"{limit.code} has reached its limit on resource {name} (R: {required:g} T: {total:g})"
        return Waiting(reason=Reason.RESOURCES, message=text)
    if " " in limit.code:  # PBS's own sentence
        return Waiting(reason=Reason.LIMIT, message=limit.code)
    most = _minutes_text(limit) if limit.is_time else f"{_amount_text(limit)} at a time"
    return Waiting(reason=Reason.LIMIT, message=f"{limit.code}: no more than {most}")


def _minutes_text(limit: Limit) -> str:
    minutes = limit.amount // 60
    match limit.what:
        case "cpu":
            text = f"{minutes // 1000} CPU minutes"
        case "memory":
            text = f"{minutes >> 20} minutes of a MiB of memory"
        case _ if limit.what == JOBS:
            text = f"{minutes} minutes"
        case _ if limit.what == NODES:
            text = f"{minutes} node minutes"
        case name:
            text = f"{minutes} minutes of {name}"
    return f"{text}, used or still to be used by what runs" if limit.spent else f"{text} still to be used by what runs"


def _amount_text(limit: Limit) -> str:
    match limit.what:
        case "cpu":
            return counted(limit.amount // 1000, "CPU")
        case "memory":
            return f"{limit.amount >> 20} MiB of memory"
        case _ if limit.what in {JOBS, NODES}:
            return counted(limit.amount, limit.what.removesuffix("s"))
        case name:
            return f"{limit.amount} of {name}"
