"""Reservations: made, changed and removed as requested, once the controller has decided, and listed."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable
from datetime import datetime

from hpcbatch.api.names import SYSTEM_NAMESPACE
from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import RESERVATIONS
from hpcbatch.errors import ConflictError, ForbiddenError, HpcBatchError, NotFoundError, UnreachableError
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.model.reservation import Denied, ReservationSpec, Reserved
    from hpcbatch.model.row import JobRow, NodeRow
    from hpcbatch.record.reservation import ReservationRecord

_DECIDED_S, _LOOK_S = 20.0, 0.05
_TRIES = 5


class DeniedReservationError(HpcBatchError):
    """The controller does not grant it."""

    def __init__(self, denied: Denied, name: str = "") -> None:
        self.denied, self.name = denied, name
        super().__init__(denied.message or denied.code.value)


class NoReservationError(HpcBatchError):
    """There is none of this name."""


def list_reservations(api: Api) -> list[ReservationRecord]:
    """All that users may know of, but for those that were denied or removed, in the order in which they begin."""
    from hpcbatch.record.reservation import reservation_from

    try:
        objects = api.list(RESERVATIONS).items
    except (ForbiddenError, NotFoundError):
        return []
    found = []
    for obj in objects:
        try:
            record = reservation_from(obj)
        except HpcBatchError:  # of another version; the controller reports it
            continue
        if not record.is_gone:
            found.append(record)
    return sorted(found, key=lambda one: (one.status.start or one.spec.start, one.status.id))


def find_reservation(api: Api, name: str) -> ReservationRecord:
    """By the name by which jobs ask for it. Raises NoReservationError."""
    found = next((one for one in list_reservations(api) if one.status.id == name), None)
    if found is None:
        raise NoReservationError(name)
    return found


def in_force(records: Iterable[ReservationRecord]) -> list[Reserved]:
    return [reserved for record in records if (reserved := record.reserved) is not None]


def make_reservation(api: Api, namespace: str, spec: ReservationSpec, name: str) -> ReservationRecord:
    """Raises DeniedReservationError, and leaves nothing behind then; AlreadyExistsError, ForbiddenError."""
    from hpcbatch.record.reservation import reservation_manifest

    made = api.create(RESERVATIONS, reservation_manifest(spec, name), namespace)
    try:
        record = await_decision(api, made)
    except BaseException:
        _remove(api, made)
        raise
    if record.status.denial is not None:
        _remove(api, made)
        raise DeniedReservationError(record.status.denial, record.status.id)
    return record


def begin_reservation(api: Api, namespace: str, spec: ReservationSpec, name: str) -> Object:
    """Ask for it, and wait for nothing."""
    from hpcbatch.record.reservation import reservation_manifest

    return api.create(RESERVATIONS, reservation_manifest(spec, name), namespace)


def operators_name(name: str) -> str:
    """The object's name of an operator's reservation: so that there is only one of a name."""
    return f"slurm-{hashlib.sha256(name.encode()).hexdigest()[:32]}"


def change_reservation(api: Api, record: ReservationRecord, spec: ReservationSpec) -> ReservationRecord:
    """Raises DeniedReservationError, and puts it back as it was then; ConflictError if another change came between."""
    from hpcbatch.record.reservation import spec_to_json

    before = api.get(RESERVATIONS, record.object_name, record.namespace)["spec"]
    changed = _replace_spec(api, record, before, spec_to_json(spec))
    decided = await_decision(api, changed)
    if decided.status.denial is None:
        return decided
    denied = decided.status.denial
    try:
        _replace_spec(api, record, changed["spec"], before)
    except (ConflictError, NotFoundError):
        pass  # somebody else has changed it since; what is in force stays so in any case
    raise DeniedReservationError(denied)


def _replace_spec(api: Api, record: ReservationRecord, before: Object, spec: Object) -> Object:
    """The controller may write the status meanwhile. ConflictError if the spec is another one than `before`."""
    for left in range(_TRIES, 0, -1):
        current = api.get(RESERVATIONS, record.object_name, record.namespace)
        if current["spec"] != before:
            raise ConflictError(409, "Conflict", f"reservation {record.object_name} has been changed")
        try:
            return api.replace(RESERVATIONS, current | {"spec": spec}, record.namespace)
        except ConflictError:
            if left == 1:
                raise
    raise AssertionError("it is tried once at least")


def remove_reservation(api: Api, record: ReservationRecord, by: str) -> None:
    """`by`, `user@host`, stands in the mail about that, before which the object does not go: the controller removes it.
    Of Slurm's nobody gets mail.
    """
    if record.spec.dialect != "pbs":
        api.delete(RESERVATIONS, record.object_name, record.namespace)
    else:
        api.patch(RESERVATIONS, record.object_name, {"spec": {"removedBy": by}}, record.namespace)


def await_decision(api: Api, obj: Object, timeout_s: float = _DECIDED_S) -> ReservationRecord:
    """The reservation once the controller has looked at this version of it. Raises UnreachableError if it does not."""
    from hpcbatch.record.reservation import reservation_from

    metadata, until = obj["metadata"], time.monotonic() + timeout_s
    while True:
        found = reservation_from(api.get(RESERVATIONS, metadata["name"], metadata["namespace"]))
        if found.status.generation >= int(metadata.get("generation", 1)):
            return found
        if time.monotonic() >= until:
            raise UnreachableError("hpcbatch's controller does not answer")
        time.sleep(_LOOK_S)


def _remove(api: Api, obj: Object) -> None:
    try:
        api.delete(RESERVATIONS, obj["metadata"]["name"], obj["metadata"]["namespace"], uid=obj["metadata"]["uid"])
    except HpcBatchError:
        pass  # the controller removes what it has denied


def is_operators(record: ReservationRecord) -> bool:
    return record.namespace == SYSTEM_NAMESPACE


def with_reserved(nodes: Iterable[NodeRow], reserved: Iterable[Reserved], now: datetime) -> list[NodeRow]:
    """The nodes, with what those are that are reserved now."""
    marks: dict[str, str] = {}
    for one in reserved:
        if one.start <= now < one.end:
            for node in one.nodes:
                if one.spec.is_maintenance or node.name not in marks:
                    marks[node.name] = "maint" if one.spec.is_maintenance else "resv"
    return [node._replace(reserved=marks[node.name]) if node.name in marks else node for node in nodes]


def uses(row: JobRow, name: str) -> bool:
    """Whether the job runs, or is to run, in the reservation."""
    from hpcbatch.model.row import reservation_names

    named = (row.used_reservation,) if row.used_reservation else reservation_names(row.reservation)
    return name in {*named, row.queue}
