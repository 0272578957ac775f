"""Which jobs wait for which: kept from the events of BatchJobs, so that a job's end wakes only its own dependants.

Looking at a job costs one look-up for each open part of its dependency, however many jobs there are.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any

from hpcbatch.api.informer import Informer, object_key
from hpcbatch.api.port import Api, Object, WatchEvent
from hpcbatch.api.resources import BATCHJOBS
from hpcbatch.controller.dependency_entries import (
    Entry,
    Key,
    awaited,
    dependency_of,
    entry_of,
    members_of,
    other_of,
    stage,
    targets_of,
)
from hpcbatch.dialects.registry import door
from hpcbatch.errors import RefusedError
from hpcbatch.model.dependency import COUNTED, MIRROR, DependencyKind, JobRef, Wait
from hpcbatch.model.indices import Indices
from hpcbatch.model.record import JobRecord
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.model.row import parse_time
from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy.dependencies import (
    IndexOutlook,
    Members,
    Other,
    Outlook,
    Rival,
    Verdict,
    find_cycle,
    look,
    look_at_members,
)

AS_BEFORE = {after: before for before, after in MIRROR.items()}
_SHOWN = 100
_MOST_NAMED = 5
"""Unknown jobs that an error names."""
_FOLLOWING = COUNTED | {DependencyKind.AFTER, DependencyKind.AFTER_CORR}
"""What may be met before an array has ended."""
_NEW = 0
"""Placeholder for a job that has no number yet."""


@dataclass(slots=True)
class _Namesakes:
    """The unfinished jobs of one name and user; members of arrays count by their array."""

    numbers: list[int] = field(default_factory=list)
    waiting: list[int] = field(default_factory=list)
    """Those that wait for the others, in order."""
    unadmitted: set[Key] = field(default_factory=set)
    """Unnumbered ones, whose numbers may turn out lower than others'."""


class Dependents:
    """Implements OtherJobs on the BatchJobs. `key_of` finds a job by its number in `batchjobs`; `ended` finds one that
    only the history has, `ended_member` one of an array by its name; `wake` makes the controller look at a job again.
    """

    def __init__(
        self,
        api: Api,
        batchjobs: Informer,
        *,
        key_of: Callable[[int], Key | None],
        ended: Callable[[int], Object | None],
        ended_member: Callable[[int, str], Object | None] = lambda _array, _name: None,
        wake: Callable[[Key], None],
        is_ours: Callable[[Object], bool] = lambda _: True,
    ) -> None:
        """`is_ours`: whether a BatchJob is this controller's, and not another shard's."""
        self._api, self._batchjobs, self._is_ours = api, batchjobs, is_ours
        self._key_of, self._ended, self._ended_member, self._wake = key_of, ended, ended_member, wake
        self._lock = threading.Lock()
        self._entries: dict[Key, Entry] = {}
        self._numbers: dict[int, Entry] = {}
        self._waiters: defaultdict[int, dict[Key, bool]] = defaultdict(dict)
        self._joined: defaultdict[int, dict[Key, list[Wait]]] = defaultdict(dict)
        self._bound: defaultdict[int, set[int]] = defaultdict(set)
        self._namesakes: defaultdict[tuple[str, str], _Namesakes] = defaultdict(_Namesakes)
        self._choosing = threading.Lock()
        self._chosen: set[int] = set()
        self.lookups = 0
        """How often another job was looked at, since the start."""

    # Events

    def on_event(self, event: WatchEvent) -> None:
        """Handle an event of any BatchJob."""
        obj, key = event.object, object_key(event.object)
        new = None if event.type == "DELETED" else entry_of(obj)
        with self._lock:
            old = self._entries.get(key)
            if old is not None and old != new:
                self._take_out(old)
            if new is not None and old != new:
                self._put_in(new)
            if new is None or new.is_over:
                self._chosen.discard(int(obj.get("status", {}).get("jobId", _NEW)))
            woken = set(self._affected(obj, old, new))
        for other in woken - {key}:
            self._wake(other)

    def _put_in(self, entry: Entry) -> None:
        self._entries[entry.key] = entry
        if entry.number is not None:
            self._numbers[entry.number] = entry
        for wait in entry.waits:
            if wait.ref is not None:
                follows = wait.ref.index is not None or wait.kind in _FOLLOWING
                waiters = self._waiters[wait.ref.job_id]
                waiters[entry.key] = waiters.get(entry.key, False) or follows
        for target, wait in targets_of(entry):
            self._joined[target].setdefault(entry.key, []).append(wait)
        for rival in entry.rivals:
            if entry.number is not None:
                self._bound[entry.number].add(rival)
                self._bound[rival].add(entry.number)
        if entry.is_over:
            return
        namesakes = self._namesakes[entry.key[0], entry.name]
        if entry.number is None:
            namesakes.unadmitted.add(entry.key)
            return
        insort(namesakes.numbers, entry.number)
        if entry.is_singleton:
            insort(namesakes.waiting, entry.number)

    def _take_out(self, entry: Entry) -> None:
        self._entries.pop(entry.key, None)
        if entry.number is not None:
            self._numbers.pop(entry.number, None)
        for wait in entry.waits:
            if wait.ref is not None:
                _drop(self._waiters, wait.ref.job_id, entry.key)
        for target, _ in targets_of(entry):
            _drop(self._joined, target, entry.key)
        for rival in entry.rivals:
            self._bound[entry.number or _NEW].discard(rival)
            self._bound[rival].discard(entry.number or _NEW)
        for number in (entry.number or _NEW, *entry.rivals):
            if not self._bound.get(number, True):
                del self._bound[number]
        if entry.is_over:
            return
        place = entry.key[0], entry.name
        namesakes = self._namesakes[place]
        namesakes.unadmitted.discard(entry.key)
        if entry.number is not None:
            _remove(namesakes.numbers, entry.number)
            _remove(namesakes.waiting, entry.number)
        if not (namesakes.numbers or namesakes.unadmitted):
            del self._namesakes[place]

    def _affected(self, obj: Object, old: Entry | None, new: Entry | None) -> Iterator[Key]:
        """The jobs that a change of `obj` may concern."""
        status = obj.get("status", {})
        number = int(status.get("jobId", _NEW))
        if number in self._waiters:
            waiters = self._waiters[number].items()
            if "array" in obj["spec"] and new is not None and not new.is_over:
                yield from (key for key, follows in waiters if follows)
            elif old is None or new is None or stage(old) != stage(new):
                yield from (key for key, _ in waiters)
        if (member := obj["spec"].get("memberOf")) and member["arrayId"] in self._waiters:
            yield from (key for key, follows in self._waiters[member["arrayId"]].items() if follows)
        new_waits = set() if new is None else set(new.waits) - set(() if old is None else old.waits)
        yield from self._keys(wait.ref.job_id for wait in new_waits if wait.ref is not None)
        before = set() if old is None else {target for target, _ in targets_of(old)}
        after = set() if new is None else {target for target, _ in targets_of(new)}
        for target in before ^ after:
            if (key := self._key_of(target)) is not None:
                yield key
        if number in self._bound:
            yield from self._keys(self._set_of(number))
        for place in {(e.key[0], e.name) for e in (old, new) if e is not None and old != new}:
            if (namesakes := self._namesakes.get(place)) is not None and namesakes.waiting:
                yield from self._keys(namesakes.waiting[:1])

    def _keys(self, numbers: Iterable[int]) -> Iterator[Key]:
        return (key for number in numbers if (key := self._key_of(number)) is not None)

    # For the controller

    def look(self, record: JobRecord, now: datetime) -> Outlook | None:
        """See `dependencies.look`; None also for a started job, but not for an array, whose members may still wait."""
        has_begun = record.status.start_time is not None and record.spec.array is None
        if has_begun or record.spec.member_of is not None:
            return None
        if record.spec.dependency is None and record.job_id not in self._bound:
            return None
        if record.job_id not in self._bound and not (record.spec.dependency and record.spec.dependency.rivals):
            return look(record, self, now)
        with self._choosing:  # two jobs that exclude each other are not both chosen
            self._chosen.discard(record.job_id)
            outlook = look(record, self, now)
            if outlook is not None and outlook.verdict is Verdict.MET and not _is_kept_back(record, now):
                self._chosen.add(record.job_id)
            return outlook

    def followers(self, record: JobRecord) -> tuple[str, ...]:
        """The first jobs that wait for this one, as `before…` of it; () where the dialect does not show them."""
        if not door(record.spec.dialect).rules.shows_followers:
            return ()
        with self._lock:
            keys = islice(self._waiters.get(record.job_id, ()), _SHOWN)
            entries = [entry for key in keys if (entry := self._entries.get(key)) is not None]
        waits = (
            (AS_BEFORE[wait.kind], entry.number)
            for entry in entries
            for wait in entry.waits
            if wait.ref == JobRef(job_id=record.job_id) and wait.kind in AS_BEFORE and not wait.is_not
        )
        return tuple(dict.fromkeys(f"{kind}:{number}" for kind, number in waits))

    def look_at_members(self, record: JobRecord) -> IndexOutlook:
        """See `dependencies.look_at_members`."""
        array, requested = record.status.array, record.spec.array
        pending = array.pending if array is not None else Indices() if requested is None else requested.indices
        return look_at_members(record, pending, self)

    def check_known(self, record: JobRecord) -> None:
        """Raises RefusedError for a dependency on a job that nobody knows, where the dialect refuses that."""
        dependency, progress = record.spec.dependency, record.status.dependency
        if dependency is None or not door(record.spec.dialect).rules.refuses_unknown_dependency:
            return
        met = () if progress is None else progress.met
        refs = dict.fromkeys(wait.ref for wait in dependency.waits if wait.ref is not None and str(wait) not in met)
        if unknown := [str(ref) for ref in refs if self.find(ref) is None]:
            shown = ", ".join(unknown[:_MOST_NAMED]) + ", …" * (len(unknown) > _MOST_NAMED)
            raise RefusedError(RefusalCode.BAD_DEPENDENCY, f"no such job: {shown}")

    def check_no_cycle(self, record: JobRecord) -> None:
        """Check a job with a new dependency or name. Raises RefusedError (BAD_DEPENDENCY for a job that would wait for
        itself, CIRCULAR_DEPENDENCY).
        """
        dependency = record.spec.dependency
        if dependency is None:
            return
        named = [wait.ref.job_id for wait in (*dependency.waits, *dependency.befores) if wait.ref is not None]
        own = list(awaited(dependency.waits))
        behind = list(awaited(dependency.befores))
        if record.job_id in named:
            raise RefusedError(RefusalCode.BAD_DEPENDENCY, f"job {record.job_id} cannot depend on itself")
        is_singleton = any(wait.kind is DependencyKind.SINGLETON for wait in dependency.waits)

        def targets(number: int) -> Iterator[int]:
            if number == record.job_id:
                yield from own
                if is_singleton:
                    yield from self._earlier((record.namespace, record.spec.name), number)
                yield from (w.ref.job_id for w in self.joined(number) if w.ref is not None)
                return
            if number in behind:
                yield record.job_id
            with self._lock:
                entry = self._numbers.get(number)
            if entry is None or entry.is_over:
                return
            yield from awaited(entry.waits)
            if entry.is_singleton:
                yield from self._earlier((entry.key[0], entry.name), number)

        if way := find_cycle(record.job_id, targets):
            shown = [f"job {number}" for number in way[1:-1]]
            text = ", which waits for ".join([*shown, "this one"])
            raise RefusedError(RefusalCode.CIRCULAR_DEPENDENCY, f"it would wait for {text}")

    def _earlier(self, place: tuple[str, str], number: int) -> list[int]:
        with self._lock:
            namesakes = self._namesakes.get(place)
            return [] if namesakes is None else namesakes.numbers[: bisect_left(namesakes.numbers, number)]

    # For an evaluation

    def find(self, ref: JobRef, *, is_all_begun: bool = False) -> Other | None:
        obj = self._object(ref.job_id)
        if obj is None:
            return None
        if "array" not in obj["spec"]:
            return None if ref.index is not None else other_of(obj)
        if ref.index is not None:
            return self._member(obj, ref.index)
        whole = other_of(obj, is_array=True)
        if is_all_begun and whole.ended_at is None:
            return Other(started_at=self._last_start(obj), is_array=True)
        return whole

    def members(self, job_id: int, *, with_states: bool = False) -> Members | None:
        obj = self._object(job_id)
        if obj is None or "array" not in obj["spec"]:
            return None
        return members_of(obj, self._active(obj) if with_states else ())

    def _active(self, array: Object) -> Iterator[Object | None]:
        """The records of the members that the array has not counted as ended; None: it is just being made."""
        for index in Indices.parse(array["status"].get("array", {}).get("active", "")):
            yield self._batchjobs.get(array["metadata"]["namespace"], f"{array['metadata']['name']}-{index}")

    def has_earlier(self, record: JobRecord) -> bool:
        self.lookups += 1
        with self._lock:
            found = self._namesakes.get((record.namespace, record.spec.name))
            if found is None:
                return False
            unadmitted = found.unadmitted - {(record.namespace, record.object_name)}
            return bool(unadmitted) or bool(found.numbers and found.numbers[0] < record.job_id)

    def joined(self, job_id: int) -> Sequence[Wait]:
        with self._lock:
            return [wait for waits in self._joined.get(job_id, {}).values() for wait in waits]

    def refuses(self, record: JobRecord, wait: Wait) -> str:
        if wait.ref is None:
            return ""
        shown = f"Dependency request for job rejected by {wait.ref}.{record.spec.server}"
        obj = self._object(wait.ref.job_id)
        if obj is None:
            return f"{shown} Unknown Job Id"
        if obj["metadata"]["namespace"] != record.namespace:
            return f"{shown} Unauthorized Request"
        if wait.kind is DependencyKind.RUN_ONE:
            return "" if self._is_ours(obj) else f"{shown} Invalid Job Dependency: its queue is in another shard"
        if JobState(obj["status"]["state"]).is_final:
            return f"{wait.ref}.{record.spec.server} Finished job did not satisfy dependency"
        wanted = sum(wait.count for wait in dependency_of(obj).waits if wait.kind is DependencyKind.ON)
        return "" if len(self.joined(wait.ref.job_id)) < wanted else f"{shown} Invalid Job Dependency"

    def rivals(self, record: JobRecord) -> Sequence[Rival]:
        with self._lock:
            waits = [] if record.spec.dependency is None else record.spec.dependency.rivals
            named = {wait.ref.job_id for wait in waits if wait.ref is not None}
            numbers = {other for number in (record.job_id, *named) for other in self._set_of(number)} | named
        found = ((number, self._object(number)) for number in sorted(numbers - {record.job_id}))
        return [
            self._rival(number, obj)
            for number, obj in found
            if obj is not None and obj["metadata"]["namespace"] == record.namespace
        ]

    def _set_of(self, number: int) -> set[int]:
        """All jobs that `runone` binds to this one, itself included."""
        found, new = {number}, [number]
        while new:
            for other in self._bound.get(new.pop(), ()):
                if other not in found:
                    found.add(other)
                    new.append(other)
        return found

    def _rival(self, number: int, obj: Object) -> Rival:
        status = obj["status"]
        state, has_begun = JobState(status["state"]), "startTime" in status
        is_free = status.get("reason") == Reason.DEPENDENCY and not status.get("dependency", {}).get("left")
        return Rival(
            job_id=number,
            is_chosen=not state.is_final and (has_begun or bool(status.get("volcanoJob")) or number in self._chosen),
            has_run=state.is_final and has_begun,
            may_run=state is JobState.QUEUED or (state is JobState.HELD and is_free),
        )

    def _object(self, number: int) -> Object | None:
        """A job from the cache, else from the API or the history."""
        self.lookups += 1
        key = self._key_of(number)
        if key is not None and (obj := self._batchjobs.get(*key)) is not None:
            return obj
        for obj in self._api.list(BATCHJOBS, fields=f"status.jobId={number}").items:
            return obj
        return self._ended(number)

    def _member(self, array: Object, index: int) -> Other | None:
        """A member by its own record, else by its array's."""
        if index not in Indices.parse(array["spec"]["array"]["indices"]):
            return None
        status = array["status"].get("array", {})
        name = f"{array['metadata']['name']}-{index}"
        own = self._batchjobs.get(array["metadata"]["namespace"], name)
        if own is not None and "state" in own.get("status", {}):
            return other_of(own)
        began = parse_time(array["status"].get("startTime"))
        ended = (
            parse_time(array["status"].get("endTime")) or began or parse_time(array["metadata"]["creationTimestamp"])
        )
        if index in Indices.parse(status.get("succeeded", "")):
            return Other(started_at=began, ended_at=ended, is_ok=True)
        is_deleted = index in Indices.parse(status.get("deleted", ""))
        if not is_deleted and index not in Indices.parse(status.get("failed", "")):
            return Other()
        if (own := self._ended_member(int(array["status"]["jobId"]), name)) is not None:
            return other_of(own)  # with its exit code
        return Other(started_at=None if is_deleted else began, ended_at=ended, never_ran=is_deleted)

    def _last_start(self, array: Object) -> datetime | None:
        """When the array's last member started; None while one has not."""
        status = array["status"].get("array")
        if status is None or status.get("pending"):
            return None
        starts = [parse_time(array["status"].get("startTime"))]
        for index in Indices.parse(status.get("active", "")):
            member = self._batchjobs.get(array["metadata"]["namespace"], f"{array['metadata']['name']}-{index}")
            start = None if member is None else member.get("status", {}).get("startTime")
            if start is None:
                return None
            starts.append(parse_time(start))
        return max((start for start in starts if start is not None), default=None)


def _is_kept_back(record: JobRecord, now: datetime) -> bool:
    begin = record.spec.begin_time
    return record.spec.hold or bool(record.spec.admin_holds) or (begin is not None and begin > now)


def _drop(table: defaultdict[int, Any], number: int, key: Key) -> None:
    if number in table:
        table[number].pop(key, None)
        if not table[number]:
            del table[number]


def _remove(numbers: list[int], number: int) -> None:
    place = bisect_left(numbers, number)
    if place < len(numbers) and numbers[place] == number:
        del numbers[place]
