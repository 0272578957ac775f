"""Which changes of Volcano Jobs and PodGroups lead to a step of the job controller; the others are its own doing, or
counters.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from hpcbatch.api.port import Object

_WAITING: Final = frozenset({"", "Pending"})
"""Phases of a job and of a PodGroup between which no step is due."""


def of_job(job: Object) -> Hashable:
    meta, phase = job["metadata"], ((job.get("status") or {}).get("state") or {}).get("phase", "")
    return meta["uid"], meta.get("generation"), meta.get("deletionTimestamp"), "" if phase in _WAITING else phase


def of_group(group: Object) -> object:
    """While a group waits, why; then only whether that is known. Its generation counts its statuses, too."""
    meta, status = group["metadata"], group.get("status") or {}
    phase = status.get("phase", "")
    reasons = tuple(
        (one.get("message"), one.get("lastTransitionTime"))
        for one in status.get("conditions") or ()
        if one["type"] == "Unschedulable"
    )
    stage = "waits" if phase in _WAITING else "unknown" if phase == "Unknown" else "may start"
    return meta["uid"], group.get("spec"), meta.get("deletionTimestamp"), stage, reasons
