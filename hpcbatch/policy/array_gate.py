"""What an array's dependency means for its members: all wait, some may start, some never will."""

from __future__ import annotations

from datetime import datetime

from hpcbatch.dataclass import dataclass, replace
from hpcbatch.model.indices import Indices
from hpcbatch.model.record import JobRecord, JobStatus
from hpcbatch.model.site import QueueConfig
from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy.decide_array import Obstacle
from hpcbatch.policy.dependencies import IndexOutlook, Outlook, Verdict, dropped, with_followers
from hpcbatch.policy.holds import behind_others
from hpcbatch.policy.routing import RETRY_S, waits_in
from hpcbatch.typed import Protocol


class Dependencies(Protocol):
    """A job's dependency, and the jobs that wait for it."""

    def look(self, record: JobRecord, now: datetime) -> Outlook | None: ...
    def look_at_members(self, record: JobRecord) -> IndexOutlook: ...
    def followers(self, record: JobRecord) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayGate:
    """Effect of an array's dependency: the status to write first, and then which members may start."""

    status: JobStatus
    obstacle: Obstacle | None = None
    ready: Indices | None = None
    """None: all."""
    look_again_s: float | None = None


def array_gate(record: JobRecord, dependencies: Dependencies, now: datetime) -> ArrayGate:
    status, dependency = with_followers(record.status, dependencies.followers(record)), record.spec.dependency
    record = replace(record, status=status)
    outlook = dependencies.look(record, now)
    if outlook is not None:
        status = replace(status, dependency=outlook.progress)
        if outlook.verdict is Verdict.NEVER and outlook.kills:
            has_begun = status.start_time is not None or bool(status.array and status.array.active)
            if not has_begun:
                return ArrayGate(status=dropped(status, outlook, now))
            never = Obstacle(state=JobState.HELD, reason=Reason.DEPENDENCY_NEVER, is_for_ever=True)
            return ArrayGate(status=_without(status), obstacle=never)
        if (behind := behind_others(outlook)) is not None:
            obstacle = Obstacle(state=JobState.HELD, reason=behind, message=outlook.message)
            return ArrayGate(status=status, obstacle=obstacle, look_again_s=outlook.look_again_s)
    if dependency is None or status.array is None:
        return ArrayGate(status=status)
    members = dependencies.look_at_members(record)
    if dependency.kill_if_never:
        status = _without(status, members.never)
    if status.array is None or not status.array.pending or members.ready:
        return ArrayGate(status=status, ready=members.ready)
    is_lost = not status.array.pending - members.never
    reason = Reason.DEPENDENCY_NEVER if is_lost else Reason.DEPENDENCY
    obstacle = Obstacle(state=JobState.HELD, reason=reason, is_for_all=False)
    return ArrayGate(status=status, obstacle=obstacle, ready=members.ready)


def in_route(gate: ArrayGate, queue: QueueConfig | None) -> ArrayGate:
    """`gate` of an array in a routing queue; None: its members may start in its queue."""
    if queue is None or gate.obstacle is not None or gate.status.state.is_final:
        return gate
    waits = Obstacle(state=JobState.QUEUED, reason=Reason.QUEUE_UNAVAILABLE, message=waits_in(queue))
    return replace(gate, obstacle=waits, look_again_s=min(gate.look_again_s or RETRY_S, RETRY_S))


def _without(status: JobStatus, never: Indices | None = None) -> JobStatus:
    """The members that will never start (None: all of them) count as deleted."""
    array = status.array
    if array is None:
        return status
    lost = array.pending if never is None else array.pending & never
    return replace(status, array=replace(array, pending=array.pending - lost, deleted=array.deleted | lost))
