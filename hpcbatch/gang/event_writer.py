"""Writes Events through the API's port; the engine's registry has a recorder of its own."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime

from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import EVENTS
from hpcbatch.errors import HpcBatchError, NotFoundError
from hpcbatch.units import rfc3339

_LOG = logging.getLogger(__name__)
_REMEMBERED = 1000
_LONGEST = 1024
"""Characters of a message, as Kubernetes has them."""

_Key = tuple[str, ...]


class EventWriter:
    """Implements RecordEvent."""

    def __init__(self, api: Api, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._api, self._now = api, now
        self._lock = threading.Lock()
        self._known: OrderedDict[_Key, tuple[str, int]] = OrderedDict()
        """By what was said, the Event's name and how often it was."""

    def __call__(self, involved: Object, *, type: str, reason: str, message: str, component: str) -> None:
        meta = involved["metadata"]
        namespace, message = meta.get("namespace") or "default", message[:_LONGEST]
        key = (namespace, involved["kind"], meta["name"], meta["uid"], type, reason, message, component)
        now = rfc3339(self._now())
        with self._lock:
            try:
                if self._count_up(key, namespace, now):
                    return
                name = f"{meta['name']}.{time.time_ns():x}"
                event = {
                    "apiVersion": EVENTS.api_version,
                    "kind": EVENTS.kind,
                    "metadata": {"name": name, "namespace": namespace},
                    "involvedObject": {
                        "apiVersion": involved["apiVersion"],
                        "kind": involved["kind"],
                        "name": meta["name"],
                        "uid": meta["uid"],
                        **({"namespace": meta["namespace"]} if "namespace" in meta else {}),
                    },
                    "type": type,
                    "reason": reason,
                    "message": message,
                    "source": {"component": component},
                    "firstTimestamp": now,
                    "lastTimestamp": now,
                    "count": 1,
                }
                self._api.create(EVENTS, event, namespace)
                self._remember(key, name, 1)
            except HpcBatchError as error:
                _LOG.debug("event %s about %s %s is not kept: %s", reason, involved["kind"], meta["name"], error)

    def _count_up(self, key: _Key, namespace: str, now: str) -> bool:
        if key not in self._known:
            return False
        name, count = self._known[key]
        try:
            self._api.patch(EVENTS, name, {"count": count + 1, "lastTimestamp": now}, namespace)
        except NotFoundError:
            del self._known[key]
            return False
        self._remember(key, name, count + 1)
        return True

    def _remember(self, key: _Key, name: str, count: int) -> None:
        self._known[key] = name, count
        self._known.move_to_end(key)
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
