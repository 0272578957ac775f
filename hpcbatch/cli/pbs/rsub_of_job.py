"""Reservations of jobs, which move into them: `pbs_rsub -W qmove=JOB` of what a waiting one requests, `--job JOB` of
what a running one has.
"""

from __future__ import annotations

from collections.abc import Callable

from hpcbatch.cli.common import EndedError, Session
from hpcbatch.dataclass import replace
from hpcbatch.errors import HpcBatchError, UnknownJobError
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.model.record import JobRecord
    from hpcbatch.model.reservation import ReservationSpec
    from hpcbatch.model.row import JobRow
    from hpcbatch.model.spec import JobSpec
    from hpcbatch.record.reservation import ReservationRecord

_FAILED = 2
_PBSE_RESV_FROM_RESVJOB, _PBSE_RESV_FROM_ARRJOB = 15181, 15182


def running_job(session: Session, job_id: str) -> JobRecord:
    """The job of `--job`. Raises PbsError as the server would. Source: req_resvSub() of OpenPBS."""
    from hpcbatch.cli.pbs.common import Jobs
    from hpcbatch.client.records import exactly
    from hpcbatch.dialects.pbs.errors import PBSE_BADSTATE, PBSE_PERM, PBSE_UNKJOBID, PbsError
    from hpcbatch.model.row import is_reservations_queue
    from hpcbatch.model.state import JobState

    try:
        row, members = Jobs(session, [job_id]).target(job_id)
    except UnknownJobError:
        raise PbsError("Unknown Job Id", PBSE_UNKJOBID & 0xFF) from None
    if row.used_reservation or row.reservation or is_reservations_queue(row.queue):
        text = "Reservation may not be created from a job already within a reservation"
        raise PbsError(text, _PBSE_RESV_FROM_RESVJOB & 0xFF)
    if row.array_indices or members is not None:
        raise PbsError("Reservation may not be created from an array job", _PBSE_RESV_FROM_ARRJOB & 0xFF)
    if row.namespace != session.namespace:
        text = "Unauthorized Request\nonly its owner makes a reservation of a job"
        raise PbsError(text, PBSE_PERM & 0xFF)
    record = next(iter(exactly(session.api, session.namespace, row.job_id)), None)
    if record is None or record.status.state is not JobState.RUNNING:
        raise PbsError("Request invalid for state of job", PBSE_BADSTATE & 0xFF)
    return record


class WaitingJob:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._row: JobRow | None = None

    def read(self, job_id: str) -> JobSpec:
        """What it asks for. Raises PbsError if there is none, it does not wait, or it is another user's."""
        from hpcbatch.cli.pbs.common import Jobs
        from hpcbatch.client.records import exactly
        from hpcbatch.dialects.pbs.errors import PBSE_PERM, PbsError
        from hpcbatch.model.state import WAITING

        session = self._session
        try:
            row, members = Jobs(session, [job_id]).target(job_id)
        except UnknownJobError:
            raise PbsError(f"Job {job_id} does not exist", _FAILED) from None
        if row.state not in WAITING or row.array_indices or members is not None:
            raise PbsError("Job not in qmove state", _FAILED)
        if row.namespace != session.namespace:
            text = "Unauthorized Request\nonly its owner makes a reservation of a job"
            raise PbsError(text, PBSE_PERM & 0xFF)
        self._row = row
        record = next(iter(exactly(session.api, session.namespace, row.job_id)), None)
        if record is None:
            raise PbsError(f"Job {job_id} does not exist", _FAILED)
        return record.spec

    def made(self, make: Callable[[ReservationSpec], ReservationRecord], spec: ReservationSpec) -> ReservationRecord:
        """A reservation that begins now or, where not so much is free, when the job was expected to start. Raises
        DeniedReservationError.
        """
        from hpcbatch.client.reservations import DeniedReservationError
        from hpcbatch.model.reservation import Denial

        later = None if self._row is None else self._row.planned_start
        try:
            return make(spec)
        except DeniedReservationError as error:
            if error.denied.code is not Denial.NODES_BUSY or later is None or later <= spec.start:
                raise
        return make(replace(spec, start=later, end=later + spec.duration))

    def move_into(self, made: ReservationRecord) -> None:
        """Raises EndedError if the job cannot be moved, which has started meanwhile: the reservation is removed."""
        from hpcbatch.client.alter import alter
        from hpcbatch.client.reservations import remove_reservation

        session = self._session
        if self._row is None:
            raise AssertionError("no job has been read")

        def into(record: JobRecord) -> JobSpec:
            return replace(record.spec, queue=made.status.id)

        try:
            alter(session.api, self._row, into)
        except HpcBatchError as error:
            remove_reservation(session.api, made, f"{session.user}@{session.host}")
            text = f"pbs_rsub: can't make a reservation with the qmove option\npbs_rsub: hpcbatch: {error}"
            raise EndedError(text, _FAILED) from None
