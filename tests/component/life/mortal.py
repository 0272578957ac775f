"""Parts that are killed between two of their writes, or in the middle of one: done, but never heard of."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

from hpcbatch.api.port import Api, Watch, WatchEvent
from hpcbatch.api.resources import Resource
from hpcbatch.controller.controller import Controller
from hpcbatch.errors import HpcBatchError
from hpcbatch.history.store import HistoryStore
from hpcbatch.model.site import SiteConfig
from tests.waiting import wait_for

_WRITES = frozenset(
    {
        "create",
        "replace",
        "patch",
        "update",
        "delete",
        "bind",
        "record_event",  # of the API
        "put",
        "remove_ended_before",  # of the history
    }
)


class Killed(BaseException):
    """What kill -9 is to a thread: nothing of its code runs any more, but for what `finally` does to its own locks."""


class Fate:
    """The end of a process, at the write number `lives` counted from now: from then on every call of anybody in it ends
    its thread.
    """

    def __init__(self, lives: int, *, is_done_first: bool) -> None:
        self._lives, self._is_done_first = lives, is_done_first
        self._lock = threading.Condition()
        self._writing = 0
        self._watches: list[Watch] = []
        self.died = threading.Event()

    def kill(self) -> None:
        self.died.set()
        with self._lock:
            watches, self._watches = self._watches, []
        for watch in watches:
            watch.close()

    def call(self, method: str, call: Callable[..., Any], args: tuple[Any, ...], more: dict[str, Any]) -> Any:
        if self.died.is_set():
            raise Killed
        if method in _WRITES:
            return self._write(call, args, more)
        answer = call(*args, **more)
        if self.died.is_set():
            raise Killed
        return answer

    def _write(self, call: Callable[..., Any], args: tuple[Any, ...], more: dict[str, Any]) -> Any:
        with self._lock:
            self._lives -= 1
            is_last = self._lives == 0
            self._writing += 1
        try:
            if not is_last:
                answer = call(*args, **more)
            elif self._is_done_first:
                with suppress(HpcBatchError):
                    call(*args, **more)
        finally:
            with self._lock:
                self._writing -= 1
                self._lock.notify_all()
        if is_last:
            self.kill()
        if self.died.is_set():
            raise Killed
        return answer

    def wait_for_writes(self) -> None:
        """Until what other threads had begun to write at the death is done: the next process does not begin before, as
        on a cluster, where it waits for the lease, and on an engine, whose API dies, too.
        """
        with self._lock:
            self._lock.wait_for(lambda: not self._writing, _WRITES_END_WITHIN_S)

    def watch(self, watch: Watch) -> Watch:
        with self._lock:
            self._watches.append(watch)
        if self.died.is_set():
            watch.close()
            raise Killed
        return watch


class Mortal:
    """`target`, an API or a history, as a process with that fate reaches it."""

    def __init__(self, target: Any, fate: Fate) -> None:
        self._target, self._fate = target, fate

    def __getattr__(self, method: str) -> Any:
        call = getattr(self._target, method)
        return lambda *args, **more: self._fate.call(method, call, args, more)

    def feed(self, resource: Resource, on_event: Callable[[WatchEvent], None]) -> Any:
        """It calls in the thread of another process, which does not die of this."""

        def while_alive(event: WatchEvent) -> None:
            if not self._fate.died.is_set():
                with suppress(Killed):
                    on_event(event)

        return self._target.feed(resource, while_alive)

    def watch(self, *args: Any, **more: Any) -> Watch:
        if self._fate.died.is_set():
            raise Killed
        return self._fate.watch(self._target.watch(*args, **more))


_WRITES_END_WITHIN_S = 5.0
_START_ENDS_WITHIN_S = 1.0
"""After a death; a start that takes longer waits for a dead thread."""


class Part(Protocol):
    def start(self) -> None: ...
    def stop(self) -> None: ...


class Succession:
    """One process of a part after the other. `dice` says when each of them dies: at one of its first `lives` writes."""

    def __init__(self, dice: random.Random, make: Callable[[Fate], Part], *, kills: int, lives: int = 80) -> None:
        self._dice, self._make, self._lives = dice, make, lives
        self._left = kills
        self.kills = 0
        self._stopping = threading.Event()
        self._fate: Fate | None = None
        self._thread = threading.Thread(target=self._run, name="succession", daemon=True)
        self._failure: BaseException | None = None

    def start(self) -> None:
        self._thread.start()

    @property
    def is_immortal(self) -> bool:
        """All deaths have been died; the process that runs now stays."""
        assert self._failure is None, self._failure
        return self.kills >= self._left and self._fate is not None and not self._fate.died.is_set()

    def stop(self) -> None:
        self._stopping.set()
        if self._fate is not None:
            self._fate.kill()
        self._thread.join(30)

    def _run(self) -> None:
        while not self._stopping.is_set() and self._failure is None:
            lives = self._dice.randint(1, self._lives) if self.kills < self._left else 1 << 60
            self._fate = Fate(lives, is_done_first=self._dice.random() < 0.5)
            self._live(self._fate)
            self.kills += 1

    def _live(self, fate: Fate) -> None:
        """One process from its start to its death, which may come while it still starts: its start then waits for a
        thread that is dead, where a real process would be gone as a whole.
        """
        started: list[Part] = []

        def start() -> None:
            try:
                part = self._make(fate)
                part.start()
                started.append(part)
            except Killed:
                pass
            except BaseException as error:
                self._failure = error
                fate.kill()

        starting = threading.Thread(target=start, name="starting", daemon=True)
        starting.start()
        fate.died.wait()
        fate.wait_for_writes()
        starting.join(_START_ENDS_WITHIN_S)
        for part in started:
            try:
                part.stop()
            except Killed:
                pass
            except BaseException as error:
                self._failure = error


def controllers(
    api: Api, dice: random.Random, site: SiteConfig, *, kills: int, history: HistoryStore | None = None
) -> Succession:
    """Of hpcbatch, and the step that moves ended jobs to the history with it."""

    def make(fate: Fate) -> Controller:
        store: Any = None if history is None else Mortal(history, fate)
        mortal: Any = Mortal(api, fate)
        return Controller(mortal, site, store)

    return Succession(dice, make, kills=kills)


def is_quiet(error: type[BaseException] | None) -> bool:
    """For threading.excepthook: threads that were killed say nothing."""
    return error is not None and issubclass(error, Killed)


def wait_for_the_last(succession: Succession, limit_s: float) -> None:
    wait_for("the last process of a part", lambda: succession.is_immortal, limit_s)
