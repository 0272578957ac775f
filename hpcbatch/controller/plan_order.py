"""By what rank jobs wait: the site's weights and accounts, the cluster's size, and what users have used."""

from __future__ import annotations

import time
from collections.abc import Mapping

from hpcbatch.api.port import WatchEvent
from hpcbatch.controller.past_usage import PastUsage
from hpcbatch.model.priority import PriorityConfig
from hpcbatch.model.record import JobRecord, OrderPlace
from hpcbatch.model.state import JobState
from hpcbatch.model.stored import struct
from hpcbatch.policy.owners import Owners
from hpcbatch.policy.planned import amounts
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
        if (one := self.ranking) is not None:
            shares = self._usage.shares(one.owners.accounts, one.config, now_s) if one.config.by_share else {}
            self.ranking = Ranking(
                config=one.config,
                owners=one.owners,
                cluster=self._cluster(),
                shares=shares,
                highest=one.highest,
                at_s=now_s,
            )

    def spent(self, now_s: float) -> Mapping[str, int]:
        """What jobs have used in the course of time, by the names that limits have for it."""
        one = self.ranking
        if one is None:
            return {}
        return self._usage.spent(one.owners.accounts, one.config, one.owners.partition_qos, now_s)

    def rank(self, record: JobRecord) -> float | None:
        """Larger goes first; None where the site has no ranks."""
        rank = None if self.ranking is None else self.ranking.rank(record)
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
