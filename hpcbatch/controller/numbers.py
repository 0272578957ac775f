"""Job numbers: growing, unique, never given twice, also after a kill or a deletion."""

from __future__ import annotations

import threading

from hpcbatch.api.port import Api
from hpcbatch.api.resources import CONFIGMAPS
from hpcbatch.errors import AlreadyExistsError, ApiError, ConflictError, NotFoundError

SYSTEM_NAMESPACE = "hpcbatch-system"
_NAME = "job-numbers"
_TRIES = 50


class JobNumbers:
    """The last number given stands in a ConfigMap, and is written there before anybody hears of it.

    A kill between the two leaves a gap, never a second use; several controllers at once are kept apart by the
    ConfigMap's resourceVersion.
    """

    def __init__(self, api: Api) -> None:
        self._api = api
        self._lock = threading.Lock()

    def take(self) -> int:
        """The next number. Raises ApiError if the API does not let it be written."""
        with self._lock:
            for _ in range(_TRIES):
                try:
                    return self._take()
                except (ConflictError, AlreadyExistsError):
                    continue
        raise ApiError(409, "Conflict", f"ConfigMap {SYSTEM_NAMESPACE}/{_NAME} keeps changing: no job number to be had")

    def _take(self) -> int:
        try:
            counter = self._api.get(CONFIGMAPS, _NAME, SYSTEM_NAMESPACE)
        except NotFoundError:
            first = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": _NAME}, "data": {"last": "1"}}
            self._api.create(CONFIGMAPS, first, SYSTEM_NAMESPACE)
            return 1
        number = int(counter["data"]["last"]) + 1
        self._api.replace(CONFIGMAPS, counter | {"data": {"last": str(number)}}, SYSTEM_NAMESPACE)
        return number
