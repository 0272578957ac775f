"""Job ids: `12.server`, `12[].server`, `12[7].server`, and what else may stand where a command wants one."""

from __future__ import annotations

import re

from hpcbatch.dialects.pbs.errors import PBSE_IVALREQ, PbsError
from hpcbatch.errors import UnknownJobError
from hpcbatch.model.named import NamedJob
from hpcbatch.model.row import JobRow
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:  # its classes take a command milliseconds to make
    from hpcbatch.model.spec import JobSpec

_ID = re.compile(r"\s*([0-9]{1,12})(\[[0-9:-]*\])?(?:\.([\w.:-]+))?(?:@([\w.:-]+))?", re.ASCII)
_MEMBERS = re.compile(r"\[([0-9]{1,9})(?:-([0-9]{1,9})(?::([0-9]{1,9}))?)?\]", re.ASCII)


def is_id(operand: str) -> bool:
    """Whether qstat takes `operand` for a job id and not for a queue or server. Source: OpenPBS, pbs_isjobid()."""
    return operand.lstrip()[:1].isdigit()


def parse_id(operand: str, server: str | None = None) -> NamedJob:
    """Read `12`, `12[]`, `12[7]` or `12[3-9:2]`, each also with `.server` and `@host` behind it.

    With `server`, a job of another server is UnknownJobError, so that its number does not hit one of ours.
    PbsError if `operand` is not an id, or its brackets hold no range.
    """
    match = _ID.fullmatch(operand)
    if match is None:
        raise PbsError(f"illegally formed job identifier: {operand}", 1)
    for named in (match[3], match[4]):
        if server is not None and named is not None and _short(named) != _short(server):
            raise UnknownJobError(f"Unknown Job Id {operand}")
    number, brackets = int(match[1]), match[2]
    if brackets is None or brackets == "[]":
        return NamedJob(number, is_array=brackets is not None)
    from hpcbatch.model.indices import Indices

    members = _MEMBERS.fullmatch(brackets)
    if members is None or int(members[2] or members[1]) < int(members[1]) or int(members[3] or 1) < 1:
        raise invalid_request(full_id(operand, server or ""))
    return NamedJob(number, Indices.parse(brackets[1:-1]), is_array=True)


def invalid_request(shown_id: str) -> PbsError:
    """What the server says to a request that is not meant for this kind of job."""
    return PbsError(f"Invalid request {shown_id}", PBSE_IVALREQ & 0xFF)


def format_id(job_id: int, server: str) -> str:
    """`12.server`, as qsub prints it."""
    return f"{job_id}.{server}"


def spec_id(job_id: int, spec: JobSpec) -> str:
    """The id of the job of that number: `12.server`; `12[].server` of an array, `12[7].server` of a member."""
    if spec.array is not None:
        return f"{job_id}[].{spec.server}"
    if spec.member_of is not None:
        return f"{spec.member_of.array_id}[{spec.member_of.index}].{spec.server}"
    return format_id(job_id, spec.server)


def row_id(row: JobRow, *, is_short: bool = False) -> str:
    """The id of a job, array or member as qstat shows it; `is_short`: only the first label of the server's name."""
    server = row.server.partition(".")[0] if is_short else row.server
    if row.array_indices:
        return f"{row.job_id}[].{server}"
    if row.array_id is not None and row.array_index is not None:
        return f"{row.array_id}[{row.array_index}].{server}"
    return f"{row.job_id}.{server}"


def member_id(array: JobRow, index: int) -> str:
    """`12[7].server`"""
    return f"{array.job_id}[{index}].{array.server}"


def full_id(operand: str, server: str) -> str:
    """`operand` as error messages name it: with the server, without `@host`."""
    name = operand.strip().partition("@")[0]
    return name if "." in name else f"{name}.{server}"


def _short(server: str) -> str:
    return server.partition(":")[0].partition(".")[0].lower()
