"""What keeps a job from the scheduler: a hold, other jobs, its begin time, its deadline."""

from __future__ import annotations

from hpcbatch.dataclass import replace
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy.deadlines import is_too_late, missed
from hpcbatch.policy.dependencies import Outlook, Verdict
from hpcbatch.policy.observed import Decision, Observed
from hpcbatch.policy.statuses import as_ended


def kept_back(seen: Observed) -> Decision | None:
    """The decision for a job that may not start yet: held, waiting for others, or before its time; None if it may."""
    spec, status, outlook = seen.record.spec, seen.record.status, seen.outlook
    if outlook is not None and outlook.verdict is Verdict.NEVER and outlook.kills:
        return Decision(status=as_ended(seen, JobState.DELETED, Reason.DEPENDENCY_NEVER, outlook.message))
    if is_too_late(spec, seen.record.walltime_s, seen.now):
        return Decision(status=as_ended(seen, JobState.TIMEOUT, Reason.DEADLINE, missed(spec)))
    if held_by := hold_reason(spec):
        if status.is_special:
            held_by = Reason.SPECIAL_EXIT
        return Decision(status=replace(status, state=JobState.HELD, reason=held_by, eligible_time=None))
    if status.is_special:
        status = replace(status, is_special=False)
    if outlook is not None and (behind := behind_others(outlook)):
        held = replace(status, state=JobState.HELD, reason=behind, eligible_time=None, message=outlook.message)
        return Decision(status=held, look_again_s=outlook.look_again_s)
    if spec.begin_time is not None and spec.begin_time > seen.now:
        waiting = replace(status, state=JobState.WAITING, reason=Reason.BEGIN_TIME, eligible_time=None)
        return Decision(status=waiting, look_again_s=(spec.begin_time - seen.now).total_seconds())
    return None


def behind_others(outlook: Outlook) -> Reason | None:
    """Why a job waits for others; None if it does not."""
    reasons = {Verdict.WAITS: Reason.DEPENDENCY, Verdict.NEVER: Reason.DEPENDENCY_NEVER}
    return reasons.get(outlook.verdict)


def hold_reason(spec: JobSpec) -> Reason | None:
    """What holds a job, apart from other jobs and the time; None if nothing does. An admin's hold goes first."""
    if spec.admin_holds:
        return Reason.HELD_BY_ADMIN
    return Reason.HELD_BY_USER if spec.hold else None
