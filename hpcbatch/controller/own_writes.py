"""Our own writes return as events a moment later. A decision on the state before them would only cause conflicts."""

from __future__ import annotations

import time
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

    def add(self, obj: Object) -> None:
        self._written[object_key(obj)] = int(obj["metadata"]["resourceVersion"]), time.monotonic()

    def is_outdated(self, obj: Object) -> bool:
        """Whether `obj` is older than our last write."""
        key = object_key(obj)
        version, since = self._written.get(key, (0, 0.0))
        if int(obj["metadata"]["resourceVersion"]) < version and time.monotonic() - since < _LAG_LIMIT_S:
            return True
        self._written.pop(key, None)
        return False

    def forget(self, key: Key) -> None:
        self._written.pop(key, None)
