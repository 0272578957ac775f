"""The embedded engine's store: versioned objects on SQLite, all of them cached in memory, and their changes in order.

One revision counts every write of any kind, as in etcd, and is the resourceVersion of what was written. A write is a
transaction: either all of its changes are on disk, in the cache and before the watchers, or none. With `disk.group`
those that come together share one on disk: then nothing may leave the process before `disk.flush`. Objects
handed out belong to the store and must not be changed; those handed in must not be changed afterwards.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal, NamedTuple

from hpcbatch.api import compact
from hpcbatch.engine.registry.disk import Disk, Place
from hpcbatch.errors import GoneError

Object = dict[str, Any]
ResourceKey = tuple[str, str]
"""(group, plural): versions of a kind share their objects."""
Position = tuple[str, str]
"""Where an object stands in a list: namespace and name."""

DEFAULT_HISTORY = 5000
_PACKED = frozenset({("", "secrets")})
"""Kinds of which there are many, nobody else keeps the objects, and few are ever read: each job has one Secret."""


@dataclass(frozen=True, slots=True)
class Change:
    """One object to store, or with `obj` None to remove. `namespace` is "" for cluster-scoped kinds.
    `last` is the state in which watchers see a removed object; None for the one that it had.
    """

    key: ResourceKey
    namespace: str
    name: str
    obj: Object | None
    last: Object | None = None


@dataclass(frozen=True, slots=True)
class StoreEvent:
    """What a write did to one object. For DELETED, `object` is the last state with the deletion's resourceVersion."""

    revision: int
    key: ResourceKey
    namespace: str
    type: Literal["ADDED", "MODIFIED", "DELETED"]
    object: Object
    previous: Object | None
    text: str = ""
    """`object` as JSON where it is at hand: for those who are told of it now, since the history does without."""


@dataclass(slots=True)
class _Shelf:
    """The objects of one kind, by namespace and name."""

    is_packed: bool = False
    """Each is made anew when it is read."""
    namespaces: dict[str, dict[str, Any]] = field(default_factory=dict)

    def get(self, namespace: str, name: str) -> Object | None:
        held = self.held(namespace, name)
        return None if held is None else self.read(held)

    def put(self, namespace: str, name: str, held: Any) -> None:
        """`held`: by `hold`."""
        self.namespaces.setdefault(namespace, {})[name] = held

    def held(self, namespace: str, name: str) -> Any:
        """As it lies there; None: it does not."""
        return self.namespaces.get(namespace, {}).get(name)

    def hold(self, obj: Object) -> Any:
        return compact.pack(obj) if self.is_packed else obj

    def read(self, held: Any) -> Object:
        return compact.unpack(held) if self.is_packed else held  # type: ignore[no-any-return]

    def remove(self, namespace: str, name: str) -> None:
        names = self.namespaces[namespace]
        del names[name]
        if not names:
            del self.namespaces[namespace]

    def after(self, namespace: str | None, position: Position | None) -> tuple[int, Iterator[Object]]:
        """See `Store.after`."""
        held: list[Any] = []
        for space in sorted(self.namespaces) if namespace is None else [namespace]:
            if position is None or space >= position[0]:
                names = self.namespaces.get(space, {})
                last = position[1] if position is not None and space == position[0] else ""
                held += [names[name] for name in sorted(names) if name > last]
        return len(held), map(self.read, held)


class _Past(NamedTuple):
    """An event in the history; the objects are as their shelf holds them."""

    revision: int
    key: ResourceKey
    namespace: str
    type: Literal["ADDED", "MODIFIED", "DELETED"]
    held: Any
    held_before: Any


class Subscription:
    """A receiver of events. `deliver` runs in the writer's thread, under the store's lock: it may only hand on.
    None tells it that there will be no more: the kind itself is gone.
    """

    __slots__ = ("_store", "deliver", "key", "namespace")

    def __init__(
        self, store: Store, key: ResourceKey, namespace: str | None, deliver: Callable[[StoreEvent | None], None]
    ) -> None:
        self._store, self.key, self.namespace, self.deliver = store, key, namespace, deliver

    def cancel(self) -> None:
        """Stop the delivery; safe from any thread, and more than once."""
        self._store._unsubscribe(self)


class Store:
    """`path` is a file, or `:memory:`. The process that has it open keeps every other one out."""

    def __init__(self, path: str, *, history: int = DEFAULT_HISTORY) -> None:
        self.lock = threading.RLock()
        """Held by whoever reads and then writes what depends on it."""
        self.check: Callable[[Object, str], None] = lambda *_: None
        """Called with each object and its JSON before it is stored; what it raises stops the write."""
        self._shelves: dict[ResourceKey, _Shelf] = {}
        self._subscriptions: dict[ResourceKey, list[Subscription]] = {}
        self._history: deque[_Past] = deque(maxlen=history)
        self._observers: list[Callable[[StoreEvent], None]] = []
        self.disk = Disk(path, self.lock)
        self._revision = self.disk.revision
        for (group, plural, namespace, name), obj in self.disk.read():
            shelf = self._shelf((group, plural))
            shelf.put(namespace, name, shelf.hold(obj))
        self._forgotten = self._revision
        """Changes up to this revision are no longer in the history."""

    @property
    def revision(self) -> int:
        return self._revision

    def close(self) -> None:
        with self.lock:
            self.disk.close()

    def get(self, key: ResourceKey, namespace: str, name: str) -> Object | None:
        with self.lock:
            shelf = self._shelves.get(key)
            return shelf.get(namespace, name) if shelf else None

    def items(self, key: ResourceKey, namespace: str | None = None) -> list[Object]:
        """All objects of a kind, sorted by namespace and name; `namespace` None means everywhere."""
        with self.lock:
            return list(self.after(key, namespace)[1])

    def after(
        self, key: ResourceKey, namespace: str | None = None, position: Position | None = None
    ) -> tuple[int, Iterator[Object]]:
        """The number of those of `items` that come after `position`, and these: as they are now, however late they are
        taken from the iterator. Only those that are taken cost much.
        """
        with self.lock:
            shelf = self._shelves.get(key)
            return shelf.after(namespace, position) if shelf else (0, iter(()))

    def count(self, key: ResourceKey) -> int:
        with self.lock:
            shelf = self._shelves.get(key)
            return sum(len(names) for names in shelf.namespaces.values()) if shelf else 0

    def keys(self) -> list[ResourceKey]:
        """The kinds that have objects."""
        with self.lock:
            return [key for key, shelf in self._shelves.items() if shelf.namespaces]

    def has_namespaced(self, namespace: str) -> bool:
        """Whether anything at all is in this namespace."""
        with self.lock:
            return any(namespace in shelf.namespaces for shelf in self._shelves.values())

    def write(self, changes: Sequence[Change]) -> list[Object]:
        """Carry out the changes in order, each with a revision of its own; the objects as stored, or as removed.
        Raises ApiError 500 with nothing changed if the disk refuses.
        """
        with self.lock:
            events = self._plan(changes)
            texts = self._commit(changes, events)
            for event, text in zip(events, texts, strict=True):
                self._publish(event, text)
            return [event.object for event in events]

    def _plan(self, changes: Sequence[Change]) -> list[StoreEvent]:
        events: list[StoreEvent] = []
        pending: dict[tuple[ResourceKey, str, str], Object | None] = {}
        for revision, change in enumerate(changes, start=self._revision + 1):
            place = (change.key, change.namespace, change.name)
            old = pending[place] if place in pending else self.get(*place)
            if change.obj is None and old is None:
                raise KeyError(place)
            source = change.last or old if change.obj is None else change.obj
            assert source is not None  # noqa: S101 - the check above leaves no other case
            obj = {**source, "metadata": {**source["metadata"], "resourceVersion": str(revision)}}
            kind: Literal["ADDED", "MODIFIED", "DELETED"] = (
                "DELETED" if change.obj is None else "ADDED" if old is None else "MODIFIED"
            )
            events.append(StoreEvent(revision, change.key, change.namespace, kind, obj, old))
            pending[place] = None if change.obj is None else obj
        return events

    def _commit(self, changes: Sequence[Change], events: Sequence[StoreEvent]) -> list[str]:
        """Returns what was written of each, "" for what was removed."""
        if not events:
            return []
        rows: dict[Place, str | None] = {}
        texts: list[str] = []
        for change, event in zip(changes, events, strict=True):
            place = (*change.key, change.namespace, change.name)
            if event.type == "DELETED":
                rows[place] = None
                texts.append("")
                continue
            text = _encode(event.object)
            self.check(event.object, text)
            rows[place] = text
            texts.append(text)
        self.disk.write(rows, events[-1].revision)
        return texts

    def _publish(self, event: StoreEvent, text: str) -> None:
        self._revision = event.revision
        name = event.object["metadata"]["name"]
        shelf = self._shelf(event.key)
        before, held = shelf.held(event.namespace, name), shelf.hold(event.object)
        if event.type == "DELETED":
            shelf.remove(event.namespace, name)
        else:
            shelf.put(event.namespace, name, held)
        if len(self._history) == self._history.maxlen and self._history:
            self._forgotten = self._history[0].revision
        elif self._history.maxlen == 0:
            self._forgotten = event.revision
        self._history.append(_Past(event.revision, event.key, event.namespace, event.type, held, before))
        for observer in self._observers:
            observer(event)
        if subscriptions := self._subscriptions.get(event.key):
            event = StoreEvent(
                event.revision, event.key, event.namespace, event.type, event.object, event.previous, text
            )
        for subscription in subscriptions or ():
            if subscription.namespace is None or subscription.namespace == event.namespace:
                subscription.deliver(event)

    def observe(self, observer: Callable[[StoreEvent], None]) -> None:
        """Call `observer` for every change of every kind, under the lock and before the watchers: for indexes."""
        with self.lock:
            self._observers.append(observer)

    def subscribe(
        self,
        key: ResourceKey,
        namespace: str | None,
        deliver: Callable[[StoreEvent | None], None],
        *,
        since: int | None = None,
    ) -> tuple[Subscription, list[Object], int]:
        """Deliver all changes from now on: (the subscription, the objects there now, the revision now).
        With `since`, what changed after that revision is delivered first, and the list is empty.
        Raises GoneError if the history does not reach back so far, or has not got there: a store that was made anew
        counts from the start, and its clients must list again rather than wait.
        """
        subscription = Subscription(self, key, namespace, deliver)
        with self.lock:
            if since is not None and not self._forgotten <= since <= self._revision:
                raise GoneError(410, "Expired", f"too old resource version: {since} ({self._forgotten + 1})")
            if since is None:
                present = self.items(key, namespace)
            else:
                present = []
                for event in self._since(since, key, namespace):
                    deliver(event)
            # A new list: a delivery under way keeps walking the old one.
            self._subscriptions[key] = [*self._subscriptions.get(key, ()), subscription]
            return subscription, present, self._revision

    def _since(self, revision: int, key: ResourceKey, namespace: str | None) -> Iterator[StoreEvent]:
        """The events of a kind after a revision. Revisions have no gaps: its place in the history can be computed."""
        newer = min(self._revision - revision, len(self._history))
        for past in islice(self._history, len(self._history) - newer, None):
            if past.key == key and namespace in (None, past.namespace):
                shelf = self._shelf(key)
                before = None if past.held_before is None else shelf.read(past.held_before)
                yield StoreEvent(past.revision, key, past.namespace, past.type, shelf.read(past.held), before)

    def _unsubscribe(self, subscription: Subscription) -> None:
        with self.lock:
            rest = [other for other in self._subscriptions.get(subscription.key, ()) if other is not subscription]
            self._subscriptions[subscription.key] = rest

    def remembers(self, revision: int) -> bool:
        """Whether a watch can go on from this revision."""
        with self.lock:
            return self._forgotten <= revision <= self._revision

    def end_subscriptions(self, key: ResourceKey) -> None:
        """Tell everybody who watches the kind that it is gone."""
        with self.lock:
            for subscription in self._subscriptions.pop(key, []):
                subscription.deliver(None)

    def subscription_count(self) -> int:
        with self.lock:
            return sum(len(subscriptions) for subscriptions in self._subscriptions.values())

    def _shelf(self, key: ResourceKey) -> _Shelf:
        shelf = self._shelves.get(key)
        if shelf is None:
            shelf = self._shelves[key] = _Shelf(is_packed=key in _PACKED)
        return shelf


def _encode(obj: Object) -> str:
    text = json.dumps(obj, separators=(",", ":"), ensure_ascii=False)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:  # half a surrogate pair: JSON can say it, UTF-8 cannot
            return json.dumps(obj, separators=(",", ":"))
    return text
