"""A plan: who starts now and where, who waits for what, and when the first of those will start."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from hpcbatch.dataclass import dataclass, field
from hpcbatch.policy.plan.snapshot import JobId, Limit, Place


class Why(StrEnum):
    """Why a job does not start now."""

    PRIORITY = "Priority"  # jobs before it wait for nodes
    RESOURCES = "Resources"  # it is the next, and its nodes are not free
    RESERVATION = "Reservation"  # it would run into a reservation, or waits for its own to begin
    RESERVATION_OVER = "ReservationOver"  # its reservation does not exist (any more), or ends too soon for it
    RESERVATION_DENIED = "ReservationDenied"  # it may not use the reservation that it names
    LIMIT = "Limit"  # Held.limit says which
    NODE_DOWN = "NodeDown"  # it would fit, if nodes that are closed were open
    NEVER_FITS = "NeverFits"  # more than all nodes have
    BEGIN_TIME = "BeginTime"


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A job that starts now. Until it is reported as running, each plan releases it anew, perhaps elsewhere."""

    job_id: JobId
    shape: int
    """The index in the job's shapes."""
    places: tuple[Place, ...]
    is_bound: bool
    """Whether the nodes matter: elsewhere it might delay a planned start, or run into a reservation; or its pods are
    unlike, so that who places them one by one in another order may find no room for the last."""
    walltime_s: float
    """The job's, or less, as its `min_walltime_s` allows: it has to be gone by then."""
    reservation: str = ""
    """In which it runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """The planned start of a job that waits."""

    start_s: float
    shape: int
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A job that does not start now."""

    why: Why
    waits_for: tuple[JobId, ...] = ()
    """PRIORITY: the planned job that is the nearest before it, no more than one. RESOURCES: running jobs whose ends its
    planned start waits for, the last first, a few of them."""
    limit: Limit | None = None
    reservation: str = ""
    """RESERVATION and the like: its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preemption:
    """A job that could start at these places once the victims have ended; no planned start is delayed by it."""

    job_id: JobId
    shape: int
    places: tuple[Place, ...]
    victims: tuple[JobId, ...]
    """None of them can be spared."""
    is_ending: bool = False
    """Suspensions do not make enough room: those of them that `may_end` are ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Of all waiting jobs each is in `releases` or in `held`; those in `expected` are in `held` too."""

    now_s: float
    releases: tuple[Release, ...] = ()
    """In the order of priority."""
    held: Mapping[JobId, Held] = field(default_factory=dict)
    """A view that is true until the Planner hears of the next event: looking up a job is quick, all of them is not."""
    expected: Mapping[JobId, Expected] = field(default_factory=dict)
    """Those within the depth, in the order of priority."""
    preemptions: tuple[Preemption, ...] = ()
    """Of held jobs."""
    next_s: float | None = None
    """Plan anew then at the latest, even if nothing happens: a planned start, a reservation's or a job's time."""
