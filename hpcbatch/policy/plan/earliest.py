"""The first time at which a job that cannot start now finds room for its whole walltime."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator

from hpcbatch.policy.plan.compiled import Option
from hpcbatch.policy.plan.estate import Estate, Spot
from hpcbatch.policy.plan.packing import Placing, place
from hpcbatch.policy.plan.rooms import Rooms, View, has_room
from hpcbatch.policy.plan.timeline import Amounts


def earliest(option: Option, walltime_s: float, estate: Estate, rooms: Rooms) -> tuple[float, list[Placing]] | None:
    """When and where. Of nodes that are free in time it takes those that become free last, so that as many as possible
    of those that are free before are left to others. None: never, as far as the ends of running jobs tell.

    Room only grows when something ends, so only these times need trying. On most nodes nothing begins later on: what is
    free there at one time stays free. The others, `special`, are looked at again for each time that would do.
    """
    now_s, pool = rooms.now_s, option.pool
    special = rooms.special(pool) | {spot for spot in estate.overdue_spots() if spot.pool == pool}
    views = [_copy(rooms.until(kind, now_s + walltime_s)) for kind, _ in option.parts]
    since: dict[Spot, float] = {}
    for time, spots in _ends(pool, special, rooms):
        for spot in spots:
            is_special, timeline = spot in special, rooms.timeline(spot)
            free = timeline.lowest(time, time + walltime_s) if is_special else timeline.at(time)
            for view, (kind, _) in zip(views, option.parts, strict=True):
                if spot in kind.filter.able:
                    count = kind.fits(free)
                    if count > view.fits.get(spot, 0):
                        since[spot] = time
                    view.put(spot, count)
        if has_room(option, views):

            def free_then(spot: Spot, at: float = time) -> Amounts:
                return rooms.timeline(spot).lowest(at, at + walltime_s)

            _correct(option, views, special, free_then)
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


def _correct(option: Option, views: list[View], special: set[Spot], free: Callable[[Spot], Amounts]) -> None:
    """Something may begin on special nodes within the walltime, which was not within it at an earlier time."""
    for view, (kind, _) in zip(views, option.parts, strict=True):
        concerned = [spot for spot in special if spot in view.fits]
        for spot in concerned:
            view.put(spot, kind.fits(free(spot)))


def _ends(pool: str, special: set[Spot], rooms: Rooms) -> Iterator[tuple[float, list[Spot]]]:
    """The times to come at which room grows, in order, and where."""
    at_special: dict[float, list[Spot]] = {}
    for spot in special:
        timeline = rooms.timeline(spot)
        for index in range(bisect_right(timeline.times, rooms.now_s), len(timeline.times)):
            before, free = timeline.frees[index - 1], timeline.frees[index]
            if any(more > less for more, less in zip(free, before, strict=True)):
                at_special.setdefault(timeline.times[index], []).append(spot)
    special_times = sorted(at_special)
    next_special = 0
    ends = rooms.ends if pool == "" else []
    index = 0
    while index < len(ends) or next_special < len(special_times):
        time = ends[index][0] if index < len(ends) else special_times[next_special]
        if next_special < len(special_times) and special_times[next_special] <= time:
            time = special_times[next_special]
        spots: list[Spot] = []
        if index < len(ends) and ends[index][0] == time:
            spots += [spot for spot in ends[index][1] if spot not in special]
            index += 1
        if next_special < len(special_times) and special_times[next_special] == time:
            spots += at_special[time]
            next_special += 1
        if time == float("inf"):
            return
        yield time, spots
