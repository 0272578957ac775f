"""The loop around `decide_array`: makes the records of members that may run, and counts those that have ended.

Its memory, an array's members by state, follows the events of BatchJobs. So a step costs as much as has changed and
as may wait at once, however many members there are.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

from hpcbatch.api.informer import Informer, object_key
from hpcbatch.api.port import Api, Object, WatchEvent
from hpcbatch.api.resources import BATCHJOBS
from hpcbatch.controller.array_members import (
    Members,
    altered_since,
    array_of,
    gist,
    is_admitted,
    is_member,
    last_altered,
    member_manifest,
    member_name,
    view_of,
)
from hpcbatch.controller.dependency_entries import HELD_BY_ARRAY
from hpcbatch.controller.own_writes import OwnWrites
from hpcbatch.controller.records import record_of, remove, write_status
from hpcbatch.dataclass import replace
from hpcbatch.errors import AlreadyExistsError, ApiError, HpcBatchError, NotFoundError
from hpcbatch.model.array import Array, ArrayStatus
from hpcbatch.model.indices import Indices
from hpcbatch.model.record import JobRecord, JobStatus, Reply
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy.decide_array import ArrayDecision, ArraySeen, Obstacle, decide_array
from hpcbatch.record.batchjob import altered_spec, spec_from_json
from hpcbatch.record.fields import ALTERABLE, OF_SIZE
from hpcbatch.record.state import state_of
from hpcbatch.units import parse_rfc3339

_LOG = logging.getLogger(__name__)
_LEAST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 2.0
_DENIED = frozenset({400, 403, 422})  # a webhook, a quota or a policy refuses it
_DENIED_LOOK_S = 30.0
_FIRST_LOOK_S = 0.5
"""How long a new member waits for the plan until it shows why it does not start yet: an array makes those that are to
start soon.
"""
_BEHIND_LOOK_S = 2.0
"""The same of one behind others that wait, which says so from the start: until it says whether there is more to it."""

_ALTERATION, _OF_ARRAY = "alteration", "array"
"""Key in `status.handled`: an array's last alteration; in a member, the array's alteration that it has taken over."""

Key = tuple[str, str]


class Arrays:
    """`wake` adds a BatchJob's key to the controller's queue, with a delay in seconds; `mail` gets what was written."""

    def __init__(
        self,
        api: Api,
        batchjobs: Informer,
        *,
        take_numbers: Callable[[int], range],
        wake: Callable[[Key, float], None],
        own_writes: OwnWrites,
        mail: Callable[[Object, JobRecord], None],
        plan_decides: Callable[[], bool],
    ) -> None:
        """`plan_decides`: whether jobs start by the plan, which has them looked at then."""
        self._api, self._batchjobs = api, batchjobs
        self._take_numbers, self._wake, self._own_writes = take_numbers, wake, own_writes
        self._mail, self._plan_decides = mail, plan_decides
        self._lock = threading.Lock()
        self._members: dict[Key, Members] = {}

    # Events

    def on_event(self, event: WatchEvent) -> None:
        """Handle an event of any BatchJob."""
        obj, key = event.object, object_key(event.object)
        if "array" in obj["spec"]:
            self._on_array(event.type, key)
        elif (array := array_of(obj)) is not None:
            self._on_member(event.type, array, obj)

    def _on_array(self, what: str, key: Key) -> None:
        with self._lock:
            if what == "DELETED":
                self._members.pop(key, None)

    def _on_member(self, what: str, array: Key, obj: Object) -> None:
        index = obj["spec"]["memberOf"]["index"]
        with self._lock:
            found = self._members.get(array)
            before = None if found is None else found.get(index)
            if what == "DELETED":
                if found is None or before is None:  # counted long ago
                    return
                found.put(index, obj if state_of(obj).is_final else None)
            else:
                found = found or self._members.setdefault(array, Members())
                found.put(index, obj)
            pause_s = found.pause_s
        if before is None or what == "DELETED" or gist(before) != gist(obj):
            self._wake(array, pause_s)

    def alive(self, key: Key) -> Indices:
        """The members of an array that have a record and have not ended."""
        with self._lock:
            members = self._members.get(key)
            return Indices() if members is None else Indices.of((*members.unstarted, *members.started))

    # One array

    def reconcile(
        self, obj: Object, record: JobRecord, obstacle: Obstacle | None = None, ready: Indices | None = None
    ) -> float | None:
        """Bring an admitted array on by a step; returns seconds until the next look, None: the next event suffices.
        `obstacle` and `ready` follow from its dependency.
        """
        key, begun = object_key(obj), time.monotonic()
        seen = self._observe(key, obj, record, obstacle, ready)
        decision = decide_array(seen)
        made, decision = self._make_all(obj, record, decision)
        status = self._carry_over(obj, decision)
        record = replace(record, status=status)
        if status != seen.record.status:
            self._write(key, obj, record)
        self._admit_all(key, record, made)
        self._alter(obj, record)
        self._request(key, decision)
        self._forget(key, status.array)
        with self._lock:
            took_s = time.monotonic() - begun
            self._members[key].pause_s = min(max(_LEAST_PAUSE_S, 4 * took_s), _LONGEST_PAUSE_S)
        return decision.look_again_s

    def _write(self, key: Key, obj: Object, record: JobRecord) -> None:
        """Write the array's status. That leads to a look at it only where it has ended: what else follows from the new
        status is done in the same step.
        """
        write = partial(write_status, self._api, obj, record)
        if record.status.state.is_final:
            self._own_writes.add(write())
            return
        self._mail(self._own_writes.settle_and_wake(key, write, lambda key: self._wake(key, _LEAST_PAUSE_S)), record)

    def _observe(
        self, key: Key, obj: Object, record: JobRecord, obstacle: Obstacle | None, ready: Indices | None
    ) -> ArraySeen:
        deletes = bool(obj["spec"].get("deleteRequested"))
        with self._lock:
            members = self._members.setdefault(key, Members())
            unstarted, started, ended = dict(members.unstarted), tuple(members.started), dict(members.ended)
            running = len(members.started) - len(members.suspended)
            known = len(members.started) + len(unstarted) + len(ended)
            oldest = next(iter(members.started.values()), None)
        starts = [o["status"]["startTime"] for o in (oldest, *ended.values()) if o and "startTime" in o["status"]]
        return ArraySeen(
            record=record,
            now=datetime.now(UTC),
            delete_requested=deletes,
            is_suspended=bool(obj["spec"].get("suspended")),
            # an array can be deleted even if earlier requests are invalid
            requested_deleted=Indices() if deletes else _requested_indices(obj, "deleted"),
            requested_held=Indices() if deletes else _requested_indices(obj, "held"),
            requested_own=Indices() if deletes else _requested_indices(obj, "own"),
            unstarted={index: view_of(member) for index, member in unstarted.items()},
            running=running,
            started=Indices.of(started),
            ended={index: state_of(member) for index, member in ended.items()},
            missing=self._missing(key, record, known),
            began=parse_rfc3339(min(starts)) if starts else None,
            obstacle=obstacle,
            ready=ready,
        )

    def _missing(self, key: Key, record: JobRecord, known: int) -> Indices:
        """Active members whose record somebody removed. They may have run, so they get no new one."""
        active = (record.status.array or ArrayStatus()).active
        if len(active) <= known:
            return Indices()
        with self._lock:
            members = self._members[key]
            have = Indices.of((*members.unstarted, *members.started, *members.ended))
        gone = []
        for index in active - have:
            try:
                self._on_member("ADDED", key, self._api.get(BATCHJOBS, member_name(record.object_name, index), key[0]))
            except NotFoundError:
                gone.append(index)
        if gone:
            _LOG.warning("array %s/%s: the records of members %s were removed", *key, Indices.of(gone))
        return Indices.of(gone)

    def _make_all(
        self, obj: Object, record: JobRecord, decision: ArrayDecision
    ) -> tuple[dict[int, Object | None], ArrayDecision]:
        """The new records, and the decision; limited to these members where a quota or a policy refuses the others."""
        made: dict[int, Object | None] = {}
        for index in decision.make:
            try:
                made[index] = self._make(obj, record, index, decision)
            except ApiError as error:
                array = decision.status.array
                if error.code not in _DENIED or array is None:
                    raise
                rest = decision.make - Indices.of(made)
                array = replace(array, pending=array.pending | rest, active=array.active - rest)
                status = replace(decision.status, reason=Reason.RESOURCES, message=str(error), array=array)
                return made, replace(decision, status=status, look_again_s=_DENIED_LOOK_S)
        return made, decision

    def _make(self, obj: Object, record: JobRecord, index: int, decision: ArrayDecision) -> Object | None:
        manifest = member_manifest(
            obj, record, index, is_kept=index in decision.kept, keeps_number=index == decision.keeps_number
        )
        try:
            return self._api.create(BATCHJOBS, manifest, record.namespace)
        except AlreadyExistsError:
            return None  # before a kill; its event follows

    def _admit_all(self, key: Key, record: JobRecord, made: Mapping[int, Object | None]) -> None:
        """Number the new members in the order of their indices, and those that a kill left without a number."""
        active = (record.status.array or ArrayStatus()).active
        with self._lock:
            members = self._members[key]
            left = {i: o for i, o in members.unstarted.items() if not is_admitted(o) and i not in members.admitted}
            is_behind = self._plan_decides() and any(map(_is_held_back, members.unstarted.values()))
        unnumbered = left | {i: o for i, o in made.items() if o is not None}
        indices = [index for index in sorted(unnumbered) if index in active]
        for index, number in zip(indices, self._take_numbers(len(indices)) if indices else (), strict=True):
            member = unnumbered[index]
            admit = partial(self._admit, member, record, number, is_behind=is_behind)
            written, has_more = self._own_writes.settle(object_key(member), admit)
            is_in_line = state_of(written) is JobState.QUEUED and self._plan_decides()
            first_look_s = _BEHIND_LOOK_S if is_behind else _FIRST_LOOK_S
            self._wake(object_key(member), first_look_s if is_in_line and not has_more else 0.0)
            with self._lock:
                members.admitted.add(index)

    def _alter(self, obj: Object, record: JobRecord) -> None:
        """Apply the array's alterations to the waiting members that have a record; a member that was altered by itself
        gets only the last alteration.
        """
        alteration = record.status.handled.get(_ALTERATION)
        if alteration is None:
            return
        with self._lock:
            waiting = [m for m in self._members[object_key(obj)].unstarted.values() if is_admitted(m)]
        for member in waiting:
            if member["status"].get("handled", {}).get(_OF_ARRAY) == alteration:
                continue
            known, since = record_of(member), altered_since(member, record)
            names = ALTERABLE
            if _ALTERATION in known.status.handled:
                names = last_altered(obj) & ALTERABLE
            altered = {**known.status.altered, **{name: since[name] for name in names & since.keys()}}
            status = replace(
                known.status,
                altered=altered,
                walltime_s=record.status.walltime_s if "walltimeSeconds" in names else known.status.walltime_s,
                full_walltime_s=None if "walltimeSeconds" in names else known.status.full_walltime_s,
                layout=record.status.layout if names & OF_SIZE else known.status.layout,
                licenses=record.status.licenses if names & OF_SIZE else known.status.licenses,
                handled={**known.status.handled, _OF_ARRAY: alteration},
            )
            spec = spec_from_json(altered_spec(member["spec"], altered))
            queue = record.queue if "queue" in names else known.queue
            changed = replace(known, spec=spec, status=status, queue=queue)
            self._own_writes.add(write_status(self._api, member, changed, member["status"].get("volcanoJob", "")))

    def _carry_over(self, obj: Object, decision: ArrayDecision) -> JobStatus:
        """Pass signals, stops and reruns of the whole array on to the running members; returns the updated status."""
        spec, status = obj["spec"], decision.status
        with self._lock:
            running = list(self._members[object_key(obj)].started.values())
        changes: Object = {}
        if (signal := spec.get("signalRequest")) is not None and signal["id"] != status.signalled:
            changes["signalRequest"] = signal
            code, message = ("", "") if running else (RefusalCode.NOT_RUNNING, "no member of the array is running")
            reply = Reply(request_id=signal["id"], code=code, message=message)
            status = replace(status, signalled=signal["id"], answered=reply)
        if status.is_rerunning:
            changes["rerunRequest"] = spec.get("rerunRequest")
            status = replace(status, is_rerunning=False)
        is_suspended = bool(spec.get("suspended"))
        for member in running if changes or "suspended" in spec else ():
            with_array = bool(member["spec"].get("suspended")) and "suspendedRun" not in member["spec"]
            of_array = {"suspended": is_suspended, "suspendedRun": None} if with_array != is_suspended else {}
            self._patch(member, changes | of_array)
        return status

    def _request(self, key: Key, decision: ArrayDecision) -> None:
        with self._lock:
            members = self._members[key]
            ends = [m for index in decision.end if (m := members.unstarted.get(index) or members.started.get(index))]
            holds = [m for index in decision.hold if (m := members.unstarted.get(index))]
            releases = [m for index in decision.release if (m := members.unstarted.get(index))]
        for member in holds:  # before others make room for them
            self._patch(member, {"hold": True}, {HELD_BY_ARRAY: "true"})
        for member in ends:
            if not member["spec"].get("deleteRequested"):
                self._patch(member, {"deleteRequested": True})
        for member in releases:
            self._patch(member, {"hold": False}, {HELD_BY_ARRAY: None})

    def _patch(self, member: Object, spec: Object, notes: Object | None = None) -> None:
        if not spec:
            return
        body: dict[str, Any] = {"spec": spec}
        if notes:
            body["metadata"] = {"annotations": notes}
        try:
            self._api.patch(BATCHJOBS, member["metadata"]["name"], body, member["metadata"]["namespace"])
        except NotFoundError:
            pass  # its own event follows

    def _forget(self, key: Key, array: ArrayStatus | None) -> None:
        """Drop the members that the array has counted."""
        if array is None:
            return
        with self._lock:
            ended = self._members[key].ended
            for index in [index for index in ended if index not in array.pending and index not in array.active]:
                del ended[index]

    # One member

    def check(self, obj: Object) -> None:
        """Remove the record of an unnumbered member if its array does not want it, or did not make it."""
        namespace, member = obj["metadata"]["namespace"], obj["spec"]["memberOf"]
        array = self._batchjobs.get(namespace, member["arrayName"])
        if array is not None and is_member(obj, array):
            record = record_of(array)
            places = record.status.array or ArrayStatus()
            if not record.status.state.is_final and (
                member["index"] in places.pending or member["index"] in places.active
            ):
                return
        remove(self._api, BATCHJOBS, obj["metadata"]["name"], namespace, uid=obj["metadata"]["uid"])

    def _admit(self, obj: Object, array: JobRecord, number: int, *, is_behind: bool) -> Object:
        """The admitted record, with what its array was granted. `is_behind`: others of its array wait for room."""
        granted, altered = array.status, altered_since(obj, array)
        spec = spec_from_json(altered_spec(obj["spec"], altered))
        alteration = granted.handled.get(_ALTERATION)
        status = JobStatus(
            state=JobState.HELD if spec.hold else JobState.QUEUED,
            reason=Reason.HELD_BY_USER if spec.hold else Reason.PRIORITY if is_behind else Reason.NONE,
            owner=granted.owner,
            uid=granted.uid,
            gid=granted.gid,
            home=granted.home,
            groups=granted.groups,
            walltime_s=granted.walltime_s,
            layout=granted.layout,
            licenses=granted.licenses,
            submit_time=granted.submit_time,
            eligible_time=None if spec.hold else granted.eligible_time,
            altered=altered,
            handled={} if alteration is None else {_OF_ARRAY: alteration},
        )
        record = JobRecord(
            job_id=number,
            namespace=array.namespace,
            object_name=obj["metadata"]["name"],
            spec=spec,
            status=status,
            queue=array.queue,
        )
        return write_status(self._api, obj, record)

    def array_of(self, record: JobRecord) -> Array | None:
        """The array of a member; None for any other job. Raises NotFoundError if the array was removed."""
        member = record.spec.member_of
        if member is None:
            return None
        obj = self._batchjobs.get(record.namespace, member.array_name)
        if obj is None:
            obj = self._api.get(BATCHJOBS, member.array_name, record.namespace)
        return spec_from_json(obj["spec"]).array


def _is_held_back(member: Object) -> bool:
    """Whether the plan has let others go before a member, which its next ones cannot overtake."""
    return str((member.get("status") or {}).get("reason", "")) in {Reason.PRIORITY, Reason.RESOURCES}


def _requested_indices(array: Object, name: str) -> Indices:
    try:
        return Indices.parse(array["spec"].get("arrayRequest", {}).get(name, ""))
    except HpcBatchError as error:
        raise HpcBatchError(f"arrayRequest.{name}: {str(error)[:200]}") from None
