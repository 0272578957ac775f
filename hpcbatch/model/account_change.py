"""What an operator asks to change of the accounts."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from hpcbatch.dataclass import dataclass, field
from hpcbatch.errors import HpcBatchError
from hpcbatch.typed import NamedTuple, TypeAlias


class Action(Enum):
    ADD = "add"
    MODIFY = "modify"
    DELETE = "delete"


class Entity(Enum):
    ACCOUNT = "account"
    USER = "user"
    QOS = "qos"
    COORDINATOR = "coordinator"


class NameEdit(NamedTuple):
    """A list of names that is set (`=`), or that names are added to (`+`) or taken from (`-`)."""

    operator: str
    names: tuple[str, ...]


Setting: TypeAlias = int | float | str | Mapping[str, int | None] | NameEdit | None
"""A new value; None takes the old one away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountChange:
    """One request."""

    action: Action
    entity: Entity
    names: tuple[str, ...] = ()
    """Of accounts, users, qualities of service. Of coordinators: their users."""
    accounts: tuple[str, ...] = ()
    """Of users and coordinators: in which; of accounts the same as `names`."""
    users: tuple[str, ...] = ()
    """Of accounts: the users in them that are meant."""
    partitions: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()
    settings: Mapping[str, Setting] = field(default_factory=dict)
    """By the word of the limit, or shares, parent, description, organization, qos, defaultQos, defaultAccount, flags,
    preempt, preemptMode, graceSeconds, preemptExemptSeconds, usageFactor, usageThreshold, limitFactor.
    """


class Problem(Enum):
    """Why a request is not possible."""

    UNKNOWN_PARENT = "parent"
    UNKNOWN_ACCOUNT = "account"
    UNKNOWN_QOS = "qos"
    NO_ACCOUNT = "no account"  # a user without one
    ROOT_STAYS = "root"
    DEFAULT_ACCOUNT = "default account"
    DEFAULT_QOS = "default qos"
    JOBS = "jobs"
    ABOVE_ITSELF = "above itself"


class AccountChangeError(HpcBatchError):
    """A request that is not possible. `names` are those of the problem, in the order of the associations."""

    def __init__(self, problem: Problem, *names: str) -> None:
        super().__init__(f"{problem.value}: {', '.join(names)}")
        self.problem, self.names = problem, names
