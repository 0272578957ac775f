"""Fair share: what users and accounts have used, as it decays, against their shares in the tree.

What a job has used is computed from its record: CPU seconds, of which those that are a half-life ago count half. So
nothing is kept beside the records, and a restart changes nothing. Sources: fair_tree.c and priority_multifactor.c of
Slurm 22.05.8.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from hpcbatch.model.account_tree import association_for, line_of
from hpcbatch.model.accounts import NORMAL, PARENT_SHARES, ROOT, Accounts, Association
from hpcbatch.model.priority import PriorityConfig
from hpcbatch.model.row import JobRow
from hpcbatch.model.share import Share
from hpcbatch.model.state import JobState
from hpcbatch.typed import Final, NamedTuple

HALF_LIVES: Final = 10
"""Older usage is less than a thousandth of what it was."""


class Run(NamedTuple):
    """What a job has held, and when: seconds since any one epoch."""

    user: str
    account: str
    qos: str
    queue: str
    cpus: int
    start_s: float
    end_s: float
    """Of one that runs, now."""
    nodes: int = 1
    mem_bytes: int = 0
    resources: str = ""
    """`gpu=8`: further ones by the site's names."""


class Times(NamedTuple):
    """In seconds since the epoch; None: not yet."""

    start_s: float | None
    end_s: float | None
    stood_s: float = 0
    """How long it was suspended, but for the time since `suspended_s`."""
    suspended_s: float | None = None
    earlier_s: float = 0
    """How long its earlier runs took."""

    def held(self, now_s: float) -> tuple[float, float] | None:
        """From when to when it counts as one run: earlier ones as if they were just before it, and shorter by the time
        for which it was suspended. None: it never ran."""
        end_s = now_s if self.end_s is None else self.end_s
        if self.start_s is None:
            return (end_s - self.earlier_s, end_s) if self.earlier_s else None
        if self.suspended_s is not None:
            end_s = min(end_s, self.suspended_s)
        return self.start_s + self.stood_s - self.earlier_s, end_s


def run_of(row: JobRow, now: datetime) -> Run | None:
    """None of one that never started, counts for no account, or is an array, whose members have rows."""
    if not row.account or row.array_indices:
        return None
    start, end, suspended = (
        None if time is None else time.timestamp() for time in (row.start_time, row.end_time, row.suspended_at)
    )
    held = Times(start, end, row.stood_s, suspended, row.earlier_s).held(now.timestamp())
    if held is None:
        return None
    return Run(
        row.user,
        row.account,
        row.qos,
        row.queue,
        row.cpus,
        *held,
        row.nodes,
        row.mem_bytes or 0,
        row.resources,
    )


def decayed(run: Run, now_s: float, half_life_s: float, *, of: int | None = None) -> float:
    """CPU seconds, or seconds times `of`, of which those of a half-life before `now_s` count half."""
    amount = run.cpus if of is None else of
    end_s = min(run.end_s, now_s)
    if end_s <= run.start_s:
        return 0.0
    if not half_life_s:
        return amount * (end_s - run.start_s)
    rate = math.log(2) / half_life_s
    return amount / rate * (math.exp(-rate * (now_s - end_s)) - math.exp(-rate * (now_s - run.start_s)))


def raw_usage(accounts: Accounts, runs: Iterable[Run], now_s: float, half_life_s: float) -> dict[int, float]:
    """By the association's number; an account has that of all below it. Jobs of no association do not count."""
    usage = dict.fromkeys((one.number for one in accounts.associations), 0.0)
    above = {name: accounts.of_account(name).number for name in accounts.accounts}
    for run in runs:
        one = association_for(accounts, run.user, run.account, run.queue)
        if one is None:
            continue
        qos = accounts.qos.get(run.qos or NORMAL)
        used = decayed(run, now_s, half_life_s) * (1.0 if qos is None else qos.usage_factor)
        usage[one.number] += used
        name = one.account
        while name:
            usage[above[name]] += used
            name = accounts.accounts[name].parent
    return usage


def committed(accounts: Accounts, rows: Iterable[JobRow], now: datetime) -> dict[int, dict[str, int]]:
    """By the association's number, with all below it: the seconds that running jobs have left of their walltimes, times
    their `cpu`, `mem` (MiB) and `node`. Source: tres_run_secs of acct_policy.c.
    """
    found: dict[int, dict[str, int]] = {}
    for row in rows:
        if row.state is not JobState.RUNNING or row.start_time is None or row.walltime_s is None or row.array_indices:
            continue
        one = association_for(accounts, row.user, row.account, row.queue) if row.account else None
        left_s = max(0, row.walltime_s - row.ran_s(now))
        for each in () if one is None else line_of(accounts, one):
            sums = found.setdefault(each.number, {"cpu": 0, "mem": 0, "node": 0})
            sums["cpu"] += left_s * row.cpus
            sums["mem"] += left_s * ((row.mem_bytes or 0) >> 20)
            sums["node"] += left_s * row.nodes
    return found


def shares_of(accounts: Accounts, usage: Mapping[int, float], config: PriorityConfig) -> dict[int, Share]:
    """By the association's number."""
    return _fair_tree(accounts, usage) if config.is_fair_tree else _classic(accounts, usage, config.damping)


def _children(accounts: Accounts, account: str) -> tuple[Association, ...]:
    """What is right below: users, and accounts. Users of an account that shares as its parent stand beside it."""
    users = [one for one in accounts.associations if one.account == account and one.user]
    found = [*users]
    for name in accounts.children(account):
        own = accounts.of_account(name)
        if own.shares == PARENT_SHARES:
            found += _children(accounts, name)
        else:
            found.append(own)
    return tuple(found)


def _fair_tree(accounts: Accounts, usage: Mapping[int, float]) -> dict[int, Share]:
    root = accounts.of_account(ROOT)
    total = usage[root.number]
    found = {root.number: Share(0.0, total, 1.0 if total else 0.0, 1.0, 0.0, 0.0)}
    levels: dict[int, tuple[Association, ...]] = {}

    def look(one: Association) -> None:
        children = levels[one.number] = _children(accounts, one.account)
        all_shares = sum(max(child.shares, 0) for child in children)
        parent_usage = usage[one.number]
        for child in children:
            norm = max(child.shares, 0) / all_shares if all_shares else 0.0
            used = usage[child.number]
            effective = used / parent_usage if parent_usage else 0.0
            level = 0.0 if not norm else math.inf if not effective else norm / effective
            whole = used / total if total else 0.0
            found[child.number] = Share(norm, used, whole, effective, 0.0, level)
            if not child.user:
                look(child)

    look(root)
    count = sum(1 for one in accounts.associations if one.user)
    left = count

    def rank(siblings: Sequence[Association]) -> None:
        """The best first; who is level is so with the same factor, and tied accounts are one."""
        nonlocal left
        ordered = sorted(siblings, key=lambda one: -found[one.number].level_fs)
        while ordered:
            level = found[ordered[0].number].level_fs
            tied = [one for one in ordered if found[one.number].level_fs == level]
            ordered = ordered[len(tied) :]
            users = [one for one in tied if one.user]
            for one in users:
                found[one.number] = found[one.number]._replace(factor=left / count)
            left -= len(users)
            below = [child for one in tied if not one.user for child in levels[one.number]]
            if below:
                rank(below)

    rank(levels[root.number])
    return _all(accounts, usage, found)


def _classic(accounts: Accounts, usage: Mapping[int, float], damping: int) -> dict[int, Share]:
    root = accounts.of_account(ROOT)
    total = usage[root.number]
    found = {root.number: Share(1.0, total, 1.0 if total else 0.0, 1.0, 0.0, 0.0)}

    def look(one: Association) -> None:
        above = found[one.number]
        children = _children(accounts, one.account)
        all_shares = sum(max(child.shares, 0) for child in children)
        for child in children:
            of_level = max(child.shares, 0) / all_shares if all_shares else 0.0
            norm = above.norm_shares * of_level
            own = usage[child.number] / total if total else 0.0
            effective = own if one.number == root.number else own + (above.effective_usage - own) * of_level
            factor = 2 ** -(effective / norm / max(1, damping)) if norm else 0.0
            found[child.number] = Share(norm, usage[child.number], own, effective, factor, 0.0)
            if not child.user:
                look(child)

    look(root)
    return _all(accounts, usage, found)


def _all(accounts: Accounts, usage: Mapping[int, float], found: Mapping[int, Share]) -> dict[int, Share]:
    """Accounts that share as their parents have no place of their own in the tree."""
    numbers = (one.number for one in accounts.associations)
    return {number: found.get(number, Share(0.0, usage[number], 0.0, 0.0, 0.0, 0.0)) for number in numbers}
