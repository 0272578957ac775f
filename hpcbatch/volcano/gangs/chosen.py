"""How a Volcano Job says which scheduler gets its pods."""

from __future__ import annotations

from hpcbatch.model.scheduler import Scheduler
from hpcbatch.typed import Any, Final

SCHEDULER: Final = "hpcbatch.io/scheduler"
"""Annotation of a Volcano Job whose pods hpcbatch's controller makes: for which Scheduler."""


def scheduler_of(volcano_job: dict[str, Any]) -> Scheduler:
    """One that says nothing, or what this release does not know, is Volcano's."""
    said = (volcano_job["metadata"].get("annotations") or {}).get(SCHEDULER, "")
    return Scheduler(said) if said in set(Scheduler) else Scheduler.VOLCANO
