"""One watch over HTTP: a stream of JSON lines."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

from hpcbatch.api.port import WatchEvent
from hpcbatch.engine.registry import statuses
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.engine.registry.store import StoreEvent, Subscription
from hpcbatch.engine.registry.watches import visible
from hpcbatch.engine.server.verbs import WatchAnswer
from hpcbatch.errors import GoneError

_WATCH_LIMIT_S = (1800.0, 3600.0)  # a watch without timeoutSeconds ends somewhere in between, as on a real server
_BOOKMARK_S = 60.0
_AGAIN_S = 0.5
_TOGETHER_S = 0.02
_AT_ONCE = 5
"""So many pieces of an answer go out at once, and then one each 20 ms: many small ones cost the engine and its client
more than what is in them.
"""
_RANDOM = random.Random()  # noqa: S311 - spreads load, hides nothing
_BACKLOG = 20000  # events that a slow watcher may fall behind; then it must list again


def line(word: str, value: Any) -> bytes:
    return json.dumps({"type": word, "object": value}, separators=(",", ":")).encode() + b"\n"


def _line_of(word: str, text: str) -> bytes:
    """The same of an object that is JSON already."""
    return f'{{"type":"{word}","object":{text}}}\n'.encode()


class EventStream:
    """Events come in from writers' threads and go out on the loop, several at a time if need be."""

    def __init__(self, registry: Registry, answer: WatchAnswer, loop: asyncio.AbstractEventLoop) -> None:
        self._registry, self._answer, self._loop = registry, answer, loop
        self._pending: deque[tuple[WatchEvent, str, int] | None] = deque()
        """Events with their objects as JSON, "" where that is not at hand, and the revision that must be on disk
        before they go out.
        """
        self._wake = asyncio.Event()
        self._woken = self._awaited = self._stopped = self._closed = False
        self._first = True
        self._subscription: Subscription | None = None

    def subscribe(self) -> None:
        """From any thread. Raises GoneError."""
        answer, store = self._answer, self._registry.store
        with store.disk.at_once(), store.lock:
            self._subscription, present, revision = store.subscribe(
                answer.kind.key, answer.namespace, self._deliver, since=answer.options.since
            )
            for obj in present:
                if answer.matches is None or answer.matches(obj):
                    self._pending.append((WatchEvent("ADDED", obj), "", revision))
            if answer.options.since is None and answer.options.bookmarks:
                self._pending.append((WatchEvent("INITIAL", {"revision": str(revision)}), "", revision))
            if self._closed:  # the client has gone meanwhile
                self._subscription.cancel()
            self._await_disk()

    def close(self) -> None:
        self._closed = True
        if self._subscription is not None:
            self._subscription.cancel()

    def _deliver(self, event: StoreEvent | None) -> None:
        if event is not None:
            seen = visible(event, self._answer.matches)
            if seen is None:
                return
            self._pending.append((seen, event.text, event.revision))
        else:
            self._pending.append(None)
        self._await_disk()

    def _await_disk(self) -> None:
        if not self._awaited:
            self._awaited = True
            self._registry.store.disk.when_written(self._on_written)

    def _on_written(self) -> None:
        self._awaited = False
        if not self._woken:
            self._woken = True
            with contextlib.suppress(RuntimeError):  # the loop is closed: the server has stopped
                self._loop.call_soon_threadsafe(self._wake.set)

    def stop(self) -> None:
        """End the stream at the next opportunity; called on the loop."""
        self._stopped = True
        self._wake.set()

    async def run(self, write: Callable[[bytes], Coroutine[Any, Any, None]]) -> None:
        """Send events until the time is over, the kind is gone or the server stops."""
        options, clock = self._answer.options, self._loop.time
        limit = options.timeout_s or _RANDOM.uniform(*_WATCH_LIMIT_S)
        end = clock() + limit
        bookmark_at = clock() + min(_BOOKMARK_S, max(limit - 1.0, 0.5))
        next_at = clock() - _AT_ONCE * _TOGETHER_S
        while not self._stopped:
            until = min(end, bookmark_at) if options.bookmarks else end
            timer = self._loop.call_at(until, self._wake.set)  # `wait_for` would make a task of each wait
            try:
                await self._wake.wait()
            finally:
                timer.cancel()
            if (early_s := next_at - clock()) > 0 and not self._stopped:
                await asyncio.sleep(early_s)
            next_at = max(next_at, clock() - _AT_ONCE * _TOGETHER_S) + _TOGETHER_S
            self._wake.clear()
            self._woken = False
            if not await self._send(write) or clock() >= end:
                return
            if options.bookmarks and clock() >= bookmark_at:
                revision = self._quiet_revision()
                bookmark_at = clock() + (_BOOKMARK_S if revision else _AGAIN_S)
                if revision:
                    await write(line("BOOKMARK", self._answer.bookmark(revision, False)))

    def _quiet_revision(self) -> str:
        """The present revision; "" if events wait, or if a write is under way: the loop must not wait for its end."""
        lock = self._registry.lock
        if not lock.acquire(blocking=False):
            return ""
        try:
            return "" if self._pending else str(self._registry.store.disk.revision)
        finally:
            lock.release()

    async def _send(self, write: Callable[[bytes], Coroutine[Any, Any, None]]) -> bool:
        """Send what is pending; False if it was the last."""
        if len(self._pending) > _BACKLOG:
            message = "too old resource version: the watcher has fallen too far behind"
            await write(line("ERROR", statuses.status_object(GoneError(410, "Expired", message))))
            return False
        while self._is_ready():
            lines: list[bytes] = []
            while self._is_ready() and len(lines) < 100:
                pending = self._pending.popleft()
                if pending is None:
                    await write(b"".join(lines))
                    return False
                event, text, _ = pending
                if event.type == "INITIAL":
                    lines.append(line("BOOKMARK", self._answer.bookmark(event.object["revision"], True)))
                else:
                    shown = self._answer.render(event.object, self._first)
                    lines.append(
                        _line_of(event.type, text) if text and shown is event.object else line(event.type, shown)
                    )
                    self._first = False
            await write(b"".join(lines))
        return True

    def _is_ready(self) -> bool:
        """Whether there is an event that may go out. Of what is not on disk yet, `_on_written` will tell."""
        if not self._pending:
            return False
        first = self._pending[0]
        return first is None or first[2] <= self._registry.store.disk.revision
