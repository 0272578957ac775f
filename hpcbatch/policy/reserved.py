"""Jobs and the reservations that they run in: who may, and what becomes of them when that ends. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta

from hpcbatch.dataclass import replace
from hpcbatch.errors import RefusedError
from hpcbatch.model.record import JobRecord
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.model.reservation import ReservationSpec
from hpcbatch.model.row import is_reservations_queue, reservation_names
from hpcbatch.model.site import QueueConfig, SiteConfig
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState
from hpcbatch.policy.in_reservations import reservation_of
from hpcbatch.policy.vocabulary import RESERVATION
from hpcbatch.site.identity import Identity
from hpcbatch.typed import Final

_ENDLESS: Final = timedelta(days=5 * 365)
"""How long a reservation lasts that is made of a job without a limit of time. Source: RESV_INFINITY of OpenPBS."""


def check_reservation(
    spec: JobSpec, queue: QueueConfig, site: SiteConfig, owner: Identity, accounts: tuple[str, ...]
) -> None:
    """Raise RefusedError for a reservation that the job names, but may not use. `accounts`: its own and those above."""
    groups = tuple(group for _, group in owner.groups)
    for name in reservation_names(queue.reservation or spec.attributes.get(RESERVATION, "")):
        found = site.reservations.get(name)
        if found is not None and not found.spec.may_use(owner.user, groups, accounts):
            raise RefusedError(RefusalCode.RESERVATION_ACCESS, f"reservation {name} is for others")


def ends_at(record: JobRecord, site: SiteConfig, now: datetime) -> datetime | None:
    """When a running job is ended with its reservation; None: it is not."""
    found = site.reservations.get(reservation_of(record, site))
    if found is None or not found.spec.ends_jobs:
        return None
    return found.end if found.is_on(now) else now


def is_deleted(record: JobRecord, site: SiteConfig, now: datetime) -> bool:
    """Whether the job goes with its reservation, as PBS has it: all of its jobs when it has ended or was removed, those
    that run when one of its times is over.
    """
    if not is_reservations_queue(record.queue):
        return False
    if all(queue.name != record.queue for queue in (*site.queues, *site.operator_queues)):
        return True
    over = ends_at(record, site, now) if record.status.start_time is not None else None
    return over is not None and over <= now and site.reservations[reservation_of(record, site)].is_queue


def spec_of_job(spec: ReservationSpec, record: JobRecord, site: SiteConfig) -> ReservationSpec | None:
    """The reservation `spec` as it is made of a job: of its chunks, for all of its time. None: the job does not run, or
    is in a reservation already. Source: copy_params_from_job() of OpenPBS.
    """
    started, asked = record.status.start_time, record.spec
    if record.status.state is not JobState.RUNNING or started is None or reservation_of(record, site):
        return None
    lasts = _ENDLESS if record.walltime_s is None else timedelta(seconds=record.walltime_s)
    return replace(
        spec,
        start=started,
        end=started + lasts,
        rule="",
        chunks=asked.chunks,
        arrangement=asked.arrangement,
        sharing=asked.sharing,
    )


def made_of(record: JobRecord, site: SiteConfig) -> str:
    """The reservation that was made of the job, into which it has not moved yet; "": there is none."""
    if record.status.state is not JobState.RUNNING or is_reservations_queue(record.queue):
        return ""
    return next((name for name, each in site.reservations.items() if each.spec.job == record.job_id), "")
