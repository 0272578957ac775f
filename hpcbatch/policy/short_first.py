"""Short jobs first, within a bound: a planner for sites that favour short jobs without making others wait for ever.

Beside the real plan runs a shadow: a second planner over the same nodes, limits and reservations, which starts the same
jobs in the order that the site has otherwise. A job that the shadow has started is due. Jobs that are due start before
all others, in the order in which they became due, and each has a planned start. Until they are due only short jobs
start: before those that are due, as long as they end before the first of these is late by more than the delay.

What the shadow has started ends there after the job's walltime, or sooner when the job really ends. A short job that
ran before the shadow started it takes its place in the shadow afterwards, for as long as it ran.

So each job starts when the shadow has started it, at most the delay later. Of those that the shadow still runs when it
starts a job, all fit beside it. Those that it runs no longer have ended, or end within the delay: they started within
it. Short jobs have ended by then, and what becomes due later does not delay a planned start. This counts one resource:
on several nodes a job may be planned where others have left it no room in one piece.

Jobs outside of all this go before it, as they would anyway: those in reservations, those for which others may be ended,
suspended ones that go on, and those that an operator starts now.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator, Mapping

from hpcbatch.dataclass import replace
from hpcbatch.policy.going_on import LINE
from hpcbatch.policy.plan.compiled import Compiler
from hpcbatch.policy.plan.estate import Estate
from hpcbatch.policy.plan.outcome import Held, Plan, Release, Why
from hpcbatch.policy.plan.planner import Planner
from hpcbatch.policy.plan.snapshot import JobId, Limit, Node, Reservation, RunningJob, Snapshot, WaitingJob
from hpcbatch.policy.planned import placed_by
from hpcbatch.typed import Final

_OUTSIDE, _FIRST, _DUE, _BEHIND, _NOT_DUE, _LAST = -1.0, 0.0, 1.0, 2.0, 3.0, 4.0
"""What the order begins with. _FIRST and _BEHIND are short jobs that are not due."""
_SHORT: Final = "short jobs"
"""The line of short jobs until they are due. They have no planned starts: who finds no room now is passed over."""


class _Real(Planner):
    def line_of(self, job: WaitingJob) -> str:
        if job.order[0] in {_FIRST, _BEHIND} and not job.reservation:
            return _SHORT
        return super().line_of(job) if job.order[0] == _OUTSIDE else ""


class ShortFirst:
    """To be used as a Planner. A job's order begins with 0; less puts it before all others, more behind them."""

    def __init__(self, snapshot: Snapshot, *, short_s: float, delay_s: float) -> None:
        """`short_s`: for how long a job may hold its nodes at most that counts as short; no more than `delay_s`."""
        self._short_s, self.delay_s = short_s, delay_s
        bare = replace(snapshot, running=(), waiting=())
        self._shadow = Planner(bare)
        self._real = _Real(replace(bare, depth=None, depths=_lines(snapshot.depths)))
        self.waiting: dict[JobId, WaitingJob] = {}
        """As they were put here."""
        self._due: dict[JobId, float] = {}
        """Since when, of jobs that wait or run."""
        self._due_line: list[tuple[float, JobId]] = []
        """A heap of those that wait; what is not true any more is passed over."""
        self._restored: dict[JobId, float] = {}
        """Those of which it was said that they are due: when their runs in the shadow end."""
        self._began: dict[JobId, float] = {}
        """When jobs started that were not due."""
        self._in_shadow: dict[JobId, tuple[float, float]] = {}
        """When the runs in the shadow began, and when they end."""
        self._ends: list[tuple[float, JobId]] = []
        """A heap of these ends, likewise."""
        self._short: set[JobId] = set()
        """Those of the short jobs that wait and are not due, and those of them that do not go first."""
        self._behind: set[JobId] = set()
        self._touched: set[JobId] = set()
        self._moved: set[JobId] = set()
        self._fresh: set[JobId] = set()
        self._now_s, self._shadow_next_s, self._is_changed = -math.inf, math.inf, True
        self._shadow_plan: Plan | None = None
        for running in snapshot.running:
            self.put_running(running)
        for waiting in snapshot.waiting:
            self.put_waiting(waiting)

    # What has happened

    def put_waiting(self, job: WaitingJob) -> None:
        self.waiting[job.job_id] = job
        self._began.pop(job.job_id, None)
        self._touch(job.job_id)
        self._moved.add(job.job_id)
        if job.job_id in self._due:
            heapq.heappush(self._due_line, (self._due[job.job_id], job.job_id))

    def note_due(self, job_id: JobId, since_s: float, ends_s: float) -> None:
        """A job, to be put here, is due since then, and its run in the shadow ends at `ends_s`: so its record says."""
        if job_id not in self._due:
            self._due[job_id], self._restored[job_id] = since_s, ends_s
            self._touch(job_id)
        elif job_id in self._in_shadow and self._in_shadow[job_id][1] != ends_s and job_id in self._real.estate.running:
            self._restored[job_id] = ends_s  # another walltime
            self._touch(job_id)

    def put_running(self, job: RunningJob) -> None:
        if self.waiting.pop(job.job_id, None) is not None and job.job_id not in self._due:
            self._began[job.job_id] = self._now_s
        self._forget_place(job.job_id)
        self._real.put_running(job)
        self._touch(job.job_id)

    def drop_job(self, job_id: JobId) -> None:
        self.waiting.pop(job_id, None)
        self._due.pop(job_id, None)
        self._restored.pop(job_id, None)
        self._forget_place(job_id)
        self._real.drop_job(job_id)
        self._touch(job_id)

    def reorder(self, jobs: Iterable[WaitingJob]) -> None:
        jobs = tuple(jobs)
        self.waiting.update((job.job_id, job) for job in jobs)
        # those of which more has changed are put there anew by the next plan
        in_shadow, in_real = self._shadow.waiting.keys() - self._touched, self._real.waiting.keys() - self._moved
        self._shadow.reorder(job for job in jobs if job.job_id in in_shadow)
        self._real.reorder(self._placed(job) for job in jobs if job.job_id in in_real)
        self._is_changed = True

    def put_node(self, node: Node) -> None:
        self._shadow.put_node(node)
        self._real.put_node(node)
        self._is_changed = True

    def drop_node(self, name: str) -> None:
        self._shadow.drop_node(name)
        self._real.drop_node(name)
        self._is_changed = True

    def set_reservations(self, reservations: Iterable[Reservation]) -> None:
        known = tuple(reservations)
        self._shadow.set_reservations(known)
        self._real.set_reservations(known)
        self._is_changed = True

    def set_spent(self, spent: Mapping[str, int], *, beside_s: float) -> None:
        self._shadow.set_spent(spent, beside_s=beside_s)
        self._real.set_spent(spent, beside_s=beside_s)

    def set_depths(self, depth: int | None, depths: Mapping[str, int]) -> None:
        """Of the shadow: all that are due have planned starts."""
        self._shadow.set_depths(depth, depths)
        self._real.set_depths(None, _lines(depths))

    def set_limits(self, limits: Iterable[Limit]) -> None:
        known = tuple(limits)
        self._shadow.set_limits(known)
        self._real.set_limits(known)
        self._is_changed = True

    def _touch(self, job_id: JobId) -> None:
        self._touched.add(job_id)

    def _forget_place(self, job_id: JobId) -> None:
        for some in (self._short, self._behind, self._moved, self._fresh):
            some.discard(job_id)

    @property
    def estate(self) -> Estate:
        return self._real.estate

    @property
    def compiler(self) -> Compiler:
        return self._real.compiler

    # What it means

    def due_since(self, job_id: JobId) -> float | None:
        return self._due.get(job_id)

    def take_due(self) -> frozenset[JobId]:
        """Waiting jobs that have become due since this was last called."""
        found, self._fresh = frozenset(self._fresh), set()
        return found

    def as_ordered(self, job: WaitingJob) -> WaitingJob:
        """A waiting job with its place in the order in which jobs start as things are now."""
        return replace(self._placed(job), earliest_s=job.earliest_s)

    def plan(self, now_s: float) -> Plan:
        self._advance(now_s)
        self._now_s = now_s
        self._set_places(now_s)
        plan = self._real.plan(now_s)
        times = [time for time in (plan.next_s, self._next_s()) if time is not None and time < math.inf]
        return replace(plan, held=_HeldView(self, plan), next_s=min(times, default=None))

    def _advance(self, now_s: float) -> None:
        """Let the shadow go on until then."""
        while now_s > (at_s := self._next_s()) > self._now_s > -math.inf:
            self._end_in_shadow(at_s)
            self._start_in_shadow(at_s)
        has_ended = self._end_in_shadow(now_s)
        touched, self._touched = self._touched, set()
        for job_id in sorted(touched):
            self._tell_shadow(job_id, now_s)
        if has_ended or touched or self._is_changed or self._shadow_next_s <= now_s:
            self._start_in_shadow(now_s)
            self._is_changed = False

    def _next_s(self) -> float:
        while self._ends and self._in_shadow.get(self._ends[0][1], (0.0, math.nan))[1] != self._ends[0][0]:
            heapq.heappop(self._ends)
        return min(self._ends[0][0] if self._ends else math.inf, self._shadow_next_s)

    def _end_in_shadow(self, at_s: float) -> bool:
        has_ended = False
        while self._next_s() <= at_s and self._ends and self._ends[0][0] <= at_s:
            _, job_id = heapq.heappop(self._ends)
            del self._in_shadow[job_id]
            self._shadow.drop_job(job_id)
            has_ended = True
        return has_ended

    def _start_in_shadow(self, at_s: float) -> None:
        plan = self._shadow.plan(at_s)
        for release in plan.releases:
            self._run_in_shadow(release, at_s)
        for job_id, ends_s in [*self._restored.items()]:  # no room for it there: the others are due the sooner
            if job_id in self._shadow.waiting and ends_s > at_s:
                self._shadow.drop_job(job_id)
            del self._restored[job_id]
        self._shadow_next_s = math.inf if plan.next_s is None else plan.next_s
        self._shadow_plan = None if plan.releases else plan

    def _run_in_shadow(self, release: Release, at_s: float) -> None:
        job_id, job = release.job_id, self._shadow.waiting[release.job_id]
        shape = job.shapes[release.shape]
        run = RunningJob(
            job_id=job_id,
            placed=placed_by(shape, release.places),
            ends_s=at_s + release.walltime_s,
            owner=job.owner,
            is_exclusive=shape.is_exclusive,
            uses=job.uses,
        )
        self._put_in_shadow(run, self._due.get(job_id, at_s))
        if job_id in self.waiting and job_id not in self._due:
            self._due[job_id] = at_s
            self._fresh.add(job_id)
            self._moved.add(job_id)
            heapq.heappush(self._due_line, (at_s, job_id))

    def _put_in_shadow(self, run: RunningJob, since_s: float) -> None:
        self._shadow.put_running(run)
        self._in_shadow[run.job_id] = since_s, run.ends_s
        heapq.heappush(self._ends, (run.ends_s, run.job_id))

    def _drop_in_shadow(self, job_id: JobId) -> None:
        self._shadow.drop_job(job_id)
        self._in_shadow.pop(job_id, None)

    def _tell_shadow(self, job_id: JobId, now_s: float) -> None:
        """What has become of a job."""
        if (job := self.waiting.get(job_id)) is not None:
            self._tell_of_waiting(job, now_s)
        elif (run := self._real.estate.running.get(job_id)) is not None:
            self._tell_of_running(run, now_s)
        elif (began_s := self._began.pop(job_id, None)) is not None:
            self._tell_of_past(job_id, now_s - began_s, now_s)
        else:
            self._drop_in_shadow(job_id)

    def _tell_of_waiting(self, job: WaitingJob, now_s: float) -> None:
        job_id = job.job_id
        if _is_outside(job):
            self._due.pop(job_id, None)
            self._restored.pop(job_id, None)
            self._drop_in_shadow(job_id)
        elif job_id not in self._due:
            self._in_shadow.pop(job_id, None)
            if self._shadow.waiting.get(job_id) != job:
                self._shadow.put_waiting(job)
        elif job_id in self._restored and self._restored[job_id] > now_s and job_id not in self._in_shadow:
            first = (_OUTSIDE, self._due[job_id], *job.order)
            left_s = self._restored[job_id] - now_s
            self._shadow.put_waiting(replace(job, order=first, walltime_s=left_s, min_walltime_s=None))

    def _tell_of_running(self, run: RunningJob, now_s: float) -> None:
        job_id = run.job_id
        if job_id in self._restored:
            ends_s = self._restored.pop(job_id)
            known = self._shadow.estate.running.get(job_id)
            if ends_s > now_s:
                self._put_in_shadow(replace(known or run, ends_s=ends_s), self._due[job_id])
            else:
                self._drop_in_shadow(job_id)
        elif job_id in self._due or job_id in self._shadow.waiting or job_id in self._in_shadow or not run.placed:
            return
        elif run.ends_s - now_s > self._short_s or job_id in self._shadow.estate.running:
            # it was started otherwise: the shadow has it for as long as it runs
            self._shadow.put_running(run)

    def _tell_of_past(self, job_id: JobId, ran_s: float, now_s: float) -> None:
        """A job that was not due when it started has ended."""
        if (job := self._shadow.waiting.get(job_id)) is not None:
            self._shadow.put_waiting(replace(job, walltime_s=max(ran_s, 1e-3), min_walltime_s=None))
        elif job_id in self._in_shadow:
            since_s, ends_s = self._in_shadow[job_id]
            if since_s + ran_s <= now_s:
                self._drop_in_shadow(job_id)
            elif since_s + ran_s < ends_s:
                run = self._shadow.estate.running[job_id]
                self._put_in_shadow(replace(run, ends_s=since_s + ran_s), since_s)
        else:
            self._drop_in_shadow(job_id)

    # Places in the real order

    def _set_places(self, now_s: float) -> None:
        while self._due_line and not self._is_in_due_line(*self._due_line[0]):
            heapq.heappop(self._due_line)
        left_s = self._due_line[0][0] + self.delay_s - now_s if self._due_line else math.inf
        for job_id in self._moved:
            if (job := self.waiting.get(job_id)) is not None:
                self._short.discard(job_id)
                self._behind.discard(job_id)
                if self._is_short(job):
                    self._short.add(job_id)
                    if job.walltime_s > left_s:
                        self._behind.add(job_id)
                self._real.put_waiting(self._placed(job))
        self._moved.clear()
        if left_s >= self._short_s and not self._behind:
            return
        for job_id in self._short:
            job = self.waiting[job_id]
            if (job.walltime_s > left_s) is not (job_id in self._behind):
                self._behind ^= {job_id}
                self._real.put_waiting(self._placed(job))

    def _is_in_due_line(self, since_s: float, job_id: JobId) -> bool:
        job = self.waiting.get(job_id)
        return job is not None and self._due.get(job_id) == since_s and not job.order[0] > 0

    def _is_short(self, job: WaitingJob) -> bool:
        is_apart = job.job_id in self._due or _is_outside(job) or job.order[0] > 0
        return not is_apart and job.walltime_s <= self._short_s

    def _placed(self, job: WaitingJob) -> WaitingJob:
        if _is_outside(job):
            return replace(job, order=(_OUTSIDE, *job.order))
        is_last = job.order[0] > 0
        if (since_s := self._due.get(job.job_id)) is not None:
            return replace(job, order=(_LAST if is_last else _DUE, since_s, *job.order))
        if job.walltime_s <= self._short_s:
            place = _LAST if is_last else _BEHIND if job.job_id in self._behind else _FIRST
            return replace(job, order=(place, job.walltime_s, *job.order))
        return replace(job, order=(_NOT_DUE, *job.order), earliest_s=math.inf)

    def held_in_shadow(self, job_id: JobId) -> Held | None:
        """Why a waiting job is not due; None: it is, or is outside of all this."""
        job = self.waiting.get(job_id)
        if job is None or self._placed(job).order[0] not in {_NOT_DUE, _FIRST, _BEHIND}:
            return None
        if self._shadow_plan is None:
            self._shadow_plan = self._shadow.plan(self._now_s)
        return self._shadow_plan.held.get(job_id, Held(why=Why.PRIORITY))


class _HeldView(Mapping[JobId, Held]):
    def __init__(self, planner: ShortFirst, plan: Plan) -> None:
        self._planner, self._held = planner, plan.held

    def __getitem__(self, job_id: JobId) -> Held:
        held = self._held[job_id]
        if held.why is Why.LIMIT:  # of a short one, which else would wait for what it waits for in the shadow
            return held
        return self._planner.held_in_shadow(job_id) or held

    def __iter__(self) -> Iterator[JobId]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)


def _is_outside(job: WaitingJob) -> bool:
    is_reserved = bool(job.reservation or job.other_reservations)
    return is_reserved or bool(job.preempts or job.claim) or job.owner.queue == LINE or job.order[0] < 0


def _lines(depths: Mapping[str, int]) -> Mapping[str, int]:
    return {**depths, _SHORT: 0}
