"""Job ids: `12.server`, and what else may stand where a command wants one."""

from __future__ import annotations

import re

from hpcbatch.errors import NotSupportedError, UnknownJobError
from hpcbatch.pbs.errors import PbsError

_ID = re.compile(r"\s*([0-9]{1,12})(\[[0-9:-]*\])?(?:\.([\w.:-]+))?(?:@([\w.:-]+))?", re.ASCII)


def is_id(operand: str) -> bool:
    """Whether qstat takes `operand` for a job id and not for a queue or server. Source: OpenPBS, pbs_isjobid()."""
    return operand.lstrip()[:1].isdigit()


def parse_id(operand: str, server: str | None = None) -> int:
    """Read `12`, `12.server` or `12.server@host` as the job's number.

    With `server`, a job of another server is UnknownJobError, so that its number does not hit one of ours.
    PbsError if `operand` is not an id; NotSupportedError for arrays, `12[]` and `12[3]`.
    """
    match = _ID.fullmatch(operand)
    if match is None:
        raise PbsError(f"illegally formed job identifier: {operand}", 1)
    if match[2] is not None:
        raise NotSupportedError(f"{operand}: an array job is not supported yet")
    for named in (match[3], match[4]):
        if server is not None and named is not None and _short(named) != _short(server):
            raise UnknownJobError(f"Unknown Job Id {operand}")
    return int(match[1])


def format_id(job_id: int, server: str) -> str:
    """`12.server`, as qsub prints it."""
    return f"{job_id}.{server}"


def full_id(operand: str, server: str) -> str:
    """`operand` as error messages name it: with the server, without `@host`."""
    name = operand.strip().partition("@")[0]
    return name if "." in name else f"{name}.{server}"


def _short(server: str) -> str:
    return server.partition(":")[0].partition(".")[0].lower()
