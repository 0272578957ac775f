"""Which changes of Volcano Jobs and PodGroups lead to a step of the job controller; the others are its own doing, or
counters.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from hpcbatch.api.informer import object_key
from hpcbatch.api.port import Object, WatchEvent

_WAITING: Final = frozenset({"", "Pending"})
"""Phases of a job and of a PodGroup between which no step is due."""


class News:
    """What was last seen of each object; each kind's facts differ in form from the other's."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str, str], Hashable] = {}

    def is_new(self, event: WatchEvent, facts: Hashable) -> bool:
        """To be asked once for each event."""
        key = (event.object["kind"], *object_key(event.object))
        if event.type == "DELETED":
            self._seen.pop(key, None)
            return True
        before, self._seen[key] = self._seen.get(key), facts
        return facts != before


def of_job(job: Object) -> Hashable:
    meta, phase = job["metadata"], ((job.get("status") or {}).get("state") or {}).get("phase", "")
    return meta["uid"], meta.get("generation"), meta.get("deletionTimestamp"), "" if phase in _WAITING else phase


def of_group(group: Object) -> Hashable:
    """While a group waits, why; then only whether that is known."""
    meta, status = group["metadata"], group.get("status") or {}
    phase = status.get("phase", "")
    reasons = tuple(
        (one.get("message"), one.get("lastTransitionTime"))
        for one in status.get("conditions") or ()
        if one["type"] == "Unschedulable"
    )
    stage = "waits" if phase in _WAITING else "unknown" if phase == "Unknown" else "may start"
    return meta["uid"], meta.get("generation"), meta.get("deletionTimestamp"), stage, reasons
