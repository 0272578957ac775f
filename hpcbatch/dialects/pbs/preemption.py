"""Preemption in PBS's words."""

from __future__ import annotations

from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.dialects.pbs.qstat_full import Attributes
    from hpcbatch.model.preemption import PreemptionConfig


def sched_attributes(config: PreemptionConfig) -> Attributes:
    """What qmgr lists of the scheduler; nothing where no queue preempts."""
    if not config.by_queue:
        return []
    return [
        ("preempt_queue_prio", str(config.express_priority)),
        ("preempt_prio", "express_queue, normal_jobs"),
        ("preempt_order", config.order),
        ("preempt_sort", "min_time_since_start"),
    ]
