"""What a plan is made from: nodes, jobs that run and wait, reservations and limits, as plain values.

Times are seconds since any one epoch. A vector names amounts as Kubernetes does: `cpu` in thousandths, `memory` and
`ephemeral-storage` in bytes, `pods` and extended resources in pieces; a name that is missing means 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from enum import StrEnum

from hpcbatch.dataclass import dataclass, field, replace

Vector = Mapping[str, int]
JobId = str
"""What distinguishes jobs, members of arrays too: `12`, `12[3]`."""

JOBS, NODES = "jobs", "nodes"
"""What a limit can count beside the names of a vector."""


class Scope(StrEnum):
    """By which of a job's names a limit selects and counts."""

    USER = "user"
    GROUP = "group"
    PROJECT = "project"
    ACCOUNT = "account"
    QUEUE = "queue"
    QOS = "qos"


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """The names of a job by which limits and reservations know it."""

    user: str = ""
    groups: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()
    """The job's account first, then its parents up to the root: limits of all of them count."""
    queue: str = ""
    qos: tuple[str, ...] = ()
    """The job's QOS, then its partition's, and other names that limits may use."""
    project: str = ""

    def names(self, scope: Scope) -> tuple[str, ...]:
        match scope:
            case Scope.USER:
                return (self.user,)
            case Scope.GROUP:
                return self.groups
            case Scope.ACCOUNT:
                return self.accounts
            case Scope.PROJECT:
                return (self.project,)
            case Scope.QUEUE:
                return (self.queue,)
            case Scope.QOS:
                return self.qos


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node. `has` is what jobs may use in all: allocatable, less the requests of pods that are no job's of ours. What
    our running jobs use is not deducted: `RunningJob.placed` says it.
    """

    name: str
    has: Vector
    labels: Mapping[str, str] = field(default_factory=dict)
    is_open: bool = True
    """Ready, not cordoned: jobs may start. What runs on a closed node runs on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelTest:
    """A line of Kubernetes' matchExpressions: the node's label has one of `values`, or (`is_in` False) has not."""

    key: str
    values: frozenset[str]
    is_in: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """`count` equal pods, and the nodes that may hold them: a node has all `labels`, meets all tests of one of `terms`
    (none: any node does), and is one of `hosts` (None: any), none of `excluded_hosts`. Hosts are nodes' names.
    """

    count: int
    needs: Vector
    """Of one pod."""
    labels: Mapping[str, str] = field(default_factory=dict)
    terms: tuple[tuple[LabelTest, ...], ...] = ()
    hosts: frozenset[str] | None = None
    excluded_hosts: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.count < 1 or any(amount < 0 for amount in self.needs.values()):
            raise ValueError(f"a part of {self.count} pods with {dict(self.needs)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """One way in which a job can run."""

    parts: tuple[Part, ...]
    queue: str = ""
    """Of a job that names several queues; "": the owner's."""
    is_scattered: bool = False
    """No two pods of the job on one node."""
    is_exclusive: bool = False
    """No other job of ours on the job's nodes."""

    def total(self, name: str) -> int:
        """Of all pods: JOBS is 1; NODES is the pods' number if scattered, else 1 at least, which is all that can be
        known before they are placed."""
        if name == JOBS:
            return 1
        if name == NODES:
            return sum(part.count for part in self.parts) if self.is_scattered else 1
        return sum(part.count * part.needs.get(name, 0) for part in self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """`count` pods of a part on a node."""

    part: int
    """The index in the shape's parts."""
    node: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingJob:
    """A job that could start as far as holds, dependencies and its submitter are concerned."""

    job_id: JobId
    order: tuple[float, ...]
    """Its place: the smallest goes first. Equal ones go by `job_id` as text: end it with the number."""
    shapes: tuple[Shape, ...]
    """In the order of preference: of those that could start now the first is taken, else the one that can soonest."""
    walltime_s: float
    """From release to the last moment at which it can hold its nodes: start-up, walltime, delay of the kill."""
    min_walltime_s: float | None = None
    """Slurm's --time-min, counted likewise: the job may be released for less than `walltime_s` to start now."""
    owner: Owner = field(default_factory=Owner)
    uses: Vector | None = None
    """What limits count of it, if that is not its first shape's total: names of vectors, JOBS, NODES, licences."""
    reservation: str = ""
    """Runs in this reservation only; "": outside all."""
    other_reservations: tuple[str, ...] = ()
    """In which it may run instead, in the order of preference: it runs in the one where it can start the soonest."""
    earliest_s: float = -math.inf
    """Neither starts nor is planned before."""
    preempts: frozenset[str] = frozenset()
    """Running jobs of these classes may be ended for it."""
    claim: tuple[Place, ...] = ()
    """Jobs are being ended so that it can start there, in its first shape: it goes before all others."""

    def __post_init__(self) -> None:
        if not self.shapes or not self.walltime_s > 0:
            raise ValueError(f"job {self.job_id} has {len(self.shapes)} shapes and a walltime of {self.walltime_s} s")

    @property
    def least_s(self) -> float:
        """The least time for which it would start."""
        return self.walltime_s if self.min_walltime_s is None else min(self.walltime_s, self.min_walltime_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Yields:
    """That a running job may be ended, or suspended, for others."""

    classes: frozenset[str]
    """For those that preempt one of them."""
    order: tuple[float, ...]
    """The smallest is ended first. Equal ones go by their names."""
    since_s: float = -math.inf
    """Not before."""
    frees: frozenset[str] | None = None
    """What it gives up of its nodes then, by the names of a vector: it is suspended. None: all."""
    may_end: bool = False
    """One that would be suspended is ended instead where suspensions do not make enough room."""
    later: Yields | None = None
    """What holds instead from its `since_s` on."""

    def at(self, now_s: float) -> Yields | None:
        """What holds then; None: it yields to nobody yet."""
        later = None if self.later is None else self.later.at(now_s)
        return later or (self if self.since_s <= now_s else None)

    @property
    def ended(self) -> Yields:
        """With all that it has, if it may end."""
        return replace(self, frees=None) if self.may_end else self

    def times(self) -> Iterator[float]:
        """When another of these begins to hold."""
        yield self.since_s
        if self.later is not None:
            yield from self.later.times()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningJob:
    """A job that has its nodes, or has been released and will have them: from then on it is not waiting."""

    job_id: JobId
    placed: Mapping[str, Vector]
    """By the node's name: all that the job's pods there request, `pods` included."""
    ends_s: float
    """The last moment at which it can hold its nodes. One that is over it counts as about to end."""
    owner: Owner = field(default_factory=Owner)
    is_exclusive: bool = False
    uses: Vector | None = None
    """What limits count of it; None: the sum of `placed`, JOBS 1, NODES their number."""
    reservation: str = ""
    yields: Yields | None = None
    """None: it is not ended for any other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """Nodes kept from `start_s` to `end_s` for those who may use it. Of one that repeats, each time is one of these, by
    the same name. Reservations of the same node at the same time together keep no more than the node has, unless one
    `may_overlap`.
    """

    name: str
    start_s: float
    end_s: float
    nodes: Mapping[str, Vector | None]
    """By name, what is kept of the node; None: all of it."""
    users: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    accounts: frozenset[str] = frozenset()
    denied_users: frozenset[str] = frozenset()
    denied_groups: frozenset[str] = frozenset()
    denied_accounts: frozenset[str] = frozenset()
    is_for_nobody: bool = False
    goes_before: bool = False
    """Jobs of other reservations do not run into it either: maintenance."""
    may_overlap: bool = False
    """It and others may keep more of a node together than that has."""
    cuts_s: float = 0.0
    """Jobs in it are ended with it, and start even if they might run so much longer."""

    def may_use(self, owner: Owner) -> bool:
        """Whether the owner is in every list that is not empty, and in none of those who are denied."""
        lists = ((self.users, (owner.user,)), (self.groups, owner.groups), (self.accounts, owner.accounts))
        denied = (
            (self.denied_users, (owner.user,)),
            (self.denied_groups, owner.groups),
            (self.denied_accounts, owner.accounts),
        )
        if self.is_for_nobody or any(not some.isdisjoint(names) for some, names in denied):
            return False
        return all(not some or not some.isdisjoint(names) for some, names in lists)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """No more than `amount` of `what` used at a time by running jobs that have the names `of`, none of the names
    `apart_from`; counted apart for each value of the names `per`.

    MaxJobsPU of a QOS: of={QOS: "normal"}, per=(USER,). GrpTRES=cpu of an account: of={ACCOUNT: "physics"}. PBS's
    max_run=[u:PBS_GENERIC=5],[u:ann=9] of a queue: of={QUEUE: "q"}, per=(USER,), apart_from={USER: {"ann"}} and a
    second one of={QUEUE: "q", USER: "ann"}. Licences of the whole site: of={}, what the licence's name.
    """

    code: str
    """The reason that a job shows which it holds back: `QOSMaxJobsPerUserLimit`; whatever the caller likes."""
    what: str
    """JOBS, NODES, the name of a vector's amount, or of anything in `uses`."""
    amount: int
    of: Mapping[Scope, str] = field(default_factory=dict)
    per: tuple[Scope, ...] = ()
    apart_from: Mapping[Scope, frozenset[str]] = field(default_factory=dict)
    spares: Mapping[Scope, frozenset[str]] = field(default_factory=dict)
    """Jobs with one of these names count, but are not held back: another limit goes before this one."""
    is_time: bool = False
    """`amount` is of `what` times seconds, until the ends of running jobs as far as their walltimes tell."""
    is_soft: bool = False
    """Holds nobody back: jobs that it concerns are considered after all others while more than `amount` is used."""
    spent: str = ""
    """Of a limit of times: under which name the planner is told what has been used before (`Planner.set_spent`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """All of it, at one moment."""

    now_s: float
    nodes: tuple[Node, ...] = ()
    running: tuple[RunningJob, ...] = ()
    waiting: tuple[WaitingJob, ...] = ()
    reservations: tuple[Reservation, ...] = ()
    limits: tuple[Limit, ...] = ()
    spent: Mapping[str, int] = field(default_factory=dict)
    """See `Limit.spent`."""
    beside_walltime_s: float = 0.0
    """What jobs' times from release to the last moment have beside their walltimes, which limits of times count."""
    depth: int | None = 1
    """How many blocked jobs, the first ones, get a planned start that nothing delays: 1 is EASY backfilling, None (all)
    conservative backfilling."""
    depths: Mapping[str, int] = field(default_factory=dict)
    """The same of queues that have their own, by their names: outside reservations their jobs count for these, and
    those of all other queues together for `depth`."""
