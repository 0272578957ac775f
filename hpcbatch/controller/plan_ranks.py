"""The ranks of waiting jobs, which change with time: put in order anew now and then, and shown."""

from __future__ import annotations

import threading
import time
from typing import Final

from hpcbatch.controller.past_usage import PastUsage
from hpcbatch.controller.plan_world import PlanWorld
from hpcbatch.controller.site_source import SiteSource
from hpcbatch.model.record import JobRecord
from hpcbatch.model.site import Policy
from hpcbatch.policy.planned import shown_rank

Key = tuple[str, str]

_SHOWN_ANEW: Final = 200
"""How many jobs at a time show their new priority."""
_SHARE: Final = 0.05
"""Of a thread's time, what this may take."""


class PlanRanks:
    """`lock` is the gate's, under which alone the world is looked at."""

    def __init__(self, world: PlanWorld, sites: SiteSource, usage: PastUsage, lock: threading.RLock) -> None:
        self._world, self._sites, self._usage, self._lock = world, sites, usage, lock
        self._done = float("-inf")
        self._cost_s = 0.0

    @property
    def are_new(self) -> bool:
        """Whether none has been computed yet."""
        return self._done < 0

    def until_s(self) -> float:
        """Seconds until the waiting jobs are put in order anew: ages and shares change with time."""
        config = self._sites.in_force.config.priority
        if not (config.changes_with_time or self._world.limits.counts_spent):
            return float("inf")
        if self._world.limits.lacks_spent:
            return 0.0
        return self._done + max(config.calc_period_s, self._cost_s / _SHARE) - time.monotonic()

    def put_off(self) -> None:
        """It has failed: not again at once."""
        self._done = time.monotonic()

    def renew(self) -> list[Key]:
        """Put the waiting jobs in the order of their ranks as they are now. Returns some that show another one."""
        began, config = time.monotonic(), self._sites.in_force.config.priority
        with self._lock:
            self._world.refresh(time.time())
        if config.by_share or self._world.limits.counts_spent:
            self._usage.load(config)  # without the lock: a database may be slow
        with self._lock:
            self._world.refresh(time.time())
            found = self._world.ranked(time.time())
        found.compute()
        with self._lock:
            self._world.refresh(time.time())
            self._world.rank_anew(found, time.time())
            shown_otherwise = [
                self._world.keys[job_id]
                for job_id, rank in found.ranks.items()
                if (record := self._world.records.get(job_id)) is not None
                and shown_rank(record.status.rank, rank) != record.status.rank
            ]
            self._done = time.monotonic()
            self._cost_s = self._done - began
        return shown_otherwise[:_SHOWN_ANEW]

    def shown(self, record: JobRecord) -> int | None:
        """What a waiting job shows; what the record does already, where that is about right."""
        if self._sites.in_force.config.policy is Policy.VOLCANO:
            return None
        with self._lock:
            return shown_rank(record.status.rank, self._world.rank(record))

    def exact(self, record: JobRecord) -> float | None:
        with self._lock:
            return self._world.rank(record)
