"""What the plan is made from, kept by events: nodes, pods, jobs that wait and jobs that were released.

An event only notes what has changed; `refresh` looks at that. All of it is in the API: a released job is one with a
Volcano Job, whose annotation says where it was planned. Not safe for threads: the gate has the lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime

from hpcbatch.api.informer import Informer, object_key
from hpcbatch.api.port import Object, WatchEvent
from hpcbatch.controller.bound_pods import BoundPods
from hpcbatch.controller.claims import Claims
from hpcbatch.controller.going_on import GoingOn, lacking
from hpcbatch.controller.groupings import Groupings
from hpcbatch.controller.plan_order import PlanOrder, Reordered, is_member_of
from hpcbatch.controller.plan_reservations import PlanReservations, names_in
from hpcbatch.controller.records import record_of
from hpcbatch.controller.released import Released
from hpcbatch.controller.shapes import Shapes
from hpcbatch.controller.short_jobs import (
    SitesPlanner,
    as_ordered,
    due_since,
    newly_due,
    note_due,
    planner_of,
    times_of,
)
from hpcbatch.dataclass import replace
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.accounts import Accounts, first_accounts
from hpcbatch.model.labels import JOB_ID_LABEL
from hpcbatch.model.record import JobRecord
from hpcbatch.model.reservation import Reserved
from hpcbatch.model.site import QueueConfig, SiteConfig
from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy.going_on import DEPTH, LINE, going_on_id, job_that_goes_on
from hpcbatch.policy.in_reservations import reservation_of
from hpcbatch.policy.owners import Owners
from hpcbatch.policy.plan.outcome import Plan
from hpcbatch.policy.plan.snapshot import JOBS, Limit, Node, Place, RunningJob, Shape, Snapshot, WaitingJob
from hpcbatch.policy.planned import (
    beside_walltime_s,
    capability_limits,
    ends_s,
    leaving_pods,
    node_of,
    plan_id,
    running_job,
    stalled_id,
    used_whole,
    waiting_job,
)
from hpcbatch.policy.preemption import Preemptions
from hpcbatch.policy.running_limits import running_limits
from hpcbatch.policy.spent import is_counted
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
        self.order, self._is_ours = order, is_ours
        self._of_others: set[str] = set()
        self._suspends = suspends
        self._batchjobs, self._volcano_jobs, self._site, self._accounts = batchjobs, volcano_jobs, site, accounts
        self._owners = Owners(first_accounts(), frozenset())
        self._seen_site: SiteConfig | None = None
        self._seen_base: SiteConfig | None = None
        self._of_accounts: tuple[Limit, ...] = ()
        self._spent: Mapping[str, int] = {}
        self.counts_spent = self.lacks_spent = False
        """Whether there are limits of what has been used in the course of time, and whether that is not known yet."""
        self.released: dict[str, Released] = {}
        self.waiting: dict[str, WaitingJob] = {}
        self.records: dict[str, JobRecord] = {}
        """Of those that wait."""
        self.claims = Claims(self.released, self.records)
        self.going_on = GoingOn()
        self.keys: dict[str, Key] = {}
        """The BatchJobs of both, by the plan's names."""
        self.last: set[str] = set()
        """Jobs that go behind all others: Volcano did not start them."""
        self.blocked: set[str] = set()
        """Jobs that cannot start for a reason that no plan knows."""
        self._ids: dict[Key, str] = {}
        self._node_objects: dict[str, Object] = {}
        self._nodes: dict[str, Node] = {}
        self._pods = BoundPods()
        self._shapes = Shapes()
        self.groupings = Groupings(self._nodes)
        self._now_s = 0.0
        self._limits: dict[str, tuple[Limit, ...]] = {}
        self._running: dict[str, RunningJob] = {}
        self._changed_jobs: set[Key] = set()
        self._changed_nodes: set[str] = set()
        self._changed_released: set[str] = set()
        self._short_times: tuple[float, float] | None = None
        self._planner: SitesPlanner = planner_of(None, Snapshot(now_s=0.0))
        self.planned_s = 0.0
        self._reserved = PlanReservations()
        self.is_changed = True

    # Events

    def on_batchjob(self, event: WatchEvent) -> None:
        self._changed_jobs.add(object_key(event.object))
        if array := self.order.on_array(event):
            members = (job_id for job_id, record in self.records.items() if is_member_of(record, array))
            self._changed_jobs.update(self.keys[job_id] for job_id in members)

    def on_volcano_job(self, event: WatchEvent) -> bool:
        """Whether it is that of a job which has to do with the plan."""
        number = (event.object["metadata"].get("labels") or {}).get(JOB_ID_LABEL, "")
        key = self.keys.get(number)
        if key is not None:
            self._changed_jobs.add(key)
        return key is not None

    def on_node(self, event: WatchEvent) -> None:
        name = event.object["metadata"]["name"]
        if event.type == "DELETED":
            self._node_objects.pop(name, None)
        else:
            self._node_objects[name] = event.object
        self._changed_nodes.add(name)
        self.order.on_node(event)

    def on_queue(self, event: WatchEvent) -> None:
        """Of a Volcano Queue."""
        name = event.object["metadata"]["name"]
        before = self._limits.pop(name, ())
        if event.type != "DELETED" and (limits := capability_limits(event.object)):
            self._limits[name] = limits
        if self._limits.get(name, ()) != before:
            self._planner.set_limits(self._all_limits())
            self.is_changed = True

    def _all_limits(self) -> tuple[Limit, ...]:
        return (*self._of_accounts, *(limit for limits in self._limits.values() for limit in limits))

    def on_pod(self, event: WatchEvent) -> bool:
        """Whether anything has changed by it."""
        changed = self._pods.on_pod(event)
        self._changed_nodes.update(pod.node for pod in changed)
        self._changed_released.update(pod.job_id for pod in changed)
        return bool(changed)

    def _look_at_site(self) -> None:
        """No job is looked at before the site and the accounts in force have been."""
        accounts, site = self._accounts(), self._site()
        if accounts is self._owners.accounts and site is self._seen_site:
            return
        base, before = without_reservations(site), self._seen_base
        if accounts is self._owners.accounts and base == before:  # most jobs have nothing to do with these
            names = site.reservations.keys() | (self._seen_site or site).reservations.keys()
            found = (obj for obj in self._batchjobs.items() if not names.isdisjoint(names_in(obj)))
            self._seen_site = site
            self._changed_jobs.update(map(object_key, found))
            return
        self._seen_base = base
        self._choose_planner(site)
        self._owners, self._seen_site = Owners(accounts, site.accounting_enforce, site.partition_qos), site
        self.claims.rules = Preemptions(site, self._owners)
        self._changed_released.update(self.released)
        self.order.set(site.ranked_by, self._owners)
        self.is_changed |= before is not None and before.depths != site.depths
        limits = running_limits(accounts, site.accounting_enforce, site.resources, site.express_queues)
        if limits != self._of_accounts:
            self.lacks_spent = is_counted(limits) and (self.lacks_spent or not self.counts_spent)
            self._of_accounts, self.counts_spent = limits, is_counted(limits)
            self._planner.set_limits(self._all_limits())
            self.is_changed = True
        self._changed_jobs.update(object_key(obj) for obj in self._batchjobs.items())

    def _choose_planner(self, site: SiteConfig) -> None:
        if (times := times_of(site)) == self._short_times:
            return
        self._short_times, known = times, self.snapshot((), self._now_s)
        self._planner = planner_of(times, replace(known, running=(), waiting=()))
        for released in self.released.values():
            note_due(self._planner, released.record, site)
        for running in known.running:
            self._planner.put_running(running)
        for job_id, waiting in self.waiting.items():
            note_due(self._planner, self.records[job_id], site)
            self._planner.put_waiting(waiting)
        for job in known.waiting:
            self._planner.put_waiting(job)  # suspended ones that go on
        for job_id, released in self.released.items():
            if released.is_stalled and released.waits:
                self._plan_anew(job_id, released)
        self.is_changed = True

    def due_since(self, record: JobRecord) -> datetime | None:
        """What the record of a job is to say that waits, or is about to start."""
        return due_since(self._planner, record)

    def newly_due(self) -> frozenset[str]:
        """Waiting jobs whose records do not say yet that they are due."""
        return newly_due(self._planner)

    def as_ordered(self, job: WaitingJob) -> WaitingJob:
        """The job with its place in the order in which jobs start as things are now."""
        return as_ordered(self._planner, job)

    # What has changed

    def refresh(self, now_s: float) -> None:
        """Bring everything up to the last event."""
        self._now_s = now_s
        self._look_at_site()
        if self.claims.rules.suspends is not self._suspends():
            self.claims.rules.suspends = self._suspends()
            self._changed_released.update(self.released)
        if self._reserved.refresh(self._site().reservations, now_s):
            self._planner.set_reservations(self._reserved.times)
            self.is_changed = True
        if self.order.is_outdated:
            self.order.rank_as_of(now_s)
            self._put_in_order()
        changed, self._changed_jobs = self._changed_jobs, set()  # a set that had many keeps its size when it is emptied
        try:
            while changed:
                self._look_at_job(changed.pop(), now_s)
        finally:
            self._changed_jobs |= changed
        self.claims.renew()
        self._changed_released |= self.claims.touched
        self.claims.touched.clear()
        for job_id in self._changed_released:
            self._set_running(job_id, now_s)
        self._changed_released.clear()
        for name in self._changed_nodes:
            self._set_node(name, now_s)
        self._changed_nodes.clear()
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
            self._of_others.discard(number)
        else:
            self._of_others.add(number)
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
        return self._owners.never_because(record)

    def put_waiting(self, record: JobRecord) -> bool:
        """The job waits for the plan; False if it cannot be planned at all."""
        job_id, site = plan_id(record.job_id), self._site()
        if self.never_because(record):
            self.forget(job_id)
            return False
        queue = site.queue(record.queue)
        try:
            if queue is None or queue.destinations is not None:
                raise HpcBatchError(f"no queue {record.queue} that starts jobs")
            wanted = self._waiting_job(record, queue, is_last=job_id in self.last)
        except (HpcBatchError, ValueError):
            self.forget(job_id)
            return False
        self._drop_released(job_id)
        self.records[job_id] = record
        self.claims.note(job_id, record if wanted.claim else None)
        self._note_key(job_id, (record.namespace, record.object_name))
        if self.waiting.get(job_id) != wanted:
            self.waiting[job_id] = wanted
            note_due(self._planner, record, site)
            self._planner.put_waiting(wanted)
            self.is_changed = True
        return True

    def ranked(self, now_s: float) -> Reordered:
        """What ranks the waiting jobs are to get is found without the lock: `Reordered.compute`, then `rank_anew`."""
        records, waiting, ranking = dict(self.records), dict(self.waiting), self.order.at(now_s)
        return Reordered(
            ranking=ranking, order=self.order, site=self._site(), records=records, waiting=waiting, last=self.last
        )

    def rank_anew(self, found: Reordered, now_s: float) -> None:
        """Put the waiting jobs in the order of their ranks as they are now. Nothing changes for the plan where that is
        the order that they have.
        """
        self._look_at_site()
        if found.is_other and self.order.ranking is not None and found.ranking is not None:
            if found.site is not self._site() or self.order.ranking is not found.before:
                self.order.rank_as_of(now_s)  # another site meanwhile: all anew
                self._put_in_order()
            else:
                self.order.ranking = found.ranking
                jobs = [job for job_id, job in found.jobs.items() if self.waiting.get(job_id) is found.waiting[job_id]]
                self.waiting.update((job.job_id, job) for job in jobs)
                self._planner.reorder(jobs)
                self._put_in_order(self.waiting.keys() - {job.job_id for job in jobs})
                self.is_changed = True
        if self.counts_spent:
            self._spent, self.lacks_spent = self.order.spent(now_s, self._site().resources), False
            self.is_changed = True

    def rank(self, record: JobRecord) -> float | None:
        self._look_at_site()
        return self.order.rank(record)

    def _put_in_order(self, only: Iterable[str] | None = None) -> None:
        """By ranks as they are now, all jobs or those."""
        for job_id in tuple(self.waiting if only is None else only):
            record = self.records[job_id]
            order = self.order.place_of(record, self._site(), self.order.rank(record), is_last=job_id in self.last)
            if order is not None and order != self.waiting[job_id].order:
                self.waiting[job_id] = replace(self.waiting[job_id], order=order)
                self._planner.put_waiting(self.waiting[job_id])
                self.is_changed = True

    def _waiting_job(self, record: JobRecord, queue: QueueConfig, *, is_last: bool = False) -> WaitingJob:
        site = self._site()
        owner, rank, number = self._owners.owner_of(record, site), self.order.rank(record), self.order.number(record)
        preempts, claims = self.claims.rules.preempts(record), not is_last and self.claims.stands(record)
        shapes = self.groupings.shapes(record, self._shapes.of(record, queue, site), site, self._now_s)
        return waiting_job(
            *(record, queue, site, owner),
            rank=rank,
            is_last=is_last,
            preempts=preempts,
            claims=claims,
            number=number,
            shapes=shapes,
        )

    def put_released(self, record: JobRecord, places: tuple[Place, ...], now_s: float, *, is_pinned: bool) -> None:
        """The job gets its Volcano Job now."""
        released = Released(record, self._shape(record), places, now_s, True)
        released.scheduler = self._site().scheduler
        released.is_pinned = is_pinned or released.scheduler.binds_one_by_one
        self._put(record, released, now_s)

    def _keep_released(self, job_id: str, record: JobRecord, now_s: float) -> None:
        released = self.released.get(job_id)
        volcano_job = self._volcano_jobs.get(record.namespace, job_names.job_name(record.job_id))
        if released is None:
            released = Released.found(record, self._shape(record), volcano_job, now_s)
            self._put(record, released, now_s)
            return
        released.take_note_of_job(record, volcano_job, now_s)
        self._set_running(job_id, now_s)

    def _put(self, record: JobRecord, released: Released, now_s: float) -> None:
        job_id, key = plan_id(record.job_id), (record.namespace, record.object_name)
        self.claims.note(job_id, None)
        self.waiting.pop(job_id, None)
        self.records.pop(job_id, None)
        self.released[job_id] = released
        self._note_key(job_id, key)
        self._changed_nodes.update(pod.node for pod in self._pods.of_job(job_id))
        self._set_running(job_id, now_s)

    def _shape(self, record: JobRecord) -> Shape | None:
        site = self._site()
        queue = site.queue(record.queue)
        try:
            return None if queue is None else self._shapes.of(record, queue, site)
        except (HpcBatchError, ValueError):
            return None

    def _set_running(self, job_id: str, now_s: float) -> None:
        released = self.released.get(job_id)
        if released is not None:
            released.take_note_of(self._pods.of_job(job_id))
        if released is None or (released.is_stalled and released.waits):
            return
        frees_cpus = self.going_on.frees_cpus(released.record)
        placed = released.placed(frees_cpus=frees_cpus)
        ends = ends_s(released.record, self._site(), released_s=released.released_s, now_s=now_s)
        owner = self._owners.owner_of(released.record, self._site())
        is_left_alone = job_id in self._of_others or self.claims.is_victim(job_id)
        yields = None if is_left_alone else self.claims.rules.yields(released.record)
        reservation = reservation_of(released.record, self._site())
        job = running_job(
            *(released.record, placed, ends, owner), yields=yields, reservation=reservation, frees_cpus=frees_cpus
        )
        job = replace(job, uses=used_whole(released.shape, placed, released.places))
        note_due(self._planner, released.record, self._site())
        if self._running.get(job_id) != job:
            self._drop_running(stalled_id(job_id))
            self._running[job_id] = job
            self._planner.put_running(job)
            self.is_changed = True
        self._set_going_on(job_id, released, reservation)

    def _set_going_on(self, job_id: str, released: Released, reservation: str) -> None:
        """A suspended job that is to go on waits for its CPUs."""
        record, site, wanted = released.record, self._site(), None
        if self.going_on.waits(record):
            order = self.order.place_of(record, site, self.order.rank(record), is_last=False)
            lacks_milli, owner = lacking(released, self._nodes), self._owners.owner_of(record, site)
            if order is not None:
                wanted = job_that_goes_on(record, order, lacks_milli, site, owner, reservation=reservation)
        before = self.going_on.put(job_id, wanted)
        if before == wanted:
            return
        if wanted is None:
            self._planner.drop_job(going_on_id(job_id))
        else:
            self._planner.put_waiting(wanted)
        self.is_changed = True

    def let_go_on(self, job_id: str, now_s: float) -> None:
        """The plan has its CPUs for a suspended job: it takes them from now on."""
        self.going_on.let.add(job_id)
        self._set_running(job_id, now_s)

    def _set_node(self, name: str, now_s: float) -> None:
        obj = self._node_objects.get(name)
        pods = () if obj is None else self._pods.on_node(name)
        others = [pod for pod in pods if pod.job_id not in self.released]
        self._set_leaving(leaving_pods(name, (pod.takes for pod in others if pod.is_leaving), now_s))
        if obj is None:
            if self._nodes.pop(name, None) is not None:
                self._planner.drop_node(name)
                self.is_changed = self.groupings.has_other_labels = True
            return
        node, before = node_of(obj, (pod.takes for pod in others if not pod.is_leaving)), self._nodes.get(name)
        if before != node:
            self._nodes[name] = node
            if before is None or before.labels != node.labels:
                self.groupings.has_other_labels = True
            self._planner.put_node(node)
            self.is_changed = True

    def _set_leaving(self, pods: RunningJob) -> None:
        if any(pods.placed.values()):
            self._running[pods.job_id] = pods
            self._planner.put_running(pods)
        elif self._running.pop(pods.job_id, None) is None:
            return
        else:
            self._planner.drop_job(pods.job_id)
        self.is_changed = True

    def forget(self, job_id: str) -> None:
        """The job neither waits for the plan nor holds anything by it."""
        self._drop_released(job_id)
        self.claims.note(job_id, None)
        self.records.pop(job_id, None)
        if self.waiting.pop(job_id, None) is not None:
            self._planner.drop_job(job_id)
            self.is_changed = True
        self._of_others.discard(job_id)
        if (key := self.keys.pop(job_id, None)) is not None:
            self._ids.pop(key, None)

    def _drop_released(self, job_id: str) -> None:
        released = self.released.pop(job_id, None)
        if released is not None:
            self.claims.forget(job_id)
            self.going_on.forget(job_id)
            self._planner.drop_job(going_on_id(job_id))
            # pods that still end there are nobody's from now on
            self._changed_nodes.update(pod.node for pod in released.pods)
            self._drop_running(stalled_id(job_id))
            self._running.pop(job_id, None)
            self._planner.drop_job(job_id)
            self.is_changed = True

    def _drop_running(self, name: str) -> None:
        if self._running.pop(name, None) is not None:
            self._planner.drop_job(name)

    # Jobs that Volcano does not start

    def stalled(self, now_s: float) -> Iterator[Released]:
        """Those that have just been found to be so."""
        for job_id, released in self.released.items():
            if released.waits and not (released.is_stalled or released.is_fresh or job_id in self._of_others):
                is_lost = any(not self._is_open(place.node) for place in released.places)
                if is_lost or now_s - released.released_s >= self._site().place_timeout_s:
                    released.is_stalled = True
                    self._plan_anew(job_id, released)
                    yield released

    def _plan_anew(self, job_id: str, released: Released) -> None:
        """It waits again, behind all others, as long as Volcano does not start it. Limits go on counting it, since
        Volcano may do so at any moment.
        """
        site = self._site()
        queue = site.queue(released.record.queue)
        before = self._running.pop(job_id, None)
        self._planner.drop_job(job_id)
        if before is not None:
            uses = before.uses or used_whole(released.shape, before.placed, released.places)
            counted = replace(before, job_id=stalled_id(job_id), placed={}, yields=None, uses=uses)
            self._running[counted.job_id] = counted
            self._planner.put_running(counted)
        if queue is not None and released.shape is not None:
            note_due(self._planner, released.record, site)
            waiting = self._waiting_job(released.record, queue, is_last=True)
            self._planner.put_waiting(replace(waiting, uses={JOBS: 0}))
        self.is_changed = True

    @property
    def starting(self) -> bool:
        """Whether there are jobs that Volcano is about to start."""
        return any(one.waits and not one.is_stalled for one in self.released.values())

    def _is_open(self, name: str) -> bool:
        node = self._nodes.get(name)
        return node is not None and node.is_open

    def planned_if_it_came(self, record: JobRecord) -> WaitingJob | None:
        """The job as it would wait; None: no queue takes it."""
        queue = self._site().queue(record.queue)
        try:
            return None if queue is None else self._waiting_job(record, queue)
        except (HpcBatchError, ValueError):
            return None

    def snapshot(self, waiting: Iterable[WaitingJob], now_s: float) -> Snapshot:
        """As things are, but for the jobs that wait; each of those is to be planned."""
        return Snapshot(
            now_s=now_s,
            nodes=self.nodes,
            running=self.running,
            waiting=(*waiting, *self.going_on.jobs.values()),
            reservations=self._reserved.times,
            limits=self._all_limits(),
            spent=self._spent,
            beside_walltime_s=beside_walltime_s(self._site()),
            depth=None,
        )

    @property
    def nodes(self) -> tuple[Node, ...]:
        return tuple(self._nodes.values())

    @property
    def running(self) -> tuple[RunningJob, ...]:
        return tuple(self._running.values())

    def reserve(self, reserved: Reserved, now_s: float) -> None:
        """Keep to a reservation that is just being granted, until the site has it."""
        self._reserved.foresee(reserved, now_s)
        self.refresh(now_s)

    def plan(self, now_s: float) -> Plan:
        self.planned_s = max(self.planned_s, now_s)  # the machine's clock may be set back
        depth, depths = self._site().depths
        self._planner.set_depths(depth, {**depths, LINE: DEPTH} if self.going_on.jobs else depths)
        self._planner.set_spent(self._spent, beside_s=beside_walltime_s(self._site()))
        self.is_changed = False
        return self._planner.plan(self.planned_s)
