"""What jobs have used, for reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from hpcbatch.api.client import TableApi
from hpcbatch.api.history import selector
from hpcbatch.client import history, listing
from hpcbatch.model.report import Job, job_from


def jobs_since(api: TableApi, namespace: str, since: datetime, users: Sequence[str]) -> Iterator[Job]:
    """The jobs that have not ended, or not before `since`; of all users if `users` are none."""
    fields = selector(owners=users, since=since)
    moved = [] if fields is None else history.usage(api, namespace, fields)
    seen = {row[0] for row in moved}  # on its way a job stands in both
    yield from map(Job._make, moved)
    for row in listing.list_present_rows(api, namespace):
        job = job_from(row) if row.job_id not in seen and (not users or row.user in users) else None
        if job is not None:
            yield job
