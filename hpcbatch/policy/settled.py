"""Which of our own writes of a record lead to nothing more."""

from __future__ import annotations

from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy.observed import Decision
from hpcbatch.typed import Final

_SETTLED: Final = frozenset(
    {
        (JobState.QUEUED, Reason.NONE),
        (JobState.QUEUED, Reason.PRIORITY),
        (JobState.QUEUED, Reason.RESOURCES),
        (JobState.QUEUED, Reason.STARTING),
        (JobState.RUNNING, Reason.NONE),
        (JobState.EXITING, Reason.NONE),
    }
)


def is_settled(decision: Decision) -> bool:
    """Whether the same would be decided again on the record as it is written now: what comes next follows from
    something else, such as a pod, the plan or the time. All other writes are looked at again: ends, and what is done
    in steps.
    """
    status = decision.status
    is_step = decision.delete or decision.terminate or decision.give_up or status.is_rerunning
    is_preemption = status.preempted is not None or status.preempting is not None
    return not is_step and not is_preemption and (status.state, status.reason) in _SETTLED
