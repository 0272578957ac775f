"""Which reservation a job runs in, or may run in, and the reservations as the plan has them. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from datetime import datetime

from hpcbatch.model.record import JobRecord
from hpcbatch.model.reservation import NOT, Flag, Reserved
from hpcbatch.model.row import is_reservations_queue, reservation_names
from hpcbatch.model.site import SiteConfig, Word
from hpcbatch.policy.plan.snapshot import Reservation
from hpcbatch.policy.vocabulary import RESERVATION
from hpcbatch.typed import Final

_CUT_OF_PBS_S: Final = 120.0
"""How much longer than its reservation a job in one of PBS's may take, in seconds: as long as one takes that fills it,
with its start and its end. Real PBS starts none that does not fit, Slurm any.
"""


def reservations_named(record: JobRecord, site: SiteConfig) -> tuple[str, ...]:
    """The reservations in one of which the job is to run, in the order of preference; none: outside of all."""
    if is_reservations_queue(record.queue):
        queue = site.queue(record.queue)
        if queue is not None and queue.reservation:
            return (queue.reservation,)
    asked = record.spec.attributes.get(RESERVATION)
    if not asked:
        return ()
    return tuple(
        name
        for name in reservation_names(asked)
        if site.is_reservation(name) or not any(each.fits(Word.RESERVATION, name) for each in site.translations)
    )


def reservation_of(record: JobRecord, site: SiteConfig) -> str:
    """The reservation in which the job runs, or the first of those in which it may; "": none."""
    if record.status.reservation:
        return record.status.reservation
    return next(iter(reservations_named(record, site)), "")


def to_choose_from(record: JobRecord, site: SiteConfig) -> tuple[str, ...]:
    """Of several that a waiting job names those that there are; if there is none any more, the first one tells that."""
    named = reservations_named(record, site)
    return tuple(name for name in named if name in site.reservations) or named[:1]


def reservations_of(reserved: Reserved, upcoming: Iterable[tuple[datetime, datetime]]) -> Iterator[Reservation]:
    """Each of its times for the plan."""
    spec = reserved.spec

    def some(names: tuple[str, ...], *, denied: bool) -> frozenset[str]:
        return frozenset(name.removeprefix(NOT) for name in names if name.startswith(NOT) is denied)

    for start, end in upcoming:
        yield Reservation(
            name=reserved.id,
            start_s=start.timestamp(),
            end_s=end.timestamp(),
            nodes={node.name: node.amounts for node in reserved.nodes},
            users=some(spec.users, denied=False),
            groups=some(spec.groups, denied=False),
            accounts=some(spec.accounts, denied=False),
            denied_users=some(spec.users, denied=True),
            denied_groups=some(spec.groups, denied=True),
            denied_accounts=some(spec.accounts, denied=True),
            goes_before=spec.is_maintenance,
            may_overlap=spec.is_maintenance or Flag.OVERLAP in spec.flags,
            cuts_s=_CUT_OF_PBS_S if reserved.is_queue else math.inf,
        )
