"""The usage of users, queues and accounts: jobs summed up in groups. `hpcbatch report` shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, tzinfo

from hpcbatch.model.row import JobRow
from hpcbatch.model.state import JobState
from hpcbatch.typed import NamedTuple

_RUNS = frozenset({JobState.RUNNING.value, JobState.SUSPENDED.value, JobState.EXITING.value})
_ENDED = frozenset(state.value for state in JobState if state.is_final)
_FAILURES = frozenset({JobState.FAILED.value, JobState.TIMEOUT.value})


class Job(NamedTuple):
    """The data of a job that reports use. Times are seconds since 1970. `account` "": none."""

    number: int
    user: str
    queue: str
    account: str
    state: str
    """A value of JobState."""
    cpus: int
    ready: float | None
    """When it could have started."""
    start: float | None
    end: float | None
    cpu_used_s: int | None


def job_from(row: JobRow) -> Job | None:
    """None for a whole array: its members count."""
    if row.array_indices:
        return None
    ready, start, end = row.eligible_time or row.submit_time, row.start_time, row.end_time
    return Job(
        row.job_id,
        row.user,
        row.queue,
        row.account,
        row.state.value,
        row.cpus,
        None if ready is None else ready.timestamp(),
        None if start is None else start.timestamp(),
        None if end is None or not row.state.is_final else end.timestamp(),
        row.cpu_used_s,
    )


KEYS: Mapping[str, Callable[[Job, datetime | None], str]] = {
    "user": lambda job, _: job.user,
    "queue": lambda job, _: job.queue,
    "account": lambda job, _: job.account,
    "state": lambda job, _: job.state,
    "month": lambda _, when: f"{when:%Y-%m}",
    "day": lambda _, when: f"{when:%Y-%m-%d}",
}
"""Keys for grouping jobs. Month and day are those of the job's end; for a running job, today's."""


class Window(NamedTuple):
    """The reported period, from `since` until before `until`."""

    since: datetime
    until: datetime


class Use(NamedTuple):
    """The usage of one group of jobs. Hours and CPU time are those within the window."""

    key: tuple[str, ...]
    jobs: int
    running: int
    failed: int
    """Ended with a code other than 0, at their walltime, or never started; without deleted ones."""
    deleted: int
    cpu_hours: float
    """CPUs that the jobs held, times the hours that they held them."""
    cpu_used_hours: float
    """CPU time of the processes of ended jobs that reported it."""
    walltime_hours: float
    wait_median_s: int | None
    """Time from when a job could have started to its start; None: none has started."""
    wait_95_s: int | None
    """95 of 100 waited no longer."""


class _Sums:
    __slots__ = ("cpu_s", "jobs", "states", "used_s", "waits", "wall_s")

    def __init__(self) -> None:
        self.jobs = 0
        self.states: dict[str, int] = {}
        self.cpu_s = self.wall_s = self.used_s = 0.0
        self.waits: list[float] = []

    def include(self, other: _Sums) -> None:
        self.jobs += other.jobs
        for state, count in other.states.items():
            self.states[state] = self.states.get(state, 0) + count
        self.cpu_s += other.cpu_s
        self.wall_s += other.wall_s
        self.used_s += other.used_s
        self.waits += other.waits

    def use(self, key: tuple[str, ...]) -> Use:
        self.waits.sort()
        return Use(
            key=key,
            jobs=self.jobs,
            running=sum(self.states.get(state, 0) for state in _RUNS),
            failed=sum(self.states.get(state, 0) for state in _FAILURES),
            deleted=self.states.get(JobState.DELETED.value, 0),
            cpu_hours=self.cpu_s / 3600,
            cpu_used_hours=self.used_s / 3600,
            walltime_hours=self.wall_s / 3600,
            wait_median_s=_rank(self.waits, 50),
            wait_95_s=_rank(self.waits, 95),
        )


def _rank(ordered: Sequence[float], percent: int) -> int | None:
    """The smallest value that `percent` of the values do not exceed."""
    return round(ordered[-(-len(ordered) * percent // 100) - 1]) if ordered else None


def summed_up(
    jobs: Iterable[Job], by: Sequence[str], window: Window, *, now: datetime, timezone: tzinfo | None
) -> tuple[list[Use], Use]:
    """The groups of the jobs that ended within the window or were running in it, and their total.

    Groups are in order of their keys if time is among these, else by descending CPU hours.
    Days and months are those of `timezone` (None: this machine's).
    """
    groups: dict[tuple[str, ...], _Sums] = {}
    is_timed = not {"month", "day"}.isdisjoint(by)
    getters = [KEYS[name] for name in by]
    since, until, present = window.since.timestamp(), window.until.timestamp(), now.timestamp()
    when: datetime | None = None
    for job in jobs:
        _, _, _, _, state, cpus, ready, start, end, used_s = job
        if state not in _ENDED:
            end = None
            if state not in _RUNS:
                continue
        began = end if start is None else start
        if (end is not None and end < since) or (began is not None and began >= until):
            continue
        last = present if end is None else end
        if is_timed:
            when = datetime.fromtimestamp(last, timezone)
        key = tuple([get(job, when) for get in getters])
        sums = groups.get(key)
        if sums is None:
            sums = groups[key] = _Sums()
        sums.jobs += 1
        sums.states[state] = sums.states.get(state, 0) + 1
        if start is None:
            continue
        inside_s = (until if last > until else last) - (since if start < since else start)
        if inside_s > 0:
            sums.wall_s += inside_s
            sums.cpu_s += inside_s * cpus
            sums.used_s += (used_s or 0) * inside_s / (last - start)
        elif last <= start:
            sums.used_s += used_s or 0
        if ready is not None:
            sums.waits.append(max(0.0, start - ready))
    total = _Sums()
    for sums in groups.values():
        total.include(sums)
    uses = [sums.use(key) for key, sums in groups.items()]
    uses.sort(key=lambda use: use.key if is_timed else (-use.cpu_hours, use.key))
    return uses, total.use(())
