"""A job, an array, or members of an array, as named on a command line."""

from __future__ import annotations

from hpcbatch.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # most ids name no members, and a dataclass costs a command a millisecond
    from hpcbatch.model.indices import Indices


class NamedJob(NamedTuple):
    """One parsed id."""

    number: int
    """Number of the job or of the array."""
    members: Indices | None = None
    """The named members; None: the job itself, or the whole array."""
    is_array: bool = False
    """Whether the id names an array or a member; PBS distinguishes `12` and `12[]`."""
