"""The records of an array's members: which exist, their states, and how a new one is made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from hpcbatch.api.names import ARRAY_ID_LABEL
from hpcbatch.api.port import Object
from hpcbatch.api.resources import BATCHJOBS
from hpcbatch.controller.dependency_entries import HELD_BY_ARRAY
from hpcbatch.controller.records import owner_reference
from hpcbatch.model.labels import MANAGED_BY
from hpcbatch.model.record import JobRecord
from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy.decide_array import Unstarted
from hpcbatch.record.batchjob import altered_spec
from hpcbatch.record.state import state_of

_OF_THE_ARRAY = frozenset(
    {
        "array",
        "dependency",
        "hold",
        "adminHolds",
        "deleteRequested",
        "suspended",
        "suspendedRun",
        "alteration",
        "rerunRequest",
        "signalRequest",
        "arrayRequest",
    }
)
_STARTED = frozenset({JobState.RUNNING, JobState.SUSPENDED, JobState.EXITING})

Key = tuple[str, str]


@dataclass(slots=True)
class Members:
    """The members of one array that have a record, by index, except those that the array has counted."""

    unstarted: dict[int, Object] = field(default_factory=dict)
    started: dict[int, Object] = field(default_factory=dict)
    suspended: set[int] = field(default_factory=set)
    ended: dict[int, Object] = field(default_factory=dict)
    pause_s: float = 0.02
    """Changes within this time are handled in one step of the array: longer where a step costs more."""
    admitted: set[int] = field(default_factory=set)
    """Members whose record has just been given its number, which its events may not show yet."""

    def put(self, index: int, obj: Object | None) -> None:
        """Store the current `obj`; None if it was deleted. An ended member stays ended."""
        self.unstarted.pop(index, None)
        self.started.pop(index, None)
        self.suspended.discard(index)
        if obj is None or is_admitted(obj):
            self.admitted.discard(index)
        if obj is None:
            return
        state = state_of(obj)
        if state.is_final:
            self.ended[index] = obj
        elif state in _STARTED or "startTime" in obj.get("status", {}):
            self.started[index] = obj
            if state is JobState.SUSPENDED:
                self.suspended.add(index)
        else:
            self.unstarted[index] = obj

    def get(self, index: int) -> Object | None:
        return self.unstarted.get(index) or self.started.get(index) or self.ended.get(index)


def altered_since(member: Object, array: JobRecord) -> Object:
    """What was altered of the array and is missing in the member's spec; a member made later already has it."""
    of_array = {name: value for name, value in array.status.altered.items() if name not in _OF_THE_ARRAY}
    return {name: value for name, value in of_array.items() if member["spec"].get(name) != value}


def last_altered(array: Object) -> frozenset[str]:
    """The fields of the last request to alter the array."""
    request = array["spec"].get("alteration") or {}
    return frozenset([*request.get("fields", ()), *(name.partition(".")[0] for name in request.get("cleared", ()))])


def member_name(array_name: str, index: int) -> str:
    """Name of the BatchJob of one member."""
    return f"{array_name}-{index}"


def member_manifest(
    array: Object, record: JobRecord, index: int, *, is_kept: bool = False, keeps_number: bool = False
) -> Object:
    """Manifest of the BatchJob of one member: the array's spec with its alterations, and the array's Secret.
    With `is_kept` it is held until the array releases it; `keeps_number` is that of model.array.Membership.
    """
    spec = altered_spec(array["spec"], record.status.altered)
    spec = {key: value for key, value in spec.items() if key not in _OF_THE_ARRAY}
    spec["memberOf"] = {"arrayId": record.job_id, "arrayName": record.object_name, "index": index}
    if keeps_number:
        spec["memberOf"]["keepsNumber"] = True
    kept: Object = {"annotations": {HELD_BY_ARRAY: "true"}} if is_kept else {}
    if is_kept:
        spec["hold"] = True
    return {
        "apiVersion": BATCHJOBS.api_version,
        "kind": BATCHJOBS.kind,
        "metadata": {
            "name": member_name(record.object_name, index),
            "labels": {**MANAGED_BY, ARRAY_ID_LABEL: str(record.job_id)},
            "ownerReferences": [owner_reference(array)],
            **kept,
        },
        "spec": spec,
    }


def array_of(obj: Object) -> Key | None:
    """The array that made `obj`; None for any other job, also for one whose user merely claims that it is a member."""
    member = obj["spec"].get("memberOf")
    if member is None or _owner_of(obj) is None:
        return None
    return obj["metadata"]["namespace"], member["arrayName"]


def is_member(obj: Object, array: Object) -> bool:
    owner, member = _owner_of(obj), obj["spec"]["memberOf"]
    return (
        owner is not None
        and owner["uid"] == array["metadata"]["uid"]
        and str(member["arrayId"]) == array.get("status", {}).get("jobId")
        and obj["metadata"]["name"] == member_name(array["metadata"]["name"], member["index"])
        and "array" in array["spec"]
    )


def _owner_of(obj: Object) -> Object | None:
    owners: Iterable[Object] = obj["metadata"].get("ownerReferences", ())
    return next((owner for owner in owners if owner.get("controller") and owner["kind"] == BATCHJOBS.kind), None)


def is_admitted(obj: Object) -> bool:
    return "jobId" in obj.get("status", {})


def view_of(obj: Object) -> Unstarted:
    status = obj.get("status", {})
    return Unstarted(
        is_held=bool(obj["spec"].get("hold")),
        is_held_by_array=HELD_BY_ARRAY in obj["metadata"].get("annotations", {}),
        reason=Reason(status.get("reason", Reason.NONE)),
        message=status.get("message", ""),
    )


def gist(obj: Object) -> tuple[object, ...]:
    """The parts of a member's record that its array depends on."""
    status, spec = obj.get("status", {}), obj["spec"]
    return status.get("state"), status.get("reason"), "startTime" in status, spec.get("hold"), "jobId" in status
