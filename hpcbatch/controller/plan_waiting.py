"""The waiting jobs as the plan has them, and the order in which they wait. Jobs by the plan's names for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hpcbatch.controller.claims import Claims
from hpcbatch.controller.groupings import Groupings
from hpcbatch.controller.plan_basis import PlanBasis
from hpcbatch.controller.plan_order import Reordered
from hpcbatch.controller.released import Released
from hpcbatch.controller.short_jobs import note_due
from hpcbatch.dataclass import replace
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.record import JobRecord
from hpcbatch.model.site import QueueConfig
from hpcbatch.policy.plan.snapshot import WaitingJob
from hpcbatch.policy.planned import plan_id, waiting_job


class PlanWaiting:
    def __init__(self, basis: PlanBasis, groupings: Groupings, released: Mapping[str, Released]) -> None:
        self._basis, self._groupings = basis, groupings
        self.jobs: dict[str, WaitingJob] = {}
        self.records: dict[str, JobRecord] = {}
        self.last: set[str] = set()
        """Those that go behind all others: Volcano did not start them."""
        self.claims = Claims(released, self.records)

    def wanted(self, record: JobRecord) -> WaitingJob | None:
        """The job as it is to wait; None: it cannot be planned at all."""
        queue = self._basis.site().queue(record.queue)
        if self._basis.owners.never_because(record) or queue is None or queue.destinations is not None:
            return None
        try:
            return self.planned_as(record, queue, is_last=plan_id(record.job_id) in self.last)
        except (HpcBatchError, ValueError):
            return None

    def put(self, record: JobRecord, wanted: WaitingJob) -> None:
        """`wanted`: what `wanted` has returned for it."""
        job_id, basis = plan_id(record.job_id), self._basis
        self.records[job_id] = record
        self.claims.note(job_id, record if wanted.claim else None)
        if self.jobs.get(job_id) != wanted:
            self.jobs[job_id] = wanted
            note_due(basis.planner, record, basis.site())
            basis.planner.put_waiting(wanted)
            basis.is_changed = True

    def leave(self, job_id: str) -> bool:
        """The job does not wait any more, which the planner is not told here. Whether it did."""
        self.claims.note(job_id, None)
        self.records.pop(job_id, None)
        return self.jobs.pop(job_id, None) is not None

    def if_it_came(self, record: JobRecord) -> WaitingJob | None:
        """The job as it would wait; None: no queue takes it."""
        queue = self._basis.site().queue(record.queue)
        try:
            return None if queue is None else self.planned_as(record, queue)
        except (HpcBatchError, ValueError):
            return None

    def planned_as(self, record: JobRecord, queue: QueueConfig, *, is_last: bool = False) -> WaitingJob:
        basis, site = self._basis, self._basis.site()
        owner, rank, number = basis.owners.owner_of(record, site), basis.order.rank(record), basis.order.number(record)
        preempts, claims = self.claims.rules.preempts(record), not is_last and self.claims.stands(record)
        shapes = self._groupings.shapes(record, basis.shapes.of(record, queue, site), site, basis.now_s)
        return waiting_job(
            *(record, queue, site, owner),
            rank=rank,
            is_last=is_last,
            preempts=preempts,
            claims=claims,
            number=number,
            shapes=shapes,
        )

    # The order

    def ranked(self, now_s: float) -> Reordered:
        """What ranks the waiting jobs are to get is found without the lock: `Reordered.compute`, then `rank_anew`."""
        records, waiting, order = dict(self.records), dict(self.jobs), self._basis.order
        return Reordered(
            ranking=order.at(now_s),
            order=order,
            site=self._basis.site(),
            records=records,
            waiting=waiting,
            last=self.last,
        )

    def rank_anew(self, found: Reordered, now_s: float) -> None:
        """Put the waiting jobs in the order of their ranks as they are now. Nothing changes for the plan where that is
        the order that they have.
        """
        basis, order = self._basis, self._basis.order
        if found.is_other and order.ranking is not None and found.ranking is not None:
            if found.site is not basis.site() or order.ranking is not found.before:
                order.rank_as_of(now_s)  # another site meanwhile: all anew
                self.put_in_order()
            else:
                order.ranking = found.ranking
                jobs = [job for job_id, job in found.jobs.items() if self.jobs.get(job_id) is found.waiting[job_id]]
                self.jobs.update((job.job_id, job) for job in jobs)
                basis.planner.reorder(jobs)
                self.put_in_order(self.jobs.keys() - {job.job_id for job in jobs})
                basis.is_changed = True

    def put_in_order(self, only: Iterable[str] | None = None) -> None:
        """By ranks as they are now, all jobs or those."""
        basis, ranks = self._basis, self._basis.order
        for job_id in tuple(self.jobs if only is None else only):
            record = self.records[job_id]
            order = ranks.place_of(record, basis.site(), ranks.rank(record), is_last=job_id in self.last)
            if order is not None and order != self.jobs[job_id].order:
                self.jobs[job_id] = replace(self.jobs[job_id], order=order)
                basis.planner.put_waiting(self.jobs[job_id])
                basis.is_changed = True
