"""The ended jobs that have left the BatchJobs: read through their own API path, if the site has one."""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable
from datetime import datetime

from hpcbatch.api.resources import Resource
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.api.port import Object

ENDED_JOBS = Resource("history.hpcbatch.io", "v1alpha1", "batchjobs", "BatchJob")
"""Objects of the same shape as BATCHJOBS. Served by the embedded engine, on clusters by hpcbatch's controller."""

FORM_PARAMETER = "form"
USAGE_FORM, USAGE_KIND = "usage", "JobUsageList"
"""`?form=usage` returns `{"kind": "JobUsageList", "rows": [[…], …]}`: only what reports need of many jobs."""
PACKED_FORM, PACKED_KIND = "packed", "PackedJobList"
"""`?form=packed` returns `{"kind": "PackedJobList", "metadata": {"continue": …}, "jobs": […]}`: whole jobs as stored in
the database, so that a request for many costs the server nearly nothing. `unpacked` reads them.
"""

NO_MEMBERS = "spec.memberOf.arrayId="
"""The term that excludes the members of arrays."""
_UNASKABLE = frozenset(",=!|\\")


def selector(
    *,
    numbers: Iterable[int] = (),
    owners: Iterable[str] = (),
    fields: str = "",
    since: datetime | None = None,
    until: datetime | None = None,
) -> str | None:
    """The field selector of jobs that ended at `since` or later and began before `until`; limited to the numbers and
    owners, if any are given. `fields` are terms that BatchJobs have too.
    None: there is no such job, because no user has such a name.
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


def packed(body: bytes) -> str:
    """A job from JSON compressed by zlib."""
    return b64encode(body).decode("ascii")


def unpacked(job: str) -> Object:
    found: Object = json.loads(zlib.decompress(b64decode(job)))
    return found


def as_batchjob(job: Object) -> Object:
    """The BatchJob as before it moved."""
    return job | {"apiVersion": "hpcbatch.io/v1alpha1"}
