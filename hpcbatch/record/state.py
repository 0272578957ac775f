"""The state of a BatchJob as JSON. A module of its own: waiting for a job imports nothing else."""

from __future__ import annotations

from collections.abc import Mapping

from hpcbatch.model.state import JobState
from hpcbatch.typed import Any


def state_of(obj: Mapping[str, Any]) -> JobState:
    """The state in a BatchJob's status; a job without one is queued."""
    return JobState((obj.get("status") or {}).get("state", JobState.QUEUED))
