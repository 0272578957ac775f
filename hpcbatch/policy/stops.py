"""Queues whose jobs operators keep from being started."""

from __future__ import annotations

from hpcbatch.model.queue_switches import Switches
from hpcbatch.model.site import QueueConfig
from hpcbatch.model.state import Reason
from hpcbatch.policy.observed import Waiting


def stopped_because(queue: QueueConfig, switches: Switches) -> Waiting | None:
    """None if the queue's jobs may start, as far as operators say."""
    if queue.name in switches.stopped:
        reason = Reason.QUEUE_UNAVAILABLE if queue.name in switches.disabled else Reason.QUEUE_STOPPED
        return Waiting(reason=reason, message=f"queue {queue.name} is stopped by an operator")
    if switches.is_idle:
        return Waiting(reason=Reason.QUEUE_UNAVAILABLE, message="an operator lets no job start")
    return None
