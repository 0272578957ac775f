"""A controller that is killed between two of its requests, or in the middle of one: done, but never heard of."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from hpcbatch.api.port import Api, Watch
from hpcbatch.controller.controller import Controller
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.site import SiteConfig
from tests.waiting import wait_for

_WRITES = frozenset({"create", "replace", "patch", "delete"})


class Killed(BaseException):
    """What kill -9 is to a thread: nothing of its code runs any more, but for what `finally` does to its own locks."""


class MortalApi:
    """`api`, until the write number `lives` counted from now; from then on every call of anybody ends its thread."""

    def __init__(self, api: Api, lives: int, *, is_done_first: bool) -> None:
        self._api, self._lives, self._is_done_first = api, lives, is_done_first
        self._lock = threading.Lock()
        self._watches: list[Watch] = []
        self.died = threading.Event()

    def kill(self) -> None:
        self.died.set()
        with self._lock:
            watches, self._watches = self._watches, []
        for watch in watches:
            watch.close()

    def __getattr__(self, method: str) -> Any:
        call = getattr(self._api, method)
        return self._watch if method == "watch" else lambda *args, **more: self._call(method, call, args, more)

    def _call(self, method: str, call: Callable[..., Any], args: tuple[Any, ...], more: dict[str, Any]) -> Any:
        if self.died.is_set():
            raise Killed
        if method in _WRITES:
            with self._lock:
                self._lives -= 1
                is_last = self._lives == 0
            if is_last:
                if self._is_done_first:
                    with suppress(HpcBatchError):
                        call(*args, **more)
                self.kill()
                raise Killed
        answer = call(*args, **more)
        if self.died.is_set():
            raise Killed
        return answer

    def _watch(self, *args: Any, **more: Any) -> Watch:
        if self.died.is_set():
            raise Killed
        watch = self._api.watch(*args, **more)
        with self._lock:
            self._watches.append(watch)
        if self.died.is_set():
            watch.close()
            raise Killed
        return watch


class Succession:
    """One controller after the other on the same API. `dice` says when each of them dies."""

    def __init__(self, api: Api, dice: random.Random, site: SiteConfig, *, kills: int) -> None:
        self._api, self._dice, self._site = api, dice, site
        self._left = kills
        self.kills = 0
        self._stopping = threading.Event()
        self._mortal: MortalApi | None = None
        self._thread = threading.Thread(target=self._run, name="succession", daemon=True)
        self._failure: BaseException | None = None

    def start(self) -> None:
        self._thread.start()

    @property
    def is_immortal(self) -> bool:
        """All deaths have been died; the controller that runs now stays."""
        assert self._failure is None, self._failure
        return self.kills >= self._left and self._mortal is not None and not self._mortal.died.is_set()

    def stop(self) -> None:
        self._stopping.set()
        if self._mortal is not None:
            self._mortal.kill()
        self._thread.join(30)

    def _run(self) -> None:
        while not self._stopping.is_set():
            lives = self._dice.randint(1, 25) if self.kills < self._left else 1 << 60
            self._mortal = MortalApi(self._api, lives, is_done_first=self._dice.random() < 0.5)
            controller = Controller(self._mortal, self._site)
            try:
                controller.start()
                self._mortal.died.wait()
            except Killed:
                pass
            except BaseException as error:
                self._failure = error
                return
            self.kills += 1
            controller.stop()


def is_quiet(error: type[BaseException] | None) -> bool:
    """For threading.excepthook: threads that were killed say nothing."""
    return error is not None and issubclass(error, Killed)


def wait_for_the_last(succession: Succession, limit_s: float) -> None:
    wait_for("the last controller", lambda: succession.is_immortal, limit_s)
