"""The whole records of jobs that accounting looks at, ended ones too."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime
from functools import cache, partial
from typing import TYPE_CHECKING

from hpcbatch.cli.common import Session
from hpcbatch.client import history, listing
from hpcbatch.record.batchjob import shown_record

if TYPE_CHECKING:
    from hpcbatch.model.record import JobRecord


def by_number(session: Session, numbers: Collection[int]) -> list[JobRecord]:
    """The jobs of these numbers; of an array also its members that have a record."""
    ask = partial(listing.list_ended, session.api, session.namespace, include_unfinished=True)
    found = {obj["metadata"]["uid"]: obj for obj in ask(numbers=numbers)}
    arrays = {int(obj["status"]["jobId"]) for obj in found.values() if "array" in obj["spec"]}
    if arrays:
        present = listing.list_objects(session.api, session.namespace)
        fields = f"spec.memberOf.arrayId={'|'.join(map(str, sorted(arrays)))}"
        for obj in (*present, *history.objects(session.api, session.namespace, fields)):
            if (obj["spec"].get("memberOf") or {}).get("arrayId") in arrays:
                found.setdefault(obj["metadata"]["uid"], obj)
    return [shown_record(obj) for obj in found.values()]


def in_window(session: Session, since: datetime | None, owners: Collection[str] = ()) -> Iterator[JobRecord]:
    """The jobs that ended at `since` or later, or have not ended. `owners` empty: everybody's that may be seen."""
    found = listing.iter_ended(session.api, session.namespace, since=since, owners=owners, include_unfinished=True)
    return map(shown_record, found)


@cache
def uid_of(name: str) -> int | None:
    import pwd

    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        return None


@cache
def group_name(gid: int) -> str:
    """ "" where this machine knows no such group."""
    import grp

    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return ""
