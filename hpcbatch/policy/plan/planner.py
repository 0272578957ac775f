"""Makes plans: from a snapshot, or from the plan before and what has happened since.

The rules. Jobs are considered in their order. One that its limits hold back is passed over, and so is one that could
not run if all open nodes were empty. One that fits now, for all of its walltime, is released. The first ones that do
not, as many as `Snapshot.depth`, get a planned start: the first time at which, as far as the ends of running jobs tell,
their nodes are free. All jobs after those are released only if they leave these nodes free at these times, and keep out
of reservations. So a job is never planned later because of one after it. The depth counts in each reservation apart,
and so does that of each queue that has its own.
A planned job counts for its limits too, from its planned start on.

A job for which others are being ended comes before all of them, at the places that were chosen for it. When all that is
planned, those that may preempt others and have not been released are looked at, again in their order: if they could
start beside everything planned once some of those that yield to them have ended, the least set of these is chosen.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Mapping

from hpcbatch.dataclass import replace
from hpcbatch.policy.plan.choosing import in_best_reservations
from hpcbatch.policy.plan.compiled import Compiler, JobClass, Key
from hpcbatch.policy.plan.estate import Estate
from hpcbatch.policy.plan.limits import Limits
from hpcbatch.policy.plan.outcome import Plan
from hpcbatch.policy.plan.rooms import Rooms
from hpcbatch.policy.plan.snapshot import JobId, Limit, Node, Reservation, RunningJob, Snapshot, WaitingJob
from hpcbatch.policy.plan.walk import walk

_FORGET_EVERY = 20_000


def make_plan(snapshot: Snapshot) -> Plan:
    return Planner(snapshot).plan(snapshot.now_s)


class Planner:
    """Keeps what plans need between events. `plan` after any of them is what `make_plan` says of the same state."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.depth, self.depths = snapshot.depth, dict(snapshot.depths)
        self.lines: dict[str, list[Key]] = {}
        """Where queues have depths of their own: by these queues, and "" for all others, the jobs outside reservations,
        in the order of priority."""
        self.waiting: dict[JobId, WaitingJob] = {}
        self.asleep: list[tuple[float, JobId]] = []
        """Waiting jobs with a time before which they do not start, by that time."""
        self.class_of: dict[JobId, tuple[JobClass, object]] = {}
        self.orders: dict[str, list[Key]] = {}
        """By reservation: its waiting jobs, in the order of priority."""
        self.claimants: list[Key] = []
        """Jobs for which others are being ended, likewise."""
        self.preemptors: list[Key] = []
        """Those that may preempt others, outside reservations, likewise."""
        self.yielding: dict[JobId, RunningJob] = {}
        """Those that may be ended for others."""
        self.choosing: dict[JobId, WaitingJob] = {}
        """Those that name several reservations, as they were put here. In `waiting` each is in one of them."""
        self._limits_are = snapshot.limits
        self._spent, self._beside_s = snapshot.spent, snapshot.beside_walltime_s
        self._events = 0
        self._build(snapshot.nodes, snapshot.running, snapshot.waiting, snapshot.reservations)

    def plan(self, now_s: float) -> Plan:
        """`now_s` does not go back."""
        self.rooms.changed(self.estate.refresh(now_s))
        awake = bisect_right(self.asleep, (now_s, "\U0010ffff"))
        for _, job_id in self.asleep[:awake]:
            self._enlist(self.waiting[job_id])
        del self.asleep[:awake]
        return in_best_reservations(self, now_s) if self.choosing else walk(self, now_s)

    def put_waiting(self, job: WaitingJob) -> None:
        """A new one, or another version of one that waits or ran."""
        self.drop_job(job.job_id)
        self.waiting[job.job_id] = job
        insort(self.asleep, (job.earliest_s, job.job_id))

    def reorder(self, jobs: Iterable[WaitingJob]) -> None:
        """Jobs that wait, of which nothing but the order is another one."""
        for job in jobs:
            if job.job_id not in self.choosing:
                self.waiting[job.job_id] = job
                continue
            self.choosing[job.job_id] = job
            self.waiting[job.job_id] = replace(job, reservation=self.waiting[job.job_id].reservation)
        for found in self.compiler.classes.values():
            found.reorder(self.waiting)
        for keys in (*self.orders.values(), *self.lines.values(), self.claimants, self.preemptors):
            keys[:] = sorted(_key(self.waiting[job_id]) for _, job_id in keys)

    def put_running(self, job: RunningJob) -> None:
        """One that was released, or other places or another end of one that runs."""
        self.drop_job(job.job_id)
        self._put_running(job)

    def _put_running(self, job: RunningJob) -> None:
        self.estate.put_running(job)
        self.limits.put_running(job)
        if job.yields is not None and not job.reservation:
            self.yielding[job.job_id] = job

    def drop_job(self, job_id: JobId) -> None:
        """It has ended, or does not wait any longer. Of one that is unknown nothing happens."""
        job = self.waiting.pop(job_id, None)
        self.choosing.pop(job_id, None)
        if job is not None and not self._delist(job):
            self.asleep.remove((job.earliest_s, job_id))
        self.estate.drop_running(job_id)
        self.limits.drop_running(job_id)
        self.yielding.pop(job_id, None)
        self._events += 1
        if self._events % _FORGET_EVERY == 0:
            self.compiler.forget_unused()
            classes = self.compiler.classes.values()
            self.rooms.forget_unused(kind for one in classes for option in one.options for kind, _ in option.parts)

    def move(self, job_id: JobId, reservation: str) -> None:
        """One of those that are `choosing`, to another one of its reservations."""
        job = self.waiting[job_id]
        if job.reservation != reservation:
            self._delist(job)
            self.waiting[job_id] = replace(job, reservation=reservation)
            self._enlist(self.waiting[job_id])

    def put_node(self, node: Node) -> None:
        """A new one, or another version of one."""
        if not self.estate.knows(node):
            self._rebuild(nodes=[*(one for one in self.estate.nodes.values() if one.name != node.name), node])
            return
        self.estate.put_node(node)
        self._sift(node.name)

    def drop_node(self, name: str) -> None:
        spots = [pool[name] for pool in self.estate.pools.values() if name in pool]
        self.estate.drop_node(name)
        for spot in spots:
            for only in self.compiler.filters.values():
                only.drop(spot)
        self.rooms.changed(spots)

    def set_reservations(self, reservations: Iterable[Reservation]) -> None:
        """All of them; costs as much as a first plan."""
        self._rebuild(reservations=tuple(reservations))

    def set_spent(self, spent: Mapping[str, int], *, beside_s: float) -> None:
        """What has been used before, by the names that limits have for it; what jobs' times have beside walltimes."""
        self._spent, self._beside_s = spent, beside_s
        self.limits.spent, self.limits.beside_s = spent, beside_s

    def set_depths(self, depth: int | None, depths: Mapping[str, int]) -> None:
        """`depths`: of the queues that have their own."""
        self.depth = depth
        if depths == self.depths:
            return
        self.depths, self.lines = dict(depths), {}
        for key in self.orders.get("", ()) if depths else ():
            self.lines.setdefault(self.line_of(self.waiting[key[1]]), []).append(key)

    def line_of(self, job: WaitingJob) -> str:
        return job.owner.queue if job.owner.queue in self.depths and not job.reservation else ""

    def set_limits(self, limits: Iterable[Limit]) -> None:
        """All of them; costs as much as a first plan."""
        self._limits_are = tuple(limits)
        self._rebuild()

    def _sift(self, name: str) -> None:
        for pool in self.estate.pools.values():
            if name in pool:
                for only in self.compiler.filters.values():
                    only.put(pool[name])

    def _rebuild(
        self, *, nodes: Iterable[Node] | None = None, reservations: Iterable[Reservation] | None = None
    ) -> None:
        estate = self.estate
        self._build(
            estate.nodes.values() if nodes is None else nodes,
            list(estate.running.values()),
            [self.choosing.get(job_id, job) for job_id, job in self.waiting.items()],
            estate.reservations if reservations is None else reservations,
        )

    def _build(
        self,
        nodes: Iterable[Node],
        running: Iterable[RunningJob],
        waiting: Iterable[WaitingJob],
        reservations: Iterable[Reservation],
    ) -> None:
        self.estate = Estate(nodes, reservations)
        self.limits = Limits(self._limits_are)
        self.set_spent(self._spent, beside_s=self._beside_s)
        self.compiler = Compiler(self.estate, self.limits)
        self.rooms = Rooms(self.estate)
        self.waiting, self.class_of, self.orders, self.lines = {}, {}, {}, {}
        self.claimants, self.preemptors, self.yielding, self.choosing = [], [], {}, {}
        for job in running:
            self._put_running(job)
        for waiter in waiting:
            self.waiting[waiter.job_id] = waiter
        self.asleep = sorted((job.earliest_s, job.job_id) for job in self.waiting.values())

    def _enlist(self, job: WaitingJob) -> None:
        key = self.compiler.class_key(job)
        found = self.compiler.class_of(key, job)
        found.put(_key(job), job.least_s, self.compiler.counts(job))
        insort(self.orders.setdefault(job.reservation, []), _key(job))
        if self.depths and not job.reservation:
            insort(self.lines.setdefault(self.line_of(job), []), _key(job))
        if job.claim and not job.reservation:
            insort(self.claimants, _key(job))
        if job.preempts and not job.reservation:
            insort(self.preemptors, _key(job))
        self.class_of[job.job_id] = (found, key)
        if job.other_reservations:
            self.choosing.setdefault(job.job_id, job)

    def _delist(self, job: WaitingJob) -> bool:
        """False if it was not in the order yet."""
        found = self.class_of.pop(job.job_id, None)
        if found is None:
            return False
        found[0].drop(_key(job))
        order = self.orders[job.reservation]
        del order[bisect_left(order, _key(job))]
        line = self.lines.get(self.line_of(job), [])
        for some in (self.claimants, self.preemptors, *([] if job.reservation else [line])):
            if (at := bisect_left(some, _key(job))) < len(some) and some[at] == _key(job):
                del some[at]
        if not found[0].keys:
            del self.compiler.classes[found[1]]
        return True


def _key(job: WaitingJob) -> Key:
    return job.order, job.job_id
