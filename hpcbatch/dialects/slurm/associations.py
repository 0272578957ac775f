"""Accounts and their users, as Slurm's database would hold them.

Where no operator has set up any, the accounts are those that jobs name, with the users of these jobs. The account
`root` with its user stands in every database of Slurm.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hpcbatch.model import accounts as model
from hpcbatch.model.account_tree import in_order, inherited
from hpcbatch.model.accounts import NORMAL, Accounts, Qos, first_accounts
from hpcbatch.model.row import JobRow
from hpcbatch.typed import NamedTuple

DEFAULT_QOS = NORMAL
ROOT = model.ROOT


class Association(NamedTuple):
    """`user` is "" for that of the account itself."""

    number: int
    account: str
    user: str
    parent: str
    """Of an account's own."""
    partition: str
    depth: int
    """In the tree: 0 of the root account."""
    own: model.Association
    """As it was set up."""
    effective: model.Association
    """With what it has from those above it."""


class Directory(NamedTuple):
    """What is known of accounts, users and qualities of service."""

    associations: tuple[Association, ...] = ()
    """As a tree: each account before its users."""
    default_accounts: Mapping[str, str] = {}
    """Of each user: the account of the newest job that names one, or as an operator has set it up."""
    qos: tuple[Qos, ...] = ()
    accounts: Mapping[str, model.Account] = {}


def directory_of(accounts: Accounts) -> Directory:
    found = [
        Association(
            leaf.association.number,
            leaf.association.account,
            leaf.association.user,
            "" if leaf.association.user else accounts.accounts[leaf.association.account].parent,
            leaf.association.partition,
            leaf.depth,
            leaf.association,
            inherited(accounts, leaf.association),
        )
        for leaf in in_order(accounts)
    ]
    return Directory(tuple(found), accounts.default_accounts, tuple(accounts.qos.values()), accounts.accounts)


def directory(rows: Iterable[JobRow], set_up: Accounts | None = None) -> Directory:
    """From all visible jobs, see `accounts_of`."""
    return directory_of(accounts_of(rows, set_up))


def accounts_of(rows: Iterable[JobRow], set_up: Accounts | None = None) -> Accounts:
    """Those that jobs name, in the order of their numbers. `set_up` has no accounts, and perhaps qualities of
    service.
    """
    users: dict[str, set[str]] = {}
    defaults: dict[str, str] = {ROOT: ROOT}
    names: dict[str, None] = {}
    for row in rows:
        if row.account and row.user:
            users.setdefault(row.account, set()).add(row.user)
            if row.user != ROOT:
                defaults[row.user] = row.account
        if row.qos:
            names[row.qos] = None
    users.setdefault(ROOT, set()).add(ROOT)
    begun = set_up or first_accounts()
    qos = dict(begun.qos)
    for name in names:
        number = max(each.number for each in qos.values()) + 1
        qos.setdefault(name, Qos(number=number, name=name, description=name))
    named = {name: model.Account(name=name, description=name, organization=name) for name in users}
    accounts = {**named, ROOT: begun.accounts[ROOT]}
    pairs: list[tuple[str, str]] = []
    for account in sorted(users, key=lambda name: (name != ROOT, name)):
        pairs += [(account, ""), *((account, user) for user in sorted(users[account]))]
    root_qos = begun.of_account(ROOT).qos
    associations = tuple(
        model.Association(number=number, account=account, user=user, qos=root_qos if number == 1 else None)
        for number, (account, user) in enumerate(pairs, start=1)
    )
    return Accounts(
        accounts=accounts,
        associations=associations,
        qos=qos,
        default_accounts=defaults,
        next_number=len(associations) + 1,
    )
