"""What a BatchJob is for the jobs that depend on it, and what it waits for itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hpcbatch.api.informer import object_key
from hpcbatch.api.port import Object
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.dependency import DEPENDENCY, MIRROR, Dependency, DependencyKind, JobRef, Wait
from hpcbatch.model.indices import Indices
from hpcbatch.model.row import parse_time
from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy.dependencies import Ended, Members, Other
from hpcbatch.record.batchjob import altered_spec
from hpcbatch.record.state import state_of

Key = tuple[str, str]
HELD_BY_ARRAY = "hpcbatch.io/held-by-array"
"""Annotation of a member that was held by a request to its array, or since it is not its turn."""


@dataclass(frozen=True, slots=True)
class Entry:
    """The part of a BatchJob that other jobs depend on."""

    key: Key
    number: int | None
    """None: not admitted yet."""
    name: str
    is_over: bool
    has_begun: bool = False
    waits: tuple[Wait, ...] = ()
    """What it still waits for, without `runone`."""
    joins: tuple[Wait, ...] = ()
    """The jobs that accepted its `before…`, with what they wait for now."""
    rivals: tuple[int, ...] = ()

    @property
    def is_singleton(self) -> bool:
        return not self.is_over and any(wait.kind is DependencyKind.SINGLETON for wait in self.waits)


def entry_of(obj: Object) -> Entry | None:
    """None for jobs that nobody waits for by number or name: members, refused jobs, and most ended ones."""
    status, spec = obj.get("status", {}), obj["spec"]
    if "refusal" in status or "memberOf" in spec:  # a member is waited for by its array
        return None
    name = status.get("altered", {}).get("name", spec["name"])
    if "jobId" not in status:
        return Entry(object_key(obj), None, name, False)
    is_over = JobState(status["state"]).is_final
    dependency = dependency_of(obj)
    progress: dict[str, Any] = status.get("dependency", {})
    met = frozenset(progress.get("met", ()))
    is_open = not is_over and ("array" in spec or "startTime" not in status)
    entry = Entry(
        key=object_key(obj),
        number=int(status["jobId"]),
        name=name,
        is_over=is_over,
        has_begun="startTime" in status,
        waits=_open_waits(dependency, progress, met) if is_open else (),
        joins=tuple(wait for wait in dependency.befores if str(wait) in met),
        rivals=tuple(wait.ref.job_id for wait in dependency.rivals if wait.ref is not None and str(wait) in met),
    )
    return None if is_over and not (entry.joins or entry.rivals) else entry


def _open_waits(dependency: Dependency, progress: Mapping[str, Any], met: frozenset[str]) -> tuple[Wait, ...]:
    joined = map(Wait.parse, progress.get("joined", ()))
    return tuple(wait for wait in (*dependency.waits, *joined) if str(wait) not in met)


def dependency_of(obj: Object) -> Dependency:
    """A BatchJob's dependency, as altered."""
    spec = altered_spec(obj["spec"], obj.get("status", {}).get("altered", {}))
    return DEPENDENCY.from_json(spec["dependency"]) if "dependency" in spec else Dependency(clauses=())


def awaited(waits: Iterable[Wait]) -> Iterator[int]:
    """The jobs that have to do something first: not those of which it counts that they do not."""
    return (wait.ref.job_id for wait in waits if wait.ref is not None and not wait.is_not)


def stage(entry: Entry) -> tuple[bool, bool]:
    return entry.is_over, entry.has_begun


def targets_of(entry: Entry) -> Iterator[tuple[int, Wait]]:
    """The jobs that accepted its `before…`, each with what it now waits for."""
    if entry.number is None:
        return
    for wait in entry.joins:
        if wait.ref is not None:
            yield wait.ref.job_id, Wait(kind=MIRROR[wait.kind], ref=JobRef(job_id=entry.number))


def other_of(obj: Object, *, is_array: bool = False) -> Other:
    status = obj["status"]
    state, started_at = JobState(status["state"]), parse_time(status.get("startTime"))
    is_deleted = state is JobState.DELETED
    return Other(
        started_at=started_at,
        ended_at=parse_time(status.get("endTime")) if state.is_final else None,
        is_ok=state is JobState.FINISHED,
        never_ran=is_deleted and started_at is None,
        was_dropped=is_deleted and status.get("reason") == Reason.DEPENDENCY_NEVER,
        is_array=is_array,
        ended=None
        if not state.is_final
        else Ended(
            state=state,
            reason=Reason(status["reason"]),
            exit_code=status.get("exitCode"),
            exit_signal=status.get("exitSignal"),
        ),
    )


def members_of(array: Object, active: Iterable[Object | None]) -> Members:
    """The members of an array; `active` are the records of those that it has not counted as ended."""
    status = array["status"].get("array", {})
    everyone, unmade = Indices.parse(array["spec"]["array"]["indices"]), Indices.parse(status.get("pending", ""))
    all_held = everyone if _is_held(array) else _requested_held(array)
    running = suspended = 0
    held, waiting = len(unmade & all_held), len(unmade - all_held)
    for own in active:
        state = JobState.QUEUED if own is None else state_of(own)
        if state is JobState.SUSPENDED:
            suspended += 1
        elif state in {JobState.RUNNING, JobState.EXITING}:
            running += 1
        elif not state.is_final:
            is_held = own is not None and _is_member_held(own, all_held)
            held, waiting = held + is_held, waiting + (not is_held)
    return Members(
        all=everyone,
        succeeded=Indices.parse(status.get("succeeded", "")),
        failed=Indices.parse(status.get("failed", "")) | Indices.parse(status.get("deleted", "")),
        running=running,
        suspended=suspended,
        held=held,
        waiting=waiting,
    )


def _is_held(obj: Object) -> bool:
    return bool(obj["spec"].get("hold") or obj["spec"].get("adminHolds"))


def _is_member_held(member: Object, all_held: Indices) -> bool:
    """Not if only its array keeps it, since it is not its turn."""
    if member["spec"]["memberOf"]["index"] in all_held:
        return True
    return _is_held(member) and HELD_BY_ARRAY not in (member["metadata"].get("annotations") or {})


def _requested_held(array: Object) -> Indices:
    try:
        return Indices.parse((array["spec"].get("arrayRequest") or {}).get("held", ""))
    except HpcBatchError:  # the array says so itself
        return Indices()
