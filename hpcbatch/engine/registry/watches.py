"""Watches: from the store's events to what one watcher with its selectors gets to see."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterator

from hpcbatch.api.port import Object, WatchEvent
from hpcbatch.engine.registry.selectors import Predicate
from hpcbatch.engine.registry.store import ResourceKey, Store, StoreEvent


def visible(event: StoreEvent, matches: Predicate | None) -> WatchEvent | None:
    """The event as seen through a selector: what begins to match is ADDED, what ceases to match is DELETED."""
    if matches is None:
        return WatchEvent(event.type, event.object)
    now = event.type != "DELETED" and matches(event.object)
    before = event.previous is not None and matches(event.previous)
    if event.type == "DELETED":
        return WatchEvent("DELETED", event.object) if before else None
    if now:
        return WatchEvent("MODIFIED" if before else "ADDED", event.object)
    return WatchEvent("DELETED", event.object) if before else None


class QueueWatch:
    """A watch whose reader is a thread; implements hpcbatch.api.port.Watch."""

    def __init__(
        self,
        store: Store,
        key: ResourceKey,
        namespace: str | None,
        *,
        since: int | None,
        matches: Predicate | None,
        timeout_s: float | None,
        present: Callable[[Object], Object] = lambda obj: obj,
    ) -> None:
        self._events: queue.SimpleQueue[WatchEvent | None] = queue.SimpleQueue()
        self._matches, self._closed, self._present = matches, False, present
        self._end = None if timeout_s is None else time.monotonic() + timeout_s
        with store.lock:  # so that nothing can come between what is there and what changes
            self._subscription, objects, _ = store.subscribe(key, namespace, self._deliver, since=since)
            for obj in objects:
                if matches is None or matches(obj):
                    self._events.put(WatchEvent("ADDED", obj))

    def _deliver(self, event: StoreEvent | None) -> None:
        if event is None:
            self._events.put(None)
        elif (seen := visible(event, self._matches)) is not None:
            self._events.put(seen)

    def __iter__(self) -> Iterator[WatchEvent]:
        while not self._closed:
            try:
                if self._end is None:
                    event = self._events.get()
                else:
                    event = self._events.get(timeout=max(0.0, self._end - time.monotonic()))
            except queue.Empty:
                break
            if event is None:
                break
            yield WatchEvent(event.type, self._present(event.object))
        self.close()

    def close(self) -> None:
        """End the watch; safe from another thread, and more than once."""
        self._closed = True
        self._subscription.cancel()
        self._events.put(None)
