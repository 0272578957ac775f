"""By what rank jobs wait: the site's weights and accounts, the cluster's size, and what users have used."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping

from hpcbatch.api.port import WatchEvent
from hpcbatch.controller.past_usage import PastUsage
from hpcbatch.dataclass import replace
from hpcbatch.model.priority import PriorityConfig
from hpcbatch.model.record import JobRecord, OrderPlace
from hpcbatch.model.site import SiteConfig
from hpcbatch.model.state import JobState
from hpcbatch.model.stored import struct
from hpcbatch.policy.owners import Owners
from hpcbatch.policy.plan.snapshot import WaitingJob
from hpcbatch.policy.planned import amounts, order_of
from hpcbatch.policy.priority import Cluster, Highest
from hpcbatch.policy.ranking import Ranking

_ORDER = struct(OrderPlace)


class PlanOrder:
    """Ranks are as of one time, so that jobs that come later compare with those that wait. Not safe for threads."""

    def __init__(self, usage: PastUsage) -> None:
        self._usage = usage
        self._sizes: dict[str, tuple[int, int]] = {}
        self.ranking: Ranking | None = None
        """None: the site is not known yet."""
        self._of_arrays: dict[int, OrderPlace] = {}
        """Of arrays that have exchanged their places."""

    def on_node(self, event: WatchEvent) -> None:
        name = event.object["metadata"]["name"]
        has = amounts(event.object.get("status", {}).get("allocatable") or {})
        if event.type == "DELETED":
            self._sizes.pop(name, None)
        else:
            self._sizes[name] = has.get("cpu", 0) // 1000, has.get("memory", 0) >> 20

    @property
    def is_outdated(self) -> bool:
        """Whether the cluster has another size, by which jobs are measured."""
        one = self.ranking
        return one is not None and one.config.by_size and one.cluster != self._cluster()

    def set(self, config: PriorityConfig, owners: Owners) -> None:
        """Other weights, or other accounts."""
        now_s = time.time()
        self.ranking = Ranking(
            config=config,
            owners=owners,
            cluster=self._cluster(),
            shares=self._usage.shares(owners.accounts, config, now_s) if config.by_share else {},
            highest=Highest.of(owners.accounts),
            at_s=now_s,
        )

    def rank_as_of(self, now_s: float) -> None:
        self.ranking = self.at(now_s)

    def at(self, now_s: float) -> Ranking | None:
        """What ranks depend on at that time."""
        if (one := self.ranking) is None:
            return None
        shares = self._usage.shares(one.owners.accounts, one.config, now_s) if one.config.by_share else {}
        return replace(one, cluster=self._cluster(), shares=shares, at_s=now_s)

    def spent(self, now_s: float, resources: Mapping[str, str]) -> Mapping[str, int]:
        """What jobs have used in the course of time, by the names that limits have for it."""
        one = self.ranking
        if one is None:
            return {}
        return self._usage.spent(one.owners, one.config, now_s, resources)

    def place_of(
        self, record: JobRecord, site: SiteConfig, rank: float | None, *, is_last: bool
    ) -> tuple[float, ...] | None:
        """The job's place in the order, by its rank; None: its queue is gone."""
        if (queue := site.queue(record.queue)) is None:
            return None
        level = site.preemption.level(queue.priority)
        return order_of(record, queue, rank=rank, is_last=is_last, level=level, number=self.number(record))

    def rank(self, record: JobRecord, by: Ranking | None = None) -> float | None:
        """Larger goes first; None where the site has no ranks."""
        ranking = by or self.ranking
        rank = None if ranking is None else ranking.rank(record)
        place = self._place(record)
        return rank if rank is None or place is None else rank + place.shift_millis / 1000

    def number(self, record: JobRecord) -> int:
        """Of the job in whose place it, or its array, waits; 0: in its own."""
        place = self._place(record)
        return 0 if place is None else place.number

    def _place(self, record: JobRecord) -> OrderPlace | None:
        member = record.spec.member_of
        return record.status.order if member is None else self._of_arrays.get(member.array_id)

    def on_array(self, event: WatchEvent) -> int:
        """The number of the array that has another place than before; 0: none."""
        body, status = event.object["spec"], event.object.get("status") or {}
        if "array" not in body or "jobId" not in status:
            return 0
        number = int(status["jobId"])
        is_over = event.type == "DELETED" or JobState(status["state"]).is_final
        place = None if is_over or "order" not in status else _ORDER.from_json(status["order"])
        if self._of_arrays.get(number) == place:
            return 0
        self._of_arrays.pop(number, None)
        if place is not None:
            self._of_arrays[number] = place
        return 0 if is_over else number

    def _cluster(self) -> Cluster:
        cpus = sum(cpus for cpus, _ in self._sizes.values())
        memory = sum(memory for _, memory in self._sizes.values())
        return Cluster(cpus=cpus, nodes=len(self._sizes), tres={"cpu": cpus, "node": len(self._sizes), "mem": memory})


def is_member_of(record: JobRecord, array_id: int) -> bool:
    return record.spec.member_of is not None and record.spec.member_of.array_id == array_id


class Reordered:
    """The waiting jobs of one moment, by their ranks as they are then: computed without the gate's lock, which 10,000
    jobs would keep for a third of a second.
    """

    def __init__(
        self,
        *,
        ranking: Ranking | None,
        order: PlanOrder,
        site: SiteConfig,
        records: Mapping[str, JobRecord],
        waiting: Mapping[str, WaitingJob],
        last: Collection[str],
    ) -> None:
        self.ranking, self.before, self.site, self.waiting = ranking, order.ranking, site, waiting
        self._order, self._records, self._last = order, records, frozenset(last)
        self.jobs: dict[str, WaitingJob] = {}
        """With their new places."""
        self.ranks: dict[str, float | None] = {}
        self.is_other = False
        """Whether they are in another order than they have."""

    def compute(self) -> None:
        for job_id, job in self.waiting.items():
            record = self._records[job_id]
            rank = self.ranks[job_id] = self._order.rank(record, self.ranking)
            place = self._order.place_of(record, self.site, rank, is_last=job_id in self._last)
            if place is not None:
                self.jobs[job_id] = replace(job, order=place)
        now = sorted(self.jobs, key=lambda job_id: (self.waiting[job_id].order, job_id))
        self.is_other = now != sorted(self.jobs, key=lambda job_id: (self.jobs[job_id].order, job_id))
        if not self.is_other:  # ranks stay as of the time before, so that those of jobs which come compare with them
            records = self._records
            self.ranks = {job_id: self._order.rank(records[job_id], self.before) for job_id in self.ranks}
