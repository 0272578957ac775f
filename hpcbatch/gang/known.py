"""What the job controller knows of its jobs beside the API: the newest pods, evictions, and actions of Commands."""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Sequence
from datetime import datetime

from hpcbatch.api.port import Object
from hpcbatch.gang.reminder import Reminder
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


class Known:
    """Thread-safe, but for the memories: only the one worker has them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pods: dict[Key, dict[str, Object]] = defaultdict(dict)
        self._evicted: dict[str, list[Evicted]] = defaultdict(list)
        self._requests: dict[Key, deque[str]] = defaultdict(deque)
        self._memories: dict[str, Memory] = {}

    # Pods

    def put_pod(self, key: Key, pod: Object) -> bool:
        """Keep the newest state of a pod; False if it says nothing new."""
        name = pod["metadata"]["name"]
        with self._lock:
            held = self._pods[key].get(name)
            if held is not None and _version(held) >= _version(pod):
                return False
            self._pods[key][name] = pod
        return held is None or pod_view(held) != pod_view(pod)

    def drop_pod(self, key: Key, pod: Object, *, lost_at: datetime | None) -> None:
        """The pod is gone. `lost_at`: its job is still there, and may have lost it by somebody else's doing."""
        meta = pod["metadata"]
        with self._lock:
            held = self._pods[key].get(meta["name"])
            if held is not None and held["metadata"]["uid"] == meta["uid"]:
                del self._pods[key][meta["name"]]
            if not self._pods[key]:
                del self._pods[key]
            view, owner = pod_view(pod), controlling_job(pod)
            if lost_at is not None and owner is not None and not view.is_marked:
                self._evicted[owner["uid"]].append(Evicted(pod=view, at=lost_at))

    def pods(self, key: Key, uid: str) -> list[PodView]:
        """Those of the job with that uid."""
        return [pod_view(pod) for pod in self._pods_of(key, uid)]

    def without_node(self, key: Key, uid: str, *, least: int) -> frozenset[str]:
        """Uids of its pods that have no node; none as long as fewer than `least` are there."""
        alive = [
            pod
            for pod in self._pods_of(key, uid)
            if "deletionTimestamp" not in pod["metadata"] and pod_view(pod).is_alive
        ]
        if len(alive) < least:
            return frozenset()
        return frozenset(pod["metadata"]["uid"] for pod in alive if not pod["spec"].get("nodeName"))

    def _pods_of(self, key: Key, uid: str) -> list[Object]:
        with self._lock:
            held = list(self._pods.get(key, {}).values())
        return [pod for pod in held if (controlling_job(pod) or {}).get("uid") == uid]

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


def _version(obj: Object) -> int:
    """Of one kind, resourceVersions are numbers that grow: etcd's revisions, and the engine's."""
    return int(obj["metadata"]["resourceVersion"])
