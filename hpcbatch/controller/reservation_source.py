"""The reservations in force: what the status of each Reservation says that was granted."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime

from hpcbatch.api.informer import Informer
from hpcbatch.api.port import Api, WatchEvent
from hpcbatch.api.resources import RESERVATIONS
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.reservation import Reserved
from hpcbatch.record.reservation import ReservationRecord, reservation_from

_LOG = logging.getLogger(__name__)


class ReservationSource:
    """`on_event` is called with each change; the informer's cache has it then."""

    def __init__(self, api: Api, on_event: Callable[[WatchEvent], None]) -> None:
        self.informer = Informer(api, RESERVATIONS, on_event=on_event)
        self._told: set[str] = set()

    @property
    def synced(self) -> threading.Event:
        return self.informer.synced

    def records(self) -> Iterator[ReservationRecord]:
        """Those that can be read; of others the log says why not."""
        for obj in self.informer.items():
            if "deletionTimestamp" in obj["metadata"]:
                continue
            try:
                yield reservation_from(obj)
            except HpcBatchError as error:
                name = f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"
                if name not in self._told:
                    self._told.add(name)
                    _LOG.warning("reservation %s: %s", name, error)

    def in_force(self) -> Mapping[str, Reserved]:
        """By the names by which jobs ask for them. Of two of one name the older one counts."""
        found: dict[str, Reserved] = {}
        for record in sorted(self.records(), key=lambda one: (one.created, one.namespace, one.object_name)):
            if (reserved := record.reserved) is not None:
                found.setdefault(reserved.id, reserved)
        return found


def next_change(reserved: Mapping[str, Reserved], now: datetime) -> float | None:
    """Seconds until one of them begins or ends."""
    times = (time for each in reserved.values() for time in (each.start, each.end))
    return min(((time - now).total_seconds() for time in times if time > now), default=None)
