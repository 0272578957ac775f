"""The reservations as the plan has them: the times that are next of each."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import Final

from hpcbatch.api.port import Object
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.reservation import Reserved
from hpcbatch.model.row import reservation_names
from hpcbatch.model.state import JobState
from hpcbatch.policy.in_reservations import reservations_of
from hpcbatch.policy.plan.snapshot import Reservation
from hpcbatch.policy.recurrence import times
from hpcbatch.policy.vocabulary import RESERVATION

_AHEAD: Final = 8
"""Times of each that are planned for; the others come when these have passed."""
_GRANTED_S: Final = 30.0


def upcoming(reserved: Reserved, now_s: float, most: int = _AHEAD) -> list[tuple[datetime, datetime]]:
    """Its times from the one that is now or comes next."""
    since = datetime.fromtimestamp(now_s, UTC)
    try:
        found = (time for time in times(reserved.spec, since) if time.start >= reserved.start)
        return [(time.start, time.end) for time in islice(found, most)]
    except HpcBatchError:  # a rule that an older controller took
        return [(reserved.start, reserved.end)] if reserved.end > since else []


def names_in(obj: Object) -> tuple[str, ...]:
    """What may be a reservation's name in a BatchJob: its queue, and what it asks for; that in which it runs, once it
    does.
    """
    status = obj.get("status") or {}
    if used := status.get("reservation"):
        return (used,)
    attributes = {**obj["spec"].get("attributes", {}), **(status.get("altered") or {}).get("attributes", {})}
    return tuple(filter(None, (status.get("queue"), *reservation_names(attributes.get(RESERVATION, "")))))


def is_unended(obj: Object) -> bool:
    state = (obj.get("status") or {}).get("state")
    return state is not None and not JobState(state).is_final


class PlanReservations:
    def __init__(self) -> None:
        self.times: tuple[Reservation, ...] = ()
        self._seen: Mapping[str, Reserved] | None = None
        self._until_s = 0.0
        self._foreseen: dict[str, tuple[Reserved, float]] = {}

    def foresee(self, reserved: Reserved, now_s: float) -> None:
        self._foreseen[reserved.id] = reserved, now_s + _GRANTED_S
        self._until_s = 0.0

    def refresh(self, of_site: Mapping[str, Reserved], now_s: float) -> bool:
        """Whether `times` have changed."""
        if of_site is self._seen and now_s < self._until_s:
            return False
        self._seen = of_site
        for name, (reserved, until_s) in tuple(self._foreseen.items()):
            if until_s <= now_s or of_site.get(name) == reserved:
                del self._foreseen[name]
        in_force = {**of_site, **{name: reserved for name, (reserved, _) in self._foreseen.items()}}
        found = tuple(
            one for name in sorted(in_force) for one in reservations_of(in_force[name], upcoming(in_force[name], now_s))
        )
        ends = [one.end_s for one in found] + [until_s for _, until_s in self._foreseen.values()]
        self._until_s = min(ends, default=float("inf"))
        has_changed = found != self.times
        self.times = found
        return has_changed
