"""What the plan is made from, kept by events: nodes, pods, jobs that wait and jobs that were released.

Here events come in and each job gets its place: plan_waiting, plan_released, plan_nodes and plan_limits have the parts,
plan_basis what these share. An event only notes what has changed; `refresh` looks at that. All of it is in the API: a
released job is one with a Volcano Job, whose annotation says where it was planned. Not safe for threads: the gate has
the lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime

from hpcbatch.api.informer import Informer, object_key
from hpcbatch.api.port import Object, WatchEvent
from hpcbatch.controller.plan_basis import PlanBasis
from hpcbatch.controller.plan_limits import PlanLimits
from hpcbatch.controller.plan_nodes import PlanNodes
from hpcbatch.controller.plan_order import PlanOrder, Reordered, is_member_of
from hpcbatch.controller.plan_released import PlanReleased
from hpcbatch.controller.plan_reservations import PlanReservations, names_in
from hpcbatch.controller.plan_waiting import PlanWaiting
from hpcbatch.controller.records import record_of
from hpcbatch.controller.released import Released
from hpcbatch.controller.short_jobs import as_ordered, due_since, newly_due, note_due, planner_of, times_of
from hpcbatch.dataclass import replace
from hpcbatch.model.accounts import Accounts
from hpcbatch.model.labels import JOB_ID_LABEL
from hpcbatch.model.record import JobRecord
from hpcbatch.model.reservation import Reserved
from hpcbatch.model.site import SiteConfig
from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy.going_on import DEPTH, LINE
from hpcbatch.policy.owners import Owners
from hpcbatch.policy.plan.outcome import Plan
from hpcbatch.policy.plan.snapshot import Node, Place, RunningJob, Snapshot, WaitingJob
from hpcbatch.policy.planned import beside_walltime_s, plan_id
from hpcbatch.policy.preemption import Preemptions
from hpcbatch.policy.running_limits import running_limits
from hpcbatch.record.batchjob import is_suspended
from hpcbatch.record.rows import UNREADABLE
from hpcbatch.site.reservations import without_reservations
from hpcbatch.volcano import job_names

Key = tuple[str, str]

_KEPT_BY_OTHERS = frozenset({Reason.LICENSES, Reason.QUEUE_UNAVAILABLE, Reason.QUEUE_STOPPED, Reason.BROKEN})


class PlanWorld:
    def __init__(
        self,
        batchjobs: Informer,
        volcano_jobs: Informer,
        site: Callable[[], SiteConfig],
        accounts: Callable[[], Accounts],
        order: PlanOrder,
        *,
        is_ours: Callable[[Object], bool] = lambda _: True,
        suspends: Callable[[], bool] = lambda: True,
    ) -> None:
        """`suspends`: whether suspended jobs leave their CPUs to others.
        `is_ours`: whether a BatchJob is this controller's. Another shard's jobs that have Volcano Jobs take room and
        count against limits; those that wait are not planned.
        """
        self._batchjobs, self._volcano_jobs, self._site, self._accounts = batchjobs, volcano_jobs, site, accounts
        self._is_ours, self._suspends = is_ours, suspends
        self._seen_site: SiteConfig | None = None
        self._seen_base: SiteConfig | None = None
        self._short_times: tuple[float, float] | None = None
        self._basis = PlanBasis(site, order)
        self.limits = PlanLimits(self._basis)
        self.released: dict[str, Released] = {}
        self._nodes = PlanNodes(self._basis, self.released)
        self.groupings = self._nodes.groupings
        self._in_line = PlanWaiting(self._basis, self.groupings, self.released)
        self.waiting, self.records, self.last = self._in_line.jobs, self._in_line.records, self._in_line.last
        self.claims = self._in_line.claims
        self._placed = PlanReleased(self._basis, self.released, self._nodes, self._in_line)
        self.going_on = self._placed.going_on
        self.keys: dict[str, Key] = {}
        """The BatchJobs of those that wait and those that were released, by the plan's names."""
        self._ids: dict[Key, str] = {}
        self.blocked: set[str] = set()
        """Jobs that cannot start for a reason that no plan knows."""
        self._changed_jobs: set[Key] = set()
        self._reserved = PlanReservations()
        self.planned_s = 0.0

    # Events

    def on_batchjob(self, event: WatchEvent) -> None:
        self._changed_jobs.add(object_key(event.object))
        if array := self._basis.order.on_array(event):
            members = (job_id for job_id, record in self.records.items() if is_member_of(record, array))
            self._changed_jobs.update(self.keys[job_id] for job_id in members)

    def on_volcano_job(self, event: WatchEvent) -> bool:
        """Whether it has to do with the plan."""
        number = (event.object["metadata"].get("labels") or {}).get(JOB_ID_LABEL, "")
        key, released = self.keys.get(number), self.released.get(number)
        is_change = event.type == "MODIFIED" and "deletionTimestamp" not in event.object["metadata"]
        if key is None or (is_change and released is not None and not released.scheduler.may_bind_in_part):
            return False  # what it says of its pods they say themselves, and its end the record
        self._changed_jobs.add(key)
        return True

    def on_node(self, event: WatchEvent) -> None:
        self._nodes.on_node(event)
        self._basis.order.on_node(event)

    def on_queue(self, event: WatchEvent) -> None:
        """Of a Volcano Queue."""
        self.limits.on_queue(event)

    def on_pod(self, event: WatchEvent) -> bool:
        """Whether anything has changed by it."""
        changed = self._nodes.on_pod(event)
        self._placed.changed.update(pod.job_id for pod in changed)
        return bool(changed)

    # What is in force

    def _look_at_site(self) -> None:
        """No job is looked at before the site and the accounts in force have been."""
        accounts, site, basis = self._accounts(), self._site(), self._basis
        if accounts is basis.owners.accounts and site is self._seen_site:
            return
        base, before = without_reservations(site), self._seen_base
        if accounts is basis.owners.accounts and base == before:  # most jobs have nothing to do with these
            names = site.reservations.keys() | (self._seen_site or site).reservations.keys()
            found = (obj for obj in self._batchjobs.items() if not names.isdisjoint(names_in(obj)))
            self._seen_site = site
            self._changed_jobs.update(map(object_key, found))
            return
        self._seen_base = base
        self._choose_planner(site)
        basis.owners, self._seen_site = Owners(accounts, site.accounting_enforce, site.partition_qos), site
        self.claims.rules = Preemptions(site, basis.owners)
        self._placed.changed.update(self.released)
        basis.order.set(site.ranked_by, basis.owners)
        basis.is_changed |= before is not None and before.depths != site.depths
        limits = running_limits(accounts, site.accounting_enforce, site.resources, site.express_queues)
        self.limits.set_of_accounts(limits)
        self._changed_jobs.update(object_key(obj) for obj in self._batchjobs.items())

    def _choose_planner(self, site: SiteConfig) -> None:
        if (times := times_of(site)) == self._short_times:
            return
        self._short_times, known = times, self.snapshot((), self._basis.now_s)
        planner = self._basis.planner = planner_of(times, replace(known, running=(), waiting=()))
        for released in self.released.values():
            note_due(planner, released.record, site)
        for running in known.running:
            planner.put_running(running)
        for job_id, waiting in self.waiting.items():
            note_due(planner, self.records[job_id], site)
            planner.put_waiting(waiting)
        for job in known.waiting:
            planner.put_waiting(job)  # suspended ones that go on
        self._placed.plan_stalled_anew()
        self._basis.is_changed = True

    def due_since(self, record: JobRecord) -> datetime | None:
        """What the record of a job is to say that waits, or is about to start."""
        return due_since(self._basis.planner, record)

    @property
    def has_short_first(self) -> bool:
        return self._short_times is not None

    def newly_due(self) -> frozenset[str]:
        """Waiting jobs whose records do not say yet that they are due."""
        return newly_due(self._basis.planner)

    def as_ordered(self, job: WaitingJob) -> WaitingJob:
        """The job with its place in the order in which jobs start as things are now."""
        return as_ordered(self._basis.planner, job)

    # What has changed

    def refresh(self, now_s: float) -> None:
        """Bring everything up to the last event."""
        self._basis.now_s = now_s
        self._look_at_site()
        if self.claims.rules.suspends is not self._suspends():
            self.claims.rules.suspends = self._suspends()
            self._placed.changed.update(self.released)
        if self._reserved.refresh(self._site().reservations, now_s):
            self._basis.planner.set_reservations(self._reserved.times)
            self._basis.is_changed = True
        if self._basis.order.is_outdated:
            self._basis.order.rank_as_of(now_s)
            self._in_line.put_in_order()
        changed, self._changed_jobs = self._changed_jobs, set()  # a set that had many keeps its size when it is emptied
        try:
            while changed:
                self._look_at_job(changed.pop(), now_s)
        finally:
            self._changed_jobs |= changed
        self.claims.renew()
        self._placed.changed |= self.claims.touched
        self.claims.touched.clear()
        self._placed.refresh(now_s)
        self._nodes.refresh(now_s)
        for job_id in self.groupings.outdated(now_s):
            if job_id not in self.waiting or not self.put_waiting(self.records[job_id]):
                self.groupings.forget(job_id)

    def _look_at_job(self, key: Key, now_s: float) -> None:
        obj = self._batchjobs.get(*key)
        status = {} if obj is None else obj.get("status") or {}
        number = str(status.get("jobId", ""))
        known = self._ids.get(key)
        is_over = obj is None or not number or "array" in obj["spec"] or JobState(status["state"]).is_final
        if known is not None and (is_over or known != number):
            self.forget(known)
        if is_over or obj is None:
            return
        self._note_key(number, key)
        state, has_one = JobState(status["state"]), bool(status.get("volcanoJob"))
        released = self.released.get(number)
        if not has_one and released is not None:
            if released.is_fresh:
                return  # its Volcano Job is being made, whatever the record says, which may still show it as held
            if status.get("startTime") is None and self._has_volcano_job(key[0], released.record.job_id):
                released.is_taken_back = True  # Volcano may still start what is just being deleted: its event comes
                return
        if state is not JobState.QUEUED and not has_one and status.get("startTime") is None:
            self.forget(number)
            return
        try:
            record = record_of(obj)
        except UNREADABLE:
            self.forget(number)
            return
        if is_ours := self._is_ours(obj):
            self._placed.of_others.discard(number)
        else:
            self._placed.of_others.add(number)
        # a controller that was killed may have made one, but not written that down; that of one left out is removed
        is_new = not has_one and known is None and released is None and number not in self.blocked
        is_adopted = is_new and self._has_volcano_job(record.namespace, record.job_id)
        if has_one or is_adopted or state is not JobState.QUEUED:
            self.going_on.note(record, is_suspended=is_suspended(obj["spec"], record.status.run_count))
            self._keep_released(number, record, now_s)
            self.released[number].is_fresh |= is_adopted
        elif Reason(status.get("reason", Reason.NONE)) in _KEPT_BY_OTHERS or number in self.blocked or not is_ours:
            self.forget(number)
        else:
            self.put_waiting(record)

    def _has_volcano_job(self, namespace: str, job_id: int) -> bool:
        found = self._volcano_jobs.get(namespace, job_names.job_name(job_id))
        return found is not None and "deletionTimestamp" not in found["metadata"]

    def _note_key(self, job_id: str, key: Key) -> None:
        """There are many of these: what is noted stays as it is."""
        if self._ids.get(key) != job_id or self.keys.get(job_id) != key:
            self._ids[key], self.keys[job_id] = job_id, key

    def never_because(self, record: JobRecord) -> str:
        """The limit that the job alone is over; "": none."""
        return self._basis.owners.never_because(record)

    def put_waiting(self, record: JobRecord) -> bool:
        """The job waits for the plan; False if it cannot be planned at all."""
        job_id = plan_id(record.job_id)
        if (wanted := self._in_line.wanted(record)) is None:
            self.forget(job_id)
            return False
        self._placed.drop(job_id)
        self._in_line.put(record, wanted)
        self._note_key(job_id, (record.namespace, record.object_name))
        return True

    def ranked(self, now_s: float) -> Reordered:
        """What `rank_anew` needs, to be computed without the lock."""
        return self._in_line.ranked(now_s)

    def rank_anew(self, found: Reordered, now_s: float) -> None:
        """Put the waiting jobs in the order of their ranks as they are now, and count what has been spent."""
        self._look_at_site()
        self._in_line.rank_anew(found, now_s)
        self.limits.count_spent(now_s)

    def rank(self, record: JobRecord) -> float | None:
        self._look_at_site()
        return self._basis.order.rank(record)

    def planned_if_it_came(self, record: JobRecord) -> WaitingJob | None:
        """The job as it would wait; None: no queue takes it."""
        return self._in_line.if_it_came(record)

    def put_released(self, record: JobRecord, places: tuple[Place, ...], now_s: float, *, is_pinned: bool) -> None:
        """The job gets its Volcano Job now."""
        released = Released(record, self._placed.shape(record), places, now_s, True)
        released.scheduler = self._site().scheduler
        released.is_pinned = is_pinned or released.scheduler.binds_one_by_one
        self._put(record, released, now_s, is_as_planned=True)

    def _keep_released(self, job_id: str, record: JobRecord, now_s: float) -> None:
        released = self.released.get(job_id)
        volcano_job = self._volcano_jobs.get(record.namespace, job_names.job_name(record.job_id))
        if released is None:
            released = Released.found(record, self._placed.shape(record), volcano_job, now_s)
            self._put(record, released, now_s)
            return
        released.take_note_of_job(record, volcano_job, now_s)
        self._placed.set_running(job_id, now_s)

    def _put(self, record: JobRecord, released: Released, now_s: float, *, is_as_planned: bool = False) -> None:
        job_id = plan_id(record.job_id)
        self._in_line.leave(job_id)
        self._note_key(job_id, (record.namespace, record.object_name))
        self._placed.put(job_id, released, now_s, is_as_planned=is_as_planned)

    def let_go_on(self, job_id: str, now_s: float) -> None:
        """The plan has its CPUs for a suspended job: it takes them from now on."""
        self._placed.let_go_on(job_id, now_s)

    def forget(self, job_id: str) -> None:
        """The job neither waits for the plan nor holds anything by it."""
        self._placed.drop(job_id)
        if self._in_line.leave(job_id):
            self._basis.planner.drop_job(job_id)
            self._basis.is_changed = True
        self._placed.of_others.discard(job_id)
        if (key := self.keys.pop(job_id, None)) is not None:
            self._ids.pop(key, None)

    def stalled(self, now_s: float) -> Iterator[Released]:
        """Jobs that have just been found to be not started by Volcano."""
        return self._placed.stalled(now_s)

    @property
    def starting(self) -> bool:
        """Whether there are jobs that Volcano is about to start."""
        return self._placed.are_starting

    # The plan

    @property
    def is_changed(self) -> bool:
        """Whether there is something that the last plan does not know and by which jobs may start."""
        return self._basis.is_changed

    @property
    def has_other_ends(self) -> bool:
        """Whether only the times at which jobs end or are planned to start may be others than in the last plan."""
        return self._basis.has_other_ends

    def snapshot(self, waiting: Iterable[WaitingJob], now_s: float) -> Snapshot:
        """As things are, but for the jobs that wait; each of those is to be planned."""
        return Snapshot(
            now_s=now_s,
            nodes=self.nodes,
            running=self.running,
            waiting=(*waiting, *self.going_on.jobs.values()),
            reservations=self._reserved.times,
            limits=self.limits.all,
            spent=self.limits.spent,
            beside_walltime_s=beside_walltime_s(self._site()),
            depth=None,
        )

    @property
    def nodes(self) -> tuple[Node, ...]:
        return tuple(self._nodes.by_name.values())

    @property
    def running(self) -> tuple[RunningJob, ...]:
        return tuple(self._basis.running.values())

    def reserve(self, reserved: Reserved, now_s: float) -> None:
        """Keep to a reservation that is just being granted, until the site has it."""
        self._reserved.foresee(reserved, now_s)
        self.refresh(now_s)

    def plan(self, now_s: float) -> Plan:
        self.planned_s = max(self.planned_s, now_s)  # the machine's clock may be set back
        planner, (depth, depths) = self._basis.planner, self._site().depths
        planner.set_depths(depth, {**depths, LINE: DEPTH} if self.going_on.jobs else depths)
        planner.set_spent(self.limits.spent, beside_s=beside_walltime_s(self._site()))
        self._basis.is_changed = self._basis.has_other_ends = False
        return planner.plan(self.planned_s)
