"""What jobs use of the limits of associations, with all below them, and of qualities of service."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from hpcbatch.model.account_tree import association_for, line_of
from hpcbatch.model.accounts import NORMAL, Accounts
from hpcbatch.model.indices import Indices
from hpcbatch.model.limit_use import InUse, Use
from hpcbatch.model.row import JobRow
from hpcbatch.model.state import JobState
from hpcbatch.policy.fairshare import decayed, run_of
from hpcbatch.policy.spent import further

_RUNS = frozenset({JobState.RUNNING, JobState.SUSPENDED, JobState.EXITING})


class _Sum:
    """Grows while jobs are counted; see Use."""

    def __init__(self) -> None:
        self._jobs = self._submitted = 0
        self._amounts: dict[str, int] = {}
        self._left: dict[str, int] = {}
        self._spent: dict[str, float] = {}
        self._wall_s = self._raw = 0.0

    @property
    def use(self) -> Use:
        return Use(self._jobs, self._submitted, self._amounts, self._left, self._spent, self._wall_s, self._raw)

    def add_job(self, row: JobRow, count: int, now: datetime) -> None:
        """`count` jobs that have not ended: one, or those of an array that have no rows yet."""
        self._submitted += count
        if row.state not in _RUNS or row.array_indices:
            return
        self._jobs += 1
        started = row.start_time or now
        left_s = 0 if row.walltime_s is None else int(max(0.0, row.walltime_s - (now - started).total_seconds()))
        for name, amount in _amounts(row).items():
            self._amounts[name] = self._amounts.get(name, 0) + amount
            self._left[name] = self._left.get(name, 0) + amount * left_s

    def add_run(self, row: JobRow, seconds: float, factor: float) -> None:
        self._wall_s += seconds * factor
        self._raw += seconds * factor * row.cpus
        for name, amount in _amounts(row).items():
            self._spent[name] = self._spent.get(name, 0.0) + amount * seconds * factor


def _amounts(row: JobRow) -> dict[str, int]:
    found = {"cpu": row.cpus, "mem": (row.mem_bytes or 0) >> 20, "node": row.nodes}
    return found | {f"gres/{name}": amount for name, amount in further(row.resources)}


def in_use(accounts: Accounts, rows: Iterable[JobRow], now: datetime, half_life_s: float) -> InUse:
    """`rows`: jobs that have not ended, and those that have, as far back as they count. Jobs of no association count
    for their quality of service alone.
    """
    associations: dict[int, _Sum] = {}
    of_qos: dict[str, _Sum] = {}
    of_accounts: dict[str, dict[str, _Sum]] = {}
    of_users: dict[str, dict[str, _Sum]] = {}
    for row in rows:
        name = row.qos or NORMAL
        one = association_for(accounts, row.user, row.account, row.queue) if row.account else None
        line = () if one is None else line_of(accounts, one)
        uses = [associations.setdefault(each.number, _Sum()) for each in line]
        uses.append(of_qos.setdefault(name, _Sum()))
        if (run := run_of(row, now)) is not None:
            qos = accounts.qos.get(name)
            seconds = decayed(run, now.timestamp(), half_life_s, of=1)
            for use in uses:
                use.add_run(row, seconds, 1.0 if qos is None else qos.usage_factor)
        if row.state.is_final:
            continue
        count = len(Indices.parse(row.array_pending)) if row.array_indices else 1
        uses.append(of_users.setdefault(name, {}).setdefault(row.user, _Sum()))
        if row.account:
            uses.append(of_accounts.setdefault(name, {}).setdefault(row.account, _Sum()))
        for use in uses:
            use.add_job(row, count, now)
    return InUse(
        {number: each.use for number, each in associations.items()},
        _uses(of_qos),
        {name: _uses(each) for name, each in of_accounts.items()},
        {name: _uses(each) for name, each in of_users.items()},
    )


def _uses(sums: Mapping[str, _Sum]) -> dict[str, Use]:
    return {name: each.use for name, each in sums.items()}
