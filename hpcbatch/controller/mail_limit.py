"""The limit on mails per hour about the jobs of one user."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

_WINDOW_S = 3600.0


class LimitError(Exception):
    """The mail has to wait at least `wait_s` seconds."""

    def __init__(self, wait_s: float) -> None:
        super().__init__(f"wait {wait_s:.0f} s")
        self.wait_s = wait_s


class MailCount:
    """Numbers of mails sent per user; those older than an hour are forgotten."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._sent: dict[str, deque[tuple[float, int]]] = {}

    def add(self, user: str, count: int) -> None:
        self._sent.setdefault(user, deque()).append((self._clock(), count))

    def wait_s(self, user: str, count: int, most: int) -> float:
        """Seconds until `count` more may be sent; 0.0: now. A mail to more than `most` recipients goes out alone."""
        now, sent = self._clock(), self._sent.get(user, deque())
        while sent and sent[0][0] <= now - _WINDOW_S:
            sent.popleft()
        if not sent:
            self._sent.pop(user, None)
            return 0.0
        free, over = now, sum(number for _, number in sent) + count - most
        for when, number in sent:
            if over <= 0:
                break
            free, over = when + _WINDOW_S, over - number
        return free - now
