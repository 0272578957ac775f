"""What PBS answers to requests for members of an array. Source: OpenPBS, req_deletejob(), stat_a_jobidname()."""

from __future__ import annotations

from collections.abc import Mapping

from hpcbatch.dialects.pbs.errors import PBSE_BADSTATE, PBSE_NOHISTARRAYSUBJOB, PbsError
from hpcbatch.dialects.pbs.ids import invalid_request, member_id
from hpcbatch.errors import UnknownJobError
from hpcbatch.model.indices import Indices
from hpcbatch.model.members import indices, unended
from hpcbatch.model.row import JobRow
from hpcbatch.model.state import JobState


def deletable(array: JobRow, wanted: Indices, own: Mapping[int, JobRow]) -> Indices:
    """Those of the members `wanted` that qdel asks to end. `own` are the members' records, as far as they have one.

    A single member that cannot be deleted is an error; of a range those are passed over, and only its first index has
    to lie in the array. Raises PbsError or UnknownJobError.
    """
    every, left = indices(array), unended(array)
    ending = Indices.of(index for index, row in own.items() if row.state is JobState.EXITING)
    if len(wanted) > 1:
        if not every.first <= wanted.first <= every.last:
            raise UnknownJobError(f"job {array.job_id} has no such members")
        return (wanted & left) - ending
    if not wanted & every:
        raise invalid_request(member_id(array, wanted.first))
    if not wanted & left:
        text = f"Request invalid for finished array subjob {member_id(array, wanted.first)}"
        raise PbsError(text, PBSE_NOHISTARRAYSUBJOB & 0xFF)
    if wanted & ending:
        raise PbsError(f"Request invalid for state of job {member_id(array, wanted.first)}", PBSE_BADSTATE & 0xFF)
    return wanted


def check_known(array: JobRow, wanted: Indices) -> None:
    """Raise UnknownJobError for a member that the array does not have: qstat shows all of a range or none."""
    if wanted - indices(array):
        raise UnknownJobError(f"job {array.job_id} has no such members")
