"""What the job controller knows of its jobs beside the API: the newest pods, evictions, and actions of Commands."""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from hpcbatch.api.port import Object
from hpcbatch.gang.reminder import Reminder
from hpcbatch.typed import NamedTuple
from hpcbatch.volcano.job_objects import controlling_job
from hpcbatch.volcano.job_view import PodView, pod_view
from hpcbatch.volcano.lifecycle import Evicted

Key = tuple[str, str]


class Memory:
    """What is known of one job beyond the API; losing it does no harm."""

    def __init__(self) -> None:
        self.updated_generation = 0
        self.announced: set[str] = set()
        self.unschedulable = ""
        self.refusals = 0
        self.reminder = Reminder()


class _Pod(NamedTuple):
    """The newest state of a pod, and how the decisions see it, which each round asks for."""

    pod: Object
    view: PodView

    @property
    def version(self) -> int:
        """Of one kind, resourceVersions are numbers that grow: etcd's revisions, and the engine's."""
        return int(self.pod["metadata"]["resourceVersion"])


class Known:
    """Thread-safe, but for the memories: only the one worker has them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pods: dict[Key, dict[str, _Pod]] = defaultdict(dict)
        self._evicted: dict[str, list[Evicted]] = defaultdict(list)
        self._requests: dict[Key, deque[str]] = defaultdict(deque)
        self._memories: dict[str, Memory] = {}
        self._acting = 0

    # Own doing

    @contextmanager
    def own_doing(self) -> Iterator[None]:
        """What the worker does inside leads to no further step. Where the API is in this process it comes back as an
        event at once, in the same thread.
        """
        self._acting = threading.get_ident()
        try:
            yield
        finally:
            self._acting = 0

    @property
    def is_own_doing(self) -> bool:
        """Whether the event that is being handled comes from there."""
        return self._acting == threading.get_ident()

    # Pods

    def put_pod(self, key: Key, pod: Object) -> bool:
        """Keep the newest state of a pod; False if it says nothing new."""
        name, new = pod["metadata"]["name"], _Pod(pod, pod_view(pod))
        with self._lock:
            held = self._pods[key].get(name)
            if held is not None and held.version >= new.version:
                return False
            self._pods[key][name] = new
        return held is None or held.view != new.view

    def drop_pod(self, key: Key, pod: Object, *, lost_at: datetime | None) -> None:
        """The pod is gone. `lost_at`: its job is still there, and may have lost it by somebody else's doing."""
        meta = pod["metadata"]
        with self._lock:
            held = self._pods[key].get(meta["name"])
            if held is not None and held.view.uid == meta["uid"]:
                del self._pods[key][meta["name"]]
            if not self._pods[key]:
                del self._pods[key]
            view, owner = pod_view(pod), controlling_job(pod)
            if lost_at is not None and owner is not None and not view.is_marked:
                self._evicted[owner["uid"]].append(Evicted(pod=view, at=lost_at))

    def pods(self, key: Key, uid: str) -> list[PodView]:
        """Those of the job with that uid."""
        return [each.view for each in self._pods_of(key, uid)]

    def without_node(self, key: Key, uid: str, *, least: int) -> frozenset[str]:
        """Uids of its pods that have no node; none as long as fewer than `least` are there."""
        alive = [each.pod for each in self._pods_of(key, uid) if not each.view.is_terminating and each.view.is_alive]
        if len(alive) < least:
            return frozenset()
        return frozenset(pod["metadata"]["uid"] for pod in alive if not pod["spec"].get("nodeName"))

    def _pods_of(self, key: Key, uid: str) -> list[_Pod]:
        with self._lock:
            held = list(self._pods.get(key, {}).values())
        return [each for each in held if (controlling_job(each.pod) or {}).get("uid") == uid]

    # Evictions

    def evictions(self, uid: str) -> list[Evicted]:
        with self._lock:
            return list(self._evicted.get(uid, ()))

    def dealt_with(self, uid: str, done: Sequence[Evicted], pending: Sequence[Evicted], *, is_live: bool) -> None:
        """`done` are the evictions that a decision has seen, `pending` those of them that it wants to see again."""
        with self._lock:
            left = [*pending, *(item for item in self._evicted.pop(uid, []) if item not in done)]
            if left and is_live:
                self._evicted[uid] = left

    # Actions of Commands

    def put_request(self, key: Key, action: str) -> None:
        with self._lock:
            self._requests[key].append(action)

    def request(self, key: Key) -> str:
        """The first action that has not been carried out; "" if there is none."""
        with self._lock:
            waiting = self._requests.get(key)
            return waiting[0] if waiting else ""

    def next_request(self, key: Key, *, is_done: bool) -> bool:
        """Whether there are more, after the first one if that `is_done`."""
        with self._lock:
            waiting = self._requests.get(key)
            if is_done and waiting:
                waiting.popleft()
            return bool(waiting)

    # Jobs

    def memory(self, uid: str) -> tuple[Memory, bool]:
        """The job's, and whether it is new."""
        found = self._memories.get(uid)
        if found is None:
            return self._memories.setdefault(uid, Memory()), True
        return found, False

    def forget(self, key: Key, uid: str) -> None:
        """The job is gone."""
        with self._lock:
            self._evicted.pop(uid, None)
            self._memories.pop(uid, None)
            self._requests.pop(key, None)
