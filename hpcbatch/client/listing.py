"""All jobs: rows, whole records, and ended jobs that have moved to the history."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from weakref import WeakKeyDictionary

from hpcbatch.api.client import TableApi
from hpcbatch.api.names import ARRAY_ID_LABEL, ENVIRONMENT_KEY, SECRET_TYPE
from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import BATCHJOBS, SECRETS, Resource
from hpcbatch.errors import ForbiddenError, GoneError, HpcBatchError, NotFoundError, UnknownJobError, UnreachableError
from hpcbatch.model.row import JobRow
from hpcbatch.model.state import JobState
from hpcbatch.record.rows import are_incomplete, row_of, rows_from_table
from hpcbatch.record.state import state_of
from hpcbatch.typed import TYPE_CHECKING, Protocol, TypeVar
from hpcbatch.units import parse_rfc3339

if TYPE_CHECKING:  # listings avoid the classes of a whole job, which take 8 ms to make
    from datetime import datetime

    from hpcbatch.model.record import JobRecord


_FEW = 4
_NAMED_AT_ONCE = 200
_FEW_SECRETS, _SECRETS_AT_ONCE = 50, 500
UNFINISHED = ",".join(f"status.state!={state.value}" for state in JobState if state.is_final)
"""Field selector of the jobs that have not ended."""
BEGUN = ",".join(
    f"status.state!={state.value}"
    for state in JobState
    if state not in {JobState.RUNNING, JobState.SUSPENDED, JobState.EXITING}
)
"""Field selector of the jobs that have begun and not ended."""
_T = TypeVar("_T")
_FORBIDDEN: WeakKeyDictionary[Api, set[tuple[str, str | None]]] = WeakKeyDictionary()
"""What an API forbade in this process, (plural, namespace): not requested again, which would cost a request a job."""


class Named(Protocol):
    """A row or a record: enough to find the object again."""

    @property
    def namespace(self) -> str: ...
    @property
    def object_name(self) -> str: ...


def not_installed() -> UnreachableError:
    return UnreachableError(
        "this cluster does not run hpcbatch: it has no resource batchjobs.hpcbatch.io; "
        "`hpcbatch login-check` looks closer"
    )


def list_rows(
    api: TableApi,
    namespace: str,
    *,
    finished: bool = True,
    members: bool = True,
    fields: str = "",
    since: datetime | None = None,
) -> list[JobRow]:
    """The jobs of all namespaces, or of one's own if the site shows no others; in order of their numbers.
    Without `finished` the server omits ended jobs, without `members` those of arrays. Of the jobs that have moved to
    the history only those that ended at `since` or later.
    """
    labels = "" if members else f"!{ARRAY_ID_LABEL}"
    rows = _present_rows(api, namespace, ",".join(filter(None, (fields, "" if finished else UNFINISHED))), labels)
    if not finished:
        return rows
    from hpcbatch.api.history import NO_MEMBERS, selector
    from hpcbatch.client import history

    if not members:
        fields = ",".join(filter(None, (fields, NO_MEMBERS)))
    moved = history.rows(api, namespace, selector(fields=fields, since=since) or "")
    seen = {(row.namespace, row.object_name) for row in rows}  # while it moves a job is in both
    return sorted((*rows, *(row for row in moved if (row.namespace, row.object_name) not in seen)), key=_by_number)


def list_present_rows(api: TableApi, namespace: str) -> list[JobRow]:
    """As `list_rows`, without jobs that have moved to the history; `count_moved` returns their number."""
    return _present_rows(api, namespace, "")


def count_moved(api: TableApi, namespace: str) -> int:
    """The number of ended jobs that are no BatchJobs any more."""
    from hpcbatch.client import history

    return history.count(api, namespace)


def _present_rows(api: TableApi, namespace: str, fields: str, labels: str = "") -> list[JobRow]:
    found = _everywhere(api, lambda where: rows_in(api, where, labels=labels, fields=fields), namespace)
    return sorted(found, key=_by_number)


def rows_in(api: TableApi, namespace: str | None, *, labels: str = "", fields: str = "") -> list[JobRow]:
    """The BatchJobs of a namespace, or of all of them."""
    columns, rows = api.table(BATCHJOBS, namespace, labels=labels, fields=fields)
    if are_incomplete(columns, (row.cells for row in rows)):
        from hpcbatch.record.batchjob import shown_record

        found = api.list(BATCHJOBS, namespace, labels=labels, fields=fields).items
        return [row_of(shown_record(obj)) for obj in found if "jobId" in (obj.get("status") or {})]
    return rows_from_table(columns, rows)


def _by_number(row: JobRow) -> int:
    return row.job_id


def find(api: TableApi, namespace: str, number: int) -> JobRow:
    """One job by its number, finished or not. Raises UnknownJobError."""
    rows = find_all(api, namespace, [number])
    if not rows:
        raise UnknownJobError(f"unknown job {number}")
    return rows[number]


def find_all(api: TableApi, namespace: str, numbers: Iterable[int]) -> dict[int, JobRow]:
    """Those of `numbers` that exist, finished or not: a few BatchJobs are read one by one, many are taken from one
    listing.
    """
    wanted = dict.fromkeys(numbers)
    selectors = [""] if len(wanted) > _FEW else [f"status.jobId={number}" for number in wanted]
    rows = [row for fields in selectors for row in _present_rows(api, namespace, fields)]
    found = {row.job_id: row for row in rows if row.job_id in wanted}
    missing = [number for number in wanted if number not in found]
    if missing:
        from hpcbatch.api.history import selector
        from hpcbatch.client import history

        for part in _parts(missing):
            found |= {row.job_id: row for row in history.rows(api, namespace, selector(numbers=part) or "")}
    return found


def _parts(numbers: Sequence[int]) -> Iterator[Sequence[int]]:
    """Parts short enough for a URL."""
    for first in range(0, len(numbers), _NAMED_AT_ONCE):
        yield numbers[first : first + _NAMED_AT_ONCE]


def list_objects(api: Api, namespace: str, *, finished: bool = True) -> list[Object]:
    """The admitted BatchJobs, whole, in order of their numbers; `shown_record` reads them. `iter_ended` also returns
    moved ones.
    """
    return _admitted(api, namespace, "" if finished else UNFINISHED)


def running_objects(api: Api, namespace: str) -> list[Object]:
    """The BatchJobs, whole, of the jobs that have begun and not ended."""
    return _admitted(api, namespace, BEGUN)


def _objects_of(api: Api, namespace: str, numbers: Collection[int]) -> list[Object]:
    """As `list_objects`; of a few numbers each by itself."""
    if not 0 < len(numbers) <= _FEW:
        return list_objects(api, namespace)
    return [obj for number in sorted(numbers) for obj in _admitted(api, namespace, f"status.jobId={number}")]


def members_of(api: Api, namespace: str, array: int) -> list[Object]:
    """The BatchJobs, whole, of an array's members that have one."""
    return _admitted(api, namespace, "", f"{ARRAY_ID_LABEL}={array}")


def _admitted(api: Api, namespace: str, fields: str, labels: str = "") -> list[Object]:
    found = _everywhere(api, lambda where: api.list(BATCHJOBS, where, fields=fields, labels=labels).items, namespace)
    return in_order(obj for obj in found if "jobId" in (obj.get("status") or {}))


def in_order(objects: Iterable[Object]) -> list[Object]:
    """Admitted BatchJobs in order of their numbers."""
    return sorted(objects, key=lambda obj: int(obj["status"]["jobId"]))


def iter_ended(
    api: TableApi,
    namespace: str,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    owners: Collection[str] = (),
    numbers: Collection[int] = (),
    include_unfinished: bool = False,
) -> Iterator[Object]:
    """The BatchJobs of ended jobs, moved or not, one after the other: those that ended at `since` or later and began
    (those that never did: ended) before `until`. `owners` and `numbers` limit the result; empty: all.
    With `include_unfinished` also the jobs that have not ended.
    """
    from hpcbatch.api.history import selector
    from hpcbatch.client import history

    present = set()
    moved_numbers = set(numbers)
    for obj in _objects_of(api, namespace, numbers):
        moved_numbers.discard(int(obj["status"]["jobId"]))  # no two jobs have one number
        if _is_wanted(obj, since, until, owners, numbers, include_unfinished=include_unfinished):
            present.add(obj["metadata"]["uid"])
            yield obj
    for part in _parts(sorted(moved_numbers)) if numbers else [()]:
        fields = selector(numbers=part, owners=owners, since=since, until=until)
        moved = iter(()) if fields is None else history.objects(api, namespace, fields)
        yield from (obj for obj in moved if obj["metadata"]["uid"] not in present)  # while it moves a job is in both


def _is_wanted(
    obj: Object,
    since: datetime | None,
    until: datetime | None,
    owners: Collection[str],
    numbers: Collection[int],
    *,
    include_unfinished: bool,
) -> bool:
    status = obj["status"]
    if (numbers and int(status["jobId"]) not in numbers) or (owners and status.get("owner") not in owners):
        return False
    started, ended = status.get("startTime"), status.get("endTime")
    try:
        if until is not None and parse_rfc3339(started or ended or obj["metadata"]["creationTimestamp"]) >= until:
            return False
        if not state_of(obj).is_final:
            return include_unfinished
        return since is None or ended is None or parse_rfc3339(ended) >= since
    except HpcBatchError:  # the row of an unreadable one shows that
        return True


def get_object(api: Api, job: Named) -> Object:
    """The BatchJob of a listed job. Raises UnknownJobError if it was removed since."""
    try:
        return api.get(BATCHJOBS, job.object_name, job.namespace)
    except NotFoundError:
        from hpcbatch.client import history

        found = history.get(api, job.object_name, job.namespace)
        if found is None:
            raise UnknownJobError(f"job {job.object_name} is gone") from None
        return found


def get_record(api: Api, job: Named) -> JobRecord:
    """The whole record of a listed job, for display. Raises UnknownJobError if it was removed since."""
    from hpcbatch.record.batchjob import shown_record

    return shown_record(get_object(api, job))


def environment_of(api: Api, obj: Object) -> dict[str, str] | None:
    """The variables of a job; None if others' Secrets may not be read, or it has ended."""
    if state_of(obj).is_final:
        return None  # the Secret was removed with the run
    namespace = obj["metadata"]["namespace"]
    if _is_forbidden(api, SECRETS, namespace):
        return None
    try:
        secret = api.get(SECRETS, _secret_of(obj), namespace)
    except ForbiddenError:
        _forbid(api, SECRETS, namespace)
        return None
    except NotFoundError:
        return None
    return _environment(_encoded(secret))


def environments_of(api: TableApi, objects: Iterable[Object]) -> Mapping[str, dict[str, str] | None]:
    """As `environment_of` of each, by name; those that are forbidden, or of ended jobs, are left out."""
    named: dict[str, dict[str, str]] = {}
    for obj in objects:
        if not state_of(obj).is_final:
            meta = obj["metadata"]
            named.setdefault(meta["namespace"], {})[meta["name"]] = _secret_of(obj)
    found: dict[str, dict[str, str] | None] = {}
    known: dict[str, dict[str, str]] = {}  # most jobs of a user have the same variables
    for namespace, secret_of in named.items():
        for name, text in zip(secret_of, _texts(api, namespace, list(secret_of.values())), strict=False):
            if text is not None and text not in known:
                known[text] = _environment(text)
            found[name] = None if text is None else known[text]
    return found


def _texts(api: TableApi, namespace: str, secrets: Sequence[str]) -> Iterator[str | None]:
    """What these Secrets hold of the environment, as they are encoded; None for one that is gone. None at all where
    Secrets are forbidden. Users may read them, but not list them; who may list them is spared many requests.
    """
    if _is_forbidden(api, SECRETS, namespace):
        return
    listed = _listed_texts(api, namespace) if len(secrets) > _FEW_SECRETS else {}
    missing = [secret for secret in secrets if secret not in listed]
    try:
        one_by_one = api.get_many(SECRETS, missing, namespace) if missing else iter(())
        for secret in secrets:
            if secret in listed:
                yield listed[secret]
            else:
                found = next(one_by_one)
                yield None if found is None else _encoded(found)
    except ForbiddenError:
        _forbid(api, SECRETS, namespace)


def _listed_texts(api: TableApi, namespace: str) -> dict[str, str]:
    """By the names of all Secrets that can be listed. They hold scripts, too: so only a part of them at a time."""
    query = {"fieldSelector": f"type={SECRET_TYPE}", "limit": str(_SECRETS_AT_ONCE)}
    found: dict[str, str] = {}
    shared: dict[str, str] = {}
    try:
        while True:
            page = api.list_with(SECRETS, namespace, query=query)
            for secret in page.get("items") or ():
                text = _encoded(secret)
                found[secret["metadata"]["name"]] = shared.setdefault(text, text)
            query["continue"] = page.get("metadata", {}).get("continue") or ""
            if not query["continue"]:
                return found
    except (ForbiddenError, GoneError):  # the state that the list began with is gone
        return found


def _secret_of(obj: Object) -> str:
    return str(obj["spec"].get("submissionSecret", ""))


def _encoded(secret: Object) -> str:
    return str(secret.get("data", {}).get(ENVIRONMENT_KEY, ""))


def _environment(encoded: str) -> dict[str, str]:
    text = os.fsdecode(base64.b64decode(encoded))
    return dict(entry.partition("=")[::2] for entry in text.split("\0") if entry)


def _everywhere(api: Api, call: Callable[[str | None], _T], namespace: str) -> _T:
    """Call for the BatchJobs of all namespaces; if that is forbidden, for one's own.

    A forbidding site costs each command a second request: 0.5 ms of 56, too little to remember on disk.
    """
    try:
        if not _is_forbidden(api, BATCHJOBS, None):
            try:
                return call(None)
            except ForbiddenError:
                _forbid(api, BATCHJOBS, None)
        return call(namespace)
    except NotFoundError:
        raise not_installed() from None


def _is_forbidden(api: Api, resource: Resource, namespace: str | None) -> bool:
    return (resource.plural, namespace) in _FORBIDDEN.get(api, ())


def _forbid(api: Api, resource: Resource, namespace: str | None) -> None:
    _FORBIDDEN.setdefault(api, set()).add((resource.plural, namespace))
