"""Which nodes a reservation gets, or why it gets none. Pure.

Slurm's name their nodes, or say how many nodes or cores they want; PBS's have chunks, which are placed as a job's would
be. What runs counts until the last moment at which it may, what others have reserved in all of their times.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from hpcbatch.dataclass import replace
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.reservation import Denial, Flag, KeptNode, ReservationSpec
from hpcbatch.model.site import QueueConfig
from hpcbatch.model.spec import Sharing
from hpcbatch.policy.plan.planner import make_plan
from hpcbatch.policy.plan.snapshot import (
    JobId,
    Node,
    Part,
    Reservation,
    RunningJob,
    Shape,
    Snapshot,
    Vector,
    WaitingJob,
)
from hpcbatch.policy.planned import placed_by
from hpcbatch.typed import Final, NamedTuple

ALL: Final = "ALL"
_SHARED_OUT: Final = ("memory", "ephemeral-storage", "pods")
"""What a reservation of CPUs gets its share of, where it does not say how much."""
Window = tuple[float, float]


class DeniedError(HpcBatchError):
    def __init__(self, code: Denial, message: str = "") -> None:
        self.code = code
        self.name = ""
        """That it would have had."""
        super().__init__(message or code.value)


class Estate(NamedTuple):
    """What there is to reserve from."""

    nodes: Sequence[Node]
    running: Sequence[RunningJob]
    others: Sequence[Reservation]
    """All other reservations, with all of their times."""
    features: Mapping[str, Mapping[str, str]] = {}
    """Feature → labels."""


def keep_nodes(
    spec: ReservationSpec, windows: Sequence[Window], estate: Estate, queue: QueueConfig | None
) -> tuple[KeptNode, ...]:
    """The nodes of a reservation by nodes, node counts or cores. `queue` is its partition, or the default one. Raises
    DeniedError.
    """
    if not windows:
        raise DeniedError(Denial.BAD_TIME)
    if spec.nodes:
        return _named(spec, windows, estate, queue)
    return _counted(spec, windows, estate, queue)


def _named(
    spec: ReservationSpec, windows: Sequence[Window], estate: Estate, queue: QueueConfig | None
) -> tuple[KeptNode, ...]:
    known = {node.name: node for node in estate.nodes}
    if ALL in {name.upper() for name in spec.nodes}:
        in_part = queue if Flag.PART_NODES in spec.flags else None
        names = [name for name, node in known.items() if _in_partition(node, in_part)]
    else:
        names = [_called(name, known) for name in dict.fromkeys(spec.nodes)]
    if not names:
        raise DeniedError(Denial.UNKNOWN_NODE)
    if not _may_overlap(spec) and any(_is_reserved(name, windows, estate.others) for name in names):
        raise DeniedError(Denial.OVERLAP)
    if spec.core_counts:
        if len(spec.core_counts) != len(names):
            raise DeniedError(Denial.BAD_CORES)
        wanted = dict(zip(names, spec.core_counts, strict=True))
        free = {name: _free_cores(known[name], windows, estate, spec) for name in names}
        if any(free[name] < cores for name, cores in wanted.items()):
            raise DeniedError(Denial.NODES_BUSY)
        return tuple(_share(known[name], {"cpu": 1000 * cores}) for name, cores in wanted.items() if cores)
    if Flag.IGNORE_JOBS not in spec.flags and any(_is_busy(name, windows, estate.running) for name in names):
        raise DeniedError(Denial.NODES_BUSY)
    return tuple(KeptNode(name=name) for name in names)


def _called(name: str, known: Mapping[str, Node]) -> str:
    if name in known:
        return name
    found = next((each for each, node in known.items() if node.labels.get("kubernetes.io/hostname") == name), "")
    if not found:
        raise DeniedError(Denial.UNKNOWN_NODE, name)
    return found


def _counted(
    spec: ReservationSpec, windows: Sequence[Window], estate: Estate, queue: QueueConfig | None
) -> tuple[KeptNode, ...]:
    """Idle nodes first. Maintenance takes reserved and closed ones where there are no others."""
    in_part = [node for node in estate.nodes if _in_partition(node, queue)]
    suited = [node for node in in_part if _has_features(node, spec.features, estate.features)]
    count = sum(spec.node_counts)
    if len(suited) < max(count, 1):
        raise DeniedError(Denial.NEVER_FITS if spec.features else Denial.NODES_BUSY)
    free = [node for node in suited if node.is_open and not _is_reserved(node.name, windows, estate.others)]
    if spec.is_maintenance or (Flag.OVERLAP in spec.flags and not spec.is_maintenance):
        closed = spec.is_maintenance
        free += [node for node in suited if node not in free and (node.is_open or closed)]
    if spec.core_counts:
        return _cores(spec, windows, estate, suited if Flag.OVERLAP in spec.flags else free, count)
    holders = {name for job in estate.running for name in job.placed}
    busy = {node.name for node in free if _is_busy(node.name, windows, estate.running)}
    if Flag.IGNORE_JOBS not in spec.flags:
        free = [node for node in free if node.name not in busy]
    if len(free) < count:
        raise DeniedError(Denial.NODES_BUSY)
    free.sort(key=lambda node: (node.name in busy, node.name in holders))
    chosen = {node.name for node in free[:count]}
    return tuple(KeptNode(name=node.name) for node in suited if node.name in chosen)


def _cores(
    spec: ReservationSpec, windows: Sequence[Window], estate: Estate, nodes: Sequence[Node], count: int
) -> tuple[KeptNode, ...]:
    """`CoreCnt=4` alone on any nodes, `NodeCnt=2 CoreCnt=4,2` of that many nodes."""
    open_nodes = [node for node in nodes if node.is_open]
    free = {node.name: _free_cores(node, windows, estate, spec) for node in open_nodes}
    by_name = {node.name: node for node in open_nodes}
    kept: dict[str, int] = {}
    if count:
        each = spec.core_counts if len(spec.core_counts) > 1 else ()
        if each and len(each) != count:
            raise DeniedError(Denial.BAD_CORES)
        total = sum(spec.core_counts)
        wanted = each or [total // count + (1 if place < total % count else 0) for place in range(count)]
        for cores in sorted(wanted, reverse=True):
            name = next((one for one in free if one not in kept and free[one] >= cores), None)
            if name is None:
                raise DeniedError(Denial.NODES_BUSY)
            kept[name] = cores
    else:
        left = sum(spec.core_counts)
        for name, most in free.items():
            taken = min(left, most)
            if taken > 0:
                kept[name], left = taken, left - taken
        if left:
            raise DeniedError(Denial.NODES_BUSY)
    return tuple(_share(by_name[name], {"cpu": 1000 * cores}) for name, cores in kept.items() if cores)


def _free_cores(node: Node, windows: Sequence[Window], estate: Estate, spec: ReservationSpec) -> int:
    free = node.has.get("cpu", 0)
    if Flag.IGNORE_JOBS not in spec.flags:
        still = (job for job in estate.running if node.name in job.placed and job.ends_s > windows[0][0])
        free -= sum(job.placed[node.name].get("cpu", 0) for job in still)
    for other in () if _may_overlap(spec) else estate.others:
        if node.name in other.nodes and _meet(other, windows):
            kept = other.nodes[node.name]
            free -= node.has.get("cpu", 0) if kept is None else kept.get("cpu", 0)
    return max(0, free) // 1000


def keep_chunks(
    spec: ReservationSpec, parts: tuple[Part, ...], windows: Sequence[Window], estate: Estate, *, is_scattered: bool
) -> tuple[KeptNode, ...]:
    """The nodes of a reservation by chunks, the same for all of its times: where a job of these chunks would go that
    starts then, if all that others have reserved for one of its times were so for the first. Raises DeniedError.
    """
    if not windows:
        raise DeniedError(Denial.BAD_TIME)
    start_s, end_s = windows[0]
    is_alone = spec.sharing is Sharing.EXCLUSIVE
    shape = Shape(parts=parts, is_scattered=is_scattered, is_exclusive=is_alone)
    job = WaitingJob(job_id="reservation", order=(), shapes=(shape,), walltime_s=end_s - start_s)
    others = tuple(replace(other, start_s=-math.inf, end_s=end_s) for other in estate.others if _meet(other, windows))
    running = tuple(one for one in estate.running if one.ends_s > start_s)
    plan = make_plan(
        Snapshot(
            now_s=start_s,
            nodes=tuple(estate.nodes),
            running=running,
            waiting=(job,),
            reservations=_apart(others),
        )
    )
    release = next(iter(plan.releases), None)
    if release is None:
        raise DeniedError(Denial.NODES_BUSY)
    known = {node.name: node for node in estate.nodes}
    taken = placed_by(shape, release.places)
    return tuple(
        KeptNode(name=name) if is_alone else _share(known[name], vector) for name, vector in sorted(taken.items())
    )


def keep_job(job_id: JobId, estate: Estate) -> tuple[KeptNode, ...]:
    """The nodes of a reservation that is made of a running job: what this has of them. Raises DeniedError."""
    job = next((one for one in estate.running if one.job_id == job_id), None)
    if job is None or not job.placed:
        raise DeniedError(Denial.BAD_STATE)
    known = {node.name: node for node in estate.nodes}
    return tuple(
        KeptNode(name=name) if job.is_exclusive or name not in known else _share(known[name], vector)
        for name, vector in sorted(job.placed.items())
    )


def _apart(others: Iterable[Reservation]) -> tuple[Reservation, ...]:
    """Each time of a reservation by a name of its own; of the same one its times at one node count once."""
    found: dict[str, Reservation] = {}
    for other in others:
        found.setdefault(other.name, other)
    return tuple(found.values())


def _share(node: Node, wanted: Vector) -> KeptNode:
    """With the share of what is not asked for that the CPUs are of the node's."""
    has = node.has.get("cpu", 0)
    share = min(1.0, wanted.get("cpu", 0) / has) if has else 1.0
    amounts = {name: amount for name, amount in wanted.items() if amount}
    for name in _SHARED_OUT:
        if name != "pods" and amounts.get(name):
            continue
        if name in node.has:
            amounts[name] = max(amounts.get(name, 0), int(node.has[name] * share), 1)
    return KeptNode(name=node.name, amounts=amounts)


def _may_overlap(spec: ReservationSpec) -> bool:
    return spec.is_maintenance or Flag.OVERLAP in spec.flags


def _is_reserved(name: str, windows: Sequence[Window], others: Iterable[Reservation]) -> bool:
    """By one that does not overlap others itself, and keeps all of the node."""
    return any(
        name in other.nodes and other.nodes[name] is None and not other.may_overlap and _meet(other, windows)
        for other in others
    )


def _meet(other: Reservation, windows: Sequence[Window]) -> bool:
    return any(other.start_s < end_s and start_s < other.end_s for start_s, end_s in windows)


def is_free(node: Node, windows: Sequence[Window], estate: Estate) -> bool:
    """Whether nobody else uses any of the node, or keeps all of it."""
    is_taken = _is_reserved(node.name, windows, estate.others) or _is_busy(node.name, windows, estate.running)
    return node.is_open and not is_taken


def _is_busy(name: str, windows: Sequence[Window], running: Iterable[RunningJob]) -> bool:
    return any(name in job.placed and job.ends_s > windows[0][0] for job in running)


def _in_partition(node: Node, queue: QueueConfig | None) -> bool:
    if queue is None:
        return True
    host = node.labels.get("kubernetes.io/hostname", node.name)
    return queue.node_selector.items() <= node.labels.items() and (queue.nodes is None or host in queue.nodes)


def _has_features(node: Node, text: str, features: Mapping[str, Mapping[str, str]]) -> bool:
    """`a&b|c`: the node has all of one of the alternatives. Raises DeniedError for a name that is no feature."""
    for alternative in text.split("|"):
        names = [name for name in alternative.replace(",", "&").split("&") if name]
        for name in names:
            if name not in features:
                raise DeniedError(Denial.UNKNOWN_FEATURE, name)
        if all(features[name].items() <= node.labels.items() for name in names):
            return True
    return False
