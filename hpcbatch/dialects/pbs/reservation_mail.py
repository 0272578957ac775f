"""The mails of PBS about reservations (`pbs_rsub -m`, `-M`), and these options. Source: svr_mailownerResv() of
svr_mail.c, resv_mailAction() of svr_jobfunc.c, verify_value_mailpoints(); OpenPBS 23.06.
"""

from __future__ import annotations

from datetime import datetime

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.mail import Mail
from hpcbatch.record.reservation import ReservationRecord
from hpcbatch.typed import Final

_DEFAULT: Final = "ac"
_CONFIRMED: Final = "Reservation transitioned from state UNCONFIRMED to CONFIRMED"
_BEGUN: Final = "Reservation period starting"
_ENDED: Final = "Reservation period ended"
_REMOVED: Final = "Reservation removed"


def reservation_mails(record: ReservationRecord, now: datetime) -> list[Mail]:
    """All that its story up to now has given cause for, in order, sent or not. As PBS, it says nothing of one that is
    denied, and of a standing one's ends only the last.
    """
    status, spec = record.status, record.status.granted
    if spec is None or status.start is None or status.end is None:
        return []
    points = spec.mail_points or _DEFAULT
    found = []
    if "c" in points and status.confirmed is not None:
        found.append(_mail(record, f"confirm.{int(status.confirmed.timestamp())}", status.confirmed, _CONFIRMED))
    if record.spec.removed_by:
        if "a" in points and status.changed is not None and status.generation == record.generation:
            found.append(_removal(record, status.changed, record.spec.removed_by))
        return found
    if "b" in points and status.start <= now:
        found.append(_mail(record, f"begin.{status.index}", status.start, _BEGUN))
    if status.index == status.count and status.end <= now:
        if "e" in points:
            found.append(_mail(record, "end", status.end, _ENDED))
        if "a" in points:
            found.append(_removal(record, status.end, f"root@{spec.server}"))
    return found


def _removal(record: ReservationRecord, when: datetime, party: str) -> Mail:
    return _mail(record, "abort", when, _REMOVED, f"Requesting party: {party}")


def _mail(record: ReservationRecord, mail_id: str, when: datetime, text: str, more: str = "") -> Mail:
    spec = record.status.granted or record.spec
    shown = f"{record.status.id}.{spec.server}"
    return Mail(
        mail_id=mail_id,
        when=when,
        to=spec.mail_users or (f"{record.status.owner}@{spec.submit_host}",),
        subject=f"PBS RESERVATION {shown}",
        body=f"PBS Reservation Id: {shown}\nReservation Name:   {spec.name or 'NULL'}\n{text}\n{more}\n",
    )


def parse_mail_points(text: str) -> str:
    """`abce`, in any order, or `n`. Raises HpcBatchError."""
    points = text.lstrip()
    if points != "n" and (not points or set(points) - set("abce")):
        raise HpcBatchError(f"{text!r} are no mail points: expected a, b, c and e, or n")
    return points
