"""The least set of running jobs whose ends, or suspensions, make room for a waiting one, beside all that is planned."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from hpcbatch.dataclass import replace
from hpcbatch.policy.plan.compiled import Option
from hpcbatch.policy.plan.estate import Estate, Spot, end_of
from hpcbatch.policy.plan.packing import Placing, place
from hpcbatch.policy.plan.rooms import Rooms, View, has_room
from hpcbatch.policy.plan.snapshot import JobId, RunningJob
from hpcbatch.policy.plan.timeline import Amounts, Timeline, minus

MOST_VICTIMS, MOST_PLACES = 1000, 1000
"""What is chosen is kept in a job's record: for one that needs more none ends."""
Found = tuple[tuple[RunningJob, ...], list[Placing]]


class Trial:
    """What the nodes would have if some running jobs ended now."""

    def __init__(self, option: Option, walltime_s: float, estate: Estate, rooms: Rooms) -> None:
        self._option, self._estate, self._rooms = option, estate, rooms
        self._end_s = rooms.now_s + walltime_s
        self._views = [View(rooms.until(kind, self._end_s).fits.copy(), 0) for kind, _ in option.parts]
        self._gone: dict[Spot, dict[str, int]] = {}
        """By spot, the jobs that would end there, with their places in line."""
        self._lines: dict[Spot, Timeline] = {}
        """What would be free then."""
        self._count = 0

    def end(self, job: RunningJob) -> bool:
        """False if that cannot be: what one that is suspended keeps is planned for others."""
        now_s = self._rooms.now_s
        lines = [
            (spot, without(self._line(spot), spot, job, self._estate, now_s)) for spot in self._estate.spots_of(job)
        ]
        if job.yields is not None and job.yields.frees is not None and any(_is_overdrawn(line) for _, line in lines):
            return False
        self._count += 1
        for spot, line in lines:
            self._gone.setdefault(spot, {})[job.job_id] = self._count
            self._look(spot, line)
        return True

    def spare(self, job: RunningJob) -> None:
        """It goes on, after all."""
        for spot in self._estate.spots_of(job):
            del self._gone[spot][job.job_id]
            line, now_s = self._line(spot), self._rooms.now_s
            self._look(spot, _changed(line, spot, job, self._estate, now_s, is_taken_back=True))

    def is_enough(self) -> bool:
        """Whether the waiting job has room."""
        return has_room(self._option, self._views) and (len(self._option.parts) == 1 or self.placed() is not None)

    def placed(self) -> list[Placing] | None:
        """The places of the waiting job's pods, on nodes where nothing ends if possible; None: no room."""
        option = self._option
        return place(option, [view.fits for view in self._views], self._free, self._preference)

    def _preference(self, spot: Spot, count: int) -> tuple[float, int, str]:
        return max(self._gone.get(spot, {}).values(), default=-1), count, spot.name

    def _line(self, spot: Spot) -> Timeline:
        return self._lines.get(spot) or self._rooms.timeline(spot)

    def _free(self, spot: Spot) -> Amounts:
        return self._line(spot).lowest(self._rooms.now_s, self._end_s)

    def _look(self, spot: Spot, line: Timeline) -> None:
        self._lines[spot] = line
        for view, (kind, _) in zip(self._views, self._option.parts, strict=True):
            if spot in kind.filter.able:
                view.put(spot, line.fewest(kind.fits, self._rooms.now_s, self._end_s))


def without(timeline: Timeline, spot: Spot, job: RunningJob, estate: Estate, now_s: float) -> Timeline:
    """The spot's, if the job ended now; or was suspended, and kept for good what it does not give up."""
    return _changed(timeline, spot, job, estate, now_s, is_taken_back=False)


def _changed(
    timeline: Timeline, spot: Spot, job: RunningJob, estate: Estate, now_s: float, *, is_taken_back: bool
) -> Timeline:
    end_s, amounts = spot.jobs[job.job_id]
    gives, end_s = _given_up(amounts, job, estate), end_of(end_s, now_s)
    nothing, keeps = (0,) * len(amounts), minus(amounts, gives)
    timeline = timeline.with_occupant(now_s, end_s, gives if is_taken_back else minus(nothing, gives))
    if any(keeps):
        timeline = timeline.with_occupant(end_s, math.inf, minus(nothing, keeps) if is_taken_back else keeps)
    return timeline


def _is_overdrawn(timeline: Timeline) -> bool:
    return any(min(free) < 0 for free in timeline.frees)


def _given_up(amounts: Amounts, job: RunningJob, estate: Estate) -> Amounts:
    """What of its amounts on a node it leaves to others: one that is suspended goes on to share the node."""
    frees = None if job.yields is None else job.yields.frees
    if frees is None:
        return amounts
    indices = {estate.index[name] for name in frees if name in estate.index}
    rest = (amount if index in indices else 0 for index, amount in enumerate(amounts[1:], 1))
    return (amounts[0] - 1, *rest)


def least_victims(
    option: Option, walltime_s: float, candidates: Sequence[RunningJob], estate: Estate, rooms: Rooms
) -> Found | None:
    """The jobs to end, of the first ones in line as many as are needed, and where the waiting job goes then. None: it
    would not start even if all of them ended. No jobs: it needs none of them.
    """
    trial = Trial(option, walltime_s, estate, rooms)
    ended: list[RunningJob] = []
    is_enough = trial.is_enough()
    for job in candidates:
        if is_enough:
            break
        if trial.end(job):
            ended.append(job)
            is_enough = trial.is_enough()
    if not is_enough:
        return None
    spared: set[JobId] = set()
    for job in reversed(ended):
        trial.spare(job)
        if trial.is_enough():
            spared.add(job.job_id)
        else:
            trial.end(job)
    ended = [job for job in ended if job.job_id not in spared]
    placed = trial.placed()
    is_kept = placed is not None and len(ended) <= MOST_VICTIMS and len(placed) <= MOST_PLACES
    return (tuple(ended), placed) if placed is not None and is_kept else None


def victims_of(
    option: Option, walltime_s: float, candidates: Sequence[RunningJob], estate: Estate, rooms: Rooms
) -> tuple[Found | None, bool]:
    """As `least_victims`. True: suspensions do not make enough room, so those that may end do."""
    found = least_victims(option, walltime_s, candidates, estate, rooms)
    if found is not None or not any(job.yields is not None and job.yields.may_end for job in candidates):
        return found, False
    ended = [job if job.yields is None else replace(job, yields=job.yields.ended) for job in candidates]
    return least_victims(option, walltime_s, ended, estate, rooms), True


def ready_at(now_s: float, jobs: Iterable[RunningJob]) -> Iterator[RunningJob]:
    """Those that yield at this time, in the way that holds then."""
    for job in jobs:
        found = None if job.yields is None else job.yields.at(now_s)
        if found is not None and found.classes:
            yield job if found is job.yields else replace(job, yields=found)


def in_line(jobs: Iterable[RunningJob]) -> list[RunningJob]:
    """Those that are ended first go first."""
    return sorted(jobs, key=lambda job: ((math.inf,) if job.yields is None else job.yields.order, job.job_id))
