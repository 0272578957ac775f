"""What jobs have used, for reports, and what running ones use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from hpcbatch.api.client import TableApi
from hpcbatch.api.history import selector
from hpcbatch.api.port import Api
from hpcbatch.client import history, listing, watch
from hpcbatch.model.record import JobRecord
from hpcbatch.model.report import Job, job_from
from hpcbatch.record.batchjob import shown_record


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


def running_ones(api: Api, namespace: str) -> Iterator[JobRecord]:
    """The jobs of one namespace that have begun and not ended, and each again when its record changes, for some
    minutes. Raises HpcBatchError.
    """
    yield from map(shown_record, watch.listed_and_changed(api, namespace, listing.BEGUN))
