"""When a scheduler is to be reminded of pods that it may have overlooked."""

from __future__ import annotations

from datetime import datetime, timedelta

from hpcbatch.typed import Final

NOTE: Final = "hpcbatch.io/reminders"
"""Annotation of a PodGroup: how often its scheduler was reminded of its pods. A change of it is the reminder."""
_FIRST_S: Final = 0.5
_LONGEST_S: Final = 60.0


class Reminder:
    """Of one job. First when its pods have waited for a while that a scheduler with room for them does not need, then
    ever more rarely: they may wait for room, too.
    """

    def __init__(self) -> None:
        self._waiting: frozenset[str] = frozenset()
        self._delay_s = _FIRST_S
        self._due = datetime.max

    def is_due(self, waiting: frozenset[str], now: datetime) -> bool:
        """`waiting` are the uids of the pods that have no node, once all of them are there."""
        if not waiting <= self._waiting:
            self._delay_s = _FIRST_S
            self._due = now + timedelta(seconds=_FIRST_S)
        self._waiting = waiting
        if not waiting or now < self._due:
            return False
        self._delay_s = min(2 * self._delay_s, _LONGEST_S)
        self._due = now + timedelta(seconds=self._delay_s)
        return True

    def left_s(self, now: datetime) -> float | None:
        """Seconds to the next; None if no pod waits."""
        return (self._due - now).total_seconds() if self._waiting else None
