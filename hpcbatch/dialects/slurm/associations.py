"""Accounts and their users, as Slurm's database would hold them.

hpcbatch has no such database: accounts are those that jobs name, with the users of these jobs. The account `root` with
its user stands in every database of Slurm.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from hpcbatch.model.row import JobRow

ROOT = "root"
DEFAULT_QOS = "normal"


class Association(NamedTuple):
    """`user` is "" for that of the account itself."""

    number: int
    account: str
    user: str
    parent: str
    """Of an account's own."""


class Directory(NamedTuple):
    """What is known of accounts, users and qualities of service."""

    associations: tuple[Association, ...]
    """As a tree: each account before its users."""
    default_accounts: dict[str, str]
    """Of each user: the account of the newest job that names one."""
    qos: tuple[str, ...]


def directory(rows: Iterable[JobRow]) -> Directory:
    """From all visible jobs, in the order of their numbers."""
    users: dict[str, set[str]] = {}
    defaults: dict[str, str] = {ROOT: ROOT}
    qos = {DEFAULT_QOS: None}
    for row in rows:
        if row.account and row.user:
            users.setdefault(row.account, set()).add(row.user)
            if row.user != ROOT:
                defaults[row.user] = row.account
        if row.qos:
            qos[row.qos] = None
    users.setdefault(ROOT, set()).add(ROOT)
    pairs: list[tuple[str, str]] = []
    for account in sorted(users, key=lambda name: (name != ROOT, name)):
        pairs += [(account, ""), *((account, user) for user in sorted(users[account]))]
    found = [
        Association(number, account, user, "" if user or account == ROOT else ROOT)
        for number, (account, user) in enumerate(pairs, start=1)
    ]
    return Directory(tuple(found), defaults, tuple(qos))
