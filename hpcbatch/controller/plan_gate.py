"""Carries the plan out: a job gets its Volcano Job when the plan starts it, and loses it again where Volcano does not.

The plan is made anew after each event, many at a time where they come fast. All state is in the API: a job that was
released has a Volcano Job. What was released, but is not in the caches yet, is kept in PlanWorld; after a restart the
caches are complete before any job is released.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final

from hpcbatch.api.informer import Informer
from hpcbatch.api.port import Object, WatchEvent
from hpcbatch.controller.lone_pods import LonePods
from hpcbatch.controller.node_rooms import NodeRooms
from hpcbatch.controller.past_usage import PastUsage
from hpcbatch.controller.pinning import placed
from hpcbatch.controller.plan_news import PlanNews
from hpcbatch.controller.plan_order import PlanOrder
from hpcbatch.controller.plan_ranks import PlanRanks
from hpcbatch.controller.plan_told import PlanTold
from hpcbatch.controller.plan_world import PlanWorld
from hpcbatch.controller.released import Released
from hpcbatch.controller.site_source import SiteSource
from hpcbatch.dataclass import replace
from hpcbatch.model.foreseen import Foreseen
from hpcbatch.model.record import JobRecord, JobStatus, Preempted, Preempting
from hpcbatch.model.reservation import Reserved
from hpcbatch.model.site import Policy, SiteConfig
from hpcbatch.model.state import WAITING, JobState, Reason
from hpcbatch.policy.deadlines import with_grant_of
from hpcbatch.policy.going_on import going_on_id
from hpcbatch.policy.lone_pod import given_to
from hpcbatch.policy.observed import Waiting
from hpcbatch.policy.plan.outcome import Plan, Preemption, Release
from hpcbatch.policy.plan.snapshot import Node, RunningJob
from hpcbatch.policy.planned import (
    Forecast,
    as_released,
    never_runs,
    plan_id,
)
from hpcbatch.record.rows import row_of

_LOG = logging.getLogger(__name__)

Key = tuple[str, str]

_SHARE: Final = 0.2
"""Of a thread's time, what making plans may take: after one that took long the next waits."""
_LONGEST_S: Final = 5.0
_BEHIND_S: Final = 60.0
"""How long a job that Volcano did not start goes behind all others."""
_DENIED_S: Final = 25.0
"""How long a job whose Volcano Job was refused is left out: less than until the next look at it."""
_TRIES: Final = 3
"""So often in a row a job starts again at once whose pod its node does not take: mostly others have just got the room.
A node whose devices fail refuses each.
"""
_LATER_S: Final = 0.5
"""What only shows something else waits so long: many plans may follow each other."""
_RELEASED_S: Final = 0.2
"""How long jobs that a plan starts may start without a new plan: where many start at once, each would have all others
planned anew.
"""
_STARTING_LOOK_S: Final = 0.02
_REST_S: Final = 0.03
"""Between two looks at least: what changes together is looked at together."""
_LEAST_S: Final = 1.0
"""Between two plans that nothing but the time has brought about."""


class PlanGate:
    """`wake` is called with each job that may start or shows something else, and a delay in seconds."""

    def __init__(
        self,
        batchjobs: Informer,
        volcano_jobs: Informer,
        sites: SiteSource,
        *,
        nodes: Informer,
        rooms: NodeRooms,
        usage: PastUsage,
        wake: Callable[[Key, float], None],
        is_ours: Callable[[Object], bool] = lambda _: True,
        suspends: Callable[[], bool] = lambda: True,
        lone_pods: LonePods | None = None,
    ) -> None:
        """Without `lone_pods` the site's scheduler places all pods."""
        self._sites, self._nodes, self._wake = sites, nodes, wake
        self._lone_pods = lone_pods
        self._lock = threading.RLock()
        self._world = PlanWorld(
            batchjobs,
            volcano_jobs,
            lambda: sites.in_force.config,
            lambda: sites.accounts.in_force,
            PlanOrder(usage),
            is_ours=is_ours,
            suspends=suspends,
        )
        self._ranks, self._news = PlanRanks(self._world, sites, usage, self._lock), PlanNews()
        self._told = PlanTold(self._world, rooms)
        self._plan = Plan(now_s=0.0)
        self._releases: dict[str, Release] = {}
        self._planned_site: SiteConfig | None = None
        self._preemptions: dict[str, Preemption] = {}
        self._behind: dict[str, tuple[float, str]] = {}  # until when, and why
        self._blocked_until: dict[str, float] = {}
        self._refused: dict[str, dict[str, float]] = {}
        """By job and Volcano Job, when a node did not take a pod, of late."""
        self._withdrawn: dict[str, Waiting] = {}
        self._is_announced = True
        self._cost_s = 0.0
        self._made = float("-inf")  # by the monotonic clock
        self._changed = threading.Event()
        self._stopping = threading.Event()
        self.thread = threading.Thread(target=self._run, name="plan", daemon=True)

    def stop(self) -> None:
        self._stopping.set()
        self._changed.set()

    # Events

    def on_batchjob(self, event: WatchEvent) -> None:
        with self._lock:
            self._world.on_batchjob(event)
        if self._news.is_new(event):
            self._changed.set()

    def on_volcano_job(self, event: WatchEvent) -> None:
        with self._lock:
            has_changed = self._world.on_volcano_job(event)
        if has_changed:
            self._changed.set()

    def on_pod(self, event: WatchEvent) -> None:
        with self._lock:
            has_changed = self._world.on_pod(event)
        if has_changed:
            self._changed.set()

    def on_node(self, event: WatchEvent) -> None:
        with self._lock:
            self._world.on_node(event)
        self._changed.set()

    def on_queue(self, event: WatchEvent) -> None:
        with self._lock:
            self._world.on_queue(event)
        self._changed.set()

    @property
    def decides(self) -> bool:
        """Whether jobs start by the plan, and are looked at as soon as it starts them; or else when Volcano does."""
        return self._sites.in_force.config.policy is not Policy.VOLCANO

    def on_site(self) -> None:
        """The site's configuration, or its accounts, have changed."""
        self._changed.set()

    # One job

    def take(self, record: JobRecord) -> Waiting | None:
        """Release the job, or say what prevents that. A job that is released stays so."""
        site = self._sites.in_force.config
        job_id = plan_id(record.job_id)
        is_blocked = self._blocked_until.get(job_id, 0.0) > time.monotonic()
        blocked = Waiting(reason=record.status.reason, message=record.status.message)
        if site.policy is Policy.VOLCANO:
            return blocked if is_blocked else None
        with self._lock:
            self._world.refresh(time.time())
            if (released := self._world.released.get(job_id)) is not None:
                return blocked if released.is_taken_back else None
            if is_blocked:
                return blocked
            self._world.blocked.discard(job_id)
            if (site.priority.by_share and self._ranks.are_new) or self._world.limits.lacks_spent:
                self._changed.set()  # what is in the history has not been counted yet; its event puts it in line
                return Waiting(reason=record.status.reason, message=record.status.message)
            if code := self._world.never_because(record):
                self._world.forget(job_id)
                return never_runs(code)
            planned_as = self._world.waiting.get(job_id)
            if not self._world.put_waiting(record):
                return Waiting(reason=Reason.NEVER_FITS, message=f"queue {record.queue} cannot take it any more")
            is_as_planned = self._world.waiting[job_id] == planned_as and self._may_release(job_id, site)
            if not is_as_planned:
                self._make_if_changed(job_id)
            if (release := self._releases.pop(job_id, None)) is not None:
                self._told.starts(job_id)
                self._withdrawn.pop(job_id, None)
                record = as_released(record, site, release.walltime_s, release.reservation)
                is_pinned = release.is_bound or site.level_of(record.spec.grouping) is not None
                self._world.put_released(record, release.places, time.time(), is_pinned=is_pinned)
                return None
            self._changed.set()
            return self._told.why(record, site, self._behind.get(job_id))

    def is_starting(self, job_id: str) -> bool:
        """Whether the last plan lets the job start, or has; until it has ended. Takes no lock."""
        return job_id in self._releases or job_id in self._preemptions or job_id in self._world.released

    def _may_release(self, job_id: str, site: SiteConfig) -> bool:
        return job_id in self._releases and site is self._planned_site and self._is_fresh

    @property
    def _is_fresh(self) -> bool:
        return time.monotonic() - self._made < _RELEASED_S

    def _let_start(self) -> None:
        """Wait while jobs that the last plan starts are starting, not for long."""
        end = time.monotonic() + _RELEASED_S
        while self._releases and self._is_fresh and time.monotonic() < end:
            if self._stopping.wait(_STARTING_LOOK_S):
                return

    def forecast(self, record: JobRecord) -> Forecast:
        """When and where the plan starts a waiting job; what the record shows already, where that is near enough."""
        with self._lock:
            return self._told.forecast(record)

    def shown(self, record: JobRecord, status: JobStatus) -> JobStatus:
        """`status`, with when and where the plan starts a waiting job, and who ends for it."""
        start, nodes = self.forecast(record) if status.state is JobState.QUEUED else Forecast()
        status = replace(status, planned_start=start, planned_nodes=nodes, due_since=self._due_since(record, status))
        return replace(status, preempting=self._preempting(record, status))

    def _due_since(self, record: JobRecord, status: JobStatus) -> datetime | None:
        if status.state is not JobState.QUEUED:
            return None if status.state in WAITING else status.due_since
        with self._lock:
            if self._sites.in_force.config.short_first is None:
                return None
            self._world.refresh(time.time())
            return self._world.due_since(record)

    def foresee(self, record: JobRecord) -> Foreseen:
        """When and where a job would start that came now."""
        row = row_of(record)
        found = Foreseen(record.job_id, record.queue, row.cpus)
        if not self.decides:
            return found
        with self._lock:
            self._world.refresh(time.time())
            return self._told.foresee(record, found)

    def ranked(self, record: JobRecord, status: JobStatus) -> JobStatus:
        """`status` with the priority that a waiting job shows: that of now, or what its record has, where that is about
        right.
        """
        return replace(status, rank=self._ranks.shown(record)) if status.state in WAITING else status

    def exact_rank(self, record: JobRecord) -> float | None:
        return self._ranks.exact(record)

    def released(self, record: JobRecord) -> JobRecord:
        """The record of a released job as it starts: it may have got a shorter walltime."""
        with self._lock:
            found = self._world.released.get(plan_id(record.job_id))
        if found is None:
            return record
        status = with_grant_of(found.record.status, record.status)
        return replace(record, status=replace(status, due_since=self._due_since(record, status)))

    def withdrawn(self, record: JobRecord) -> Waiting | None:
        """Why the job's Volcano Job, which has no nodes, is to go; None if it is not."""
        return self._withdrawn.get(plan_id(record.job_id))

    def placed(self, record: JobRecord, volcano_job: Object) -> Object:
        """The Volcano Job of a released job as it is to be made: with its place in the plan."""
        with self._lock:
            released = self._world.released.get(plan_id(record.job_id))
            if released is None:
                return volcano_job
            site = self._sites.in_force.config
            name = self._scheduler_of_lone_pod(volcano_job, released, record, site)
            released.is_lone = bool(name)
            if name:
                released.is_pinned = True
                volcano_job = given_to(volcano_job, name)
            return placed(volcano_job, released, record, site.launcher, self._nodes)

    def _scheduler_of_lone_pod(
        self, volcano_job: Object, released: Released, record: JobRecord, site: SiteConfig
    ) -> str:
        """Who is to place the job's only pod; "": Volcano, also where another scheduler has just failed to."""
        if self._lone_pods is None or plan_id(record.job_id) in self._behind:
            return ""
        return self._lone_pods.scheduler_of(volcano_job, released, record, site, self._world.released.values())

    def _stalled(self, released: Released) -> str:
        return released.stalled_text(self._sites.in_force.config.place_timeout_s)

    # Jobs that are suspended

    def may_go_on(self, record: JobRecord) -> bool:
        """Whether a suspended job that left its CPUs to others gets them again: it holds them from then on."""
        if not self.decides:
            return True  # its nodes grant them when they have them
        job_id = plan_id(record.job_id)
        with self._lock:
            world = self._world
            world.refresh(time.time())
            if job_id not in world.released or world.claims.is_victim(job_id):
                return False  # the job for which it was suspended goes first
            if job_id in world.going_on.jobs:
                self._make_if_changed(job_id)
                if self._releases.pop(going_on_id(job_id), None) is None:
                    self._changed.set()
                    return False
            world.let_go_on(job_id, time.time())
            return True

    # Jobs that end for others

    def preempted(self, record: JobRecord) -> Preempted | None:
        """That a running job ends for another one, and how; None if it does not."""
        if not self.decides:
            return None
        with self._lock:
            return self._world.claims.preempted(record, datetime.now(UTC))

    def _preempting(self, record: JobRecord, status: JobStatus) -> Preempting | None:
        """Whose ends the job's record is to ask for, whose status will be that: what it does already, unless it waits
        and the plan has chosen others. A job that has started keeps them.
        """
        job_id, known = plan_id(record.job_id), self._world.claims
        if status.state is not JobState.QUEUED:
            return None if status.state in WAITING else status.preempting
        with self._lock:
            if not self.decides:
                return None
            self._world.refresh(time.time())  # the rules are the site's: a fresh controller has not looked at it
            if not known.rules.preempts(record):
                return None
            self._make_if_changed(job_id)
            chosen = None if self._world.is_changed else self._preemptions.get(job_id)
            if chosen is None or job_id not in self._world.waiting:
                return status.preempting if known.stands(replace(record, status=status)) else None
            return known.preempting(chosen, datetime.now(UTC))

    def give_back(self, record: JobRecord, *, was_denied: bool = False) -> None:
        """The job has no Volcano Job, and gets none for now, for a reason that the plan does not know.
        `was_denied`: the API did not take its Volcano Job.
        """
        job_id = plan_id(record.job_id)
        with self._lock:
            self._withdrawn.pop(job_id, None)
            if was_denied:
                self._blocked_until[job_id] = time.monotonic() + _DENIED_S
                self._world.blocked.add(job_id)
            self._world.forget(job_id)
        self._changed.set()

    def was_refused(self, record: JobRecord, volcano_job: str) -> None:
        """A node has not taken a pod of the job, whose Volcano Job has that uid. It waits again, and if that goes on
        does not start at once. It may be said more than once.
        """
        job_id, now = plan_id(record.job_id), time.monotonic()
        with self._lock:
            self._refused = {one: runs for one, runs in self._refused.items() if now - max(runs.values()) < _BEHIND_S}
            runs = self._refused.setdefault(job_id, {})
            runs.setdefault(volcano_job, now)
            is_at_once = sum(now - at < _BEHIND_S for at in runs.values()) < _TRIES
        if not is_at_once:
            self.give_back(record, was_denied=True)

    # Reservations

    def reserve(self, choose: Callable[[Sequence[Node], Sequence[RunningJob]], Reserved]) -> Reserved:
        """What `choose` grants of the nodes and the jobs that run; from then on nothing is started that would be in its
        way. Raises what `choose` raises.
        """
        with self._lock:
            self._world.refresh(time.time())
            reserved = choose(self._world.nodes, self._world.running)
            self._world.reserve(reserved, time.time())
            self._releases = {}
        self._changed.set()
        return reserved

    # The plan

    def _may_plan(self) -> bool:
        return time.monotonic() - self._made >= self._cost_s * (1 / _SHARE - 1)

    def _is_due(self) -> bool:
        """Whether the time alone may have changed something."""
        next_s = self._plan.next_s
        is_time = self._world.starting or bool(self._behind) or (next_s is not None and next_s <= time.time())
        made_s = time.monotonic() - self._made
        return (is_time and made_s >= _LEAST_S) or (self._world.has_other_ends and made_s >= _LATER_S)

    def _make_if_changed(self, job_id: str) -> None:
        """While that job is looked at; the others that may start now hear of it at once."""
        if not (self._world.is_changed and self._may_plan()):
            return
        before = self._releases
        self._make()
        for other in self._releases.keys() - before.keys() - {job_id}:
            if other in self._world.waiting:
                self._wake(self._world.keys[other], 0.0)

    def _make(self) -> None:
        began, now_s = time.monotonic(), time.time()
        world = self._world
        for job_id in [job_id for job_id, (until, _) in self._behind.items() if until <= began]:
            del self._behind[job_id]
            world.last.discard(job_id)
            if (record := world.records.get(job_id)) is not None:
                world.put_waiting(record)
        for job_id in [job_id for job_id, until in self._blocked_until.items() if until <= began]:
            del self._blocked_until[job_id]
            world.blocked.discard(job_id)
        for released in tuple(world.stalled(now_s)):
            self._behind[plan_id(released.record.job_id)] = began + _BEHIND_S, self._stalled(released)
            world.last.add(plan_id(released.record.job_id))
        self._planned_site = self._sites.in_force.config
        self._plan = world.plan(now_s)
        self._releases = {release.job_id: release for release in self._plan.releases}
        self._preemptions = {one.job_id: one for one in self._plan.preemptions}
        self._told.set_plan(self._plan)
        self._is_announced = False
        self._made = time.monotonic()
        self._cost_s = self._made - began

    def rank(self) -> None:
        """Put the waiting jobs in the order of their ranks as they are now."""
        for key in self._ranks.renew():
            self._wake(key, _LATER_S)

    def look(self) -> None:
        """Make the plan and wake the jobs that it concerns."""
        with self._lock:
            self._world.refresh(time.time())
            has_other_ends = self._world.has_other_ends
            if self._world.is_changed or self._is_due() or (has_other_ends and not self._is_announced):
                self._make()
            elif has_other_ends or (self._is_announced and not self._told.may_estimate()):
                return
            self._is_announced = True
            if self._told.may_estimate():
                self._told.estimate()
            self._withdraw()
            starting = [*self._releases, *self._preemptions, *self._world.newly_due()]
            now = [self._world.keys[job_id] for job_id in starting if job_id in self._world.waiting]
            now += [self._world.keys[job_id] for job_id in self._world.claims.untold()]
            now += [self._world.keys[one] for one in self._world.going_on.jobs if going_on_id(one) in self._releases]
            later = [self._world.keys[job_id] for job_id in self._told.changes()]
        for key in now:
            self._wake(key, 0.0)
        for key in later:
            self._wake(key, _LATER_S)

    def _withdraw(self) -> None:
        """Choose those of the jobs that Volcano does not start whose place others get, or that it can never start
        where they are pinned, or that keep some nodes without having all, or that limits count while they hold others
        back.
        """
        chosen: dict[str, Waiting] = {}
        stalled = [(job_id, one) for job_id, one in self._world.released.items() if one.is_stalled and one.waits]
        is_limited = bool(stalled) and any(held.limit is not None for held in self._plan.held.values())
        for job_id, released in stalled:
            if is_limited or job_id in self._plan.held or released.is_pinned or released.pods:
                chosen[job_id] = Waiting(reason=Reason.RESOURCES, message=self._stalled(released))
        for job_id in chosen.keys() - self._withdrawn.keys():
            _LOG.warning("job %s: %s; it is planned anew", job_id, chosen[job_id].message)
            self._wake(self._world.keys[job_id], 0.0)
        self._withdrawn = chosen

    def _run(self) -> None:
        while not self._sites.is_in_force.wait(timeout=_SHARE):
            if self._stopping.is_set():
                return
        while not self._stopping.is_set():
            self._changed.wait(self._until_next_s())
            self._changed.clear()
            if self._stopping.is_set():
                return
            if not self.decides:
                self._stopping.wait(_SHARE)
                continue
            try:
                self._let_start()
                if self._ranks.until_s() <= 0:
                    self._try_to_rank()
                self.look()
            except Exception:
                _LOG.exception("making the plan")
                self._stopping.wait(1.0)
            self._stopping.wait(min(_LONGEST_S, max(_REST_S, self._cost_s * (1 / _SHARE - 1))))

    def _try_to_rank(self) -> None:
        try:
            self.rank()
        except Exception:
            _LOG.exception("putting waiting jobs in order anew: they keep the order that they have")
            self._ranks.put_off()

    def _until_next_s(self) -> float:
        with self._lock:
            limit_s = 1.0 if self._world.starting or self._behind else 60.0
            next_s = self._plan.next_s
            limit_s = min(
                limit_s, max(0.0, self._ranks.until_s()), max(_LEAST_S, self._world.groupings.next_s - time.time())
            )
            if self._world.has_other_ends:  # estimates come after the plan
                limit_s = min(limit_s, max(0.0, self._made + _LATER_S - time.monotonic()))
            else:
                limit_s = min(limit_s, self._told.until_s())
        return limit_s if next_s is None else min(limit_s, max(_LEAST_S, next_s - time.time()))
