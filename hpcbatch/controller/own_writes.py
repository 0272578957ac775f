"""Our own writes come back as events a moment later. Deciding on what stood before them would only make conflicts."""

from __future__ import annotations

import time
from typing import Final

from hpcbatch.api.informer import object_key
from hpcbatch.api.port import Object

Key = tuple[str, str]
LAG_S: Final = 1.0
"""The event comes long before."""
_LAG_LIMIT_S = 30.0  # then it never will: the API server's store was restored from a backup


class OwnWrites:
    """Of each BatchJob the version of our last write, and when that was, until its event has come."""

    def __init__(self) -> None:
        self._written: dict[Key, tuple[int, float]] = {}

    def add(self, obj: Object) -> None:
        self._written[object_key(obj)] = int(obj["metadata"]["resourceVersion"]), time.monotonic()

    def is_outdated(self, obj: Object) -> bool:
        """Whether `obj` is what the cache held before our last write."""
        key = object_key(obj)
        version, since = self._written.get(key, (0, 0.0))
        if int(obj["metadata"]["resourceVersion"]) < version and time.monotonic() - since < _LAG_LIMIT_S:
            return True
        self._written.pop(key, None)
        return False

    def forget(self, key: Key) -> None:
        self._written.pop(key, None)
