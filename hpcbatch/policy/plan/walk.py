"""One plan: the waiting jobs in the order of priority, and what becomes of each. The rules are told in planner.py.

Not each job is looked at. Room only shrinks while a plan is made, so when a job finds none, neither do the rest of its
class, or those of them that would run as long; they are passed over together.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping

from hpcbatch.policy.plan.compiled import Counts, JobClass, Key, Option
from hpcbatch.policy.plan.earliest import earliest
from hpcbatch.policy.plan.outcome import Expected, Held, Plan, Preemption, Release, Why
from hpcbatch.policy.plan.packing import Placing
from hpcbatch.policy.plan.placings import claimed, counted_of, places_of
from hpcbatch.policy.plan.rooms import has_room
from hpcbatch.policy.plan.snapshot import JobId, Limit, Reservation, RunningJob, WaitingJob
from hpcbatch.policy.plan.tally import Tally, Uses
from hpcbatch.policy.plan.yielding import in_line, ready_at, victims_of, without
from hpcbatch.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from hpcbatch.policy.plan.planner import Planner

_SHOWN_ENDS = 3
_TIMES_LOOK_S = 30.0
_PREEMPTORS, _TRIED_IN_VAIN = 4, 32
"""In one plan, for how many jobs others end, and how many kinds of jobs are tried in vain. The next plan goes on."""


def walk(planner: Planner, now_s: float) -> Plan:
    planner.rooms.begin(now_s)
    try:
        found = _Walk(planner, now_s)
        found.run()
    finally:
        planner.rooms.end()
    return Plan(
        now_s=now_s,
        releases=tuple(found.releases.values()),
        held=_HeldView(found, planner),
        expected=found.expected,
        preemptions=tuple(found.preemptions),
        next_s=found.next_s(),
    )


class _Start(NamedTuple):
    """A planned one."""

    option: Option
    placed: list[Placing]
    start_s: float
    counted: Uses


class _Walk:
    def __init__(self, planner: Planner, now_s: float) -> None:
        self.now_s = now_s
        self.releases: dict[JobId, Release] = {}
        self.expected: dict[JobId, Expected] = {}
        self.preemptions: list[Preemption] = []
        self.own: dict[JobId, Held] = {}
        """Of jobs that were looked at one by one."""
        self.failed: dict[JobClass, list[tuple[float, Held]]] = {}
        """Why the jobs of a class that would run so long or longer do not start."""
        self.last_planned: dict[str, JobId] = {}
        """By pool."""
        self._planner = planner
        self._estate = planner.estate
        self._rooms = planner.rooms
        self._planned: dict[tuple[str, str], int] = {}
        """By pool, and by the queue if that has a depth of its own."""
        self._tally = Tally(planner.limits, now_s)
        self._has_soft = self._tally.has_soft
        self._are_over = False
        """Whether it is the turn of jobs over a soft limit."""
        self._cuts: dict[str, list[Reservation]] = {}
        """By pool: the times of a reservation that ends the jobs in it."""
        for found in planner.estate.reservations:
            if found.cuts_s:
                self._cuts.setdefault(found.name, []).append(found)
        self._starts: dict[JobId, _Start] = {}
        """Of those in `expected`."""
        self._claimed: set[JobId] = set()

    def run(self) -> None:
        for key in self._planner.claimants:
            self._claim(self._planner.waiting[key[1]], key)
        for pool, order in sorted(self._planner.orders.items(), reverse=True):  # "", all the others, comes last
            held = self._refusal(pool, order)
            if held is not None:
                self.own.update(held)
                continue
            for are_over in (False, True) if self._has_soft else (False,):
                self._are_over = are_over
                if pool or not self._planner.depths:
                    self._backfill(pool, self._plan_first(pool, order))
                elif order:
                    self._backfill(pool, order[0], self._planner.lines)
        if self._planner.preemptors and self._planner.yielding:
            self._preempt()

    def _refusal(self, pool: str, order: list[Key]) -> dict[JobId, Held] | None:
        """If the reservation is gone."""
        if pool in self._estate.pools:
            return None
        return {job_id: Held(why=Why.RESERVATION_OVER, reservation=pool) for _, job_id in order}

    def _plan_first(self, pool: str, order: list[Key]) -> Key | None:
        """Decide on the first jobs, one by one, until as many are planned as the depth says. Returns the last one's
        place; None: that was all."""
        for key in order:
            if not self._has_depth(pool):
                return key
            self._look_at(key)
        return None

    def _look_at(self, key: Key) -> None:
        """Decide on one job, if it can start at any time."""
        job = self._planner.waiting[key[1]]
        if job.job_id in self._claimed:
            return
        found = self._planner.class_of[job.job_id][0]
        if self._failed_before(found, job.least_s) is not None:
            return
        held = self._refusal_of(found)
        if held is not None:
            self.failed[found] = [(0.0, held)]
            return
        counts = found.counts[bisect_left(found.keys, key)]
        if self._is_turn_of(job.job_id, counts) and not self._tally.is_limited(counts):
            self._decide(job, found, counts)

    def _is_turn_of(self, job_id: JobId, counts: Counts) -> bool:
        """Jobs over a soft limit come after all others. Who is over one stays so: uses only grow."""
        if not self._has_soft:
            return True
        if self._tally.is_over(counts) is not self._are_over:
            return False
        return not (self._are_over and (job_id in self.releases or job_id in self.expected))

    def _refusal_of(self, found: JobClass) -> Held | None:
        """Why no job of the class can start at any time."""
        never = found.never_fits()
        if never is not None:
            return Held(why=never)
        known = [one for one in self._estate.reservations if one.name == found.pool]
        if known and not any(one.may_use(found.owner) for one in known):
            return Held(why=Why.RESERVATION_DENIED, reservation=found.pool)
        return None

    def _decide(self, job: WaitingJob, found: JobClass, counts: Counts) -> None:
        """Release the job, plan its start, or note why it does neither."""
        limited: Limit | None = None
        allowed: list[tuple[Option, Uses]] = []
        for option, uses in zip(found.options, counts, strict=True):
            limit = self._tally.limit(uses, job.least_s)
            if limit is None and self._room_now(option):
                limit = self._release(job, option, uses)
                if job.job_id in self.releases:
                    return
            if limit is None:
                allowed.append((option, uses))
            limited = limited or limit
        if not allowed:
            self.own[job.job_id] = Held(why=Why.LIMIT, limit=limited)
        elif not self._plan(job, allowed, found.pool):
            self._fail(found, job.least_s, self._unplanned(found.pool))

    def _backfill(self, pool: str, last: Key | None, lines: Mapping[str, list[Key]] | None = None) -> None:
        """Release what does not delay the planned starts, of the jobs from `last` on; on the way plan the first ones of
        each of the `lines`, as many as its depth says.
        """
        if last is None:
            return
        heap: list[tuple[Key, int, int, JobClass | str]] = []
        for number, found in enumerate(self._planner.compiler.classes.values()):
            if found.pool == pool and found.keys[-1] >= last and any(map(self._room_now, found.options)):
                at = self._next_allowed(found, bisect_left(found.keys, last))
                if at is not None:
                    heap.append((found.keys[at], number, at, found))
        for number, (name, keys) in enumerate(sorted((lines or {}).items()), 1):
            if keys and self._has_depth(pool, name):
                heap.append((keys[0], -number, 0, name))  # at a job its line comes before its class
        heapq.heapify(heap)
        while heap:
            _, number, at, entry = heap[0]
            if isinstance(entry, JobClass):
                following, keys = self._try(entry, at, has_lines=lines is not None), entry.keys
            else:
                keys = self._planner.lines[entry]
                following = self._plan_next(entry, keys, at)
            if following is None:
                heapq.heappop(heap)
            else:
                heapq.heapreplace(heap, (keys[following], number, following, entry))

    def _plan_next(self, line: str, keys: list[Key], at: int) -> int | None:
        """Decide on the job at `at` of a line. Returns which of them could be the next; None: none."""
        self._look_at(keys[at])
        if not self._has_depth("", line):
            return None
        for following in range(at + 1, len(keys)):
            job_id = keys[following][1]
            found, job = self._planner.class_of[job_id][0], self._planner.waiting[job_id]
            if self._failed_before(found, job.least_s) is None:
                return following
        return None

    def _try(self, found: JobClass, at: int, *, has_lines: bool) -> int | None:
        """Release the job at `at` of a class, if possible. Returns which of them could be the next; None: none."""
        if not any(map(self._room_now, found.options)):
            return None
        job = self._planner.waiting[found.keys[at][1]]
        if job.job_id in self._claimed or not self._is_turn_of(job.job_id, found.counts[at]):
            return self._next_allowed(found, at + 1)
        if has_lines and self._is_decided(job):
            return self._next_allowed(found, at + 1)
        limited = False
        for option, uses in zip(found.options, found.counts[at], strict=True):
            limit = self._tally.limit(uses, job.least_s)
            if limit is None and self._room_now(option):
                limit = self._release(job, option, uses)
            if job.job_id in self.releases:
                return self._next_allowed(found, at + 1)
            if limit is not None:
                self.own[job.job_id] = Held(why=Why.LIMIT, limit=limit)
                limited = True
        following = at + 1 if limited else found.after(at, job.least_s)
        return None if following is None else self._next_allowed(found, following)

    def _is_decided(self, job: WaitingJob) -> bool:
        """By its line."""
        if job.job_id in self.releases or job.job_id in self.expected:
            return True
        return self._has_depth("", self._planner.line_of(job))

    def _next_allowed(self, found: JobClass, at: int) -> int | None:
        """The first at `at` or after it that no limit holds back, whatever its walltime."""
        counts = found.counts
        for index in range(at, len(counts)):
            if self._is_turn_of(found.keys[index][1], counts[index]) and not self._tally.is_limited(counts[index]):
                return index
        return None

    def _failed_before(self, found: JobClass, least_s: float) -> Held | None:
        """Why a job of the class that would run no longer does not start."""
        return next((held for time, held in self.failed.get(found, ()) if time <= least_s), None)

    def _fail(self, found: JobClass, least_s: float, held: Held) -> None:
        self.failed.setdefault(found, []).insert(0, (least_s, held))

    def next_s(self) -> float | None:
        """When time alone changes the plan."""
        times = [expected.start_s for expected in self.expected.values()]
        times += [time for found in self._estate.reservations for time in (found.start_s, found.end_s)]
        times += [time for time, _ in self._planner.asleep[:1]]
        if self._planner.preemptors:
            yields = [job.yields for job in self._planner.yielding.values() if job.yields is not None]
            times += [time for one in yields for time in one.times()]
        if any(held.limit is not None and held.limit.is_time for held in self.own.values()):
            times.append(self.now_s + _TIMES_LOOK_S)  # what runs needs less the longer it has run
        return min((time for time in times if self.now_s < time < math.inf), default=None)

    def _has_depth(self, pool: str, line: str = "") -> bool:
        depth = self._planner.depths[line] if line else self._planner.depth
        return depth is None or self._planned.get((pool, line), 0) < depth

    def _room_now(self, option: Option) -> bool:
        """Whether the nodes have room at this moment; what they have later is not considered."""
        return has_room(option, (self._rooms.now(kind) for kind, _ in option.parts))

    def _release(self, job: WaitingJob, option: Option, uses: Uses) -> Limit | None:
        """Start the job, if it finds room for all of its time, or as much as it can do with. Returns the limit that
        forbids it all the same."""
        for walltime_s in self._walltimes(job, option.pool):
            limit = self._tally.limit(uses, walltime_s)
            placed = None if limit else self._rooms.place_now(option, self.now_s + walltime_s)
            if placed is None:
                continue
            counted = counted_of(job, uses, placed)
            limit = self._tally.limit(counted, walltime_s) if counted != uses else None
            if limit is not None:
                return limit
            is_bound = bool(option.pool) or self._rooms.shrinks(option.pool, self.now_s + walltime_s)
            self._start(job, _Start(option, placed, self.now_s, counted), walltime_s, is_bound=is_bound)
            return None
        return None

    def _start(self, job: WaitingJob, start: _Start, walltime_s: float, *, is_bound: bool) -> None:
        option, placed, _, counted = start
        self.releases[job.job_id] = Release(
            job_id=job.job_id,
            shape=option.index,
            places=places_of(placed),
            is_bound=is_bound or len({kind for kind, _ in option.parts}) > 1,
            walltime_s=walltime_s,
            reservation=option.pool,
        )
        self._rooms.occupy(option, placed, self.now_s, self.now_s + walltime_s)
        self._tally.release(counted, walltime_s)

    def _walltimes(self, job: WaitingJob, pool: str) -> Iterator[float]:
        """The times for which the job may run, the longest first: between them nothing begins."""
        for found in self._cuts.get(pool, ()):
            over_s = self.now_s + job.walltime_s - found.end_s
            if found.start_s <= self.now_s < found.end_s and 0 < over_s <= found.cuts_s:
                yield found.end_s - self.now_s
                return
        yield job.walltime_s
        least_s = job.min_walltime_s
        if least_s is None or least_s >= job.walltime_s:
            return
        starts = self._rooms.starts.get(pool, [])
        for index in range(bisect_left(starts, self.now_s + job.walltime_s) - 1, -1, -1):
            if starts[index] - self.now_s < least_s:
                return
            yield starts[index] - self.now_s

    def _plan(self, job: WaitingJob, allowed: list[tuple[Option, Uses]], pool: str) -> bool:
        best: tuple[float, Option, Uses, list[Placing]] | None = None
        walltime_s = job.walltime_s
        for one in self._cuts.get(pool, ()):
            if 0 < walltime_s - (one.end_s - one.start_s) <= one.cuts_s:
                walltime_s = one.end_s - one.start_s
        for option, uses in allowed:
            found = earliest(option, walltime_s, self._rooms)
            if found is not None and (best is None or found[0] < best[0]):
                best = found[0], option, uses, found[1]
        if best is None:
            return False
        start_s, option, uses, placed = best
        self._expect(job, _Start(option, placed, start_s, counted_of(job, uses, placed)))
        line = pool, self._planner.line_of(job)
        self._planned[line] = self._planned.get(line, 0) + 1
        self.last_planned[pool] = job.job_id
        return True

    def _expect(self, job: WaitingJob, start: _Start) -> None:
        option, placed, start_s, counted = start
        self.expected[job.job_id] = Expected(start_s=start_s, shape=option.index, places=places_of(placed))
        self.own[job.job_id] = self._next(job, start_s, placed)
        self._rooms.occupy(option, placed, start_s, start_s + job.walltime_s)
        self._tally.plan(counted, start_s, job.walltime_s)
        self._starts[job.job_id] = start

    def _claim(self, job: WaitingJob, key: Key) -> None:
        """Release a job for which others are ended, or keep what was chosen for it until it is free. Where that has
        become impossible, it is a job like others.
        """
        found = self._planner.class_of[job.job_id][0]
        option, uses = found.options[0], found.counts[bisect_left(found.keys, key)][0]
        if self._refusal_of(found) is not None or self._tally.limit(uses, job.least_s) is not None:
            return
        if self._room_now(option):
            self._release(job, option, uses)
            if job.job_id in self.releases:
                self._claimed.add(job.job_id)
                return
        placed = claimed(job, option, self._estate.pools[""])
        start_s = None if placed is None else self._rooms.first_time(option, placed, job.walltime_s)
        if placed is not None and start_s is not None:
            self._claimed.add(job.job_id)
            start = _Start(option, placed, start_s, counted_of(job, uses, placed))
            if start_s <= self.now_s:
                self._start(job, start, job.walltime_s, is_bound=True)
            else:
                self._expect(job, start)

    def _preempt(self) -> None:
        """Choose the running jobs that end for waiting ones."""
        ready = [*ready_at(self.now_s, self._planner.yielding.values())]
        failed: dict[object, float] = {}
        lines: dict[frozenset[str], list[RunningJob]] = {}
        gone: set[JobId] = set()
        for _, job_id in self._planner.preemptors if ready else ():
            job, found = self._planner.waiting[job_id], self._planner.class_of[job_id][0]
            kind = (id(found), job.preempts)
            if job_id in self.releases or job_id in self._claimed or failed.get(kind, math.inf) <= job.walltime_s:
                continue
            if len(self.preemptions) >= _PREEMPTORS or len(failed) >= _TRIED_IN_VAIN:
                return
            if job.preempts not in lines:
                lines[job.preempts] = in_line(
                    each for each in ready if each.yields and each.yields.classes & job.preempts
                )
            candidates = [each for each in lines[job.preempts] if each.job_id not in gone]
            is_possible = bool(candidates) and self._refusal_of(found) is None
            victims = self._preempt_for(job, found, candidates) if is_possible else None
            if victims is None:
                failed[kind] = job.walltime_s
            else:
                gone.update(each.job_id for each in victims)

    def _preempt_for(
        self, job: WaitingJob, found: JobClass, candidates: list[RunningJob]
    ) -> tuple[RunningJob, ...] | None:
        """Those that end; its own planned start, if any, is given up. None: the job cannot start."""
        planned = self._starts.get(job.job_id)
        if planned is not None:
            self._forget_start(job, planned)
        counts = found.counts[bisect_left(found.keys, (job.order, job.job_id))]
        option, uses = found.options[0], counts[0]  # a claim is of the first shape
        is_held_back = self._tally.limit(uses, job.walltime_s) is not None
        tried = () if is_held_back else candidates
        chosen, is_ending = victims_of(option, job.walltime_s, tried, self._estate, self._rooms)
        if chosen is None or is_held_back:
            if planned is not None:
                self._expect(job, planned)
            return None
        victims, placed = chosen
        for victim in victims:
            for spot in self._estate.spots_of(victim):
                self._rooms.put(spot, without(self._rooms.timeline(spot), spot, victim, self._estate, self.now_s))
        self._rooms.occupy(option, placed, self.now_s, self.now_s + job.walltime_s)
        self._tally.release(counted_of(job, uses, placed), job.walltime_s)
        if victims:  # else there is room that the victims of others leave
            names = tuple(victim.job_id for victim in victims)
            self.preemptions.append(
                Preemption(
                    job_id=job.job_id, shape=option.index, places=places_of(placed), victims=names, is_ending=is_ending
                )
            )
        return victims

    def _forget_start(self, job: WaitingJob, start: _Start) -> None:
        self._rooms.vacate(start.option, start.placed, start.start_s, start.start_s + job.walltime_s)
        self._tally.forget(start.counted, start.start_s, job.walltime_s)

    def _next(self, job: WaitingJob, start_s: float, placed: list[Placing]) -> Held:
        """Why a job with a planned start does not start now."""
        for found in self._estate.reservations:
            is_own = job.reservation == found.name
            if start_s == (found.start_s if is_own else found.end_s) and any(p[1].name in found.nodes for p in placed):
                return Held(why=Why.RESERVATION, reservation=found.name)
        ends = sorted(
            {(end_s, job_id) for _, spot, _ in placed for job_id, (end_s, _) in spot.jobs.items() if end_s <= start_s},
            reverse=True,
        )
        before = self.last_planned.get(job.reservation)
        if not ends and before is not None:
            return Held(why=Why.PRIORITY, waits_for=(before,))
        return Held(why=Why.RESOURCES, waits_for=tuple(job_id for _, job_id in ends[:_SHOWN_ENDS]))

    def _unplanned(self, pool: str) -> Held:
        """Of a job for which no time is found."""
        if pool:
            return Held(why=Why.RESERVATION_OVER, reservation=pool)
        return Held(why=Why.RESOURCES)

    def held(self, job_id: JobId) -> Held:
        """Of a job that is not released."""
        if job_id in self.own:
            return self.own[job_id]
        known = self._planner.class_of.get(job_id)
        if known is None:
            return Held(why=Why.BEGIN_TIME)
        found, job = known[0], self._planner.waiting[job_id]
        held = self._failed_before(found, job.least_s)
        if held is not None:
            return held
        counts = found.counts[bisect_left(found.keys, (job.order, job_id))]
        limits = [self._tally.limit(uses, 0.0) for uses in counts]
        if all(limits):
            return Held(why=Why.LIMIT, limit=limits[0])
        last = self.last_planned.get(found.pool)
        behind = Held(why=Why.PRIORITY, waits_for=() if last is None else (last,))
        return self._refusal_of(found) or behind


class _HeldView(Mapping[JobId, Held]):
    def __init__(self, found: _Walk, planner: Planner) -> None:
        self._walk = found
        self._planner = planner

    def __getitem__(self, job_id: JobId) -> Held:
        if job_id in self._walk.releases or job_id not in self._planner.waiting:
            raise KeyError(job_id)
        return self._walk.held(job_id)

    def __iter__(self) -> Iterator[JobId]:
        return (job_id for job_id in self._planner.waiting if job_id not in self._walk.releases)

    def __len__(self) -> int:
        return len(self._planner.waiting) - len(self._walk.releases)
