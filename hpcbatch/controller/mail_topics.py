"""What mail is about: jobs and reservations. Which mails are due follows from the record alone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from hpcbatch.api.informer import object_key
from hpcbatch.api.port import Object
from hpcbatch.api.resources import BATCHJOBS, RESERVATIONS, Resource
from hpcbatch.dialects.registry import DIALECTS, door
from hpcbatch.model.mail import Mail
from hpcbatch.model.record import JobRecord
from hpcbatch.record.batchjob import record_from
from hpcbatch.record.reservation import ReservationRecord, reservation_from

KEPT: Final = timedelta(hours=4)
"""After this time since its cause an unsent mail is given up; an older one is never started."""


class Key(NamedTuple):
    """Of an object that mail is about."""

    plural: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{TOPICS[self.plural].noun} {self.namespace}/{self.name}"


class About(NamedTuple):
    """One job or reservation, as far as mail goes."""

    shown_id: str
    owner: str
    """The default address."""
    server: str
    due: list[Mail]
    """The unsent mails, the oldest first."""
    next_look_s: float | None
    """Seconds until time alone makes a mail due; None if it never will."""


class Topic(NamedTuple):
    resource: Resource
    noun: str
    read: Callable[[Object, datetime], About]
    """Raises HpcBatchError for an object that cannot be read."""


def about_job(record: JobRecord, now: datetime) -> About:
    spec, owner = record.spec, f"{record.status.owner}@{record.spec.submit_host}"
    if not spec.mail_points:
        return About(str(record.job_id), owner, spec.server, [], None)
    asked = door(spec.dialect)
    when = asked.next_mail(record, now)
    return About(
        str(record.job_id),
        owner,
        spec.server,
        _unsent(asked.mails(record, now), record.status.mailed, now),
        None if when is None else (when - now).total_seconds(),
    )


def about_reservation(record: ReservationRecord, now: datetime) -> About:
    """It is looked at whenever one of its times comes, so that none of its mails has to wait for a look."""
    spec, status = record.status.granted or record.spec, record.status
    asked = DIALECTS.get(spec.dialect)
    mails = [] if asked is None else asked.reservation_mails(record, now)
    due = _unsent(mails, status.mailed, now)
    return About(status.id, f"{status.owner}@{spec.submit_host}", spec.server, due, None)


def _unsent(mails: list[Mail], mailed: tuple[str, ...], now: datetime) -> list[Mail]:
    return [mail for mail in mails if mail.mail_id not in mailed and now - mail.when <= KEPT]


def job_key(obj: Object) -> Key:
    return Key(BATCHJOBS.plural, *object_key(obj))


def reservation_key(obj: Object) -> Key:
    return Key(RESERVATIONS.plural, *object_key(obj))


TOPICS: Final = {
    BATCHJOBS.plural: Topic(BATCHJOBS, "job", lambda obj, now: about_job(record_from(obj), now)),
    RESERVATIONS.plural: Topic(
        RESERVATIONS, "reservation", lambda obj, now: about_reservation(reservation_from(obj), now)
    ),
}
