"""What an alteration has changed of a job, in PBS's names, whichever command requested it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from hpcbatch.dialects.pbs.qstat_full import full_attributes
from hpcbatch.dialects.pbs.values import quoted
from hpcbatch.model.record import JobRecord

_ALTERABLE = (
    "Account_Name",
    "depend",
    "Error_Path",
    "Execution_Time",
    "Job_Name",
    "Join_Path",
    "Keep_Files",
    "Mail_Points",
    "Mail_Users",
    "Output_Path",
    "Priority",
    "project",
    "queue",
    "Remove_Files",
    "Rerunable",
    "Resource_List",
    "sandbox",
    "Shell_Path_List",
    "umask",
)
_PATHS = ("Error_Path", "Output_Path")


def changes(before: JobRecord, after: JobRecord) -> Iterator[tuple[str, str]]:
    """Attributes with their new values as the accounting log writes them: `UNSET` for one that is gone."""
    old, new = _shown(before), _shown(after)
    has_paths = (before.spec.stdout, before.spec.stderr) != (after.spec.stdout, after.spec.stderr)
    for name in dict.fromkeys((*old, *new)):
        if old.get(name) != new.get(name) and (has_paths or name not in _PATHS):  # else they follow the job's name
            yield name, quoted(new[name]) if name in new else "UNSET"


def _shown(record: JobRecord) -> dict[str, str]:
    attributes = dict(full_attributes(record, {}, datetime(1970, 1, 1, tzinfo=UTC), UTC))  # of no use to what is picked
    found: dict[str, str] = {}
    for name in _ALTERABLE:
        value = attributes.get(name)
        if isinstance(value, dict):
            found |= {f"{name}.{key}": text for key, text in value.items()}
        elif value:
            found[name] = value
    if record.spec.begin_time is not None:
        found["Execution_Time"] = str(int(record.spec.begin_time.timestamp()))
    if record.status.array is not None and record.status.array.limit:
        found["max_run_subjobs"] = str(record.status.array.limit)
    return found
