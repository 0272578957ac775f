"""A reservation: nodes, or a part of them, kept for some people for some time, once or again and again."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum

from hpcbatch.dataclass import dataclass, field
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.chunk import HOSTS, Chunk
from hpcbatch.model.spec import Arrangement, Sharing
from hpcbatch.model.stored import (
    ANY_TEXT,
    COUNT,
    HOST,
    PRINTABLE,
    TEXT,
    TIME,
    USER_TIME,
    Kind,
    enum,
    enum_of_controller,
    integer,
    list_of,
    mapping_of,
    stored,
    string,
    struct,
)

_NAME = string(least=1, most=253, pattern=PRINTABLE)
_NAMES = list_of(_NAME, most=1000)
_COUNTS = list_of(integer(0, 2**31 - 1), most=10000)
_ATTRIBUTES = mapping_of(string(most=65536, pattern=PRINTABLE), most=64)
_AMOUNTS = Kind(mapping_of(integer(0)).schema, dict, dict)
NOT = "-"
"""Before a user, account or group that may not use the reservation: then all others may."""


class Flag(StrEnum):
    """What a reservation is like; Slurm's words."""

    MAINT = "MAINT"  # maintenance: it may overlap others, and its nodes are shown as being maintained
    FLEX = "FLEX"  # jobs in it are not ended with it
    OVERLAP = "OVERLAP"
    IGNORE_JOBS = "IGNORE_JOBS"  # jobs that run may still run when it begins
    HOURLY = "HOURLY"
    DAILY = "DAILY"
    WEEKDAY = "WEEKDAY"
    WEEKEND = "WEEKEND"
    WEEKLY = "WEEKLY"
    SPEC_NODES = "SPEC_NODES"  # its nodes were named
    ALL_NODES = "ALL_NODES"
    PART_NODES = "PART_NODES"  # all nodes of its partition
    PURGE_COMP = "PURGE_COMP"  # it ends when no job has used it for some time
    STATIC = "STATIC"  # it keeps its nodes, whatever becomes of them
    REPLACE_DOWN = "REPLACE_DOWN"  # it gets others for those that are down or drained, as any by number does
    NO_HOLD_JOBS_AFTER_END = "NO_HOLD_JOBS_AFTER_END"  # its waiting jobs may start outside of it when it has ended


class Phase(StrEnum):
    """Values are those of `status.phase`."""

    UNCONFIRMED = "Unconfirmed"
    CONFIRMED = "Confirmed"
    DENIED = "Denied"
    OVER = "Over"  # and some mail about it has not got through yet


class Denial(StrEnum):
    """Why a reservation, or a change of one, is not granted. Values are those of `status.denial.code`."""

    NODES_BUSY = "NodesBusy"  # jobs that run may still run then, or others have reserved too much
    OVERLAP = "Overlap"
    NEVER_FITS = "NeverFits"
    UNKNOWN_NODE = "UnknownNode"
    UNKNOWN_QUEUE = "UnknownQueue"
    UNKNOWN_FEATURE = "UnknownFeature"
    BAD_TIME = "BadTime"
    BAD_RULE = "BadRule"
    BAD_ZONE = "BadZone"
    BAD_CORES = "BadCores"
    BAD_REQUEST = "BadRequest"
    NOT_ALLOWED = "NotAllowed"  # what only operators may ask for
    BAD_STATE = "BadState"  # it is to be made of a job that does not run, or is in a reservation already
    NO_PLAN = "NoPlan"  # Volcano alone starts jobs here, which knows no reservations


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationSpec:
    """As requested: by nodes, by numbers of nodes or cores (Slurm), or by chunks (PBS)."""

    dialect: str = field(metadata=stored("dialect", string(most=16, pattern="^[a-z][a-z0-9]{0,15}$")))
    name: str = field(default="", metadata=stored("name", TEXT))
    """Slurm's name, by which jobs ask for it; in PBS a text to be shown."""
    start: datetime = field(metadata=stored("start", USER_TIME))
    end: datetime = field(metadata=stored("end", USER_TIME))
    """Of the first time, if there are several."""
    rule: str = field(
        default="",
        metadata=stored(
            "rule", string(most=512, pattern=PRINTABLE), description="When it is again, an iCalendar RRULE."
        ),
    )
    zone: str = field(
        default="", metadata=stored("zone", string(most=64, pattern=PRINTABLE), description="Time zone of the rule.")
    )
    nodes: tuple[str, ...] = field(default=(), metadata=stored("nodes", HOSTS))
    """By name; `ALL` is all of them, or all of the partition."""
    node_counts: tuple[int, ...] = field(default=(), metadata=stored("nodeCounts", _COUNTS))
    core_counts: tuple[int, ...] = field(default=(), metadata=stored("coreCounts", _COUNTS))
    """Of each of `nodes` or `node_counts`; one alone: together, on any nodes."""
    features: str = field(default="", metadata=stored("features", TEXT))
    """`a&b`, `a|b`."""
    partition: str = field(default="", metadata=stored("partition", TEXT))
    chunks: tuple[Chunk, ...] = field(
        default=(), metadata=stored("chunks", list_of(struct(Chunk, is_cached=True), most=10000))
    )
    arrangement: Arrangement = field(default=Arrangement.FREE, metadata=stored("arrangement", enum(Arrangement)))
    sharing: Sharing = field(default=Sharing.SHARED, metadata=stored("sharing", enum(Sharing)))
    users: tuple[str, ...] = field(default=(), metadata=stored("users", _NAMES))
    groups: tuple[str, ...] = field(default=(), metadata=stored("groups", _NAMES))
    accounts: tuple[str, ...] = field(default=(), metadata=stored("accounts", _NAMES))
    flags: tuple[Flag, ...] = field(default=(), metadata=stored("flags", list_of(enum(Flag), most=32)))
    purge_s: int = field(default=300, metadata=stored("purgeSeconds", integer(0, 2**31 - 1)))
    mail_points: str = field(default="", metadata=stored("mailPoints", TEXT))
    """The events that people get mail for, in the dialect's own notation; "": the dialect's default."""
    mail_users: tuple[str, ...] = field(default=(), metadata=stored("mailUsers", list_of(TEXT, most=1024)))
    attributes: Mapping[str, str] = field(default_factory=dict, metadata=stored("attributes", _ATTRIBUTES))
    """What is only shown again: the select as given …"""
    submit_host: str = field(default="localhost", metadata=stored("submitHost", HOST))
    server: str = field(default="", metadata=stored("server", HOST))
    """What stands behind the dot of a PBS id, as in `JobSpec`."""
    job: int | None = field(
        default=None,
        metadata=stored(
            "job",
            integer(1, 2**31 - 1),
            description="It is made of this running job of its owner, on its nodes, and the job moves into it.",
        ),
    )
    removed_by: str = field(
        default="",
        metadata=stored(
            "removedBy",
            string(most=512, pattern=PRINTABLE),
            description="Who has had it removed: it is in force no more, and goes when that has been mailed.",
        ),
    )

    def __post_init__(self) -> None:
        if self.end <= self.start:
            raise HpcBatchError("a reservation ends after it starts")

    @property
    def duration(self) -> timedelta:
        return self.end - self.start

    @property
    def is_maintenance(self) -> bool:
        return Flag.MAINT in self.flags

    @property
    def ends_jobs(self) -> bool:
        """Whether jobs in it are ended with it."""
        return Flag.FLEX not in self.flags

    def may_use(self, user: str, groups: tuple[str, ...], accounts: tuple[str, ...]) -> bool:
        """Whether the owner of a job is in every list that is not empty. `accounts` has those above the job's, too."""
        lists = ((self.users, (user,)), (self.groups, groups), (self.accounts, accounts))
        return all(_is_in(names, own) for names, own in lists)


def _is_in(names: tuple[str, ...], own: tuple[str, ...]) -> bool:
    denied = {name.removeprefix(NOT) for name in names if name.startswith(NOT)}
    if not denied.isdisjoint(own):
        return False
    allowed = {name for name in names if not name.startswith(NOT)}
    return not allowed or not allowed.isdisjoint(own)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptNode:
    """What a reservation keeps of a node."""

    name: str = field(metadata=stored("name", ANY_TEXT))
    amounts: Mapping[str, int] | None = field(default=None, metadata=stored("amounts", _AMOUNTS))
    """As the plan counts: cpu in thousandths, memory in bytes. None: all of the node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Denied:
    code: Denial = field(metadata=stored("code", enum_of_controller(Denial)))
    message: str = field(default="", metadata=stored("message", ANY_TEXT))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationStatus:
    """What the controller has made of it."""

    phase: Phase = field(default=Phase.UNCONFIRMED, metadata=stored("phase", enum_of_controller(Phase), is_always=True))
    id: str = field(default="", metadata=stored("id", ANY_TEXT))
    """By which jobs ask for it: `R12`, `S13`; of Slurm's its name."""
    owner: str = field(default="", metadata=stored("owner", ANY_TEXT))
    generation: int = field(default=0, metadata=stored("observedGeneration", COUNT))
    """Of the spec that was looked at last."""
    granted: ReservationSpec | None = field(default=None, metadata=stored("granted", struct(ReservationSpec)))
    """What is in force; another spec than this was denied, or has not been looked at."""
    denial: Denied | None = field(default=None, metadata=stored("denial", struct(Denied)))
    """Why the last spec was not granted."""
    nodes: tuple[KeptNode, ...] = field(default=(), metadata=stored("nodes", list_of(struct(KeptNode))))
    start: datetime | None = field(default=None, metadata=stored("start", TIME))
    """Of the time that is now, or comes next."""
    end: datetime | None = field(default=None, metadata=stored("end", TIME))
    index: int = field(default=1, metadata=stored("index", COUNT))
    """Which of its times that is, from 1."""
    count: int | None = field(default=None, metadata=stored("count", COUNT))
    """How many times there are; None: without end."""
    changed: datetime | None = field(default=None, metadata=stored("changed", TIME))
    idle_since: datetime | None = field(default=None, metadata=stored("idleSince", TIME))
    """Since when no job has used it, while it has begun."""
    confirmed: datetime | None = field(default=None, metadata=stored("confirmed", TIME))
    """When it was granted last, or got other times, sizes or nodes."""
    mailed: tuple[str, ...] = field(default=(), metadata=stored("mailed", list_of(ANY_TEXT)))
    """The ids of the mails that were sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserved:
    """A reservation in force, as jobs and views know it."""

    id: str
    spec: ReservationSpec
    owner: str
    nodes: tuple[KeptNode, ...]
    start: datetime
    end: datetime

    @property
    def is_queue(self) -> bool:
        """PBS's have a queue of their name."""
        return self.spec.dialect == "pbs"

    def is_on(self, now: datetime) -> bool:
        return self.start <= now < self.end
