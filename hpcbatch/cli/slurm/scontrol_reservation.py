"""`scontrol create|update|delete|show ReservationName=…`: operators make, change and remove reservations."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from hpcbatch.cli.common import Session, complain
from hpcbatch.dialects.slurm.errors import SlurmAnswer, SlurmUsageError
from hpcbatch.errors import AlreadyExistsError, ApiError, ConflictError, ForbiddenError, HpcBatchError
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.dialects.slurm.scontrol_command import ScontrolCommand
    from hpcbatch.record.reservation import ReservationRecord

_INVALID = "Requested reservation is invalid"


def create_reservation(session: Session, words: Sequence[str]) -> int:
    from hpcbatch.api.names import SYSTEM_NAMESPACE
    from hpcbatch.cli.time_zone import zone_name
    from hpcbatch.client.reservations import DeniedReservationError, list_reservations, make_reservation, operators_name
    from hpcbatch.dialects.slurm.reservation_update import (
        NOTE,
        NOTED,
        default_name,
        denial_text,
        new_spec,
        read_reservation,
    )

    asked = read_reservation(words, session.now, "No reservation created.")
    taken = {one.status.id for one in list_reservations(session.api)}
    number = 1
    while not asked.name and default_name(asked, number) in taken:
        number += 1
    name = asked.name or default_name(asked, number)
    spec = new_spec(asked, name=name, zone=zone_name(session.environ), host=session.host, owner=session.user)
    wrong = "Error creating the reservation: "
    if name in taken:
        raise SlurmUsageError(f"{wrong}Duplicate reservation name")
    try:
        make_reservation(session.api, SYSTEM_NAMESPACE, spec, operators_name(name))
    except DeniedReservationError as error:
        complain(f"{wrong}{denial_text(error.denied.code, str(error))}")
        if error.denied.code in NOTED:
            print(NOTE)
        return 1
    except HpcBatchError as error:
        raise _refusal(wrong, error) from None
    print(f"Reservation created: {name}")
    return 0


def update_reservation(session: Session, words: Sequence[str]) -> int:
    from hpcbatch.client.reservations import change_reservation
    from hpcbatch.dialects.slurm.reservation_update import changed_spec, read_reservation

    asked = read_reservation(words, session.now, "No reservation update.")
    if not asked.name:
        raise SlurmUsageError("scontrol: error: Reservation must be given.  No reservation update.")
    wrong = "Error updating the reservation: "
    record = _find(session, asked.name, wrong)
    granted = record.status.granted or record.spec
    if asked.skips:
        text = "Reservation given is not skipable, try deleting instead"
        raise SlurmUsageError(f"{wrong}{text}\nscontrol: hpcbatch: no time of a reservation is left out here")
    start = record.status.start
    spec = changed_spec(
        granted,
        asked,
        [node.name for node in record.status.nodes],
        session.now,
        is_on=start is not None and start <= session.now,
    )
    try:
        change_reservation(session.api, record, spec)
    except HpcBatchError as error:
        raise _refusal(wrong, error) from None
    print("Reservation updated.")
    return 0


def delete_reservation(session: Session, words: Sequence[str]) -> int:
    """Not while jobs run in it, as in Slurm."""
    from hpcbatch.client import listing
    from hpcbatch.client.reservations import remove_reservation, uses
    from hpcbatch.model.state import WAITING

    _, equals, value = words[0].partition("=")
    name = value if equals else words[1] if len(words) > 1 else ""
    wrong = f"delete_reservation {words[0]}: "
    record = _find(session, name, wrong)
    rows = listing.list_rows(session.api, session.namespace, finished=False)
    if any(uses(row, name) and row.state not in WAITING for row in rows):
        raise SlurmUsageError(f"{wrong}Requested reservation is in use")
    try:
        remove_reservation(session.api, record, f"{session.user}@{session.host}")
    except HpcBatchError as error:
        raise _refusal(wrong, error) from None
    return 0


def show_reservations(session: Session, command: ScontrolCommand) -> int:
    from hpcbatch.client.nodes import list_nodes
    from hpcbatch.client.reservations import in_force, list_reservations
    from hpcbatch.dialects.slurm.reservations import NONE, format_reservation

    found = in_force(list_reservations(session.api))
    if command.operand:
        found = [one for one in found if one.id == command.operand]
        if not found:
            raise SlurmAnswer(f"Reservation {command.operand} not found", 1)
    if command.verbose:
        from hpcbatch.dialects.slurm.scontrol_show import format_update

        sys.stdout.write(format_update(session.now, len(found), session.zone, command.time_format))
    if not found:
        sys.stdout.write(NONE)
        return 0
    cpus = {node.name: node.cpus for node in list_nodes(session.api, session.namespace)}
    for one in found:
        text = format_reservation(
            one, cpus, session.now, session.zone, time_format=command.time_format, one_line=command.one_line
        )
        sys.stdout.write(text)
    return 0


def _find(session: Session, name: str, wrong: str) -> ReservationRecord:
    from hpcbatch.client.reservations import NoReservationError, find_reservation

    try:
        return find_reservation(session.api, name)
    except NoReservationError:
        raise SlurmUsageError(f"{wrong}{_INVALID}") from None


def _refusal(wrong: str, error: HpcBatchError) -> HpcBatchError:
    """In Slurm's words."""
    from hpcbatch.client.reservations import DeniedReservationError
    from hpcbatch.dialects.slurm.reservation_update import denial_text

    match error:
        case DeniedReservationError():
            return SlurmUsageError(f"{wrong}{denial_text(error.denied.code, str(error))}")
        case AlreadyExistsError():
            return SlurmUsageError(f"{wrong}Duplicate reservation name")
        case ForbiddenError():
            return SlurmUsageError(f"{wrong}Invalid user id\nscontrol: hpcbatch: {error}")
        case ConflictError():
            return SlurmUsageError(f"{wrong}Requested reservation is in use")
        case ApiError() if error.code == 422:
            return SlurmUsageError(f"{wrong}{_INVALID}\nscontrol: hpcbatch: {error}")
        case _:
            return error
