"""What jobs have used in the course of time, as limits of it count: Slurm's GrpTRESMins and GrpWall.

It decays as fair share does, and is of associations, with all below them, and of qualities of service. Amounts are
named and counted as in the planner's vectors, times seconds. Source: acct_policy.c of Slurm 22.05.8.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from hpcbatch.model.account_tree import association_for
from hpcbatch.model.accounts import NORMAL, Accounts
from hpcbatch.policy.fairshare import Run, decayed
from hpcbatch.policy.plan.snapshot import JOBS, NODES, Limit


def of_association(number: int, what: str) -> str:
    return f"association {number} {what}"


def of_qos(name: str, what: str) -> str:
    return f"qos {name} {what}"


def is_counted(limits: Iterable[Limit]) -> bool:
    """Whether a limit counts what has been used."""
    return any(limit.spent for limit in limits)


def spent_by(
    accounts: Accounts,
    runs: Iterable[Run],
    now_s: float,
    half_life_s: float,
    *,
    partition_qos: Mapping[str, str],
    resources: Mapping[str, str],
) -> dict[str, int]:
    """By the names that limits have for it. `resources`: a site's name of one → Kubernetes' extended resource."""
    spent: dict[str, float] = {}
    above: dict[str, tuple[int, ...]] = {}
    for run in runs:
        names = {run.qos or NORMAL, partition_qos.get(run.queue, "")} & accounts.qos.keys()
        own = accounts.qos.get(run.qos or NORMAL)
        seconds = decayed(run, now_s, half_life_s, of=1) * (1.0 if own is None else own.usage_factor)
        amounts = {"cpu": run.cpus * 1000, NODES: run.nodes, "memory": run.mem_bytes, JOBS: 1}
        for name, amount in further(run.resources):
            known = resources.get(name, name)
            amounts[known] = amounts.get(known, 0) + amount
        one = association_for(accounts, run.user, run.account, run.queue)
        numbers = () if one is None else (one.number, *_accounts(accounts, one.account, above))
        for what, amount in amounts.items():
            for key in (*(of_association(number, what) for number in numbers), *(of_qos(each, what) for each in names)):
                spent[key] = spent.get(key, 0.0) + amount * seconds
    return {key: round(amount) for key, amount in spent.items()}


@lru_cache(maxsize=1000)
def further(text: str) -> tuple[tuple[str, int], ...]:
    """Of `fpga=1,gpu=8`; nothing of what no controller has written."""
    items = (item.rpartition("=") for item in text.split(","))
    return tuple((name, int(amount)) for name, _, amount in items if name and amount.isascii() and amount.isdigit())


def _accounts(accounts: Accounts, name: str, above: dict[str, tuple[int, ...]]) -> tuple[int, ...]:
    if name not in above:
        found, at = [], name
        while at:
            found.append(accounts.of_account(at).number)
            at = accounts.accounts[at].parent
        above[name] = tuple(found)
    return above[name]
