"""Which running jobs may be ended for waiting ones, and how: a site's rules. The words are Slurm's and PBS's."""

from __future__ import annotations

from enum import StrEnum

from hpcbatch.dataclass import dataclass
from hpcbatch.typed import Final

MOST_PRIORITY: Final = 1023
"""Of a queue of PBS."""


class PreemptBy(StrEnum):
    """Slurm's PreemptType."""

    NONE = "none"
    QOS = "qos"  # those of a QOS that is named in another's Preempt, for jobs of that one
    PARTITION_PRIO = "partition_prio"  # those of a partition of a lower PriorityTier


class PreemptMode(StrEnum):
    """What becomes of a job that is preempted."""

    OFF = "off"  # it is not
    CANCEL = "cancel"
    REQUEUE = "requeue"  # one that cannot be queued again is cancelled
    SUSPEND = (
        "suspend"  # it leaves its CPUs to the other; where that is impossible, as REQUEUE of one that may run again
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PreemptionConfig:
    by: PreemptBy = PreemptBy.NONE
    mode: PreemptMode = PreemptMode.OFF
    """Of jobs whose QOS or partition has none of its own."""
    exempt_s: int = 0
    """How long a job runs before it may be preempted; a QOS may have its own time."""
    youngest_first: bool = False
    """Those that started last go first; else those on the fewest nodes. Slurm's PreemptParameters=youngest_first."""
    sends_user_signal: bool = False
    """A job with --signal gets that one, not TERM, when its grace time begins. PreemptParameters=send_user_signal."""
    by_queue: bool = True
    """Whether jobs of queues whose Priority is high enough preempt others. PBS's preemptive_sched."""
    express_priority: int = 150
    """How high: PBS's preempt_queue_prio."""
    order: str = "SCR"
    """How jobs of lower queues make room: PBS's preempt_order, see model.preempt_order."""

    def level(self, queue_priority: int | None) -> int:
        """Of a queue's jobs: they preempt those of lower levels. 0 is that of ordinary queues."""
        is_express = self.by_queue and queue_priority is not None and queue_priority >= self.express_priority
        return queue_priority or 0 if is_express else 0
