"""Events: what happened to an object, in words for people. Repetitions are counted, old ones forgotten."""

from __future__ import annotations

import logging
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from hpcbatch.api import resources
from hpcbatch.api.port import Object
from hpcbatch.errors import ApiError, NotFoundError
from hpcbatch.units import parse_rfc3339, rfc3339

if TYPE_CHECKING:
    from hpcbatch.engine.registry.registry import Registry

_LOG = logging.getLogger(__name__)
_KEPT_FOR = timedelta(hours=1)  # as long as a real API server keeps them
_KEPT = 5000
_REMEMBERED = 1000
_EXPIRE_EACH = 200


class EventRecorder:
    """Writes Events through the registry."""

    def __init__(self, registry: Registry, now: Callable[[], datetime]) -> None:
        self._registry, self._now = registry, now
        self._known: OrderedDict[tuple[str, ...], str] = OrderedDict()
        self._written = 0

    def record(
        self, involved: Object, *, type: str, reason: str, message: str, component: str, host: str, field_path: str
    ) -> None:
        meta = involved["metadata"]
        namespace = meta.get("namespace") or "default"
        key = (
            namespace,
            involved.get("kind", ""),
            meta["name"],
            meta.get("uid", ""),
            type,
            reason,
            message,
            component,
            host,
            field_path,
        )
        now = rfc3339(self._now())
        with self._registry.lock:
            try:
                if not self._count_up(key, namespace, now):
                    reference = {
                        "kind": involved.get("kind", ""),
                        "namespace": meta.get("namespace", ""),
                        "name": meta["name"],
                        "uid": meta.get("uid", ""),
                        "apiVersion": involved.get("apiVersion", ""),
                        "resourceVersion": meta.get("resourceVersion", ""),
                        "fieldPath": field_path,
                    }
                    self._write(key, namespace, now, {word: text for word, text in reference.items() if text})
            except ApiError as error:
                _LOG.debug("event %s about %s %s is not kept: %s", reason, reference_name(involved), message, error)

    def _count_up(self, key: tuple[str, ...], namespace: str, now: str) -> bool:
        name = self._known.get(key)
        if name is None:
            return False
        self._known.move_to_end(key)
        try:
            event = self._registry.get(resources.EVENTS, name, namespace)
        except NotFoundError:
            return False
        patch = {"count": event.get("count", 1) + 1, "lastTimestamp": now}
        self._registry.patch(resources.EVENTS, name, patch, namespace)
        return True

    def _write(self, key: tuple[str, ...], namespace: str, now: str, reference: dict[str, str]) -> None:
        _, _, involved, _, kind, reason, message, component, host, _ = key
        name = f"{involved[:230]}.{time.time_ns():x}"
        source = {"component": component, "host": host} if host else {"component": component}
        meta = {"name": name, "namespace": namespace, "uid": str(uuid.uuid4()), "creationTimestamp": now}
        event = {
            "metadata": meta,
            "involvedObject": reference,
            "reason": reason,
            "message": message[:1024],
            "source": source,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
            "type": kind,
            "reportingComponent": component,
            "reportingInstance": host,
            "apiVersion": "v1",
            "kind": "Event",
        }
        self._registry.create_complete(self._registry.kind(resources.EVENTS), event, namespace)
        self._known[key] = name
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        self._written += 1
        if self._written % _EXPIRE_EACH == 0:
            self.expire()

    def expire(self) -> None:
        """Forget the events that are too old, and the oldest of too many."""
        limit = rfc3339(self._now() - _KEPT_FOR)
        events = self._registry.list(resources.EVENTS).items
        seen = sorted((self._last_seen(event), event["metadata"]["name"], event) for event in events)
        too_many = max(0, len(seen) - _KEPT)
        for position, (when, name, event) in enumerate(seen):
            # times as we write them are in the order of their texts
            is_old = when < limit if len(when) == len(limit) else parse_rfc3339(when) < parse_rfc3339(limit)
            if position < too_many or is_old:
                try:
                    self._registry.delete(resources.EVENTS, name, event["metadata"]["namespace"])
                except NotFoundError:
                    continue

    @staticmethod
    def _last_seen(event: Object) -> str:
        return str(event.get("lastTimestamp") or event.get("eventTime") or event["metadata"]["creationTimestamp"])


def reference_name(obj: Object) -> str:
    """`Pod ns/name`, for logs."""
    meta = obj["metadata"]
    return f"{obj.get('kind', '')} {meta.get('namespace', '')}/{meta['name']}"
