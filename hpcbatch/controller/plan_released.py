"""The released jobs as the plan has them: those that run or are about to, are suspended, or are not started by Volcano.
Jobs by the plan's names for them.
"""

from __future__ import annotations

from collections.abc import Iterator

from hpcbatch.controller.going_on import GoingOn, lacking
from hpcbatch.controller.plan_basis import PlanBasis
from hpcbatch.controller.plan_nodes import PlanNodes
from hpcbatch.controller.plan_waiting import PlanWaiting
from hpcbatch.controller.released import Released
from hpcbatch.controller.short_jobs import note_due
from hpcbatch.dataclass import replace
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.record import JobRecord
from hpcbatch.policy.going_on import going_on_id, job_that_goes_on
from hpcbatch.policy.in_reservations import reservation_of
from hpcbatch.policy.plan.snapshot import JOBS, Shape
from hpcbatch.policy.planned import ends_s, running_job, stalled_id, used_whole


class PlanReleased:
    def __init__(self, basis: PlanBasis, jobs: dict[str, Released], nodes: PlanNodes, waiting: PlanWaiting) -> None:
        """`jobs`: where they are kept; others read it."""
        self._basis, self.jobs, self._nodes, self._waiting = basis, jobs, nodes, waiting
        self._claims = waiting.claims
        self.going_on = GoingOn()
        self.of_others: set[str] = set()
        """Those of other shards' controllers."""
        self.changed: set[str] = set()
        """Those to be looked at."""

    def refresh(self, now_s: float) -> None:
        for job_id in self.changed:
            self.set_running(job_id, now_s)
        self.changed.clear()

    def put(self, job_id: str, released: Released, now_s: float, *, is_as_planned: bool = False) -> None:
        """`is_as_planned`: the last plan starts the job so."""
        self.jobs[job_id] = released
        self._nodes.look_at_nodes_of(self._nodes.pods.of_job(job_id))
        self.set_running(job_id, now_s, is_as_planned=is_as_planned)

    def drop(self, job_id: str) -> None:
        released, basis = self.jobs.pop(job_id, None), self._basis
        if released is not None:
            self._claims.forget(job_id)
            self.going_on.forget(job_id)
            basis.planner.drop_job(going_on_id(job_id))
            self._nodes.look_at_nodes_of(released.pods)  # those that still end there are nobody's from now on
            basis.drop_running(stalled_id(job_id))
            basis.running.pop(job_id, None)
            basis.planner.drop_job(job_id)
            basis.is_changed = True

    def shape(self, record: JobRecord) -> Shape | None:
        site = self._basis.site()
        queue = site.queue(record.queue)
        try:
            return None if queue is None else self._basis.shapes.of(record, queue, site)
        except (HpcBatchError, ValueError):
            return None

    def set_running(self, job_id: str, now_s: float, *, is_as_planned: bool = False) -> None:
        """Tell the planner what the job takes now."""
        released, basis = self.jobs.get(job_id), self._basis
        if released is not None:
            released.take_note_of(self._nodes.pods.of_job(job_id))
        if released is None or (released.is_stalled and released.waits):
            return
        record, site = released.record, basis.site()
        frees_cpus = self.going_on.frees_cpus(record)
        placed = released.placed(frees_cpus=frees_cpus)
        ends = ends_s(record, site, released_s=released.released_s, now_s=now_s)
        is_left_alone = job_id in self.of_others or self._claims.is_victim(job_id)
        yields = None if is_left_alone else self._claims.rules.yields(record)
        owner, reservation = basis.owners.owner_of(record, site), reservation_of(record, site)
        job = running_job(*(record, placed, ends, owner), yields=yields, reservation=reservation, frees_cpus=frees_cpus)
        job = replace(job, uses=used_whole(released.shape, placed, released.places))
        note_due(basis.planner, record, site)
        if (before := basis.running.get(job_id)) != job:
            was_stalled = basis.drop_running(stalled_id(job_id))
            basis.put_running(job)
            has_only_other_end = before is not None and replace(before, ends_s=job.ends_s) == job
            if (is_as_planned or has_only_other_end) and not was_stalled:
                basis.has_other_ends = True
            else:
                basis.is_changed = True
        self._set_going_on(job_id, released, reservation)

    # Jobs that are suspended

    def let_go_on(self, job_id: str, now_s: float) -> None:
        """The plan has its CPUs for a suspended job: it takes them from now on."""
        self.going_on.let.add(job_id)
        self.set_running(job_id, now_s)

    def _set_going_on(self, job_id: str, released: Released, reservation: str) -> None:
        """A suspended job that is to go on waits for its CPUs."""
        basis = self._basis
        record, site, wanted = released.record, basis.site(), None
        if self.going_on.waits(record):
            order = basis.order.place_of(record, site, basis.order.rank(record), is_last=False)
            lacks_milli, owner = lacking(released, self._nodes.by_name), basis.owners.owner_of(record, site)
            if order is not None:
                wanted = job_that_goes_on(record, order, lacks_milli, site, owner, reservation=reservation)
        before = self.going_on.put(job_id, wanted)
        if before == wanted:
            return
        if wanted is None:
            basis.planner.drop_job(going_on_id(job_id))
        else:
            basis.planner.put_waiting(wanted)
        basis.is_changed = True

    # Jobs that Volcano does not start

    @property
    def are_starting(self) -> bool:
        """Whether there are jobs that Volcano is about to start."""
        return any(one.waits and not one.is_stalled for one in self.jobs.values())

    def stalled(self, now_s: float) -> Iterator[Released]:
        """Those that have just been found to be so."""
        for job_id, released in self.jobs.items():
            if released.waits and not (released.is_stalled or released.is_fresh or job_id in self.of_others):
                is_lost = any(not self._nodes.is_open(place.node) for place in released.places)
                if is_lost or now_s - released.released_s >= self._basis.site().place_timeout_s:
                    released.is_stalled = True
                    self._plan_anew(job_id, released)
                    yield released

    def plan_stalled_anew(self) -> None:
        """With another planner, all of them."""
        for job_id, released in self.jobs.items():
            if released.is_stalled and released.waits:
                self._plan_anew(job_id, released)

    def _plan_anew(self, job_id: str, released: Released) -> None:
        """It waits again, behind all others, as long as Volcano does not start it. Limits go on counting it, since
        Volcano may do so at any moment.
        """
        basis, site = self._basis, self._basis.site()
        queue = site.queue(released.record.queue)
        before = basis.running.pop(job_id, None)
        basis.planner.drop_job(job_id)
        if before is not None:
            uses = before.uses or used_whole(released.shape, before.placed, released.places)
            basis.put_running(replace(before, job_id=stalled_id(job_id), placed={}, yields=None, uses=uses))
        if queue is not None and released.shape is not None:
            note_due(basis.planner, released.record, site)
            waiting = self._waiting.planned_as(released.record, queue, is_last=True)
            basis.planner.put_waiting(replace(waiting, uses={JOBS: 0}))
        basis.is_changed = True
