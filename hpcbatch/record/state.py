"""The state that a BatchJob as JSON is in. Apart from rows and records: what waits for a job looks at nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hpcbatch.model.state import JobState


def state_of(obj: Mapping[str, Any]) -> JobState:
    """What a BatchJob's status says; a job of which nothing has been said yet is queued."""
    return JobState((obj.get("status") or {}).get("state", JobState.QUEUED))
