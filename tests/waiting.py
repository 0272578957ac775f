"""Wait for a condition, with a bound; never sleep and hope."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_for(what: str, condition: Callable[[], T], limit_s: float = 30.0, *, every_s: float = 0.02) -> T:
    """Ask `condition` again and again until it answers something true, and return that."""
    end = time.monotonic() + limit_s
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > end:
            raise AssertionError(f"waited {limit_s:.0f} s in vain for {what}; last answer: {answer!r}")
        time.sleep(every_s)
