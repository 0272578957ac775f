"""What the nodes have and what is used of it, counted at most once in a while."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence

from hpcbatch.api.informer import Informer, Key, object_key
from hpcbatch.api.port import Object
from hpcbatch.policy.views import empty_room, pod_requests, rooms_of
from hpcbatch.policy.waiting import NodeRoom
from hpcbatch.typed import Generic, TypeVar

_KEPT_S = 1.0
T = TypeVar("T")


class _Readings(Generic[T]):
    """What was read of each object of a cache: an object that is the same as before is not read again."""

    def __init__(self, read: Callable[[Object], T]) -> None:
        self._read = read
        self._known: dict[Key, tuple[Object, T]] = {}

    def of(self, objects: Iterable[Object]) -> list[tuple[Key, T]]:
        before, known = self._known, {}
        for obj in objects:
            key = object_key(obj)
            held = before.get(key)
            known[key] = held if held is not None and held[0] is obj else (obj, self._read(obj))
        self._known = known
        return [(key, read) for key, (_, read) in known.items()]


class NodeRooms:
    """Counting all pods for each of many waiting jobs would be quadratic."""

    def __init__(self, nodes: Informer, pods: Informer) -> None:
        self._nodes, self._pods = nodes, pods
        self._empty, self._requests = _Readings(empty_room), _Readings(pod_requests)
        self._lock = threading.Lock()
        self._counted: tuple[float, Sequence[NodeRoom]] = (-_KEPT_S, ())

    def get(self) -> Sequence[NodeRoom]:
        """The nodes that take pods, a moment old at most."""
        counted, rooms = self._counted
        return rooms if time.monotonic() - counted <= _KEPT_S else self.now()

    def now(self) -> Sequence[NodeRoom]:
        with self._lock:
            requests = (each for _, each in self._requests.of(self._pods.items()))
            rooms = rooms_of(((name, room) for (_, name), room in self._empty.of(self._nodes.items())), requests)
            self._counted = time.monotonic(), rooms
            return rooms
