"""What the controller does next with one array. Reads no clock, calls no API.

Members get their own record only when they may run. A member's record is made first, then its index becomes active,
and only then is it admitted: a kill in between neither loses a member nor runs it twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from hpcbatch.dataclass import dataclass, field, replace
from hpcbatch.model.array import MAX_OWN, ArrayStatus
from hpcbatch.model.indices import Indices
from hpcbatch.model.record import JobRecord, JobStatus
from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy.again import counted_again

WINDOW = 50
LEAST_WINDOW = 10
"""At least this many members of an array wait for the scheduler at once, else as many as run, up to WINDOW; the others
are only numbers. Each waiting one costs the scheduler something, and where few run, few start at once."""
OWN_AT_ONCE = 50
_OWN_PAUSE_S = 0.1
"""Records requested for members that may not run yet are made in steps of this many, each of which looks at the array
again: it may have been deleted, or fewer may be requested."""
_NONE = Indices()


@dataclass(frozen=True, slots=True, kw_only=True)
class Unstarted:
    """The state of a member with a record that has not been started."""

    is_held: bool = False
    is_held_by_array: bool = False
    """By a request to the array, which also releases it. Its user's own hold is separate."""
    reason: Reason = Reason.NONE
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """Why no member may start yet, apart from holds and the begin time."""

    state: JobState
    reason: Reason
    message: str = ""
    is_for_all: bool = True
    """Also for members that have a record and wait; else only for those without one."""
    is_for_ever: bool = False
    """The waiting members are to be ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArraySeen:
    record: JobRecord
    now: datetime
    delete_requested: bool = False
    is_suspended: bool = False
    """Running members are stopped, and none is started."""
    requested_deleted: Indices = _NONE
    requested_held: Indices = _NONE
    requested_own: Indices = _NONE
    """These get their own record before they may run, so that they can be altered individually."""
    unstarted: Mapping[int, Unstarted] = field(default_factory=dict)
    started: Indices = _NONE
    """Those that have started and have not ended."""
    running: int = 0
    """Number of members that started and have not ended. Suspended ones don't count against the limit."""
    ended: Mapping[int, JobState] = field(default_factory=dict)
    """The ended members; the status may already count some of them."""
    missing: Indices = _NONE
    """Active members whose record was removed."""
    began: datetime | None = None
    """The earliest start of a member, if known."""
    obstacle: Obstacle | None = None
    ready: Indices | None = None
    """Those whose own dependency is met (aftercorr); None: all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayDecision:
    """The status to write after the records of `make` are made; and the requests to members that have one."""

    status: JobStatus
    make: Indices = _NONE
    kept: Indices = _NONE
    """Those of `make` that are made held: they may not run yet."""
    keeps_number: int | None = None
    """The last of `make`, if no other member is left to be made. Made after the others, it stays the only one, wherever
    a kill comes in between."""
    end: Indices = _NONE
    hold: tuple[int, ...] = ()
    release: tuple[int, ...] = ()
    look_again_s: float | None = None


def decide_array(seen: ArraySeen) -> ArrayDecision:
    """Advance one admitted array by a step. Doing it twice changes nothing more."""
    record, status = seen.record, seen.record.status
    if status.state.is_final or record.spec.array is None:
        return ArrayDecision(status=status)
    requested = record.spec.array
    array = _counted(seen, status.array or ArrayStatus(pending=requested.indices, limit=requested.limit))
    requested_deleted = requested.indices if seen.delete_requested else seen.requested_deleted
    dropped = array.pending & requested_deleted
    array = replace(array, pending=array.pending - dropped, deleted=array.deleted | dropped)
    status = replace(status, array=array, start_time=status.start_time or seen.began)
    if array.is_over:
        return ArrayDecision(status=_ended(seen, status, array))
    is_held = record.spec.hold or bool(record.spec.admin_holds) or seen.is_suspended
    waits = {index: view for index, view in sorted(seen.unstarted.items()) if index in array.active}
    end = array.active & requested_deleted
    if seen.obstacle is not None and seen.obstacle.is_for_ever:
        end |= Indices.of(waits)
    is_behind = seen.obstacle is not None and seen.obstacle.is_for_all
    hold, release, room = _holds(seen, array.limit, waits, is_held=is_held or is_behind)
    begin = record.spec.begin_time
    is_early = begin is not None and begin > seen.now
    make = _NONE
    if not (is_held or is_early or seen.obstacle):
        free = array.pending - seen.requested_held
        make = (free if seen.ready is None else free & seen.ready).take(room)
    requested_own = (array.pending & seen.requested_own) - make
    kept = requested_own.take(min(OWN_AT_ONCE, MAX_OWN - len(seen.unstarted) - len(make)))
    make |= kept
    array = replace(array, pending=array.pending - make, active=array.active | make)
    state, reason, message = _state(seen, status, array, waits, is_held=is_held, is_early=is_early)
    is_eligible = not (is_held or is_early or seen.obstacle)
    status = replace(
        status,
        state=state,
        reason=reason,
        message=message,
        array=array,
        eligible_time=(status.eligible_time or seen.now) if is_eligible or status.start_time else None,
    )
    return ArrayDecision(
        status=status,
        make=make,
        kept=kept,
        keeps_number=make.last if make and not array.pending else None,
        end=end,
        hold=hold,
        release=release,
        look_again_s=_OWN_PAUSE_S
        if len(kept) == OWN_AT_ONCE
        else ((begin - seen.now).total_seconds() if begin is not None and is_early else None),
    )


def _counted(seen: ArraySeen, array: ArrayStatus) -> ArrayStatus:
    """The index sets after this look: members with a record are active, ended ones are in the set of their result."""
    of_state: dict[str, list[int]] = {"succeeded": [], "failed": [], "deleted": []}
    open_ones = array.pending | array.active
    for index, state in seen.ended.items():
        if index in open_ones:
            name = {JobState.FINISHED: "succeeded", JobState.DELETED: "deleted"}.get(state, "failed")
            of_state[name].append(index)
    ended = Indices.of(index for indices in of_state.values() for index in indices) | (seen.missing & open_ones)
    found = array.pending & Indices.of(seen.unstarted)
    array = counted_again(array, Indices.of(seen.unstarted) | seen.started)
    return replace(
        array,
        pending=array.pending - ended - found,
        active=(array.active | found) - ended,
        succeeded=array.succeeded | Indices.of(of_state["succeeded"]),
        failed=array.failed | Indices.of(of_state["failed"]),
        deleted=array.deleted | Indices.of(of_state["deleted"]) | (seen.missing & open_ones),
    )


def _holds(
    seen: ArraySeen, limit: int | None, waits: Mapping[int, Unstarted], *, is_held: bool
) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Which waiting members to hold and to release, and how many more may be made."""
    wanted = {index for index in waits if not is_held and index not in seen.requested_held}
    free = [index for index in wanted if not waits[index].is_held]
    allowed = len(waits) if limit is None else max(0, limit - seen.running)
    # a lowered limit holds the last of the waiting members
    excess = set(sorted(free)[allowed:])
    hold = {index for index, view in waits.items() if not view.is_held and index not in wanted} | excess
    room = allowed - (len(free) - len(excess))
    kept = sorted(index for index in wanted if waits[index].is_held and waits[index].is_held_by_array)
    release = kept[:room]
    waiting = len(free) - len(excess) + len(release)
    window = min(WINDOW, max(LEAST_WINDOW, seen.running))
    more = (window if limit is None else min(window, limit - seen.running)) - waiting
    return tuple(sorted(hold)), tuple(release), max(0, more)


def _state(
    seen: ArraySeen,
    status: JobStatus,
    array: ArrayStatus,
    waits: Mapping[int, Unstarted],
    *,
    is_held: bool,
    is_early: bool,
) -> tuple[JobState, Reason, str]:
    """The state of the array, and why its unstarted members wait."""
    if seen.delete_requested:
        return JobState.EXITING, Reason.NONE, ""
    by_admin = Reason.HELD_BY_ADMIN if seen.record.spec.admin_holds else Reason.HELD_BY_USER
    state, reason, message = JobState.QUEUED, Reason.NONE, ""
    if is_held:
        state, reason = JobState.HELD, by_admin
    elif is_early:
        state, reason = JobState.WAITING, Reason.BEGIN_TIME
    elif seen.obstacle is not None:
        state, reason, message = seen.obstacle.state, seen.obstacle.reason, seen.obstacle.message
    else:
        first = next((view for view in waits.values() if not view.is_held and view.reason is not Reason.STARTING), None)
        if first is not None:
            reason, message = first.reason, first.message
        elif array.pending and not array.pending - seen.requested_held:
            reason = Reason.HELD_BY_USER
        elif array.pending and array.limit is not None and len(array.active) >= array.limit:
            reason = Reason.ARRAY_LIMIT
    if status.start_time is not None:
        state = JobState.SUSPENDED if seen.is_suspended else JobState.RUNNING
    return state, reason, message


def _ended(seen: ArraySeen, status: JobStatus, array: ArrayStatus) -> JobStatus:
    ended = replace(status, end_time=seen.now, message="", eligible_time=status.eligible_time)
    exit_code = None if status.start_time is None else 1
    if seen.delete_requested or not (array.succeeded or array.failed):
        return replace(
            ended, state=JobState.DELETED, reason=Reason.DELETED_BY_USER, exit_code=exit_code, deleted_by=status.owner
        )
    if array.failed or array.deleted:
        count = len(array.failed) + len(array.deleted)
        message = f"{count} of {count + len(array.succeeded)} members did not succeed"
        return replace(ended, state=JobState.FAILED, reason=Reason.NON_ZERO_EXIT, message=message, exit_code=1)
    return replace(ended, state=JobState.FINISHED, reason=Reason.NONE, exit_code=0)
