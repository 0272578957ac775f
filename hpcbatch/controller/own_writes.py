"""Our own writes return as events a moment later. A decision on the state before them would only cause conflicts."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from hpcbatch.api.informer import object_key
from hpcbatch.api.port import Object

Key = tuple[str, str]
LAG_S: Final = 1.0
"""Events normally come long before this."""
_LAG_LIMIT_S = 30.0  # then none will come: the API server's store was restored from a backup


class OwnWrites:
    """The version and time of our last write of each BatchJob, until its event has come."""

    def __init__(self) -> None:
        self._written: dict[Key, tuple[int, float]] = {}
        self._lock = threading.Lock()
        self._settled: dict[Key, int] = {}
        self._held_back: dict[Key, set[int]] = {}

    def add(self, obj: Object) -> None:
        """The event of this write leads to the next look."""
        key = object_key(obj)
        with self._lock:
            self._settled.pop(key, None)
        self._written[key] = int(obj["metadata"]["resourceVersion"]), time.monotonic()

    def settle(self, key: Key, write: Callable[[], Object]) -> tuple[Object, bool]:
        """Carry out a write whose event need not lead to a look, see `policy.settled`. Returns what was written, and
        whether other events have come meanwhile, which do.
        """
        with self._lock:
            self._held_back[key] = set()  # the event may come before the reply
        try:
            written = write()
        except BaseException:
            with self._lock:
                del self._held_back[key]  # a conflict is tried again in any case
            raise
        version = int(written["metadata"]["resourceVersion"])
        with self._lock:
            others = self._held_back.pop(key) - {version}
            self._settled[key] = version
        self._written[key] = version, time.monotonic()
        return written, bool(others)

    def settle_and_wake(self, key: Key, write: Callable[[], Object], wake: Callable[[Key], None]) -> Object:
        """As `settle`; `wake` is called if other events have come meanwhile."""
        written, has_more = self.settle(key, write)
        if has_more:
            wake(key)
        return written

    def is_settled(self, obj: Object) -> bool:
        """Whether the event of `obj` leads to no look: it is our own write, or is looked at when that is done."""
        key, version = object_key(obj), int(obj["metadata"]["resourceVersion"])
        with self._lock:
            if key in self._held_back:
                self._held_back[key].add(version)
                return True
            return self._settled.get(key) == version

    def is_outdated(self, obj: Object) -> bool:
        """Whether `obj` is older than our last write. From then on its event leads to a look."""
        key = object_key(obj)
        version, since = self._written.get(key, (0, 0.0))
        if int(obj["metadata"]["resourceVersion"]) < version and time.monotonic() - since < _LAG_LIMIT_S:
            with self._lock:
                self._settled.pop(key, None)
            return True
        self._written.pop(key, None)
        return False

    def forget(self, key: Key) -> None:
        self._written.pop(key, None)
        with self._lock:
            self._settled.pop(key, None)
