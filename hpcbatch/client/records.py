"""The whole records of jobs for accounting, ended ones too."""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterator
from datetime import datetime

from hpcbatch.api.client import TableApi
from hpcbatch.api.names import SCRIPT_KEY
from hpcbatch.api.port import Api
from hpcbatch.api.resources import SECRETS
from hpcbatch.client import history
from hpcbatch.client.listing import in_order, iter_ended, members_of, running_objects
from hpcbatch.errors import ForbiddenError, NotFoundError
from hpcbatch.record.batchjob import shown_record
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.model.record import JobRecord


def by_number(api: TableApi, namespace: str, numbers: Collection[int]) -> list[JobRecord]:
    """The jobs of these numbers; for an array also its members that have a record."""
    listed = in_order(iter_ended(api, namespace, numbers=numbers, include_unfinished=True))
    found = {obj["metadata"]["uid"]: obj for obj in listed}
    arrays = {int(obj["status"]["jobId"]) for obj in found.values() if "array" in obj["spec"]}
    if arrays:
        present = [obj for array in sorted(arrays) for obj in members_of(api, namespace, array)]
        fields = f"spec.memberOf.arrayId={'|'.join(map(str, sorted(arrays)))}"
        for obj in (*present, *history.objects(api, namespace, fields)):
            found.setdefault(obj["metadata"]["uid"], obj)
    return [shown_record(obj) for obj in found.values()]


def running_records(api: Api, namespace: str) -> dict[int, JobRecord]:
    """Of all jobs that have begun and not ended, by their numbers."""
    return {record.job_id: record for record in map(shown_record, running_objects(api, namespace))}


def in_window(
    api: TableApi, namespace: str, since: datetime | None, owners: Collection[str] = ()
) -> Iterator[JobRecord]:
    """The jobs that ended at `since` or later, or have not ended. `owners` empty: of all visible users."""
    found = iter_ended(api, namespace, since=since, owners=owners, include_unfinished=True)
    return map(shown_record, found)


def exactly(api: TableApi, namespace: str, number: int) -> list[JobRecord]:
    """The job of that number only; an array without its members."""
    return [
        shown_record(obj) for obj in in_order(iter_ended(api, namespace, numbers=[number], include_unfinished=True))
    ]


def submitted_script(api: Api, record: JobRecord) -> bytes:
    """The script as it was submitted; empty where there is none, it is gone with the run, or it is not to be read."""
    member = record.spec.member_of
    try:
        name = record.object_name if member is None else member.array_name
        secret = api.get(SECRETS, name, record.namespace)
    except (ForbiddenError, NotFoundError):
        return b""
    return base64.b64decode((secret.get("data") or {}).get(SCRIPT_KEY, ""))
