"""Whether a job that has started runs or stands still, and whether it leaves its CPUs to others meanwhile.

A job is suspended by request, or for another job. Its record says so first, then its processes are stopped, then its
pods give up their CPUs. When it is to go on, it waits until the plan has its CPUs for it; its record says that it takes
them, its pods request them again, and when their nodes have granted that, its processes go on.
"""

from __future__ import annotations

from hpcbatch.dataclass import replace
from hpcbatch.model.preemption import PreemptMode
from hpcbatch.model.record import JobStatus
from hpcbatch.model.row import CPUS_STAY
from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy.observed import Observed
from hpcbatch.policy.preempted import is_grace_over, to_end
from hpcbatch.typed import Final

WAITS: Final = "it goes on when its CPUs are free again"
_TAKES: Final = "it gets its CPUs again"


def is_suspended_for_another(status: JobStatus) -> bool:
    """Whether it was chosen for that."""
    return status.preempted is not None and status.preempted.mode is PreemptMode.SUSPEND


def as_it_stands(seen: Observed, running: JobStatus) -> JobStatus:
    """`running`, as the status of a job that runs or is suspended."""
    before = seen.record.status
    if before.state is JobState.SUSPENDED:
        return _suspended(seen, running)
    is_chosen = is_suspended_for_another(before) and is_grace_over(before, seen.now)
    if is_chosen and seen.why_not_freed and not seen.is_suspended:
        # to stop it would help nobody
        chosen = running.preempted
        if chosen is None or chosen.otherwise is None:
            return replace(_running(running), message=_stay(seen.why_not_freed))
        return to_end(replace(running, preempted=replace(chosen, mode=chosen.otherwise)))
    if is_chosen or seen.is_suspended:
        return _freeing(seen, running)
    return _running(running)


def _suspended(seen: Observed, running: JobStatus) -> JobStatus:
    """Of one that stands still already."""
    before = seen.record.status
    if seen.is_suspended or (before.frees_cpus and seen.why_not_freed):
        return _freeing(seen, running)
    if before.frees_cpus:
        if seen.may_go_on:
            return _still(running, message=_TAKES)
        return _still(running, frees_cpus=True, reason=Reason.RESOURCES, message=WAITS)
    if not seen.has_cpus:
        return _still(running, message=_TAKES)
    return replace(_running(running), preempted=None) if is_suspended_for_another(running) else _running(running)


def _freeing(seen: Observed, running: JobStatus) -> JobStatus:
    if seen.why_not_freed:
        return _still(running, message=_stay(seen.why_not_freed))
    return _still(running, frees_cpus=True)


def _running(running: JobStatus) -> JobStatus:
    return replace(running, state=JobState.RUNNING, reason=Reason.NONE, frees_cpus=False)


def _still(
    running: JobStatus, *, frees_cpus: bool = False, reason: Reason = Reason.NONE, message: str = ""
) -> JobStatus:
    return replace(
        running, state=JobState.SUSPENDED, reason=reason, frees_cpus=frees_cpus, message=message or running.message
    )


def _stay(why: str) -> str:
    return f"{CPUS_STAY}{why}"
