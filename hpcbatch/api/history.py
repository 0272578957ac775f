"""The ended jobs that have left the BatchJobs: read through an API path of their own, where the site has one."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from hpcbatch.api.resources import Resource

if TYPE_CHECKING:
    from hpcbatch.api.port import Object

ENDED_JOBS = Resource("history.hpcbatch.io", "v1alpha1", "batchjobs", "BatchJob")
"""Objects of the same shape as BATCHJOBS. Served by the embedded engine, and on clusters by hpcbatch's controller."""

USAGE_PARAMETER, USAGE_FORM, USAGE_KIND = "form", "usage", "JobUsageList"
"""`?form=usage` answers with `{"kind": "JobUsageList", "rows": [[…], …]}`: what reports need of many jobs, no more."""

_UNASKABLE = frozenset(",=!|\\")


def selector(
    *,
    numbers: Iterable[int] = (),
    owners: Iterable[str] = (),
    fields: str = "",
    since: datetime | None = None,
    until: datetime | None = None,
) -> str | None:
    """The field selector of jobs that ended at `since` or later and began before `until`; of any of the numbers and
    owners, where there are such. `fields` are terms that BatchJobs have too.
    None: there is no such job, since no user has such a name.
    """
    terms = [fields] if fields else []
    if found := [str(number) for number in numbers]:
        terms.append(f"status.jobId={'|'.join(found)}")
    if wanted := list(owners):
        askable = [owner for owner in wanted if owner and not _UNASKABLE & set(owner)]
        if not askable:
            return None
        terms.append(f"status.owner={'|'.join(askable)}")
    for name, when in (("endedAfter", since), ("startedBefore", until)):
        if when is not None:
            terms.append(f"{name}={when.isoformat()}")
    return ",".join(terms)


def as_batchjob(job: Object) -> Object:
    """As it was before it moved."""
    return job | {"apiVersion": "hpcbatch.io/v1alpha1"}
