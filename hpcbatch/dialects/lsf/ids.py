"""Job ids: `12`, `"12[3]"`, `12[1-5]`."""

from __future__ import annotations

import re

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.named import NamedJob
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.model.row import JobRow
    from hpcbatch.model.spec import JobSpec

_ID = re.compile(r"([0-9]{1,18})(?:\[([0-9,:-]+)\])?", re.ASCII)


def parse_id(text: str) -> NamedJob:
    """Read the id of a job, an array or some of its members. Raises ValueError if it is none."""
    match = _ID.fullmatch(text.strip())
    if match is None:
        raise ValueError(text)
    if match[2] is None:
        return NamedJob(int(match[1]))
    from hpcbatch.model.indices import Indices

    try:
        members = Indices.parse(match[2])
    except HpcBatchError:
        raise ValueError(text) from None
    if not members:
        raise ValueError(text)
    return NamedJob(int(match[1]), members, is_array=True)


def row_id(row: JobRow) -> str:
    """`12`, of a member of an array `12[3]`."""
    return str(row.job_id) if row.array_id is None else f"{row.array_id}[{row.array_index}]"


def spec_id(job_id: int, spec: JobSpec) -> str:
    member = spec.member_of
    return str(job_id) if member is None else f"{member.array_id}[{member.index}]"


def spec_number(job_id: int, spec: JobSpec) -> int:
    """The number that the job goes by: of a member that of its array."""
    return job_id if spec.member_of is None else spec.member_of.array_id
