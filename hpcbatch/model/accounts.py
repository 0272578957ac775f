"""Accounts, their users and qualities of service, as an operator has set them up (Slurm's associations).

The tree: account `root`, accounts below it, and in each account its users. A user in an account is an association, and
so is each account itself; limits and shares belong to associations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hpcbatch.dataclass import dataclass, field
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.account_limits import WORDS, Limits
from hpcbatch.model.server_settings import ServerSettings
from hpcbatch.typed import Final

ROOT: Final = "root"
NORMAL: Final = "normal"
"""The quality of service that there always is."""
PARENT_SHARES: Final = -1
"""Shares of an association whose users share with those of the account above (Slurm's `fairshare=parent`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Association:
    """An account (`user` is "") or a user in it, perhaps only in one partition."""

    number: int
    account: str
    user: str = ""
    partition: str = ""
    shares: int = 1
    """PARENT_SHARES, or how many of the shares of those beside it."""
    limits: Limits = field(default_factory=Limits)
    qos: tuple[str, ...] | None = None
    """Which it may use; None: as the account above."""
    default_qos: str = ""
    """"": as the account above."""

    def __post_init__(self) -> None:
        for word in (*self.limits.counts, *self.limits.tres):
            if not WORDS[word].of_association:
                raise HpcBatchError(f"an association has no limit {word}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    name: str
    parent: str = ROOT
    """"" of the root account."""
    description: str = ""
    organization: str = ""
    coordinators: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Qos:
    """A quality of service."""

    number: int
    name: str
    description: str = ""
    limits: Limits = field(default_factory=Limits)
    flags: tuple[str, ...] = ()
    preempt: tuple[str, ...] = ()
    """Qualities of service whose jobs those of this one may preempt."""
    preempt_mode: str = ""
    """"": the cluster's."""
    grace_s: int = 0
    preempt_exempt_s: int | None = None
    usage_factor: float = 1.0
    usage_threshold: float | None = None
    limit_factor: float | None = None

    def __post_init__(self) -> None:
        for word in (*self.limits.counts, *self.limits.tres):
            if not WORDS[word].of_qos:
                raise HpcBatchError(f"a quality of service has no limit {word}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLimit:
    """A limit of PBS: `max_run = [u:PBS_GENERIC=4]`, of the server or of a queue."""

    word: str
    """max_run, max_queued, queued_jobs_threshold, or with `_res`; max_run and max_run_res also with `_soft`."""
    resource: str = ""
    """Of a word with `_res`: ncpus, mem …"""
    queue: str = ""
    """"": of the server."""
    kind: str
    """u, g, p or o: user, group, project, all together."""
    name: str
    """PBS_GENERIC: of each that is not named; PBS_ALL of `o`."""
    amount: int
    """Jobs, or an amount: bytes of sizes, seconds of times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounts:
    """All of it. Raises HpcBatchError where a name stands for nothing, or accounts are above each other."""

    accounts: Mapping[str, Account]
    associations: tuple[Association, ...]
    """In the order of their numbers."""
    qos: Mapping[str, Qos]
    default_accounts: Mapping[str, str] = field(default_factory=dict)
    """Of each user."""
    server_limits: tuple[ServerLimit, ...] = ()
    server_settings: ServerSettings = field(default_factory=ServerSettings)
    next_number: int = 3
    _found: Mapping[tuple[str, str, str], Association] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        found = {(one.account, one.user, one.partition): one for one in self.associations}
        object.__setattr__(self, "_found", found)
        if ROOT not in self.accounts or NORMAL not in self.qos:
            raise HpcBatchError(f"there is no account {ROOT} or no quality of service {NORMAL}")
        for account in self.accounts.values():
            self._check_line(account)
        own = {one.account for one in self.associations if not one.user}
        if own != set(self.accounts):
            raise HpcBatchError(f"accounts without an association, or the other way round: {own ^ set(self.accounts)}")
        for one in self.associations:
            for name in (*(one.qos or ()), *filter(None, [one.default_qos])):
                if name not in self.qos:
                    raise HpcBatchError(f"there is no quality of service {name}")
            if one.account not in self.accounts:
                raise HpcBatchError(f"there is no account {one.account}")
        if len(found) < len(self.associations):
            raise HpcBatchError("an association is there twice")

    def _check_line(self, account: Account) -> None:
        seen = {account.name}
        while account.parent:
            if account.parent not in self.accounts:
                raise HpcBatchError(f"account {account.name}: there is no account {account.parent}")
            account = self.accounts[account.parent]
            if account.name in seen:
                raise HpcBatchError(f"account {account.name} is above itself")
            seen.add(account.name)
        if account.name != ROOT:
            raise HpcBatchError(f"account {account.name} is not below {ROOT}")

    @property
    def is_bare(self) -> bool:
        """Whether nobody has set up any account or user yet."""
        return len(self.accounts) == 1 and all(one.user in {"", ROOT} for one in self.associations)

    def of_account(self, name: str) -> Association:
        """The account's own association. Raises KeyError if there is none."""
        return next(iter(self.find(account=name)), None) or _missing(name)

    def find(self, *, account: str, user: str = "", partition: str = "") -> Iterator[Association]:
        found = self._found.get((account, user, partition))
        return iter(() if found is None else (found,))

    def children(self, account: str) -> tuple[str, ...]:
        """The accounts right below, by name."""
        return tuple(sorted(each.name for each in self.accounts.values() if each.parent == account))


def _missing(name: str) -> Association:
    raise KeyError(name)


def first_accounts() -> Accounts:
    """What every database of Slurm begins with."""
    return Accounts(
        accounts={
            ROOT: Account(name=ROOT, parent="", description="default root account", organization="default root org")
        },
        associations=(
            Association(number=1, account=ROOT, qos=(NORMAL,)),
            Association(number=2, account=ROOT, user=ROOT),
        ),
        qos={NORMAL: Qos(number=1, name=NORMAL, description="Normal QOS default")},
        default_accounts={ROOT: ROOT},
    )
