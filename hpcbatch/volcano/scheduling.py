"""One scheduling session: which PodGroups are admitted, which pods go to which nodes, and the reports about the rest.

Groups are handled queue by queue, the queue with the least share of the cluster first; in a queue by priority, then by
age. Each group meets one of two gates:

- enqueue: a group without pods is admitted (Pending to Inqueue) if its minResources are free now in the queue's
  capability and in the cluster; groups admitted before it, whose pods are still being made, keep their share reserved;
- allocate: the pods of an admitted group are placed on nodes, all that the gang needs or none.

A gang with some pods placed and some lost is handled before all others, so that its resources are not wasted. A failed
member keeps a gang from being ready, as with Volcano, but its other pods are still placed (there: they wait for ever).
A group that does not fit is skipped, whatever its size, and reserves nothing. Of the queue's fields capability, parent
and state are used; weight, deserved and guarantee are not. Nothing is preempted.

Placing mixed sizes is a knapsack problem: larger pods go first, spread over nodes, and if the gang does not fit, packed
as tightly as possible. Pods of one size are always placed if that is possible at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from hpcbatch.dataclass import dataclass, field
from hpcbatch.volcano.amounts import Amounts, add, lacking
from hpcbatch.volcano.placement import Cluster, Needs, NodeView, Seat, no_node_message

GroupKey = tuple[str, str]


class PodState(StrEnum):
    """The states that Volcano's messages count."""

    PENDING = "Pending"
    BOUND = "Bound"
    RUNNING = "Running"
    RELEASING = "Releasing"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


_SCHEDULED = frozenset({PodState.BOUND, PodState.RUNNING, PodState.SUCCEEDED, PodState.FAILED})
_READY = frozenset({PodState.BOUND, PodState.RUNNING, PodState.SUCCEEDED})
_PLACED = _READY | {PodState.FAILED}
_HOLDS_PLACE = frozenset({PodState.BOUND, PodState.RUNNING, PodState.RELEASING})


@dataclass(frozen=True, slots=True, kw_only=True)
class PodEntry:
    seat: Seat
    state: PodState = PodState.PENDING
    node: str = ""
    task: str = ""
    index: int = 0
    priority: int = 0
    is_gated: bool = False
    """Has schedulingGates; must not be placed yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupEntry:
    """A PodGroup with its pods, or a plain pod alone, which needs no admission."""

    key: GroupKey
    queue: str
    order: tuple[int, ...]
    """Sorts the groups of a queue: negative priority, age, arrival."""
    phase: str = ""
    """The PodGroup's phase; "" is new."""
    min_member: int = 1
    min_task_member: Mapping[str, int] = field(default_factory=dict)
    min_resources: Mapping[str, int] = field(default_factory=dict)
    """Without the quota-only keys."""
    pods: tuple[PodEntry, ...] = ()
    holds_place: bool = False
    """Just admitted; its pods are being made."""
    is_plain: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueEntry:
    name: str
    capability: Mapping[str, int] = field(default_factory=dict)
    is_open: bool = True
    parent: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of a session for one group."""

    phase: str
    counters: Mapping[str, int] = field(default_factory=dict)
    scheduled: bool = False
    """The gang is ready: condition Scheduled."""
    message: str = ""
    """Why it is not ready: the text of condition Unschedulable if there are pods, else only of an event."""
    event_message: str = ""
    pods_exist: bool = True
    """False while the group waits to be admitted."""
    pods: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Reason and message of condition PodScheduled of the unplaced pods, by pod name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    bindings: tuple[tuple[Seat, str], ...] = ()
    outcomes: Mapping[GroupKey, Outcome] = field(default_factory=dict)
    allocated: Mapping[str, Amounts] = field(default_factory=dict)
    """The resources held by the pods of each queue and the queues below it, including this session's bindings."""


def run_session(
    nodes: Iterable[NodeView],
    groups: Sequence[GroupEntry],
    queues: Iterable[QueueEntry],
    others: Iterable[tuple[Seat, str, str]] = (),
) -> Session:
    """`others` are placed pods that belong to none of the groups: pod, node, queue."""
    return _Run(nodes, groups, queues, others).session()


class _Run:
    def __init__(
        self,
        nodes: Iterable[NodeView],
        groups: Sequence[GroupEntry],
        queues: Iterable[QueueEntry],
        others: Iterable[tuple[Seat, str, str]],
    ) -> None:
        self.cluster = Cluster(nodes)
        self.groups = groups
        self.queues = {queue.name: queue for queue in queues}
        self.capacity: Amounts = {}
        for node in self.cluster.nodes.values():
            add(self.capacity, node.allocatable)
        self.allocated: dict[str, Amounts] = {name: {} for name in self.queues}
        self.claimed: dict[str, Amounts] = {name: {} for name in self.queues}
        self.held: Amounts = {}  # by admitted groups whose pods do not exist yet
        self.bindings: list[tuple[Seat, str]] = []
        self.outcomes: dict[GroupKey, Outcome] = {}
        self._refused: dict[object, str] = {}
        self._unplaced: dict[object, dict[str, str]] = {}
        for pod, place, queue_name in others:
            self.cluster.put(pod, place)
            self._account(queue_name, dict(pod.needs.requests))
        for group in groups:
            for entry in group.pods:
                if entry.state in _HOLDS_PLACE:
                    self.cluster.put(entry.seat, entry.node)
                    self._account(group.queue, dict(entry.seat.needs.requests))
        self.free = self.cluster.total_free()

    def session(self) -> Session:
        lines: dict[str, list[GroupEntry]] = {}
        for group in sorted(self.groups, key=lambda group: group.order, reverse=True):
            if _is_broken(group):
                self._handle(group)
            else:
                lines.setdefault(group.queue, []).append(group)
        while lines:
            name = min(lines, key=lambda queue: (self._share(queue), lines[queue][-1].order))
            group = lines[name].pop()
            if not lines[name]:
                del lines[name]
            self._handle(group)
        return Session(bindings=tuple(self.bindings), outcomes=self.outcomes, allocated=self.allocated)

    def _handle(self, group: GroupEntry) -> None:
        if group.phase in {"", "Pending"} and not group.is_plain:
            refusal = self._refusal(group)
            if refusal:
                counters = _counters(Counter(entry.state for entry in group.pods))
                text = f"0/0 tasks in gang unschedulable: pod group is not ready, {group.min_member} minAvailable"
                self.outcomes[group.key] = Outcome(
                    phase="Pending", counters=counters, message=refusal, event_message=text, pods_exist=False
                )
                return
            if not group.pods and group.min_member:
                self._hold(group)
                self.outcomes[group.key] = Outcome(phase="Inqueue")
                return
        elif group.holds_place and len(group.pods) < group.min_member:
            self._hold(group)
            if all(entry.state is PodState.PENDING for entry in group.pods):
                self.outcomes[group.key] = Outcome(phase=group.phase)  # its other pods are being made
                return
        self.outcomes[group.key] = self._allocate(group)

    # enqueue

    def _refusal(self, group: GroupEntry) -> str:
        """Why the group is not admitted now, as Volcano words it; "" if it is."""
        own: Amounts = {}
        for entry in group.pods:
            if entry.state in _HOLDS_PLACE:
                add(own, dict(entry.seat.needs.requests))
        wanted = {name: max(0, amount - own.get(name, 0)) for name, amount in group.min_resources.items()}
        shape = (group.queue, tuple(sorted(wanted.items())))
        if shape not in self._refused:
            self._refused[shape] = self._refusal_text(group.queue, wanted)
            if not self._refused[shape]:
                return str(self._refused.pop(shape))  # the next of this shape has less room
        return self._refused[shape]

    def _refusal_text(self, queue: str, wanted: Amounts) -> str:
        entry = self.queues.get(queue)
        if entry is None:
            return f'queue.scheduling.volcano.sh "{queue}" not found'
        if not entry.is_open:
            return f"queue {queue} is not open"
        never = lacking(wanted, self.capacity)
        if never:
            return f"resource in cluster is overused: overused {', '.join(never)}"
        short = sorted({*self._over_capability(queue, wanted), *lacking(wanted, _less(self.free, self.held))})
        return f"queue resource quota insufficient: insufficient {', '.join(short)}" if short else ""

    def _over_capability(self, queue: str, wanted: Mapping[str, int]) -> list[str]:
        over: set[str] = set()
        for name in self._line_of(queue):
            room = _less(_less(self.queues[name].capability, self.allocated[name]), self.claimed[name])
            over.update(r for r in lacking(wanted, room) if r in self.queues[name].capability)
        return sorted(over)

    def _hold(self, group: GroupEntry) -> None:
        there: Amounts = {}
        for entry in group.pods:
            if entry.state in _HOLDS_PLACE:
                add(there, dict(entry.seat.needs.requests))
        rest = _less(group.min_resources, there)
        add(self.held, rest)
        for name in self._line_of(group.queue):
            add(self.claimed[name], rest)

    # allocate

    def _allocate(self, group: GroupEntry) -> Outcome:
        waiting = [entry for entry in group.pods if entry.state is PodState.PENDING and not entry.is_gated]
        placed: dict[str, str] = {}
        problems: dict[str, str] = {}
        if waiting and self.queues.get(group.queue) is None and not group.is_plain:
            problems = dict.fromkeys((entry.seat.uid for entry in waiting), "")
        elif waiting:
            placed, problems = self._try(group, waiting)
        counts = Counter(entry.state for entry in group.pods)
        complete = _is_complete(group, placed)
        if placed and _is_complete(group, placed, _PLACED):
            for entry in waiting:
                if entry.seat.uid in placed:
                    self.bindings.append((entry.seat, placed[entry.seat.uid]))
                    self._account(group.queue, dict(entry.seat.needs.requests))
                    self.free = _less(self.free, dict(entry.seat.needs.requests))
            counts[PodState.PENDING] -= len(placed)
            counts[PodState.BOUND] += len(placed)
            waiting = [entry for entry in waiting if entry.seat.uid not in placed]
            placed = {}
        return self._outcome(group, counts, waiting, placed=placed, problems=problems, complete=complete)

    def _try(self, group: GroupEntry, waiting: list[PodEntry]) -> tuple[dict[str, str], dict[str, str]]:
        """Nodes by uid, and for unplaced pods what excluded every node. If the gang is complete, the cluster keeps the
        placement, else it is restored.
        """
        looks_at_pods = self.cluster.has_anti_affinity or any(e.seat.needs.looks_at_pods for e in waiting)
        shape: object = (group.queue, group.min_member, _shape(waiting), _shape_of_ready(group))
        if not looks_at_pods and shape in self._unplaced:
            reasons = self._unplaced[shape]
            return {}, {entry.seat.uid: reasons.get("", "") for entry in waiting}
        ordered = _pods_in_order(group, waiting)
        for spread in (len(waiting) > 1, False):
            placed, problems = self._place(group, ordered, spread=spread)
            if _is_complete(group, placed, _PLACED):
                return placed, problems
            for entry in waiting:
                if entry.seat.uid in placed:
                    self.cluster.take_away(entry.seat, placed[entry.seat.uid])
            if not spread:
                break
        if not looks_at_pods:
            self._unplaced[shape] = {"": next(iter(problems.values()), "")}
        return placed, problems

    def _place(
        self, group: GroupEntry, ordered: list[PodEntry], *, spread: bool
    ) -> tuple[dict[str, str], dict[str, str]]:
        placed: dict[str, str] = {}
        problems: dict[str, str] = {}
        taken: Amounts = {}
        failed: dict[Needs, str] = {}
        for entry in ordered:
            needs = entry.seat.needs
            if needs in failed and not needs.looks_at_pods and not self.cluster.has_anti_affinity:
                problems[entry.seat.uid] = failed[needs]
                continue
            requests = dict(needs.requests)
            text = self._limits(group, requests, taken)
            node = None if text is not None else self._best_node(entry.seat, spread=spread)
            if node is None:
                problems[entry.seat.uid] = failed[needs] = self._why(entry.seat) if text is None else text
                continue
            self.cluster.put(entry.seat, node)
            add(taken, requests)
            placed[entry.seat.uid] = node
        return placed, problems

    def _limits(self, group: GroupEntry, requests: Amounts, taken: Amounts) -> str | None:
        """What excludes a pod from every node: the queue's capability, or reserved resources. None: nothing."""
        wanted = dict(taken)
        add(wanted, requests)
        if not group.is_plain and self._over_capability(group.queue, wanted):
            return ""  # Volcano gives no reason either
        short = [name for name in lacking(wanted, _less(self.free, self.held)) if name in self.held and requests[name]]
        if short and not lacking(wanted, self.free):
            return f"0/{len(self.cluster.nodes)} nodes are unavailable: {short[0]} is held for a group before it."
        return None

    def _best_node(self, pod: Seat, *, spread: bool) -> str | None:
        fitting = [name for name in self.cluster.nodes if not self.cluster.obstacles(pod, name)]
        if not fitting:
            return None
        sign = 1.0 if spread else -1.0
        return min(fitting, key=lambda name: (sign * self._fullness(name, pod), name))

    def _fullness(self, node: str, pod: Seat) -> float:
        """Mean used fraction of CPUs and memory of `node` with `pod` on it."""
        has, free, requests = self.cluster.nodes[node].allocatable, self.cluster.free[node], dict(pod.needs.requests)
        parts = [
            (has[name] - free.get(name, 0) + requests.get(name, 0)) / has[name]
            for name in ("cpu", "memory")
            if has.get(name)
        ]
        return sum(parts) / len(parts) if parts else 0.0

    def _why(self, pod: Seat) -> str:
        return no_node_message({name: self.cluster.obstacles(pod, name) for name in self.cluster.nodes})

    # outcome

    def _outcome(
        self,
        group: GroupEntry,
        counts: Counter[PodState],
        waiting: list[PodEntry],
        *,
        placed: Mapping[str, str],
        problems: Mapping[str, str],
        complete: bool,
    ) -> Outcome:
        """`waiting` pods stay unplaced; `placed` are those that would be placed if the gang were complete."""
        counts = +counts
        pending = counts[PodState.PENDING]
        message, event, pods = "", "", {}
        if group.pods and not complete:
            message, event = _gang_message(group, counts, waiting, placed, problems)
        if waiting:
            rest = message.partition("unschedulable: ")[2]
            pods = _pod_conditions(waiting, placed, problems, rest)
        gang_lost = bool(group.pods) and not complete
        scheduled = sum(counts[state] for state in _SCHEDULED)
        if gang_lost and counts[PodState.RUNNING]:
            phase = "Unknown"
        elif scheduled >= group.min_member and (group.pods or not group.min_member):
            ended = counts[PodState.SUCCEEDED] + counts[PodState.FAILED]
            phase = "Completed" if ended == scheduled and not pending else "Running"
        else:
            phase = "Inqueue" if group.phase in {"", "Pending", "Inqueue"} else "Pending"
        return Outcome(
            phase=phase,
            counters=_counters(counts),
            scheduled=bool(group.pods) and complete,
            message=message,
            event_message=event,
            pods=pods,
        )

    # queues

    def _line_of(self, queue: str) -> list[str]:
        """The queue and its ancestors."""
        line: list[str] = []
        while queue in self.queues and queue not in line:
            line.append(queue)
            queue = self.queues[queue].parent
        return line

    def _account(self, queue: str, requests: Mapping[str, int]) -> None:
        for name in self._line_of(queue):
            add(self.allocated[name], requests)

    def _share(self, queue: str) -> float:
        used, claimed = self.allocated.get(queue, {}), self.claimed.get(queue, {})
        return max(
            ((used.get(n, 0) + claimed.get(n, 0)) / total for n, total in self.capacity.items() if total), default=0.0
        )


def _is_complete(group: GroupEntry, placed: Mapping[str, str], states: frozenset[PodState] = _READY) -> bool:
    """Whether the gang is ready with `placed`: minMember, and each task's own minimum if all of them apply."""
    ready = Counter(e.task for e in group.pods if e.state in states or e.seat.uid in placed)
    if ready.total() < group.min_member:
        return False
    if group.min_member < sum(group.min_task_member.values()):
        return True
    return all(ready[task] >= least for task, least in group.min_task_member.items())


def _is_broken(group: GroupEntry) -> bool:
    has_place = any(entry.state in {PodState.BOUND, PodState.RUNNING} for entry in group.pods)
    return has_place and not _is_complete(group, {})


def _pods_in_order(group: GroupEntry, waiting: list[PodEntry]) -> list[PodEntry]:
    """First the pods that the gang needs, by priority, larger ones before smaller ones."""
    missing = Counter(group.min_task_member)
    missing.subtract(entry.task for entry in group.pods if entry.state in _READY)
    by_index = sorted(waiting, key=lambda entry: (-entry.priority, entry.index))
    surplus: set[str] = set()
    for entry in by_index:
        if entry.task in group.min_task_member and missing[entry.task] <= 0:
            surplus.add(entry.seat.uid)
        missing[entry.task] -= 1

    def size(entry: PodEntry) -> tuple[int, ...]:
        requests = dict(entry.seat.needs.requests)
        return tuple(-requests.get(name, 0) for name in ("cpu", "memory"))

    return sorted(by_index, key=lambda e: (e.seat.uid in surplus, -e.priority, size(e), e.index))


def _shape(entries: Iterable[PodEntry]) -> frozenset[tuple[Needs, int]]:
    return frozenset(Counter(entry.seat.needs for entry in entries).items())


def _shape_of_ready(group: GroupEntry) -> tuple[object, ...]:
    ready = Counter(entry.task for entry in group.pods if entry.state in _PLACED)
    waiting = Counter(entry.task for entry in group.pods if entry.state is PodState.PENDING)
    short = sorted((least - ready[task], waiting[task]) for task, least in group.min_task_member.items())
    return ready.total(), tuple(short)


def _gang_message(
    group: GroupEntry,
    counts: Counter[PodState],
    waiting: list[PodEntry],
    placed: Mapping[str, str],
    problems: Mapping[str, str],
) -> tuple[str, str]:
    """The texts of the condition and of the event, which count differently. Source: gang.go, job_info.go."""
    ready = sum(counts[state] for state in _READY)
    states = sorted([*(f"{n} {state}" for state, n in counts.items()), f"{group.min_member} minAvailable"])
    rest = f"tasks in gang unschedulable: pod group is not ready, {', '.join(states)}"
    reasons = [f"{len(waiting) - len(placed)} Unschedulable"] if len(waiting) > len(placed) else []
    reasons += [f"{len(placed)} Schedulable"] if placed else []
    if reasons:
        rest += f"; Pending: {', '.join(sorted(reasons))}"
    for entry in waiting:
        if problems.get(entry.seat.uid):
            rest += f". Origin reason is {entry.seat.name}: {problems[entry.seat.uid]}"
            break
    lacks = max(0, group.min_member - ready - len(placed))
    return f"{lacks}/{len(group.pods)} {rest}", f"{counts[PodState.PENDING]}/{len(group.pods)} {rest}"


def _pod_conditions(
    waiting: list[PodEntry], possible: Mapping[str, str], problems: Mapping[str, str], rest: str
) -> dict[str, tuple[str, str]]:
    conditions: dict[str, tuple[str, str]] = {}
    for entry in waiting:
        uid, name = entry.seat.uid, entry.seat.name
        if uid in possible:
            text = (
                f"Pod {entry.seat.namespace}/{name} can possibly be assigned to {possible[uid]}, "
                "once minAvailable is satisfied"
            )
            conditions[name] = "Schedulable", text
        else:
            conditions[name] = "Unschedulable", problems.get(uid) or rest or "the pod's queue has no room for it"
    return conditions


def _counters(counts: Counter[PodState]) -> dict[str, int]:
    states = (("running", PodState.RUNNING), ("succeeded", PodState.SUCCEEDED), ("failed", PodState.FAILED))
    return {name: counts[state] for name, state in states if counts[state]}


def _less(amounts: Mapping[str, int], taken: Mapping[str, int]) -> Amounts:
    return {name: amount - taken.get(name, 0) for name, amount in amounts.items()}
