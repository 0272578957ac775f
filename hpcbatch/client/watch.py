"""Waiting: until a record has changed, until requests have been handled, and for any change of jobs."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from functools import partial

from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import BATCHJOBS
from hpcbatch.errors import (
    ApiError,
    ForbiddenError,
    GoneError,
    HpcBatchError,
    UnauthorizedError,
    UnknownJobError,
    UnreachableError,
)
from hpcbatch.model.state import JobState, Reason
from hpcbatch.record.state import state_of
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.client.listing import Named
    from hpcbatch.model.indices import Indices
    from hpcbatch.model.row import JobRow

SETTLE_S = 2.0
_WATCH_S = 60.0  # a silently dead connection is noticed after this time
_FOLLOW_S = 300.0
_PAUSE_S = 0.2
_PAUSES_S = (0.2, 0.5, 1.0, 2.0, 5.0)
_FEW = 4
"""At most this many of an array's members are watched."""
_BY_HOLD = frozenset({Reason.HELD_BY_USER, Reason.HELD_BY_ADMIN, Reason.SPECIAL_EXIT})


def wait_until(
    api: Api,
    job: Named,
    is_enough: Callable[[Object], bool],
    *,
    seen: Object | None = None,
    timeout_s: float | None = None,
    tell: Callable[[HpcBatchError], None] = lambda _: None,
) -> Object:
    """The BatchJob as soon as `is_enough` is true of it, from the history if it has moved there; on timeout its current
    state. `seen` is the record as last read.

    Waits through outages of API server and network; `tell` gets the first failure of each outage. Raises
    UnknownJobError if the job is gone, ForbiddenError, UnauthorizedError, and the current failure on timeout.
    """
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    obj, is_fresh, failures = seen, seen is not None, 0
    while obj is None or not is_enough(obj):
        left_s = _WATCH_S if deadline is None else min(_WATCH_S, deadline - time.monotonic())
        if obj is not None and left_s <= 0:
            break
        try:
            if obj is not None and is_fresh:
                found = _first(api, job, is_enough, obj["metadata"].get("resourceVersion", ""), left_s)
                if found is not None:
                    return found
            from hpcbatch.client.listing import get_object

            obj, is_fresh, failures = get_object(api, job), True, 0
        except (ForbiddenError, UnauthorizedError):
            raise
        except (ApiError, UnreachableError) as error:
            pause_s = _PAUSE_S if deadline is not None else _PAUSES_S[min(failures, len(_PAUSES_S) - 1)]
            if deadline is not None and time.monotonic() + pause_s >= deadline:
                raise
            if failures == 0:
                tell(error)
            time.sleep(pause_s)
            is_fresh, failures = False, failures + 1
    return obj


def _first(api: Api, job: Named, is_enough: Callable[[Object], bool], version: str, timeout_s: float) -> Object | None:
    """The record once `is_enough` is true; None when it was removed, or the watch ended before."""
    events = _changes(api, job.namespace, version, timeout_s, fields=f"metadata.name={job.object_name}")
    with closing(events):
        for _, obj in events:
            if obj is None or is_enough(obj):
                return obj
    return None


def _changes(
    api: Api, namespace: str | None, version: str, timeout_s: float, *, fields: str = ""
) -> Generator[tuple[str, Object | None]]:
    """Names of changed BatchJobs and their new state; None: removed, or no longer selected by `fields`."""
    watch = api.watch(BATCHJOBS, namespace, fields=fields, resource_version=version, timeout_s=timeout_s)
    try:
        for event in watch:
            if event.type in {"ADDED", "MODIFIED", "DELETED"}:
                yield event.object["metadata"]["name"], None if event.type == "DELETED" else event.object
    finally:
        watch.close()


# Requests


def settle(
    api: Api,
    changed: Sequence[Object],
    members: Sequence[tuple[Object, Indices]] = (),
    *,
    timeout_s: float = SETTLE_S,
) -> None:
    """Wait briefly until the controller has acted on requests, so that the next listing shows it, as on PBS and Slurm.
    No error if it takes longer: the requests are in the records.

    `changed` are the records returned by the requests, `members` arrays with those of their members whose end was
    requested; running members are given this time to begin to end.
    """
    deadline = time.monotonic() + timeout_s
    waits = [(obj, _has_settled) for obj in changed] + [(obj, partial(_none_waits, wanted)) for obj, wanted in members]
    latest = _await_all(api, waits, deadline)
    running = [
        (member, _is_ending)
        for array, (_, wanted) in zip(latest[len(changed) :], members, strict=True)
        for index in (_listed(array, "active") & wanted).take(_FEW)
        if (member := _member(api, array, index)) is not None
    ]
    _await_all(api, running, deadline)


def _await_all(api: Api, waits: Sequence[tuple[Object, Callable[[Object], bool]]], deadline: float) -> list[Object]:
    """The records as last seen."""
    latest = {_key(obj): obj for obj, _ in waits}
    open_by_namespace: dict[str, dict[str, Callable[[Object], bool]]] = {}
    for obj, is_enough in waits:
        if not is_enough(obj):
            namespace, name = _key(obj)
            open_by_namespace.setdefault(namespace, {})[name] = is_enough
    for namespace, waiting in open_by_namespace.items():
        first = latest[namespace, next(iter(waiting))]["metadata"]["resourceVersion"]
        with (
            suppress(HpcBatchError),
            closing(_changes(api, namespace, first, max(0.01, deadline - time.monotonic()))) as events,
        ):
            for name, seen in events:
                if seen is not None and name in waiting:
                    latest[namespace, name] = seen
                if name in waiting and (seen is None or waiting[name](seen)):
                    del waiting[name]
                if not waiting:
                    break
    return [latest[_key(obj)] for obj, _ in waits]


def _key(obj: Object) -> tuple[str, str]:
    return obj["metadata"]["namespace"], obj["metadata"]["name"]


def _member(api: Api, array: Object, index: int) -> Object | None:
    namespace, name = _key(array)
    try:
        return api.get(BATCHJOBS, f"{name}-{index}", namespace)
    except HpcBatchError:
        return None


def _listed(array: Object, name: str) -> Indices:
    from hpcbatch.model.indices import Indices

    return Indices.parse(((array.get("status") or {}).get("array") or {}).get(name, ""))


def _none_waits(wanted: Indices, array: Object) -> bool:
    return not _listed(array, "pending") & wanted


def _is_ending(obj: Object) -> bool:
    state = state_of(obj)
    return state.is_final or state is JobState.EXITING


def _has_settled(obj: Object) -> bool:
    """Whether the state matches the request."""
    spec, status, state = obj["spec"], obj.get("status") or {}, state_of(obj)
    if spec.get("deleteRequested"):
        return _is_ending(obj)
    if "suspended" in spec and state in {JobState.RUNNING, JobState.SUSPENDED}:
        from hpcbatch.record.batchjob import is_suspended

        if state is JobState.SUSPENDED and status.get("reason") == Reason.RESOURCES:
            return True  # it goes on when its CPUs are free again
        return (state is JobState.SUSPENDED) == is_suspended(spec, status.get("runCount", 0))
    is_held = bool(spec.get("hold") or spec.get("adminHolds"))
    if state in {JobState.QUEUED, JobState.WAITING}:
        return not is_held
    # a job that waits for other jobs stays held
    return state is not JobState.HELD or is_held or status.get("reason") not in _BY_HOLD


# Live views


def follow(api: Api, rows: Mapping[str, JobRow]) -> Iterator[JobRow | str]:
    """Every change of the jobs in `rows`, by their objects' names, without end: the new row, or the name of a removed
    record.
    """
    namespaces = {row.namespace for row in rows.values()}
    where = namespaces.pop() if len(namespaces) == 1 else None
    while True:
        with suppress(GoneError):  # a watch too far behind: start over with a listing
            yield from _listed_and_changed(api, where, rows)


def _listed_and_changed(api: Api, where: str | None, rows: Mapping[str, JobRow]) -> Iterator[JobRow | str]:
    """One listing and the changes after it. The server sends unfinished jobs only, so that a long history costs
    nothing; a job that leaves that selection is looked at once more."""
    from hpcbatch.client.listing import UNFINISHED
    from hpcbatch.record.batchjob import shown_record
    from hpcbatch.record.rows import row_of

    listed = api.list(BATCHJOBS, where, fields=UNFINISHED)
    there = {obj["metadata"]["name"]: obj for obj in listed.items}
    for name, row in rows.items():
        yield row_of(shown_record(there[name])) if name in there else _look_at(api, row)
    for name, obj in _changes(api, where, listed.resource_version, _FOLLOW_S, fields=UNFINISHED):
        if name in rows:
            yield _look_at(api, rows[name]) if obj is None else row_of(shown_record(obj))


def listed_and_changed(api: Api, namespace: str, fields: str) -> Iterator[Object]:
    """The BatchJobs of that selection, then each again when it changes, for some minutes."""
    listed = api.list(BATCHJOBS, namespace, fields=fields)
    yield from listed.items
    with suppress(GoneError):
        changes = _changes(api, namespace, listed.resource_version, _FOLLOW_S, fields=fields)
        yield from (obj for _, obj in changes if obj is not None)


def _look_at(api: Api, row: JobRow) -> JobRow | str:
    from hpcbatch.client.listing import get_record
    from hpcbatch.record.rows import row_of

    try:
        return row_of(get_record(api, row))
    except UnknownJobError:
        return row.object_name
