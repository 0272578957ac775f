"""How many pods of a kind find room from now on: on each node, kept from plan to plan and corrected where nodes change.

While a plan is made, its releases and planned starts occupy room too; `end` takes them back.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from hpcbatch.policy.plan.compiled import Kind, Option
from hpcbatch.policy.plan.estate import Estate, Spot
from hpcbatch.policy.plan.packing import Placing, place, place_part, taken
from hpcbatch.policy.plan.timeline import Amounts, Timeline, minus

_LONG_LOG = 50_000


class View:
    """The pods of one kind that fit on each spot where any do."""

    __slots__ = ("_order", "cursor", "fits", "total")

    def __init__(self, fits: dict[Spot, int], cursor: int) -> None:
        self.fits = fits
        self.total = sum(fits.values())
        self.cursor = cursor
        """How much of the log of changes it has seen."""
        self._order: list[tuple[int, str, int, Spot]] | None = None
        """The fullest first, once somebody has asked. Sorting thousands of nodes for each job was most of a plan."""

    def put(self, spot: Spot, count: int) -> None:
        before = self.fits.get(spot, 0)
        if count == before:
            return
        self.total += count - before
        if self._order is not None and before:
            del self._order[bisect_left(self._order, (before, spot.name, id(spot), spot))]
        if count:
            self.fits[spot] = count
            if self._order is not None:
                insort(self._order, (count, spot.name, id(spot), spot))
        else:
            self.fits.pop(spot, None)

    def fullest(self) -> Iterator[Spot]:
        """The spots by how few pods fit, then by name. It must not be changed meanwhile."""
        if self._order is None:
            self._order = sorted((count, spot.name, id(spot), spot) for spot, count in self.fits.items())
        return (spot for _, _, _, spot in self._order)


def has_room(option: Option, views: Iterable[View]) -> bool:
    """Whether each part, if there were no others, finds places for all its pods. `views`: of each part's kind."""
    is_scattered = option.is_scattered
    for view, (_, count) in zip(views, option.parts, strict=True):
        if (len(view.fits) if is_scattered else view.total) < count:
            return False
    return True


class Special:
    """Spots on which something begins later on, and the times at which room grows on them."""

    __slots__ = ("_growing", "at", "times")

    def __init__(self) -> None:
        self._growing: dict[Spot, tuple[float, ...]] = {}
        self.at: dict[float, set[Spot]] = {}
        self.times: list[float] = []
        """In order."""

    def __contains__(self, spot: Spot) -> bool:
        return spot in self._growing

    def __iter__(self) -> Iterator[Spot]:
        return iter(self._growing)

    def put(self, spot: Spot, timeline: Timeline) -> None:
        before, now = self._growing.get(spot, ()), timeline.grows
        for time in before:
            if time not in now:
                self.at[time].discard(spot)
        for time in now:
            if time not in before:
                spots = self.at.get(time)
                if spots is None:
                    self.at[time] = {spot}
                    insort(self.times, time)
                else:
                    spots.add(spot)
        self._growing[spot] = now


class Rooms:
    def __init__(self, estate: Estate) -> None:
        self._estate = estate
        self._log: list[Spot] = []
        """Where room at this moment has changed."""
        self._log_of_plan: list[Spot] = []
        """Where this plan has changed room, now or later on."""
        self._ends: list[tuple[float, list[Spot]]] = []
        self._more_ends: Iterator[tuple[float, list[Spot]]] = iter(())
        self._taken_now: set[Spot] = set()
        """Where it has changed it now."""
        self._now: dict[Kind, View] = {}
        self._until: dict[tuple[Kind, float], View] = {}
        self._planned: dict[Spot, Timeline] = {}
        self._uneven: dict[str, set[Spot]] = {}
        self._special: dict[str, Special] = {}
        self.starts: dict[str, list[float]] = {}
        """By pool, the times to come at which room on some node shrinks: reservations, planned starts."""
        self.now_s = 0.0

    def changed(self, spots: Iterable[Spot]) -> None:
        self._log.extend(spots)

    def begin(self, now_s: float) -> None:
        self.now_s = now_s
        self._ends, self._more_ends = [], self._iter_ends()
        if len(self._log) > _LONG_LOG:
            self._log, self._now = [], {}
        self.starts, self._uneven = {"": []}, {}
        for found in self._estate.reservations:
            for pool, time in (("", found.start_s), ("", found.end_s), (found.name, found.end_s)):
                if time > now_s and time not in self.starts.setdefault(pool, []):
                    insort(self.starts[pool], time)
            for pool in self._estate.pools if found.goes_before and found.start_s > now_s else ():
                if found.start_s not in self.starts.setdefault(pool, []):
                    insort(self.starts[pool], found.start_s)
        if self._estate.reservations:
            for spot in self._estate.spots():
                if not spot.is_even:
                    self._uneven.setdefault(spot.pool, set()).add(spot)

    def end(self) -> None:
        self._log.extend(self._taken_now)
        self._planned, self._until, self._log_of_plan, self._special = {}, {}, [], {}
        self._taken_now.clear()

    def forget_unused(self, kinds: Iterable[Kind]) -> None:
        used = set(kinds)
        self._now = {kind: view for kind, view in self._now.items() if kind in used}

    def end_at(self, index: int) -> tuple[float, list[Spot]] | None:
        """Of the times to come at which running jobs end outside of reservations, that one, and where; None: there are
        fewer. Most plans look at the first ones only.
        """
        while index >= len(self._ends):
            found = next(self._more_ends, None)
            if found is None:
                return None
            self._ends.append(found)
        return self._ends[index]

    def _iter_ends(self) -> Iterator[tuple[float, list[Spot]]]:
        estate, since, time = self._estate, self.now_s, -math.inf
        spots: list[Spot] = []
        for at in range(bisect_right(estate.ends, (since, "\U0010ffff")), len(estate.ends)):
            end_s, job_id = estate.ends[at]
            if end_s != time and spots:
                yield time, spots
                spots = []
            time = end_s
            spots += [spot for spot in estate.spots_of(estate.running[job_id]) if not spot.pool]
        if spots:
            yield time, spots

    def timeline(self, spot: Spot) -> Timeline:
        return self._planned.get(spot) or spot.timeline

    def special(self, pool: str) -> Special:
        """The spots of a pool on which this plan or a reservation takes room, or jobs run that are over their times."""
        found = self._special.get(pool)
        if found is None:
            found = self._special[pool] = Special()
            overdue = (spot for spot in self._estate.overdue_spots() if spot.pool == pool)
            planned = (spot for spot in self._planned if spot.pool == pool)
            for spot in {*self._uneven.get(pool, ()), *overdue, *planned}:
                found.put(spot, self.timeline(spot))
        return found

    def shrinks(self, pool: str, end_s: float) -> bool:
        """Whether room shrinks somewhere before `end_s`."""
        starts = self.starts.get(pool)
        return bool(starts) and starts[0] < end_s if starts else False

    def now(self, kind: Kind) -> View:
        """What fits at this moment, for however short a time."""
        view = self._now.get(kind)
        if view is None:
            free = ((spot, self._free(spot)) for spot in kind.filter.able)
            view = View({spot: count for spot, room in free if (count := kind.fits(room))}, len(self._log))
            self._now[kind] = view
        elif view.cursor < len(self._log):
            for spot in dict.fromkeys(self._log[view.cursor :]):
                view.put(spot, kind.fits(self._free(spot)) if spot in kind.filter.able else 0)
            view.cursor = len(self._log)
        return view

    def until(self, kind: Kind, end_s: float) -> View:
        """What fits from now until `end_s`."""
        starts = self.starts.get(kind.filter.pool, [])
        at = bisect_left(starts, end_s)
        if at == 0:
            return self.now(kind)
        horizon_s = starts[at] if at < len(starts) else math.inf
        view = self._until.get((kind, horizon_s))
        if view is None:
            fits = self.now(kind).fits.copy()
            view = View(fits, len(self._log_of_plan))
            special = self._uneven.get(kind.filter.pool, set())
            if len(fits) < len(special) + len(self._planned):
                concerned = [spot for spot in fits if spot in special or spot in self._planned]
            else:
                concerned = [spot for spot in {*special, *self._planned} if spot in fits]
            for spot in concerned:
                view.put(spot, self.timeline(spot).fewest(kind.fits, self.now_s, horizon_s))
            self._until[kind, horizon_s] = view
        elif view.cursor < len(self._log_of_plan):
            for spot in dict.fromkeys(self._log_of_plan[view.cursor :]):
                is_able = spot in kind.filter.able
                view.put(spot, self.timeline(spot).fewest(kind.fits, self.now_s, horizon_s) if is_able else 0)
            view.cursor = len(self._log_of_plan)
        return view

    def place_now(self, option: Option, end_s: float) -> list[Placing] | None:
        """Where the pods go if the job runs from now until `end_s`: where something begins later, so that longer jobs
        find room elsewhere; then on the fullest nodes.
        """
        views = [self.until(kind, end_s) for kind, _ in option.parts]
        if not has_room(option, views):
            return None
        pool = option.pool
        uneven, planned = self._uneven.get(pool, set()), self._planned
        if len(views) == 1:
            (view,) = views
            special = {spot for spot in (*uneven, *planned) if spot in view.fits}
            first = sorted(special, key=lambda spot: (view.fits[spot], spot.name))
            return place_part(option, 0, view.fits, chain(first, (s for s in view.fullest() if s not in special)))

        def preference(spot: Spot, count: int) -> tuple[bool, int, str]:
            return spot not in uneven and spot not in planned, count, spot.name

        return place(
            option,
            [view.fits for view in views],
            lambda spot: self.timeline(spot).lowest(self.now_s, end_s),
            preference,
        )

    def occupy(self, option: Option, placed: Sequence[Placing], start_s: float, end_s: float) -> None:
        for spot, amounts in taken(option, placed).items():
            self.put(spot, self.timeline(spot).with_occupant(start_s, end_s, amounts), since_s=start_s)
        if start_s > self.now_s:
            starts = self.starts.setdefault(option.pool, [])
            if start_s not in starts:
                insort(starts, start_s)

    def vacate(self, option: Option, placed: Sequence[Placing], start_s: float, end_s: float) -> None:
        """The reverse of `occupy`."""
        for spot, amounts in taken(option, placed).items():
            nothing = (0,) * len(amounts)
            self.put(spot, self.timeline(spot).with_occupant(start_s, end_s, minus(nothing, amounts)), since_s=start_s)

    def put(self, spot: Spot, timeline: Timeline, *, since_s: float = -math.inf) -> None:
        """While this plan is made. `since_s`: before then nothing changes."""
        self._planned[spot] = timeline
        if (special := self._special.get(spot.pool)) is not None:
            special.put(spot, timeline)
        self._log_of_plan.append(spot)
        if since_s <= self.now_s:
            self._taken_now.add(spot)
            self._log.append(spot)

    def first_time(self, option: Option, placed: Sequence[Placing], walltime_s: float) -> float | None:
        """When the pods have room at these places for so long; None: never, as far as is known."""
        wanted = taken(option, placed)
        times = {self.now_s} | {time for spot in wanted for time in self.timeline(spot).times if time > self.now_s}
        for time in sorted(times):
            free = {spot: self.timeline(spot).lowest(time, time + walltime_s) for spot in wanted}
            if all(has >= needs for spot in wanted for has, needs in zip(free[spot], wanted[spot], strict=True)):
                return time
        return None

    def _free(self, spot: Spot) -> Amounts:
        planned = self._planned.get(spot)
        return spot.free_now if planned is None else planned.at(self.now_s)
