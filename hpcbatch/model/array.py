"""Job arrays: one record for all members; a member gets its own record, an ordinary job, when it may run."""

from __future__ import annotations

from hpcbatch.dataclass import dataclass, field
from hpcbatch.model.indices import MAX_INDEX, Indices
from hpcbatch.model.stored import BOOLEAN, COUNTED_INDICES, INDICES, PRINTABLE, integer, stored, string

MAX_MEMBERS = 100_000
"""Members of one array, unless the site allows fewer."""
MAX_OWN = 1000
"""Waiting members of one array with their own record: requests for more have no effect."""
_NONE = Indices()


@dataclass(frozen=True, slots=True, kw_only=True)
class Array:
    """The requested array (`-J`, `--array`)."""

    indices: Indices = field(metadata=stored("indices", INDICES))
    limit: int | None = field(
        default=None, metadata=stored("limit", integer(1, 2**31 - 1), description="How many members may run at once.")
    )
    """How many members may run at once (`%5`); None: as many as fit."""
    text: str = field(default="", metadata=stored("text", string(most=65536, pattern=PRINTABLE)))
    """As the user wrote it, for display."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """Marks a job as member of an array. Its record, script and dependants find the array by these fields."""

    array_id: int = field(metadata=stored("arrayId", integer(1, 10**18 - 1)))
    """Number of the array's job."""
    array_name: str = field(metadata=stored("arrayName", string(most=253, pattern=PRINTABLE)))
    """Name of the array's BatchJob, in the same namespace."""
    index: int = field(metadata=stored("index", integer(0, MAX_INDEX)))
    keeps_number: bool = field(
        default=False,
        metadata=stored(
            "keepsNumber", BOOLEAN, description="Of the member made last, which Slurm knows by the number of the array."
        ),
    )
    """For Slurm: this member was made last, so it is known by the array's number."""


def shown_number(job_id: int, member: Membership | None) -> int:
    """The number that Slurm shows for the job (`%A`, JobIDRaw, SLURM_JOB_ID); records and pods have `job_id`."""
    return member.array_id if member is not None and member.keeps_number else job_id


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayStatus:
    """The states of an array's members. Each index is in exactly one of the sets."""

    pending: Indices = field(
        default=_NONE, metadata=stored("pending", COUNTED_INDICES, description="No record of their own yet.")
    )
    """Members without their own record."""
    active: Indices = field(default=_NONE, metadata=stored("active", COUNTED_INDICES))
    """Members with a record that have not ended."""
    succeeded: Indices = field(default=_NONE, metadata=stored("succeeded", COUNTED_INDICES))
    failed: Indices = field(default=_NONE, metadata=stored("failed", COUNTED_INDICES))
    """Ended with a code other than 0, at their walltime, by a signal, or never started."""
    deleted: Indices = field(default=_NONE, metadata=stored("deleted", COUNTED_INDICES))
    limit: int | None = field(default=None, metadata=stored("limit", integer(1)))
    """The limit in force; `scontrol update ArrayTaskThrottle=` and `qalter -W max_run_subjobs=` change it."""

    @property
    def is_over(self) -> bool:
        return not (self.pending or self.active)
