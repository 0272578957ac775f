"""One plan: the waiting jobs in the order of priority, and what becomes of each. The rules are told in planner.py.

Not each job is looked at. Room only shrinks while a plan is made, so when a job finds none, neither do the rest of its
class, or those of them that would run as long; they are passed over together.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from hpcbatch.policy.plan.compiled import JobClass, Key, Option
from hpcbatch.policy.plan.earliest import earliest
from hpcbatch.policy.plan.limits import CounterKey
from hpcbatch.policy.plan.outcome import Expected, Held, Place, Plan, Release, Why
from hpcbatch.policy.plan.rooms import Placing
from hpcbatch.policy.plan.snapshot import NODES, JobId, Limit, WaitingJob

if TYPE_CHECKING:
    from hpcbatch.policy.plan.planner import Planner

_SHOWN_ENDS = 3


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
        next_s=found.next_s(),
    )


class _Walk:
    def __init__(self, planner: Planner, now_s: float) -> None:
        self.now_s = now_s
        self.releases: dict[JobId, Release] = {}
        self.expected: dict[JobId, Expected] = {}
        self.own: dict[JobId, Held] = {}
        """Of jobs that were looked at one by one."""
        self.failed: dict[JobClass, list[tuple[float, Held]]] = {}
        """Why the jobs of a class that would run so long or longer do not start."""
        self.last_planned: dict[str, JobId] = {}
        """By pool."""
        self._planner = planner
        self._estate = planner.estate
        self._rooms = planner.rooms
        self._planned: dict[str, int] = {}
        self._released_uses: dict[CounterKey, int] = {}
        self._planned_uses: dict[CounterKey, list[tuple[float, int]]] = {}

    def run(self) -> None:
        pools = self._estate.pools
        heap: list[tuple[Key, int, JobClass]] = []
        places: list[int] = []
        for number, found in enumerate(self._planner.compiler.classes.values()):
            places.append(0)
            held = self._refusal(found)
            if held is not None or found.pool not in pools:
                self.failed[found] = [(0.0, held or Held(why=Why.RESERVATION_OVER, reservation=found.pool))]
            else:
                heap.append((found.keys[0], number, found))
        heapq.heapify(heap)
        while heap:
            key, number, found = heap[0]
            following = self._consider(found, places[number], key[1])
            if following is None or following >= len(found.keys):
                heapq.heappop(heap)
            else:
                places[number] = following
                heapq.heapreplace(heap, (found.keys[following], number, found))

    def next_s(self) -> float | None:
        """When time alone changes the plan."""
        times = [expected.start_s for expected in self.expected.values()]
        times += [time for found in self._estate.reservations for time in (found.start_s, found.end_s)]
        times += [time for time, _ in self._planner.asleep[:1]]
        return min((time for time in times if self.now_s < time < math.inf), default=None)

    def _refusal(self, found: JobClass) -> Held | None:
        if not found.pool:
            return None
        known = [one for one in self._estate.reservations if one.name == found.pool]
        if known and not any(one.may_use(found.owner) for one in known):
            return Held(why=Why.RESERVATION_DENIED, reservation=found.pool)
        return None

    def _consider(self, found: JobClass, index: int, job_id: JobId) -> int | None:
        """Decide on the job at `index` of a class. Returns the index of the next one to look at."""
        job, shortest_s = self._planner.waiting[job_id], found.shortest[index]
        limited: Limit | None = None
        free_of_limits: list[Option] = []
        is_final = True  # no job of the class could start, however short
        for option in found.options:
            limit, is_always = self._limit(option, shortest_s)
            if limit is not None:
                limited = limited or limit
                is_final = is_final and is_always
                continue
            if self._room_now(option):
                is_final = False
                limit = self._release(job, option)
                if job_id in self.releases:
                    return index + 1
                if limit is not None:
                    limited = limited or limit
                    continue
            free_of_limits.append(option)
        if not free_of_limits and limited is not None:
            return self._fail(found, index, Held(why=Why.LIMIT, limit=limited), is_final=is_final)
        if self._has_depth(found.pool):
            never = never_fits(found)
            if never is not None:
                return self._fail(found, index, never, is_final=True)
            if self._plan(job, free_of_limits, found.pool):
                return index + 1
            return self._fail(found, index, self._unplanned(found.pool), is_final=False)
        return self._fail(found, index, self._behind(found), is_final=is_final)

    def _fail(self, found: JobClass, index: int, held: Held, *, is_final: bool) -> int | None:
        shortest_s = 0.0 if is_final else found.shortest[index]
        self.failed.setdefault(found, []).append((shortest_s, held))
        return None if is_final else found.after(index, shortest_s)

    def _has_depth(self, pool: str) -> bool:
        depth = self._planner.depth
        return depth is None or self._planned.get(pool, 0) < depth

    def _room_now(self, option: Option) -> bool:
        """Whether the nodes have room at this moment; what they have later is not considered."""
        return all(
            self._rooms.now(kind).count(is_scattered=option.is_scattered) >= count for kind, count in option.parts
        )

    def _release(self, job: WaitingJob, option: Option) -> Limit | None:
        """Start the job, if it finds room for all of its time, or as much as it can do with. Returns the limit that
        forbids it all the same."""
        for walltime_s in self._walltimes(job, option.parts[0][0].filter.pool):
            limit, _ = self._limit(option, walltime_s)
            placed = None if limit else self._rooms.place_now(option, self.now_s + walltime_s)
            if placed is None:
                continue
            limit = self._limit_of_nodes(option, placed, walltime_s)
            if limit is not None:
                return limit
            pool = option.parts[0][0].filter.pool
            end_s = self.now_s + walltime_s
            self.releases[job.job_id] = Release(
                job_id=job.job_id,
                shape=option.index,
                places=_places(placed),
                is_bound=bool(pool) or self._rooms.shrinks(pool, end_s),
                walltime_s=walltime_s,
            )
            self._rooms.occupy(option, placed, self.now_s, end_s)
            for key, amount in self._uses(option, placed):
                self._released_uses[key] = self._released_uses.get(key, 0) + amount
            return None
        return None

    def _walltimes(self, job: WaitingJob, pool: str) -> Iterator[float]:
        """The times for which the job may run, the longest first: between them nothing begins."""
        yield job.walltime_s
        least_s = job.min_walltime_s
        if least_s is None or least_s >= job.walltime_s:
            return
        starts = self._rooms.starts.get(pool, [])
        for index in range(bisect_left(starts, self.now_s + job.walltime_s) - 1, -1, -1):
            if starts[index] - self.now_s < least_s:
                return
            yield starts[index] - self.now_s

    def _plan(self, job: WaitingJob, options: list[Option], pool: str) -> bool:
        best: tuple[float, Option, list[Placing]] | None = None
        for option in options:
            found = earliest(option, job.walltime_s, self._estate, self._rooms)
            if found is not None and (best is None or found[0] < best[0]):
                best = found[0], option, found[1]
        if best is None:
            return False
        start_s, option, placed = best
        self.expected[job.job_id] = Expected(start_s=start_s, shape=option.index, places=_places(placed))
        self.own[job.job_id] = self._next(job, start_s, placed)
        self._rooms.occupy(option, placed, start_s, start_s + job.walltime_s)
        for key, amount in self._uses(option, placed):
            self._planned_uses.setdefault(key, []).append((start_s, amount))
        self._planned[pool] = self._planned.get(pool, 0) + 1
        self.last_planned[pool] = job.job_id
        return True

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

    def _behind(self, found: JobClass) -> Held:
        """Of a job after those with planned starts."""
        last = self.last_planned.get(found.pool)
        return Held(why=Why.PRIORITY, waits_for=() if last is None else (last,))

    def _limit(self, option: Option, walltime_s: float) -> tuple[Limit | None, bool]:
        """The limit that forbids the job to start now, and whether it would however short the job were. Planned jobs
        count for jobs that would still run when they start."""
        soft: Limit | None = None
        for count in option.counts:
            used = self._planner.limits.used.get(count.key, 0) + self._released_uses.get(count.key, 0)
            if used + count.amount > count.limit.amount:
                return count.limit, True
            if soft is None and used + count.amount + self._planned_use(count.key, walltime_s) > count.limit.amount:
                soft = count.limit
        return soft, False

    def _planned_use(self, key: CounterKey, walltime_s: float) -> int:
        end_s = self.now_s + walltime_s
        return sum(amount for start_s, amount in self._planned_uses.get(key, ()) if start_s < end_s)

    def _limit_of_nodes(self, option: Option, placed: list[Placing], walltime_s: float) -> Limit | None:
        if not option.are_nodes_counted:
            return None
        amounts = dict(self._uses(option, placed))
        for count in option.counts:
            if count.limit.what == NODES:
                used = self._planner.limits.used.get(count.key, 0) + self._released_uses.get(count.key, 0)
                if used + amounts[count.key] + self._planned_use(count.key, walltime_s) > count.limit.amount:
                    return count.limit
        return None

    def _uses(self, option: Option, placed: list[Placing]) -> Iterator[tuple[CounterKey, int]]:
        nodes = len({spot for _, spot, _ in placed})
        for count in option.counts:
            is_nodes = option.are_nodes_counted and count.limit.what == NODES
            yield count.key, nodes if is_nodes else count.amount


def never_fits(found: JobClass) -> Held | None:
    """The reason, if jobs of the class could not run even if nothing else did."""
    if any(option.ever_fits(with_closed=False) for option in found.options):
        return None
    is_down = any(option.ever_fits(with_closed=True) for option in found.options)
    return Held(why=Why.NODE_DOWN if is_down else Why.NEVER_FITS)


def _places(placed: list[Placing]) -> tuple[Place, ...]:
    return tuple(Place(part=part, node=spot.name, count=count) for part, spot, count in placed)


class _HeldView(Mapping[JobId, Held]):
    def __init__(self, found: _Walk, planner: Planner) -> None:
        self._walk = found
        self._planner = planner

    def __getitem__(self, job_id: JobId) -> Held:
        job = self._planner.waiting[job_id]
        if job_id in self._walk.releases:
            raise KeyError(job_id)
        if job_id in self._walk.own:
            return self._walk.own[job_id]
        known = self._planner.class_of.get(job_id)
        if known is None:
            return Held(why=Why.BEGIN_TIME)
        found = known[0]
        least_s = job.walltime_s if job.min_walltime_s is None else job.min_walltime_s
        failed = [(time, held) for time, held in self._walk.failed[found] if time <= least_s]
        held = max(failed, key=lambda one: one[0])[1]
        return (never_fits(found) if held.why is Why.PRIORITY else None) or held

    def __iter__(self) -> Iterator[JobId]:
        return (job_id for job_id in self._planner.waiting if job_id not in self._walk.releases)

    def __len__(self) -> int:
        return len(self._planner.waiting) - len(self._walk.releases)
