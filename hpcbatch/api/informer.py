"""List and watch into a cache, and the controller's queue of keys; for the engine and over HTTP."""

from __future__ import annotations

import heapq
import logging
import random
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

from hpcbatch.api.port import Api, Object, Watch, WatchEvent
from hpcbatch.api.resources import Resource
from hpcbatch.errors import ApiError, ConflictError, GoneError, HpcBatchError, UnreachableError
from hpcbatch.typed import Any, Generic, TypeVar

_LOG = logging.getLogger(__name__)
_RANDOM = random.Random()  # noqa: S311 - spreads clients, hides nothing
_FIRST_BACKOFF_S = 0.05
_LONGEST_BACKOFF_S = 5.0
_TRIES_OF_ONE_VERSION = 5  # then a list: a server restored from a backup does not know that version
_WATCH_LIMIT_S = 300.0  # a watch on a dead connection ends by this at the latest
_LONGEST_DELAY_S = 3600.0  # later moments are checked in between: no timed wait accepts a user's year 2400

Key = tuple[str, str]
K = TypeVar("K", bound=Hashable)
Lane = tuple[Hashable, ...]
"""The names of a lane, of the lane in it, and so on."""


_MOST_RECENT = 1024
_recent: dict[Key, Key] = {}
"""Keys of late: each stands in many maps, and there it is one value."""


def object_key(obj: Object) -> Key:
    """Namespace ("" for cluster-scoped kinds) and name."""
    meta = obj["metadata"]
    key = meta.get("namespace") or "", meta["name"]
    if len(_recent) >= _MOST_RECENT:
        _recent.clear()
    return _recent.setdefault(key, key)


class Informer:
    """Holds the current objects of one resource and reports every change of them to `on_event`.

    `on_event` runs in the informer's own thread, after the cache has changed, and never gets a BOOKMARK. Changes missed
    by an interrupted watch arrive as synthetic events after the next list, so the events alone are complete; an object
    that was deleted and recreated meanwhile arrives as DELETED and ADDED. `synced` is set when the first list has been
    reported completely.
    """

    def __init__(
        self,
        api: Api,
        resource: Resource,
        namespace: str | None = None,
        *,
        on_event: Callable[[WatchEvent], None],
        labels: str = "",
        fields: str = "",
    ) -> None:
        self.synced = threading.Event()
        self._api, self._resource, self._namespace = api, resource, namespace
        self._labels, self._fields, self._on_event = labels, fields, on_event
        self._lock = threading.Lock()
        self._objects: dict[Key, Object] = {}
        self._watch: Watch | None = None
        self._version = ""  # "": list first
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"informer-{resource.plural}", daemon=True)

    @property
    def name(self) -> str:
        return self._thread.name

    @property
    def has_died(self) -> bool:
        """Whether it was started and has ended, although nobody stopped it."""
        return self._thread.ident is not None and not self._thread.is_alive() and not self._stopping.is_set()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the watch and wait for the thread, so that no event is reported afterwards. Safe more than once."""
        self._stopping.set()
        with self._lock:
            watch = self._watch
        if watch is not None:
            watch.close()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(timeout=10)

    def get(self, namespace: str | None, name: str) -> Object | None:
        with self._lock:
            return self._objects.get((namespace or "", name))

    def items(self) -> tuple[Object, ...]:
        with self._lock:
            return tuple(self._objects.values())

    def _run(self) -> None:
        backoff_s = _FIRST_BACKOFF_S
        failures = 0
        while not self._stopping.is_set():
            began, before = time.monotonic(), self._version
            try:
                if not self._version:
                    self._version = self._relist()
                    self.synced.set()
                self._follow()
            except GoneError:
                self._version = ""
                continue_at_once = time.monotonic() - began > _FIRST_BACKOFF_S
            except (ApiError, UnreachableError) as error:
                failures = 1 if self._version != before else failures + 1
                if not self._stopping.is_set():
                    _LOG.warning("watching %s: %s; next try in %.2f s", self._resource.plural, error, backoff_s)
                if not _may_go_on(error) or failures >= _TRIES_OF_ONE_VERSION:
                    self._version, failures = "", 0
                continue_at_once = False
            except Exception:
                _LOG.exception("watching %s", self._resource.plural)
                self._version, continue_at_once = "", False
            else:
                # A server that ends every watch at once must not be called in a tight loop.
                continue_at_once = self._version != before or time.monotonic() - began > 1.0
                failures = 0
            if continue_at_once:
                backoff_s = _FIRST_BACKOFF_S
            else:
                self._stopping.wait(backoff_s * _RANDOM.uniform(0.8, 1.2))
                backoff_s = min(backoff_s * 2, _LONGEST_BACKOFF_S)

    def _relist(self) -> str:
        listed = self._api.list(self._resource, self._namespace, labels=self._labels, fields=self._fields)
        now = {object_key(obj): obj for obj in listed.items}
        with self._lock:
            before = dict(self._objects)
        for key, old in before.items():
            new = now.get(key)
            if new is None or new["metadata"].get("uid") != old["metadata"].get("uid"):
                self._apply(WatchEvent("DELETED", old))
        for key, new in now.items():
            held = self.get(*key)
            if held is None:
                self._apply(WatchEvent("ADDED", new))
            elif held["metadata"].get("resourceVersion") != new["metadata"].get("resourceVersion"):
                self._apply(WatchEvent("MODIFIED", new))
        return listed.resource_version

    def _follow(self) -> None:
        """Watch until it ends; everything up to `_version` has always been reported."""
        watch = self._api.watch(
            self._resource,
            self._namespace,
            resource_version=self._version,
            labels=self._labels,
            fields=self._fields,
            timeout_s=_WATCH_LIMIT_S * _RANDOM.uniform(0.8, 1.2),
        )
        with self._lock:
            self._watch = watch
        try:
            if self._stopping.is_set():
                return
            for event in watch:
                if self._stopping.is_set():
                    break
                if event.type != "BOOKMARK":
                    self._apply(event)
                self._version = event.object["metadata"]["resourceVersion"]
        finally:
            with self._lock:
                self._watch = None
            watch.close()

    def _apply(self, event: WatchEvent) -> None:
        key = object_key(event.object)
        with self._lock:
            if event.type == "DELETED":
                self._objects.pop(key, None)
            else:
                self._objects[key] = event.object
        if self._stopping.is_set():
            return
        try:
            self._on_event(event)
        except Exception:
            _LOG.exception("on_event for %s %s", self._resource.plural, "/".join(filter(None, key)))


def _may_go_on(error: HpcBatchError) -> bool:
    """Whether the server is only away or busy, so that the next watch can continue from the last version.

    Listing thousands of objects again after each broken connection would bring a freshly restarted API server down.
    """
    return isinstance(error, UnreachableError) or (isinstance(error, ApiError) and error.code in {429, 503})


_Tree = OrderedDict[Any, "_Tree"]


class _Lanes(Generic[K]):
    """Keys in the order of their turns: of each lane one, then of each the next; so also the lanes within a lane."""

    def __init__(self) -> None:
        self._tree: _Tree = OrderedDict()  # lanes, the lanes in them …, and keys, below which is nothing
        self._lane_of: dict[K, Lane] = {}

    def __bool__(self) -> bool:
        return bool(self._tree)

    def put(self, key: K, lane: Lane) -> None:
        """At the end of the lane, unless the key is in it already."""
        if (before := self._lane_of.get(key)) == lane:
            return
        if before is not None:
            _remove(self._tree, (*before, key))
        self._lane_of[key], below = lane, self._tree
        for name in (*lane, key):
            below = below.setdefault(name, OrderedDict())

    def popleft(self) -> K:
        key: K = _popleft(self._tree)
        del self._lane_of[key]
        return key


def _popleft(tree: _Tree) -> Any:
    name, below = tree.popitem(last=False)
    if not below:
        return name
    key = _popleft(below)
    if below:
        tree[name] = below  # behind the others
    return key


def _remove(tree: _Tree, path: Lane) -> None:
    name, *rest = path
    if rest:
        _remove(tree[name], tuple(rest))
    if not tree[name]:
        del tree[name]


class WorkQueue(Generic[K]):
    """Keys to be handled, each by one worker at a time; a key added several times before its turn is handled once.

    A key added while it is being handled is queued again after `done`. Every `get` needs its `done`.
    """

    def __init__(
        self,
        *,
        first_backoff_s: float = 0.005,
        longest_backoff_s: float = 30.0,
        supersedes: bool = False,
        lane: Callable[[K], Lane] = lambda _: (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`supersedes`: when a key is handled its delays are void: whoever handles it says when it is due again.
        `lane`: keys of different lanes take turns, so that many of one do not keep one of another waiting. A key that
        is added again while it waits goes to the end of its lane of then, if that is another.
        """
        self._supersedes = supersedes
        self._first_backoff_s, self._longest_backoff_s, self._clock = first_backoff_s, longest_backoff_s, clock
        self._changed = threading.Condition()
        self._lane = lane
        self._ready: _Lanes[K] = _Lanes()
        self._queued: dict[K, float] = {}  # since when: in _ready, or waiting for `done` to get there
        self._active: dict[K, float] = {}  # since when each is worked on
        self._waited: dict[K, float] = {}  # how long the active ones had waited
        self._due: dict[K, float] = {}
        self._later: list[tuple[float, int, K]] = []  # the middle number keeps keys from being compared
        self._count = 0
        self._failures: dict[K, int] = {}
        self._stopped = False
        self.handled = self.retried = 0
        """Number of calls of `done` and `retry`."""

    @property
    def stopped(self) -> bool:
        return self._stopped

    def __len__(self) -> int:
        """Number of keys that wait for a worker now; delayed ones are not counted."""
        with self._changed:
            return len(self._queued)

    def longest_s(self) -> float:
        """How long the oldest of the active keys has been handled; 0 if none is."""
        with self._changed:
            return self._clock() - min(self._active.values()) if self._active else 0.0

    def waited_s(self, key: K) -> float:
        """How long a key that is being handled has waited for its turn."""
        with self._changed:
            return self._waited.get(key, 0.0)

    def add(self, key: K) -> None:
        with self._changed:
            self._add(key)

    def add_after(self, key: K, delay_s: float) -> None:
        """Add `key` after `delay_s`, at most an hour; of several delays of one key the shortest counts."""
        with self._changed:
            if self._stopped:
                return
            if delay_s <= 0:
                self._add(key)
                return
            due = self._clock() + min(delay_s, _LONGEST_DELAY_S)
            if key in self._due and self._due[key] <= due:
                return
            self._due[key] = due
            self._count += 1
            heapq.heappush(self._later, (due, self._count, key))
            if self._later[0][1] == self._count:  # else whoever waits wakes up earlier in any case
                self._changed.notify()

    def retry(self, key: K, longest_backoff_s: float | None = None) -> float:
        """Add `key` after its back-off, which doubles with each retry until `forget`; returns that delay."""
        with self._changed:
            failures = self._failures.get(key, 0)
            self._failures[key] = failures + 1
            self.retried += 1
        delay_s = min(self._first_backoff_s * 2.0 ** min(failures, 32), longest_backoff_s or self._longest_backoff_s)
        self.add_after(key, delay_s)
        return delay_s

    def forget(self, key: K) -> None:
        """The work succeeded: the next `retry` starts with the shortest delay again."""
        with self._changed:
            self._failures.pop(key, None)

    def failures(self, key: K) -> int:
        """Retries since the last `forget`."""
        with self._changed:
            return self._failures.get(key, 0)

    def get(self, timeout: float | None = None) -> K | None:
        """The next key; None when `timeout` seconds have passed or the queue is stopped."""
        with self._changed:
            end = None if timeout is None else self._clock() + timeout
            while True:
                if self._stopped:
                    return None
                now = self._clock()
                self._take_due(now)
                if self._ready:
                    key = self._ready.popleft()
                    self._waited[key] = now - self._queued.pop(key)
                    self._active[key] = now
                    if self._supersedes:
                        self._due.pop(key, None)
                    return key
                if end is not None and now >= end:
                    return None
                waits = [moment - now for moment in (end, self._later[0][0] if self._later else None) if moment]
                self._changed.wait(min(waits) if waits else None)

    def done(self, key: K) -> None:
        with self._changed:
            self._active.pop(key, None)
            self._waited.pop(key, None)
            self.handled += 1
            if key in self._queued:
                self._ready.put(key, self._lane(key))
                self._changed.notify()

    def stop(self) -> None:
        """Wake every `get`; from now on they return None."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def _add(self, key: K) -> None:
        if self._stopped:
            return
        self._queued.setdefault(key, self._clock())
        if key not in self._active:
            self._ready.put(key, self._lane(key))
            self._changed.notify()

    def _take_due(self, now: float) -> None:
        """Then the first of those that are left, if any, is one for which somebody has to wake up."""
        while self._later:
            due, _, key = self._later[0]
            is_void = self._due.get(key) != due  # a shorter delay has replaced it, or the key has been handled
            if due > now and not is_void:
                return
            heapq.heappop(self._later)
            if not is_void:
                del self._due[key]
                self._add(key)


class Workers(Generic[K]):
    """Threads that call `handle` for each key of a queue. Errors of `handle` are logged, and the key is retried.

    A conflict is normal and is retried silently; a refused or unreachable API is one line in the log, any other error a
    traceback.
    """

    def __init__(self, queue: WorkQueue[K], handle: Callable[[K], None], *, name: str, count: int = 1) -> None:
        self._queue, self._handle, self._name = queue, handle, name
        self._threads = [
            threading.Thread(target=self._run, name=f"{name}-{index}", daemon=True) for index in range(count)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    @property
    def dead(self) -> list[str]:
        """Names of the threads that have ended, although nobody stopped them."""
        threads = [] if self._queue.stopped else self._threads
        return [thread.name for thread in threads if thread.ident is not None and not thread.is_alive()]

    def stop(self, timeout_s: float = 10.0) -> None:
        """Stop the queue and wait at most `timeout_s` for the active keys. Safe more than once."""
        self._queue.stop()
        for thread in self._threads:
            if thread.is_alive() and thread is not threading.current_thread():
                thread.join(timeout_s)

    def _run(self) -> None:
        while not self._queue.stopped:
            key = self._queue.get()
            if key is None:
                continue
            try:
                self._handle(key)
            except ConflictError:
                self._queue.retry(key)
            except HpcBatchError as error:
                _LOG.warning("%s: %s: %s; next try in %.2f s", self._name, key, error, self._queue.retry(key))
            except Exception:
                _LOG.exception("%s: %s; next try in %.2f s", self._name, key, self._queue.retry(key))
            else:
                self._queue.forget(key)
            finally:
                self._queue.done(key)
