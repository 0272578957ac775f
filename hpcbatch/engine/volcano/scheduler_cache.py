"""What the scheduler knows of nodes, pods, PodGroups and queues, kept up to date event by event."""

from __future__ import annotations

import re
import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hpcbatch.api.port import Object, WatchEvent
from hpcbatch.dataclass import replace
from hpcbatch.units import parse_rfc3339
from hpcbatch.volcano.amounts import Amounts, granted_requests, read_amounts
from hpcbatch.volcano.job_objects import GROUP_ANNOTATION, QUEUE_NAME, TASK_INDEX, TASK_SPEC
from hpcbatch.volcano.placement import NodeView, Seat, node_view, seat
from hpcbatch.volcano.scheduling import GroupEntry, GroupKey, PodEntry, PodState, QueueEntry

VOLCANO_SCHEDULER, DEFAULT_SCHEDULER = "volcano", "default-scheduler"
_PLAIN_QUEUE = "scheduling.volcano.sh/queue-name"
_FOR_QUOTAS = ("requests.", "limits.", "count/")
# How long room is held for a group whose pods are still being made; a job that never makes them must not block others.
_HOLD_S = 10.0

PodKey = tuple[str, str]


@dataclass(slots=True)
class PodRecord:
    manifest: Object
    entry: PodEntry
    group: GroupKey | None
    """None: a pod of the default scheduler, which stands alone."""
    queue: str
    is_ours: bool
    """We place it; else it only takes room."""


@dataclass(slots=True)
class GroupRecord:
    manifest: Object
    entry: GroupEntry
    inqueue_since: float | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    nodes: tuple[NodeView, ...]
    groups: tuple[GroupEntry, ...]
    queues: tuple[QueueEntry, ...]
    others: tuple[tuple[Seat, str, str], ...]
    next_expiry_s: float | None
    """When the first hold of room ends."""


class SchedulerCache:
    """`priority_of` gives the value of a PriorityClass, `monotonic` is a clock. Thread-safe."""

    def __init__(self, priority_of: Callable[[str], int], monotonic: Callable[[], float]) -> None:
        self._priority_of, self._monotonic = priority_of, monotonic
        self._lock = threading.RLock()
        self._nodes: dict[str, NodeView] = {}
        self._queues: dict[str, Object] = {}
        self._pods: dict[PodKey, PodRecord] = {}
        self._groups: dict[GroupKey, GroupRecord] = {}
        self._members: dict[GroupKey, set[PodKey]] = defaultdict(set)
        self._active: set[PodKey] = set()  # bound and not ended
        self._alone: set[PodKey] = set()  # the default scheduler's, waiting
        self._groupless: set[PodKey] = set()  # Volcano's, waiting, without a PodGroup
        self._assumed: dict[str, str] = {}  # node by uid, until the API shows it too
        self._arrivals: dict[str, int] = {}
        self._next_arrival = 0

    # Events

    def node_event(self, event: WatchEvent) -> bool:
        """True if this may change what can be scheduled."""
        name = event.object["metadata"]["name"]
        with self._lock:
            before = self._nodes.get(name)
            if event.type == "DELETED":
                self._nodes.pop(name, None)
            else:
                self._nodes[name] = node_view(event.object)
            return self._nodes.get(name) != before

    def queue_event(self, event: WatchEvent) -> bool:
        name = event.object["metadata"]["name"]
        with self._lock:
            before = self._queues.get(name, {})
            if event.type == "DELETED":
                self._queues.pop(name, None)
            elif not before or _version(before) < _version(event.object):
                self._queues[name] = event.object
            now = self._queues.get(name, {})
            state, was = (part.get("status", {}).get("state") for part in (now, before))
            return state != was or now.get("spec") != before.get("spec")

    def group_event(self, event: WatchEvent) -> bool:
        key = _key(event.object)
        with self._lock:
            held = self._groups.get(key)
            if event.type == "DELETED":
                if held is not None and held.manifest["metadata"]["uid"] == event.object["metadata"]["uid"]:
                    del self._groups[key]
                    self._arrivals.pop(event.object["metadata"]["uid"], None)
                return True
            return self._put_group(event.object)

    def _put_group(self, group: Object) -> bool:
        key = _key(group)
        held = self._groups.get(key)
        if held is not None and _version(held.manifest) >= _version(group):
            return False
        entry = self._group_entry(group)
        since = held.inqueue_since if held is not None else None
        if entry.phase != "Inqueue":
            since = None
        elif since is None:
            since = self._monotonic()
        self._groups[key] = GroupRecord(group, entry, since)
        return True

    def _group_entry(self, group: Object) -> GroupEntry:
        meta, spec, status = group["metadata"], group.get("spec") or {}, group.get("status") or {}
        class_name = spec.get("priorityClassName")
        priority = self._priority_of(class_name) if class_name else 0
        wanted = {
            name: text for name, text in (spec.get("minResources") or {}).items() if not name.startswith(_FOR_QUOTAS)
        }
        return GroupEntry(
            key=_key(group),
            queue=spec.get("queue") or "default",
            order=(-priority, int(parse_rfc3339(meta["creationTimestamp"]).timestamp())),
            phase=status.get("phase", ""),
            min_member=spec.get("minMember", 0),
            min_task_member=dict(spec.get("minTaskMember") or {}),
            min_resources=read_amounts(wanted),
        )

    def pod_event(self, event: WatchEvent) -> bool:
        pod = event.object
        key = _key(pod)
        with self._lock:
            held = self._pods.get(key)
            if event.type == "DELETED":
                if held is not None and held.manifest["metadata"]["uid"] == pod["metadata"]["uid"]:
                    self._forget(key)
                self._assumed.pop(pod["metadata"]["uid"], None)
                return held is not None
            if held is not None and held.manifest["metadata"]["uid"] != pod["metadata"]["uid"]:
                self._forget(key)
                held = None
            if held is not None and _version(held.manifest) >= _version(pod):
                return False
            return self._put_pod(key, pod, held)

    def _put_pod(self, key: PodKey, pod: Object, held: PodRecord | None) -> bool:
        record = self._pod_record(pod, held)
        if held is not None:
            self._forget(key)
        self._pods[key] = record
        if record.group is not None:
            self._members[record.group].add(key)
        state = record.entry.state
        if state in {PodState.BOUND, PodState.RUNNING, PodState.RELEASING} and record.entry.node:
            self._active.add(key)
        elif state is PodState.PENDING and record.is_ours:
            notes = pod["metadata"].get("annotations") or {}
            if record.group is None:
                self._alone.add(key)
            elif GROUP_ANNOTATION not in notes:
                self._groupless.add(key)
        return held is None or held.entry != record.entry or held.group != record.group

    def _forget(self, key: PodKey) -> None:
        record = self._pods.pop(key)
        for keys in (self._active, self._alone, self._groupless):
            keys.discard(key)
        if record.group is not None:
            self._members[record.group].discard(key)
            if not self._members[record.group]:
                del self._members[record.group]

    def _pod_record(self, pod: Object, held: PodRecord | None) -> PodRecord:
        meta, spec = pod["metadata"], pod["spec"]
        notes = meta.get("annotations") or {}
        scheduler = spec.get("schedulerName") or DEFAULT_SCHEDULER
        node = spec.get("nodeName") or ""
        if node:
            self._assumed.pop(meta["uid"], None)
        else:
            node = self._assumed.get(meta["uid"], "")
        is_same = (
            held is not None
            and held.manifest["spec"] is spec
            and held.manifest["metadata"].get("labels") == meta.get("labels")
            and granted_requests(held.manifest) == granted_requests(pod)
        )
        index = notes.get(TASK_INDEX, "")
        entry = PodEntry(
            seat=held.entry.seat if is_same and held is not None else seat(pod),
            state=_state(pod, node),
            node=node,
            task=notes.get(TASK_SPEC, ""),
            index=int(index) if index.isdecimal() else 0,
            priority=spec.get("priority") or 0,
            is_gated=bool(spec.get("schedulingGates")),
        )
        group: GroupKey | None = None
        if scheduler == VOLCANO_SCHEDULER:
            group = (meta["namespace"], notes.get(GROUP_ANNOTATION) or plain_group_name(pod))
        return PodRecord(
            manifest=pod,
            entry=entry,
            group=group,
            queue=notes.get(QUEUE_NAME) or notes.get(_PLAIN_QUEUE) or "" if group else "",
            is_ours=scheduler in {VOLCANO_SCHEDULER, DEFAULT_SCHEDULER} and entry.state is not PodState.RELEASING,
        )

    def assume(self, pod: Seat, node: str) -> None:
        """The pod was bound; the API's own word of it may come after the next session."""
        key = (pod.namespace, pod.name)
        with self._lock:
            record = self._pods.get(key)
            if record is None or record.entry.seat.uid != pod.uid or record.entry.node:
                return
            self._assumed[pod.uid] = node
            record.entry = replace(record.entry, node=node, state=PodState.BOUND)
            self._alone.discard(key)
            self._groupless.discard(key)
            self._active.add(key)

    # Questions

    def groupless_pods(self) -> list[Object]:
        """Volcano's pods that wait and name no PodGroup."""
        with self._lock:
            return [self._pods[key].manifest for key in self._groupless]

    def pod(self, key: PodKey) -> Object | None:
        with self._lock:
            record = self._pods.get(key)
            return record.manifest if record is not None else None

    def group(self, key: GroupKey) -> Object | None:
        with self._lock:
            record = self._groups.get(key)
            return record.manifest if record is not None else None

    def queues(self) -> list[Object]:
        with self._lock:
            return list(self._queues.values())

    def queues_in_use(self) -> set[str]:
        """Those that have PodGroups."""
        with self._lock:
            return {record.entry.queue for record in self._groups.values()}

    def snapshot(self) -> Snapshot:
        with self._lock:
            self._number_arrivals()
            now = self._monotonic()
            groups, expiries = [], []
            for key, record in self._groups.items():
                hold_s = None if record.inqueue_since is None else record.inqueue_since + _HOLD_S - now
                members = self._members.get(key, ())
                if hold_s is not None and hold_s > 0 and len(members) < record.entry.min_member:
                    expiries.append(hold_s)
                order = (*record.entry.order, self._arrivals[record.manifest["metadata"]["uid"]])
                groups.append(
                    replace(
                        record.entry,
                        order=order,
                        pods=tuple(self._member_entries(members)),
                        holds_place=hold_s is not None and hold_s > 0,
                    )
                )
            groups += [self._plain(self._pods[key]) for key in self._alone]
            others = [
                (record.entry.seat, record.entry.node, record.queue)
                for record in (self._pods[key] for key in self._active)
                if record.group is None or record.group not in self._groups
            ]
            return Snapshot(
                tuple(self._nodes.values()),
                tuple(groups),
                tuple(map(_queue_entry, self._queues.values())),
                tuple(others),
                min(expiries, default=None),
            )

    def _member_entries(self, members: set[PodKey] | tuple[()]) -> list[PodEntry]:
        entries = [self._pods[key].entry for key in members]
        # One that is deleted before it had a place is as good as gone.
        kept = [entry for entry in entries if entry.node or entry.state is not PodState.RELEASING]
        return sorted(kept, key=lambda entry: (entry.task, entry.index, entry.seat.name))

    @staticmethod
    def _plain(record: PodRecord) -> GroupEntry:
        meta = record.manifest["metadata"]
        created = int(parse_rfc3339(meta["creationTimestamp"]).timestamp())
        return GroupEntry(
            key=(meta["namespace"], f"pod/{meta['name']}"),
            queue="",
            order=(-record.entry.priority, created, 0),
            pods=(record.entry,),
            is_plain=True,
        )

    def _number_arrivals(self) -> None:
        """Creation times have whole seconds; within one, the order of arrival counts."""
        new = [r for r in self._groups.values() if r.manifest["metadata"]["uid"] not in self._arrivals]
        for record in sorted(new, key=lambda r: (r.entry.order, natural(r.entry.key[1]))):
            self._next_arrival += 1
            self._arrivals[record.manifest["metadata"]["uid"]] = self._next_arrival


def natural(name: str) -> tuple[Any, ...]:
    """Sorts `job-9` before `job-10`."""
    return tuple((int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", name))


def plain_group_name(pod: Object) -> str:
    return f"podgroup-{pod['metadata']['uid']}"


def plain_group_queue(pod: Object) -> str:
    return (pod["metadata"].get("annotations") or {}).get(_PLAIN_QUEUE) or "default"


def _state(pod: Object, node: str) -> PodState:
    phase = (pod.get("status") or {}).get("phase") or "Pending"
    if phase in {"Succeeded", "Failed"}:
        return PodState(phase)
    if "deletionTimestamp" in pod["metadata"]:
        return PodState.RELEASING
    if phase == "Running":
        return PodState.RUNNING
    return PodState.BOUND if node else PodState.PENDING


def _queue_entry(queue: Object) -> QueueEntry:
    spec = queue.get("spec") or {}
    capability: Amounts = read_amounts(spec.get("capability"))
    state = (queue.get("status") or {}).get("state") or "Open"
    return QueueEntry(
        name=queue["metadata"]["name"], capability=capability, is_open=state == "Open", parent=spec.get("parent") or ""
    )


def _key(obj: Object) -> tuple[str, str]:
    return obj["metadata"].get("namespace") or "", obj["metadata"]["name"]


def _version(obj: Object) -> int:
    """The engine's resourceVersions are numbers that grow."""
    return int(obj["metadata"]["resourceVersion"])
