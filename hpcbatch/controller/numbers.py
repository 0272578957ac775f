"""Job numbers: increasing and unique, never used twice, even after a kill or a deletion."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from hpcbatch.api.names import SYSTEM_NAMESPACE
from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import BATCHJOBS, CONFIGMAPS
from hpcbatch.errors import AlreadyExistsError, ApiError, ConflictError, NotFoundError

_NAME = "job-numbers"
_TRIES = 50


class JobNumbers:
    """The last number is stored in a ConfigMap, and written there before it is used.

    A kill in between leaves a gap, never a second use; the ConfigMap's resourceVersion keeps several controllers apart.
    If the ConfigMap is deleted, counting continues after the highest number of a record.
    """

    def __init__(self, api: Api, highest_ended: Callable[[], int] = lambda: 0) -> None:
        """`highest_ended` returns the highest number of the jobs that are no BatchJobs any more."""
        self._api, self._highest_ended = api, highest_ended
        self._lock = threading.Lock()
        self._counting = threading.Lock()
        self.waiting = 0
        """Threads that want one number each, and have none yet."""
        self._taken: deque[int] = deque()
        """Numbers for these."""
        self._counter: Object | None = None  # as we last wrote it, which saves a read before each write

    def take(self) -> int:
        """The next number; threads that ask while one is written share the next write. Raises ApiError if it cannot be
        written.
        """
        with self._counting:
            self.waiting += 1
        with self._lock:
            try:
                if not self._taken:
                    self._taken.extend(self._write(self.waiting))
                return self._taken.popleft()
            finally:
                with self._counting:
                    self.waiting -= 1

    def take_many(self, count: int) -> range:
        """The next numbers, by one write."""
        with self._lock:
            return self._write(count)

    def _write(self, count: int) -> range:
        for _ in range(_TRIES):
            counter, self._counter = self._counter, None  # kept only if the write succeeds
            try:
                self._counter = self._next(counter or self._read(), count)
            except (ConflictError, AlreadyExistsError, NotFoundError):
                continue
            last = int(self._counter["data"]["last"])
            return range(last - count + 1, last + 1)
        raise ApiError(409, "Conflict", f"ConfigMap {SYSTEM_NAMESPACE}/{_NAME} keeps changing: no job number to be had")

    def _read(self) -> Object:
        try:
            return self._api.get(CONFIGMAPS, _NAME, SYSTEM_NAMESPACE)
        except NotFoundError:
            given = (obj.get("status", {}).get("jobId", "0") for obj in self._api.list(BATCHJOBS).items)
            last = str(max((self._highest_ended(), *map(int, given))))
            first = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": _NAME}, "data": {"last": last}}
            return self._api.create(CONFIGMAPS, first, SYSTEM_NAMESPACE)

    def _next(self, counter: Object, count: int) -> Object:
        number = int(counter["data"]["last"]) + count
        return self._api.replace(CONFIGMAPS, counter | {"data": {"last": str(number)}}, SYSTEM_NAMESPACE)
