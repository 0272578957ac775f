"""Where a job stands, in a few words: what `hpcbatch watch` and the page show beside its state. Pure."""

from __future__ import annotations

from datetime import datetime

from hpcbatch.model.indices import Indices
from hpcbatch.model.members import indices, unended
from hpcbatch.model.row import JobRow
from hpcbatch.model.state import JobState, Reason

_BEGUN = frozenset({JobState.RUNNING, JobState.EXITING, JobState.FINISHED})


def neutral_id(row: JobRow) -> str:
    """`12`, `12[]` of an array, `12[3]` of a member: an id that no dialect owns."""
    if row.array_indices:
        return f"{row.job_id}[]"
    return str(row.job_id) if row.array_id is None else f"{row.array_id}[{row.array_index}]"


def elapsed_s(row: JobRow, now: datetime) -> int | None:
    """Seconds that it has run, or its whole run took, without suspensions; None before it has started."""
    return None if row.start_time is None else row.ran_s(now)


def standing(row: JobRow) -> str:
    """Its nodes, how it ended, or why it waits."""
    if row.array_indices and row.start_time is not None:
        return _progress(row)
    if row.reason is Reason.NON_ZERO_EXIT:
        return f"exit code {row.exit_code}"
    if row.reason is Reason.SIGNALLED:
        return f"killed by signal {row.exit_signal}"
    if row.state in _BEGUN:
        return "on " + ", ".join(dict.fromkeys(row.hosts)) if row.hosts else ""
    reason = "" if row.reason is Reason.NONE else row.reason.value
    return ": ".join(filter(None, (reason, row.message)))


def _progress(array: JobRow) -> str:
    """In hundredths, so that a large array does not fill a screen."""
    every, left = len(indices(array)), len(unended(array))
    lost = len(Indices.parse(array.array_failed) | Indices.parse(array.array_deleted))
    return f"{(every - left) * 100 // every} % of {every} members ended" + (
        f", {lost} of them not well" if lost else ""
    )
