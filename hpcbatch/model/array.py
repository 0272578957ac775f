"""Job arrays: one record for all members; a member gets a record of its own, an ordinary job, when it may run."""

from __future__ import annotations

from dataclasses import dataclass

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.indices import Indices

MAX_MEMBERS = 100_000
"""Of one array, unless the site says less."""
_MAX_SHOWN = 10**6  # what a site can allow at most; a view may have a row for each
MAX_OWN = 1000
"""Waiting members of one array that have a record of their own: what a user asks for beyond that is not done."""
_NONE = Indices()


@dataclass(frozen=True, slots=True, kw_only=True)
class Array:
    """What was asked (`-J`, `--array`)."""

    indices: Indices
    limit: int | None = None
    """How many members may run at once (`%5`); None: as many as fit."""
    text: str = ""
    """As the user wrote it, for display."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """What makes a job the member of an array. Its record, script and dependants find the array by these."""

    array_id: int
    """Number of the array's job."""
    array_name: str
    """Name of the array's BatchJob, in the same namespace."""
    index: int
    keeps_number: bool = False
    """Slurm's: this member was made last, so it is known by the array's number."""


def shown_number(job_id: int, member: Membership | None) -> int:
    """The number by which Slurm knows a job alone (`%A`, JobIDRaw, SLURM_JOB_ID); records and pods have `job_id`."""
    return member.array_id if member is not None and member.keeps_number else job_id


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayStatus:
    """Where the members of an array stand. Each index is in exactly one of the sets."""

    pending: Indices = _NONE
    """They have no record of their own yet."""
    active: Indices = _NONE
    """They have one, and have not ended."""
    succeeded: Indices = _NONE
    failed: Indices = _NONE
    """Ended with anything but 0, at their walltime, by a signal, or never started."""
    deleted: Indices = _NONE
    limit: int | None = None
    """In force; `scontrol update ArrayTaskThrottle=` and `qalter -W max_run_subjobs=` change it."""

    @property
    def is_over(self) -> bool:
        return not (self.pending or self.active)


def check_size(indices: Indices) -> None:
    """Raise HpcBatchError for more members than an admitted array can have."""
    if len(indices) > _MAX_SHOWN:
        raise HpcBatchError(f"an array of {len(indices)} members")
