"""Wait for a condition, with a bound; never sleep and hope."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal, TypeVar

T = TypeVar("T")
LONGEST_PAUSE_S = 0.25


def wait_for(
    what: str, condition: Callable[[], T | Literal[False] | None], limit_s: float = 60.0, *, every_s: float = 0.02
) -> T:
    """Ask `condition` again and again until it answers something true, and return that. After a second it is asked ever
    more rarely: it may be a command, and what is waited for needs the CPU.
    """
    began = time.monotonic()
    while True:
        answer = condition()
        if answer:
            return answer
        waited_s = time.monotonic() - began
        if waited_s > limit_s:
            raise AssertionError(f"waited {limit_s:.0f} s in vain for {what}; last answer: {answer!r}")
        time.sleep(max(every_s, min(waited_s / 20, LONGEST_PAUSE_S)))
