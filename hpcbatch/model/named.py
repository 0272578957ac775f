"""What a user names on a command line: a job, an array, or members of an array."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # most ids name no members, and a dataclass costs a command a millisecond
    from hpcbatch.model.indices import Indices


class NamedJob(NamedTuple):
    """One id, read."""

    number: int
    """Of the job, or of the array."""
    members: Indices | None = None
    """Those of the array that are meant; None: the job itself, or the array as a whole."""
    is_array: bool = False
    """Whether the id says that it is an array, or of one; PBS tells `12` and `12[]` apart."""
