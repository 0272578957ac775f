"""That the nodes of a job are near each other in the site's network."""

from __future__ import annotations

from collections.abc import Iterable

from hpcbatch.dataclass import dataclass, field
from hpcbatch.model.stored import COUNT, PRINTABLE, integer, stored, string
from hpcbatch.typed import Final

MOST_WAIT_S: Final = 300
"""For so long a Slurm job that says nothing else waits for its switches. Slurm's max_switch_wait."""


_TIER: Final = "hypernode.hpcbatch.io/tier-"


def tier_label(tier: int) -> str:
    """By which nodes are told apart whose groups are Volcano's HyperNodes of that tier."""
    return f"{_TIER}{tier}"


def tiers_of(labels: Iterable[str]) -> frozenset[int]:
    """The tiers of those that `tier_label` has made."""
    return frozenset(int(label.removeprefix(_TIER)) for label in labels if label.startswith(_TIER))


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """A level of a site's network: its nodes are in groups, as those of one switch."""

    name: str
    """As scripts name it: `switch` of PBS's `place=group=switch`."""
    label: str
    """The nodes of a group have the same value of this label. One of `tier_label` is no node's: HyperNodes say it."""
    tier: int | None = None
    """Of Volcano's HyperNodes that are these groups; None: there are none."""

    @property
    def is_of_hypernodes(self) -> bool:
        """Whether they alone say which nodes are in which group."""
        return self.label.startswith(_TIER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouping:
    """The nodes of a job are in few groups of a level."""

    level: str = field(
        default="",
        metadata=stored(
            "level", string(most=253, pattern=PRINTABLE), description="By the site's name; without: the lowest one."
        ),
    )
    """Its name; "": the site's lowest one, Slurm's leaf switches."""
    groups: int = field(default=1, metadata=stored("groups", integer(1, 10**6)))
    """So many at most."""
    wait_s: int | None = field(
        default=None, metadata=stored("waitSeconds", COUNT, description="After that any nodes will do.")
    )
    """How long the job waits for that, from when it could start. None: for as long as it takes."""
