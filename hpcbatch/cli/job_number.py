"""The number of a job that a user names by an id of either system."""

from __future__ import annotations

import re

from hpcbatch.cli.common import Session
from hpcbatch.errors import UnknownJobError, UsageError

_JOB_ID = re.compile(r"([0-9]+)(?:\[([0-9]*)\]|_([0-9]+))?(?:\..*)?", re.ASCII)


def job_number(session: Session, text: str) -> int:
    """Of a job, an array, or a member of one. Raises UsageError and UnknownJobError."""
    match = _JOB_ID.fullmatch(text)
    if match is None:
        raise UsageError(f"{text!r} is not a job id")
    index = match[2] or match[3]
    return _member_number(session, text, int(match[1]), int(index)) if index else int(match[1])


def _member_number(session: Session, text: str, array: int, index: int) -> int:
    from hpcbatch.client import listing
    from hpcbatch.client.arrays import own_rows
    from hpcbatch.model.indices import Indices

    row = listing.find(session.api, session.namespace, array)
    own = own_rows(session.api, row, Indices.of([index])) if row.array_indices else {}
    if index not in own:
        raise UnknownJobError(f"{text} has not started, or there is none; `hpcbatch watch {array}` follows the array")
    return own[index].job_id
