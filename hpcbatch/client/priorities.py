"""Priorities of waiting jobs and shares of users, computed from what everybody may read: records, history, accounts."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from hpcbatch.api.client import TableApi
from hpcbatch.client.listing import list_rows
from hpcbatch.client.nodes import list_nodes
from hpcbatch.model.account_tree import association_for
from hpcbatch.model.accounts import Accounts
from hpcbatch.model.limit_use import InUse
from hpcbatch.model.priority import Factors, PriorityConfig
from hpcbatch.model.row import JobRow
from hpcbatch.model.share import Share
from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy.account_limits import Standing
from hpcbatch.policy.fairshare import HALF_LIVES, committed, raw_usage, run_of, shares_of
from hpcbatch.policy.limit_use import in_use
from hpcbatch.policy.priority import Cluster, factors_of
from hpcbatch.typed import NamedTuple

_WAITING = frozenset({JobState.QUEUED, JobState.WAITING, JobState.HELD})
_HELD = frozenset({Reason.HELD_BY_USER, Reason.HELD_BY_ADMIN})


class Ranked(NamedTuple):
    """A waiting job with its factors, from 0 to 1."""

    row: JobRow
    factors: Factors


class Ranks(NamedTuple):
    """From what priorities are computed."""

    api: TableApi
    namespace: str
    accounts: Accounts
    config: PriorityConfig
    now: datetime

    def rows(self) -> list[JobRow]:
        """The jobs whose usage still counts."""
        half_life_s = self.config.half_life_s
        since = self.now - timedelta(seconds=HALF_LIVES * half_life_s) if half_life_s else None
        return list_rows(self.api, self.namespace, since=since)

    def shares(self, rows: Iterable[JobRow] | None = None) -> dict[int, Share]:
        """Of all associations, by number. What a job used counts from its start to its end, or until now. `rows` are
        those of `rows()`, where they have been read.
        """
        rows = self.rows() if rows is None else rows
        runs = (run for row in rows if (run := run_of(row, self.now)) is not None)
        usage = raw_usage(self.accounts, runs, self.now.timestamp(), self.config.half_life_s)
        return shares_of(self.accounts, usage, self.config)

    def in_use(self, accounts: Accounts, rows: Iterable[JobRow]) -> InUse:
        """What limits count, of the jobs of `rows()`; `accounts`: those that are shown."""
        return in_use(accounts, rows, self.now, self.config.half_life_s)

    def committed(self) -> dict[int, dict[str, int]]:
        """What running jobs may still use, by the association's number."""
        return committed(self.accounts, list_rows(self.api, self.namespace, finished=False), self.now)

    def rank(self, rows: Iterable[JobRow]) -> list[Ranked]:
        """Those of `rows` that wait and are not held by anybody, in their order."""
        config = self.config
        waiting = [row for row in rows if row.state in _WAITING and row.reason not in _HELD]
        shares = self.shares() if config.by_share and waiting else {}
        nodes = list_nodes(self.api, self.namespace) if config.weight_job_size or config.weight_tres else []
        cluster = Cluster(
            cpus=sum(node.cpus for node in nodes),
            nodes=len(nodes),
            tres={"mem": sum(node.mem_bytes for node in nodes) >> 20},
        )
        return [Ranked(row, self._factors(row, cluster, shares)) for row in waiting]

    def _factors(self, row: JobRow, cluster: Cluster, shares: dict[int, Share]) -> Factors:
        one = association_for(self.accounts, row.user, row.account, row.queue) if row.account else None
        share = None if one is None else shares.get(one.number)
        eligible = row.eligible_time or (row.submit_time if row.state is JobState.QUEUED else None)
        return factors_of(
            self.config,
            self.accounts,
            cluster,
            _standing(row),
            age_s=0.0 if eligible is None else (self.now - eligible).total_seconds(),
            nice=row.nice - row.priority,
            fair_share=0.0 if share is None else share.factor,
        )


def _standing(row: JobRow) -> Standing:
    return Standing(
        user=row.user,
        account=row.account,
        qos=row.qos,
        queue=row.queue,
        uses={"cpu": row.cpus, "node": row.nodes, "mem": (row.mem_bytes or 0) >> 20},
        walltime_s=row.walltime_s,
    )
