"""The first time at which a job that cannot start now finds room for its whole walltime."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from hpcbatch.policy.plan.compiled import Option
from hpcbatch.policy.plan.estate import Spot
from hpcbatch.policy.plan.packing import Placing, place
from hpcbatch.policy.plan.rooms import Rooms, Special, View, has_room
from hpcbatch.policy.plan.timeline import Amounts


def earliest(option: Option, walltime_s: float, rooms: Rooms) -> tuple[float, list[Placing]] | None:
    """When and where. Of nodes that are free in time it takes those that become free last, so that as many as possible
    of those that are free before are left to others. None: never, as far as the ends of running jobs tell.

    Room only grows when something ends, so only these times need trying. On most nodes nothing begins later on: what is
    free there at one time stays free. The others, `special`, are looked at again for each time that would do.
    """
    now_s = rooms.now_s
    special = rooms.special(option.pool)
    views = [_copy(rooms.until(kind, now_s + walltime_s)) for kind, _ in option.parts]
    pairs = [(view, kind.filter.able, kind.fits) for view, (kind, _) in zip(views, option.parts, strict=True)]
    since: dict[Spot, float] = {}
    for time, even, uneven in _ends(option.pool, special, rooms):
        end_s = time + walltime_s
        for view, able, fits in pairs:
            for spot in even:
                if spot in able and (count := fits(spot.timeline.at(time))) != view.fits.get(spot, 0):
                    since[spot] = time  # it has grown
                    view.put(spot, count)
            for spot in uneven:
                if spot in able:
                    count = rooms.timeline(spot).fewest(fits, time, end_s)
                    if count > view.fits.get(spot, 0):
                        since[spot] = time
                    view.put(spot, count)
        if has_room(option, views):

            def free_then(spot: Spot, at: float = time) -> Amounts:
                return rooms.timeline(spot).lowest(at, at + walltime_s)

            # something may begin on special nodes within the walltime, which was not within it at an earlier time
            for view, _, fits in pairs:
                for spot in [spot for spot in view.fits if spot in special]:
                    view.put(spot, rooms.timeline(spot).fewest(fits, time, end_s))
            if has_room(option, views):
                placed = place(
                    option,
                    [view.fits for view in views],
                    free_then,
                    lambda spot, count: (-since.get(spot, now_s), count, spot.name),
                )
                if placed is not None:
                    return time, placed
    return None


def _copy(view: View) -> View:
    return View(view.fits.copy(), 0)


def _ends(pool: str, special: Special, rooms: Rooms) -> Iterator[tuple[float, list[Spot], Iterable[Spot]]]:
    """The times to come at which room grows, in order, and where: on nodes on which nothing begins, and on others."""
    special_times = special.times
    next_special, special_count = bisect_right(special_times, rooms.now_s), len(special_times)
    index = 0
    end = rooms.end_at(0) if pool == "" else None
    while end is not None or next_special < special_count:
        time = math.inf if end is None else end[0]
        uneven: Iterable[Spot] = ()
        if next_special < special_count and special_times[next_special] <= time:
            time = special_times[next_special]
            uneven = special.at[time]
            next_special += 1
        if time == math.inf:
            return
        even: list[Spot] = []
        if end is not None and end[0] == time:
            even = [spot for spot in end[1] if spot not in special]
            index += 1
            end = rooms.end_at(index)
        if even or uneven:
            yield time, even, uneven
