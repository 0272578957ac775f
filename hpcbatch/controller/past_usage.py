"""What jobs have used, for fair share: from the records in the API, and from the history, which is read bit by bit."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

from hpcbatch.api.informer import Informer, object_key
from hpcbatch.api.port import Object
from hpcbatch.history.databases import HistoryError
from hpcbatch.history.query import Query
from hpcbatch.history.store import HistoryStore
from hpcbatch.history.tables import columns
from hpcbatch.model.accounts import Accounts
from hpcbatch.model.priority import PriorityConfig
from hpcbatch.model.share import Share
from hpcbatch.policy.fairshare import HALF_LIVES, Run, Times, raw_usage, run_of, shares_of
from hpcbatch.policy.owners import Owners
from hpcbatch.policy.spent import spent_by
from hpcbatch.record.rows import row_from_cells
from hpcbatch.units import parse_rfc3339

_LOG = logging.getLogger(__name__)

_PAGE = 2000
_OVERLAP = timedelta(days=1)
"""Jobs move to the history in another order than that of their ends."""


class PastUsage:
    """Not safe for threads, but `load` and `shares` may be called by two."""

    def __init__(self, batchjobs: Informer, history: HistoryStore | None) -> None:
        self._batchjobs, self._history = batchjobs, history
        self._moved: dict[tuple[str, str], Run] = {}
        self._until: datetime | None = None

    def load(self, config: PriorityConfig) -> None:
        """Read what has moved to the history since the last time. While that cannot be used, what is known counts."""
        if self._history is None:
            return
        now = datetime.now(UTC)
        first = now - timedelta(seconds=HALF_LIVES * config.half_life_s) if config.half_life_s else None
        since = first if self._until is None else self._until - _OVERLAP
        places = {column.name: index for index, column in enumerate(columns())}
        moved, after = dict(self._moved), ""
        try:
            while True:
                part = self._history.listing(Query(ended_after=since), limit=_PAGE, after=after)
                for each in part.rows:
                    row = row_from_cells(places, json.loads(each.cells), each.namespace, each.name)
                    if row is not None and (run := run_of(row, now)) is not None:
                        moved[each.namespace, each.name] = run
                after = part.more
                if not after:
                    break
        except HistoryError as error:
            _LOG.warning("fair share without what is in the history since %s: %s", since, error)
            return
        first_s = 0.0 if first is None else first.timestamp()
        self._moved = {key: run for key, run in moved.items() if run.end_s >= first_s}
        self._until = now

    def shares(self, accounts: Accounts, config: PriorityConfig, now_s: float) -> dict[int, Share]:
        """Of associations, by number."""
        usage = raw_usage(accounts, self._runs(now_s), now_s, config.half_life_s)
        return shares_of(accounts, usage, config)

    def spent(
        self, owners: Owners, config: PriorityConfig, now_s: float, resources: Mapping[str, str]
    ) -> dict[str, int]:
        """By the names that limits have for it. `resources`: a site's name of one → Kubernetes' extended resource."""
        runs, qos = self._runs(now_s), owners.partition_qos
        return spent_by(owners.accounts, runs, now_s, config.half_life_s, partition_qos=qos, resources=resources)

    def _runs(self, now_s: float) -> Iterator[Run]:
        present = set()
        for obj in self._batchjobs.items():
            present.add(object_key(obj))
            if (run := _run(obj, now_s)) is not None:
                yield run
        # while a job moves it is in both
        yield from (run for key, run in self._moved.items() if key not in present)


def _run(obj: Object, now_s: float) -> Run | None:
    """As fairshare.run_of, of a BatchJob, of which there may be ten thousands."""
    spec, status = obj["spec"], obj.get("status", {})
    account, summary = spec.get("account", ""), status.get("summary", {})
    if not account or "array" in spec:
        return None
    start, end, suspended = (
        None if text is None else parse_rfc3339(text).timestamp()
        for text in (status.get("startTime"), status.get("endTime"), summary.get("suspendedTime"))
    )
    stood_s, earlier_s = (int(summary.get(key, 0)) for key in ("stoodSeconds", "earlierSeconds"))
    held = Times(start, end, stood_s, suspended, earlier_s).held(now_s)
    if held is None:
        return None
    return Run(
        str(status.get("owner", "")),
        str(account),
        str(spec.get("attributes", {}).get("qos", "")),
        str(status.get("queue", "")),
        int(summary.get("cpus", 0)),
        *held,
        int(summary.get("nodes", 1)),
        int(summary.get("memBytes", 0)),
        str(summary.get("resources", "")),
    )
