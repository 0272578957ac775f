"""The loop around hpcbatch.volcano.scheduling: a session after each change, and the writes that follow from it.

Unlike Volcano's, which runs every second, a session costs nothing while nothing changes, comes at once after a change
by which something may start, and binds in the session that finds the room. The longer one took, the longer the next one
waits, a second at most. Events that Volcano repeats every second are written when their text changes.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from hpcbatch.api.port import Object, WatchEvent
from hpcbatch.api.resources import NODES, PODGROUPS, PODS, PRIORITY_CLASSES, QUEUES, Resource
from hpcbatch.engine.volcano.scheduler_cache import SchedulerCache, plain_group_name, plain_group_queue
from hpcbatch.errors import AlreadyExistsError, ApiError, ConflictError, NotFoundError
from hpcbatch.units import rfc3339
from hpcbatch.volcano.amounts import Amounts, pod_requests, write_amounts
from hpcbatch.volcano.job_objects import GROUP_ANNOTATION
from hpcbatch.volcano.placement import Seat
from hpcbatch.volcano.scheduling import GroupKey, Outcome, Session, run_session

if TYPE_CHECKING:
    from hpcbatch.engine.registry.feed import Feed
    from hpcbatch.engine.registry.registry import Registry

_LOG = logging.getLogger(__name__)
_COMPONENT = "volcano"
_DEBOUNCE_S = 0.003  # what is created together is decided together
_REST = 2  # after a session, times its CPU time: thousands of waiting jobs must not be gone through for each new one
_LONGEST_REST_S = 1.0  # Volcano's own period
_SAFETY_TICK_S = 60.0
_AFTER_FAILURE_S = 0.5
_QUEUE_STATUS_EACH_S = 1.0
_COUNT_AFTER_S = 1.0
_SHOWN_AFTER_S = 0.5  # what ends while nothing is short of room changes numbers only: mostly the next job is a session
_COUNTERS = frozenset({"running", "succeeded", "failed"})
_READY_TEXT = "tasks in gang are ready to be scheduled"


def utc_now() -> datetime:
    return datetime.now(UTC)


class Scheduler:
    """Places the pods of Volcano's PodGroups, and those that ask for the default scheduler."""

    def __init__(self, registry: Registry, *, now: Callable[[], datetime] = utc_now) -> None:
        self._registry, self._now = registry, now
        self._cache = SchedulerCache(self._priority, time.monotonic)
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="scheduler", daemon=True)
        self._reported: dict[GroupKey, tuple[str, str]] = {}
        self._pod_told: dict[str, str] = {}
        self._counted: dict[GroupKey, float] = {}
        self._written: dict[GroupKey, tuple[Object, Outcome]] = {}
        """Groups and outcomes that say the same, and of which there is nothing else to tell."""
        self._queues_written_at = -_QUEUE_STATUS_EACH_S
        self._is_short_of_room = False
        """By the last session something waits that has its pods."""
        self._is_urgent = self._has_news = False
        """What has come since the last session began: something that may start, and anything at all."""
        self._feeds = [
            self._feed(resource, follow)
            for resource, follow in (
                (NODES, self._cache.node_event),
                (QUEUES, self._cache.queue_event),
                (PODGROUPS, self._cache.group_event),
                (PODS, self._cache.pod_event),
            )
        ]

    def _feed(self, resource: Resource, follow: Callable[[WatchEvent], bool]) -> Feed:
        def on_event(event: WatchEvent) -> None:
            # what this scheduler writes is known to the session that does
            if follow(event) and threading.current_thread() is not self._thread:
                self._has_changed(is_urgent=not _only_gives_room(event))
            if event.type == "DELETED":
                meta = event.object["metadata"]
                self._reported.pop((meta.get("namespace") or "", meta["name"]), None)
                self._counted.pop((meta.get("namespace") or "", meta["name"]), None)
                self._pod_told.pop(meta["uid"], None)

        return self._registry.feed(resource, on_event)

    def _has_changed(self, *, is_urgent: bool) -> None:
        is_first, self._has_news = not self._has_news, True
        if is_urgent or self._is_short_of_room:  # a session that has just found that looks at `_has_news`
            self._is_urgent = True
        if is_first or self._is_urgent:
            self._wake.set()

    def start(self) -> None:
        """Returns when everything that is there is known."""
        for feed in self._feeds:
            feed.start()
        self._has_changed(is_urgent=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(timeout=10)
        for feed in self._feeds:
            feed.stop()

    def _run(self) -> None:
        wait_s, rest_s = _SAFETY_TICK_S, 0.0
        while not self._stopping.is_set():
            if self._stopping.wait(rest_s):
                return
            self._wait(wait_s)
            if self._stopping.wait(_DEBOUNCE_S):
                return
            self._wake.clear()
            self._is_urgent = self._has_news = False
            began_s = time.thread_time()
            try:
                wait_s = self._session()
            except Exception:
                _LOG.exception("scheduling session; next try in %.1f s", _AFTER_FAILURE_S)
                wait_s = _AFTER_FAILURE_S
            rest_s = min(_REST * (time.thread_time() - began_s), _LONGEST_REST_S)

    def _wait(self, wait_s: float) -> None:
        """For so long at most, or until something may start; for what else is new not much longer than it takes."""
        end = time.monotonic() + wait_s
        while self._wake.wait(max(0.0, end - time.monotonic())):
            self._wake.clear()
            if self._is_urgent or self._stopping.is_set():
                return
            end = min(end, time.monotonic() + _SHOWN_AFTER_S)

    def _session(self) -> float:
        """Decide and write; returns in how many seconds to look again, even if nothing changes."""
        for pod in self._cache.groupless_pods():
            try:
                self._give_group(pod)
            except ApiError as error:
                self._record(pod, "Warning", "FailedScheduling", f"its PodGroup cannot be made: {error}")
        snapshot = self._cache.snapshot()
        session = run_session(snapshot.nodes, snapshot.groups, snapshot.queues, snapshot.others)
        failed = self._bind(session)
        self._is_short_of_room = any(one.message or one.pods for one in session.outcomes.values())
        if self._is_short_of_room and self._has_news:
            self._has_changed(is_urgent=True)
        for key, outcome in session.outcomes.items():
            try:
                self._write_outcome(key, outcome)
            except ApiError as error:  # one group's trouble must not stop the others
                _LOG.warning("PodGroup %s/%s: %s", *key, error)
                failed = True
        self._written = {key: told for key, told in self._written.items() if key in session.outcomes}
        waits = [_SAFETY_TICK_S, *([snapshot.next_expiry_s + 0.01] if snapshot.next_expiry_s is not None else [])]
        if failed:
            waits.append(_AFTER_FAILURE_S)
        if self._counted:
            waits.append(_COUNT_AFTER_S)
        waits.append(self._write_queues(session.allocated))
        return min(waits)

    # Pods

    def _bind(self, session: Session) -> bool:
        """Bind all; whether one could not be (it was deleted a moment ago: the next session sees that)."""
        failed = False
        for pod, node in session.bindings:
            try:
                self._registry.bind(pod.namespace, pod.name, node)
            except (NotFoundError, ConflictError) as error:
                _LOG.info("binding %s/%s to %s: %s", pod.namespace, pod.name, node, error)
                failed = True
                continue
            self._cache.assume(pod, node)
            self._pod_event(pod, "Normal", "Scheduled", f"Successfully assigned {pod.namespace}/{pod.name} to {node}")
        return failed

    def _pod_event(self, pod: Seat, kind: str, reason: str, message: str) -> None:
        manifest = self._cache.pod((pod.namespace, pod.name))
        if manifest is not None:
            self._record(manifest, kind, reason, message)

    def _give_group(self, pod: Object) -> None:
        """A plain pod for Volcano gets a PodGroup of its own."""
        meta = pod["metadata"]
        name = plain_group_name(pod)
        owner = {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": meta["name"],
            "uid": meta["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
        spec: Object = {
            "minMember": 1,
            "minResources": write_amounts(pod_requests(pod["spec"])),
            "queue": plain_group_queue(pod),
        }
        if pod["spec"].get("priorityClassName"):
            spec["priorityClassName"] = pod["spec"]["priorityClassName"]
        group = {
            "apiVersion": PODGROUPS.api_version,
            "kind": PODGROUPS.kind,
            "metadata": {"name": name, "namespace": meta["namespace"], "ownerReferences": [owner]},
            "spec": spec,
        }
        try:
            self._registry.create(PODGROUPS, group, meta["namespace"])
        except AlreadyExistsError:
            pass
        note = {"metadata": {"uid": meta["uid"], "annotations": {GROUP_ANNOTATION: name}}}
        try:
            self._registry.patch(PODS, meta["name"], note, meta["namespace"])
        except (NotFoundError, ConflictError):
            pass  # deleted in the meantime; its group goes with it

    def _write_pod_conditions(self, namespace: str, outcome: Outcome) -> None:
        for name, (reason, message) in outcome.pods.items():
            manifest = self._cache.pod((namespace, name))
            if manifest is None or self._pod_told.get(manifest["metadata"]["uid"]) == message:
                continue
            self._pod_told[manifest["metadata"]["uid"]] = message
            condition = {
                "type": "PodScheduled",
                "status": "False",
                "lastProbeTime": None,
                "lastTransitionTime": rfc3339(self._now()),
                "reason": reason,
                "message": message,
            }

            def change(pod: Object, condition: Object = condition) -> Object | None:
                if pod["spec"].get("nodeName"):
                    return None
                status = pod.get("status") or {}
                rest = [c for c in status.get("conditions") or () if c["type"] != "PodScheduled"]
                return {**pod, "status": {**status, "conditions": [*rest, condition]}}

            try:
                self._registry.update(PODS, name, namespace, change, subresource="status")
            except NotFoundError:
                continue
            self._record(manifest, "Warning", "FailedScheduling", message)

    # PodGroups

    def _write_outcome(self, key: GroupKey, outcome: Outcome) -> None:
        namespace, _ = key
        group = self._cache.group(key)
        if group is not None and (known := self._written.get(key)) and known[0] is group and known[1] == outcome:
            return
        self._write_pod_conditions(namespace, outcome)
        if group is None:
            return  # a plain pod's
        before = group.get("status") or {}
        status = self._group_status(before, outcome)
        if status is None and not outcome.message and not outcome.pods:
            self._written[key] = group, outcome
        if status is not None and (not _can_wait(before, status) or self._is_time_to_count(key)):
            self._counted.pop(key, None)
            if not self._put_status(group, status):
                return  # changed or gone: its event wakes the next session
            if outcome.phase == "Running" != before.get("phase"):
                self._record(group, "Normal", "Scheduled", "pod group is ready")
        self._report_waiting(key, group, outcome)

    def _put_status(self, group: Object, status: Object) -> bool:
        """Whether that is the group's status now: it may have changed, or be gone."""
        meta = group["metadata"]

        def change(old: Object) -> Object | None:
            return status if old["metadata"]["resourceVersion"] == meta["resourceVersion"] else None

        kind = self._registry.kind(PODGROUPS)
        try:
            written = self._registry.put_complete_status(kind, meta["name"], meta["namespace"], change)
        except NotFoundError:
            return False
        return written.get("status") == status

    def _is_time_to_count(self, key: GroupKey) -> bool:
        """Whether what can wait has been so for long enough that the group's status is to say it: the pods of short
        jobs have ended by then, and the groups of those that have ended are deleted.
        """
        return time.monotonic() - self._counted.setdefault(key, time.monotonic()) >= _COUNT_AFTER_S

    def _group_status(self, before: Object, outcome: Outcome) -> Object | None:
        """The new status; None if it says the same as before."""
        conditions = list(before.get("conditions") or ())
        new: Object | None = None
        if outcome.scheduled:
            new = {"type": "Scheduled", "status": "True", "reason": _READY_TEXT}
        elif outcome.message and outcome.event_message and outcome.pods_exist:
            new = {
                "type": "Unschedulable",
                "status": "True",
                "reason": "NotEnoughResources",
                "message": outcome.message,
            }
        if new is not None:
            same = [c for c in conditions if c["type"] == new["type"]]
            if same and (same[0].get("reason"), same[0].get("message")) == (new["reason"], new.get("message")):
                new = None
        counters = {name: before[name] for name in _COUNTERS if name in before}
        if new is None and before.get("phase") == outcome.phase and counters == outcome.counters:
            return None
        if new is not None:
            new |= {"lastTransitionTime": rfc3339(self._now()), "transitionID": str(uuid.uuid4())}
            places = [index for index, c in enumerate(conditions) if c["type"] == new["type"]]
            if places:
                conditions[places[0]] = new
            else:
                conditions.append(new)
        status: Object = {"phase": outcome.phase, **outcome.counters}
        return status | ({"conditions": conditions} if conditions else {})

    def _report_waiting(self, key: GroupKey, group: Object, outcome: Outcome) -> None:
        """Why a group waits, in events, once for each text."""
        if not outcome.message or self._reported.get(key) == (outcome.message, outcome.event_message):
            return
        self._reported[key] = (outcome.message, outcome.event_message)
        if outcome.pods_exist:
            if outcome.phase in {"Pending", "Inqueue", "Unknown"}:
                self._record(group, "Warning", "Unschedulable", outcome.event_message or outcome.message)
            return
        self._record(group, "Normal", "Unschedulable", outcome.message)
        if outcome.event_message:
            self._record(group, "Warning", "Unschedulable", outcome.event_message)

    # Queues

    def _write_queues(self, allocated: Mapping[str, Amounts]) -> float:
        """Bring the queues' statuses up to date, not too often; returns when to look again."""
        since = time.monotonic() - self._queues_written_at
        in_use = self._cache.queues_in_use()
        is_due = since >= _QUEUE_STATUS_EACH_S
        wait_s = _SAFETY_TICK_S
        for queue in self._cache.queues():
            name, before = queue["metadata"]["name"], queue.get("status") or {}
            holds = {"cpu": 0, "memory": 0} | {r: n for r, n in allocated.get(name, {}).items() if n}
            state = before.get("state") or "Open"
            if state == "Closing" and name not in in_use:
                state = "Closed"
            status = {"state": state, "reservation": {}, "allocated": write_amounts(holds)}
            if all(before.get(part) == value for part, value in status.items()):
                continue
            if not is_due and before.get("state") == state:
                wait_s = _QUEUE_STATUS_EACH_S - since
                continue
            self._write_queue(name, queue, {**before, **status})
        if is_due and wait_s == _SAFETY_TICK_S:
            self._queues_written_at = time.monotonic()
        return wait_s

    def _write_queue(self, name: str, queue: Object, status: Object) -> None:
        try:
            self._registry.replace(QUEUES, {**queue, "status": status}, subresource="status")
        except (NotFoundError, ConflictError):
            _LOG.debug("queue %s changed meanwhile", name)

    def _priority(self, name: str) -> int:
        try:
            return int(self._registry.get(PRIORITY_CLASSES, name)["value"])
        except NotFoundError:
            return 0

    def _record(self, involved: Object, kind: str, reason: str, message: str) -> None:
        self._registry.record_event(involved, type=kind, reason=reason, message=message, component=_COMPONENT)


def _only_gives_room(event: WatchEvent) -> bool:
    """Whether nothing can start by it but what is short of room: a pod that has its node, or what is gone."""
    if event.type == "DELETED":
        return event.object["kind"] in {PODGROUPS.kind, PODS.kind}
    return bool(event.object["kind"] == PODS.kind and event.object["spec"].get("nodeName"))


def _can_wait(before: Object, status: Object) -> bool:
    """Whether two statuses of a PodGroup differ in what nobody acts on: numbers of pods, and that all have ended."""
    differ = {name for name in before.keys() | status.keys() if before.get(name) != status.get(name)}
    return differ <= _COUNTERS or (status.get("phase") == "Completed" and differ <= _COUNTERS | {"phase"})
