"""The jobs of a chain, each of which waits for the one before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hpcbatch.model.record import JobRecord


def dependents(objects: Iterable[Mapping[str, Any]], record: JobRecord) -> list[int]:
    """The numbers of the owner's jobs, of BatchJobs as the API has them, that run once this job has ended well."""
    from hpcbatch.errors import HpcBatchError
    from hpcbatch.model.dependency import DependencyKind
    from hpcbatch.record.batchjob import shown_record

    kinds = {DependencyKind.AFTER_OK, DependencyKind.AFTER_ANY}
    found = []
    for obj in objects:
        altered = (obj.get("status") or {}).get("altered") or {}
        if not (obj["spec"].get("dependency") or altered.get("dependency")):
            continue
        try:
            other = shown_record(dict(obj))
        except HpcBatchError:  # not ours to read
            continue
        waits = other.spec.dependency.waits if other.spec.dependency is not None else ()
        is_next = any(
            wait.kind in kinds and not wait.is_not and wait.ref is not None and wait.ref.job_id == record.job_id
            for wait in waits
        )
        if is_next and other.status.owner == record.status.owner and not other.spec.array:
            found.append(other.job_id)
    return sorted(found)
