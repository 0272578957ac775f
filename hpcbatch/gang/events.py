"""What the job controller says of jobs and queues, as Kubernetes Events."""

from __future__ import annotations

from typing import Final, Protocol

from hpcbatch.api.port import Object

COMPONENT: Final = "vc-controller-manager"
"""The source of the Events: Volcano's own name for its job controller."""


class RecordEvent(Protocol):
    """Writes an Event about an object, or counts up the one that says the same. Never raises: events are extra."""

    def __call__(self, involved: Object, *, type: str, reason: str, message: str, component: str) -> None: ...
