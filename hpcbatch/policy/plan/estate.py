"""The nodes, as jobs outside reservations and jobs in each of them see them, and what runs there until when."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence

from hpcbatch.policy.plan.snapshot import JobId, Node, Reservation, RunningJob, Vector
from hpcbatch.policy.plan.timeline import Amounts, Occupant, Timeline, lower, minus

ALL_SHARES = 1 << 20
"""Each node has so many shares, index 0 of its amounts. A job takes one of each of its nodes, an exclusive one all."""
OVERDUE_S = 1.0
"""A job which should have ended is expected to end so much later than now."""


class Spot:
    """A node in a pool: "" for jobs outside reservations, else a reservation's name. Compared by identity."""

    __slots__ = ("free_now", "has", "is_even", "is_open", "jobs", "labels", "name", "pool", "timeline")

    def __init__(self, pool: str, node: Node, has: Amounts) -> None:
        self.pool = pool
        self.name = node.name
        self.labels = node.labels
        self.is_open = node.is_open
        self.has = has
        self.jobs: dict[JobId, tuple[float, Amounts]] = {}
        """Running in this pool on this node: the end and the amounts."""
        self.timeline = Timeline((-math.inf,), (has,))
        self.free_now = has
        self.is_even = True
        """What is free only grows from now on."""


class Estate:
    """All spots. What changes a node touches it; `refresh` brings the timelines of touched nodes up to date and returns
    the spots where something has changed.
    """

    def __init__(self, nodes: Iterable[Node], reservations: Iterable[Reservation]) -> None:
        self.nodes = {node.name: node for node in nodes}
        names = sorted({name for node in self.nodes.values() for name in node.has})
        self.index = {name: index for index, name in enumerate(names, 1)}
        """Of a vector's names in amounts."""
        self.reservations = list(reservations)
        self.pools: dict[str, dict[str, Spot]] = {"": {}, **{found.name: {} for found in self.reservations}}
        self.running: dict[JobId, RunningJob] = {}
        self.ends: list[tuple[float, JobId]] = []
        self._touched: dict[str, None] = {}
        """Names of nodes."""
        self._overdue: set[JobId] = set()
        for node in self.nodes.values():
            self._put_spots(node)

    def amounts(self, vector: Vector, *, shares: int) -> Amounts:
        """What no node has is left out."""
        found = [0] * (len(self.index) + 1)
        found[0] = shares
        for name, amount in vector.items():
            if name in self.index:
                found[self.index[name]] = amount
        return tuple(found)

    def spots(self) -> Iterator[Spot]:
        for pool in self.pools.values():
            yield from pool.values()

    def overdue_spots(self) -> set[Spot]:
        return {spot for job_id in self._overdue for spot in self.spots_of(self.running[job_id])}

    def spots_of(self, job: RunningJob) -> list[Spot]:
        pool, outside = self.pools[self._pool_of(job)], self.pools[""]
        found = (pool.get(name) or outside.get(name) for name in job.placed)
        return [spot for spot in found if spot is not None]

    def knows(self, node: Node) -> bool:
        return all(name in self.index for name in node.has)

    def put_node(self, node: Node) -> None:
        """A new one, or another version of one; its names are known."""
        self.nodes[node.name] = node
        self._put_spots(node)

    def drop_node(self, name: str) -> None:
        self.nodes.pop(name, None)
        for pool in self.pools.values():
            pool.pop(name, None)
        self._touched.pop(name, None)

    def put_running(self, job: RunningJob) -> None:
        self.drop_running(job.job_id)
        self.running[job.job_id] = job
        insort(self.ends, (job.ends_s, job.job_id))
        self._put_job(job)

    def drop_running(self, job_id: JobId) -> None:
        job = self.running.pop(job_id, None)
        if job is None:
            return
        del self.ends[bisect_left(self.ends, (job.ends_s, job_id))]
        self._overdue.discard(job_id)
        for name in job.placed:
            for pool in self.pools.values():
                if name in pool:
                    pool[name].jobs.pop(job_id, None)
            self.touch(name)

    def touch(self, name: str) -> None:
        self._touched[name] = None

    def refresh(self, now_s: float) -> list[Spot]:
        self._drop_ended_reservations(now_s)
        late = {job_id for _, job_id in self.ends[: bisect_left(self.ends, (now_s, "\U0010ffff"))]}
        for job_id in late | self._overdue:
            for name in self.running[job_id].placed:
                self.touch(name)
        self._overdue = late
        changed = []
        for name in self._touched:
            node = self.nodes.get(name)
            for pool in self.pools.values() if node else ():
                if node and name in pool:
                    spot = pool[name]
                    self._draw(spot, node, now_s)
                    changed.append(spot)
        self._touched = {}
        if self.reservations:
            for spot in self.spots():
                if not spot.is_even and spot.timeline.at(now_s) != spot.free_now:
                    spot.free_now = spot.timeline.at(now_s)
                    changed.append(spot)
        return changed

    def _pool_of(self, job: RunningJob) -> str:
        return job.reservation if job.reservation in self.pools else ""

    def _put_job(self, job: RunningJob) -> None:
        shares = ALL_SHARES if job.is_exclusive else 1
        for name, vector in job.placed.items():
            pool = self.pools[self._pool_of(job)]
            spot = pool.get(name) or self.pools[""].get(name)
            if spot is not None:
                spot.jobs[job.job_id] = (job.ends_s, self.amounts(vector, shares=shares))
            self.touch(name)

    def _put_spots(self, node: Node) -> None:
        has = self.amounts(node.has, shares=ALL_SHARES)
        pools = {"", *(found.name for found in self.reservations if node.name in found.nodes)}
        for pool in pools:
            spot = Spot(pool, node, has)
            before = self.pools.setdefault(pool, {}).get(node.name)
            if before is not None:
                before.labels, before.is_open, before.has = spot.labels, spot.is_open, spot.has
            else:
                self.pools[pool][node.name] = spot
                for job in self.running.values():
                    if node.name in job.placed and self._pool_of(job) == pool:
                        shares = ALL_SHARES if job.is_exclusive else 1
                        spot.jobs[job.job_id] = (job.ends_s, self.amounts(job.placed[node.name], shares=shares))
        self.touch(node.name)

    def _drop_ended_reservations(self, now_s: float) -> None:
        ended = [found for found in self.reservations if found.end_s <= now_s]
        if not ended:
            return
        self.reservations = [found for found in self.reservations if found.end_s > now_s]
        left = {found.name for found in self.reservations}
        for found in ended:
            for name in found.nodes:
                self.touch(name)
            for spot in (self.pools.pop(found.name, {}) if found.name not in left else {}).values():
                if spot.name in self.pools[""]:
                    self.pools[""][spot.name].jobs.update(spot.jobs)

    def _draw(self, spot: Spot, node: Node, now_s: float) -> None:
        if not spot.is_open:
            spot.timeline = Timeline((-math.inf,), ((-1,) * len(spot.has),))
            spot.is_even = True
        elif spot.pool:
            spot.timeline = self._inside(spot, now_s)
            spot.is_even = False
        else:
            kept = self._kept(node)
            spot.is_even = not kept
            spot.timeline = Timeline.of(spot.has, [*self._occupants(spot, now_s), *kept])
        spot.free_now = spot.timeline.at(now_s)

    def _kept(self, node: Node) -> list[Occupant]:
        return [
            (found.start_s, found.end_s, self._amount_kept(found, node, shares=1))
            for found in self.reservations
            if node.name in found.nodes
        ]

    def _amount_kept(self, found: Reservation, node: Node, *, shares: int) -> Amounts:
        vector = found.nodes[node.name]
        whole = self.amounts(node.has, shares=ALL_SHARES)
        return whole if vector is None else lower(whole, self.amounts(vector, shares=shares))

    def _occupants(self, spot: Spot, now_s: float) -> Iterator[Occupant]:
        """What runs on a node, as jobs outside reservations see it: a job in a reservation only after that."""
        for end_s, amounts in spot.jobs.values():
            yield -math.inf, end_of(end_s, now_s), amounts
        for pool, spots in self.pools.items():
            if pool and spot.name in spots and spots[spot.name].jobs:
                over = [found.end_s for found in self.reservations if found.name == pool and found.start_s <= now_s]
                for end_s, amounts in spots[spot.name].jobs.values():
                    start, end = max(over, default=-math.inf), end_of(end_s, now_s)
                    if start < end:
                        yield start, end, amounts

    def _inside(self, spot: Spot, now_s: float) -> Timeline:
        """What is free for jobs in a reservation: what it keeps, unless others overlap it."""
        node = self.nodes[spot.name]
        own = [(-math.inf, end_of(end_s, now_s), amounts) for end_s, amounts in spot.jobs.values()]
        others = [
            (-math.inf, end_of(end_s, now_s), amounts)
            for pool, spots in self.pools.items()
            if pool != spot.pool and spot.name in spots
            for end_s, amounts in spots[spot.name].jobs.values()
        ]
        kept = [
            (found.start_s, found.end_s, self._amount_kept(found, node, shares=ALL_SHARES))
            for found in self.reservations
            if found.name == spot.pool and spot.name in found.nodes
        ]
        before = [
            (found.start_s, found.end_s, self._amount_kept(found, node, shares=ALL_SHARES))
            for found in self.reservations
            if found.goes_before and found.name != spot.pool and spot.name in found.nodes
        ]
        zero = (0,) * len(spot.has)
        inside = Timeline.of(zero, [*own, *((start, end, minus(zero, amounts)) for start, end, amounts in kept)])
        beside = Timeline.of(spot.has, [*own, *others, *before])
        times = sorted({*inside.times, *beside.times})
        return Timeline(times, [lower(inside.at(time), beside.at(time)) for time in times])


def end_of(end_s: float, now_s: float) -> float:
    return end_s if end_s > now_s else now_s + OVERDUE_S


def fits(needs: Sequence[tuple[int, int]], free: Amounts, *, is_exclusive: bool) -> int:
    """How many pods that need so much of each index find room."""
    if free[0] < (ALL_SHARES if is_exclusive else 1):
        return 0
    least = ALL_SHARES
    for index, amount in needs:
        count = free[index] // amount
        if count < least:
            if count <= 0:
                return 0
            least = count
    return least
