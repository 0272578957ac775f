"""Changes of one resource for the engine's own parts: without a queue, a thread and a cache, which an informer has."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from hpcbatch.api.port import WatchEvent
from hpcbatch.api.resources import Resource
from hpcbatch.engine.registry.store import StoreEvent, Subscription

if TYPE_CHECKING:
    from hpcbatch.engine.registry.registry import Registry

_LOG = logging.getLogger(__name__)


class Feed:
    """Reports the objects that are there when it starts as ADDED, and then each change. `on_event` runs in the writer's
    thread and under the store's lock: it may only take note, and wait for no lock under which anybody calls the API.
    """

    def __init__(self, registry: Registry, resource: Resource, on_event: Callable[[WatchEvent], None]) -> None:
        self._registry, self._resource, self._on_event = registry, resource, on_event
        self._subscription: Subscription | None = None

    def start(self) -> None:
        """Returns when everything that is there has been reported."""
        store = self._registry.store
        with store.lock:
            key = (self._resource.group, self._resource.plural)
            self._subscription, present, _ = store.subscribe(key, None, self._deliver)
            for obj in present:
                self._report(WatchEvent("ADDED", obj))

    def stop(self) -> None:
        """Safe more than once."""
        if self._subscription is not None:
            self._subscription.cancel()

    def _deliver(self, event: StoreEvent | None) -> None:
        if event is None:  # the kind is gone, and may come again
            self.start()
        else:
            self._report(WatchEvent(event.type, event.object))

    def _report(self, event: WatchEvent) -> None:
        presented = self._registry.present(event.object, self._resource)
        try:
            self._on_event(event if presented is event.object else WatchEvent(event.type, presented))
        except Exception:  # the write is done, whatever becomes of this
            _LOG.exception("%s %s", event.type, self._resource.plural)
