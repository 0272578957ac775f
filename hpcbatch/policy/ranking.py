"""The ranks of many waiting jobs at one time, by the site's weights or formula."""

from __future__ import annotations

from collections.abc import Mapping

from hpcbatch.dataclass import dataclass
from hpcbatch.model.priority import PriorityConfig
from hpcbatch.model.record import JobRecord
from hpcbatch.model.share import Share
from hpcbatch.policy.owners import Owners
from hpcbatch.policy.priority import Cluster, Highest, factors_of, rank_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """What ranks depend on. `shares` are of associations, by number."""

    config: PriorityConfig
    owners: Owners
    cluster: Cluster
    shares: Mapping[int, Share]
    highest: Highest
    at_s: float
    """Seconds since the epoch: ages are as of then."""

    def rank(self, record: JobRecord) -> float | None:
        """Larger goes first; None where the site has neither weights nor a formula."""
        if not self.config.ranks:
            return None
        if record.spec.fixed_priority is not None:
            return float(record.spec.fixed_priority)
        job, eligible = self.owners.standing(record), record.status.eligible_time
        place = self.owners.place(job)
        share = None if place.own is None else self.shares.get(place.own.number)
        age_s = 0.0 if eligible is None else max(0.0, self.at_s - eligible.timestamp())
        factors = factors_of(
            self.config,
            self.owners.accounts,
            self.cluster,
            job,
            age_s=age_s,
            nice=record.spec.nice - record.spec.priority,
            fair_share=0.0 if share is None else share.factor,
            place=place,
            highest=self.highest,
        )
        return rank_of(self.config, factors, job, eligible_s=age_s)
