"""The tree of accounts: what is above what, what an association has from those above it, and the order of a listing."""

from __future__ import annotations

from collections.abc import Iterator

from hpcbatch.dataclass import replace
from hpcbatch.model.account_limits import Limits
from hpcbatch.model.accounts import ROOT, Accounts, Association
from hpcbatch.typed import Final, NamedTuple

INHERITED: Final = frozenset(
    {
        "MaxJobs",
        "MaxJobsAccrue",
        "MaxSubmitJobs",
        "MaxTRESPerJob",
        "MaxTRESPerNode",
        "MaxTRESMinsPerJob",
        "MaxTRESRunMins",
        "MaxWallDurationPerJob",
        "MinPrioThreshold",
        "Priority",
    }
)
"""Limits of a user or account that count for those below which have none of their own. The others, of `Grp`, count for
all below together.
"""


def line_of(accounts: Accounts, one: Association) -> tuple[Association, ...]:
    """The association, its account, and the accounts above, up to root."""
    found = [one]
    name = one.account if one.user else accounts.accounts[one.account].parent
    while name:
        found.append(accounts.of_account(name))
        name = accounts.accounts[name].parent
    return tuple(found)


def inherited(accounts: Accounts, one: Association) -> Association:
    """With what it has from those above it. Of a limit by resources each resource is inherited on its own."""
    counts, tres = dict(one.limits.counts), {word: dict(each) for word, each in one.limits.tres.items()}
    qos, default_qos = one.qos, one.default_qos
    for above in line_of(accounts, one)[1:]:
        for word, value in above.limits.counts.items():
            if word in INHERITED:
                counts.setdefault(word, value)
        for word, amounts in above.limits.tres.items():
            if word in INHERITED:
                tres[word] = {**amounts, **tres.get(word, {})}
        qos = above.qos if qos is None else qos
        default_qos = default_qos or above.default_qos
    return replace(one, limits=Limits(counts, tres), qos=qos or (), default_qos=default_qos)


def association_for(accounts: Accounts, user: str, account: str, partition: str = "") -> Association | None:
    """That of a job: the one for the partition, or the one for all."""
    for name in dict.fromkeys((partition, "")):
        for one in accounts.find(account=account, user=user, partition=name):
            return one
    return None


class Leaf(NamedTuple):
    """An association in the tree."""

    association: Association
    depth: int
    """0: the root account; its users have 1."""


def in_order(accounts: Accounts, account: str = ROOT, depth: int = 0) -> Iterator[Leaf]:
    """Each account, then its users, then the accounts below it, by name."""
    yield Leaf(accounts.of_account(account), depth)
    users = (one for one in accounts.associations if one.account == account and one.user)
    for one in sorted(users, key=lambda one: (one.user, one.partition)):
        yield Leaf(one, depth + 1)
    for name in accounts.children(account):
        yield from in_order(accounts, name, depth + 1)
